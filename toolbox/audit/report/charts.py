"""The pictures of the drift report, as inline SVG without styles of their own: classes of the page colour them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from toolbox.audit.report.drift import Bucket, Tally, count_text, percent_text, span_text, time_text

__all__ = ["OUTCOMES", "outcomes_bar", "small_bar", "time_chart"]

OUTCOMES: Final = (("as_is", "as they are"), ("mended", "mended"), ("refused", "refused"), ("unknown_tool", "unknown tool"))
"""Attribute of a tally, and how it is called; also the class that colours it."""
_DRIFTED: Final = ("mended", "refused", "unknown_tool")
_TOPS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)
_LEAST: Final = 3.0
"""A part that is not nothing is at least so wide, of 1,000."""
_DAY: Final = 86_400


def _parts(tally: Tally) -> list[tuple[str, str, int]]:
    return [(name, said, getattr(tally, name)) for name, said in OUTCOMES]


def _widths(tally: Tally, whole: float) -> list[tuple[str, float]]:
    """The width of each part; what is not nothing can be seen."""
    wanted = [(name, max(whole * count / tally.calls, _LEAST)) for name, _, count in _parts(tally) if count] if tally.calls else []
    total = sum(width for _, width in wanted)
    return [(name, width * whole / total) for name, width in wanted]


def _rectangles(tally: Tally, height: int) -> str:
    made, left = [], 0.0
    for name, width in _widths(tally, 1_000.0):
        made.append(f'<rect class="{name}" x="{left:.1f}" y="0" width="{max(width - 2, 1):.1f}" height="{height}"/>')
        left += width
    return "".join(made)


def outcomes_bar(tally: Tally) -> str:
    """One bar with what became of the calls."""
    said = ", ".join(f"{percent_text(count, tally.calls)} {name}" for _, name, count in _parts(tally) if count)
    return (
        f'<svg class="outcomes" viewBox="0 0 1000 30" preserveAspectRatio="none" role="img" aria-label="Of all calls: {said or "none"}">'
        f"{_rectangles(tally, 30)}</svg>"
    )


def small_bar(tally: Tally) -> str:
    """The same beside numbers that say it already."""
    return (
        '<svg class="small" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true" focusable="false">'
        f"{_rectangles(tally, 10)}</svg>"
    )


def time_chart(buckets: Sequence[Bucket], name: str, width: int) -> str:
    """The share of calls that drifted over time, above the number of calls.

    Args:
        buckets: what became of the calls over time.
        name: tells the ids of this chart from those of another one on the page.
        width: width in pixels at which its letters have their size.
    """
    left, right, top, middle, gap, low = 46, 8, 12, 190, 28, 56
    height = top + middle + gap + low + 26
    room = width - left - right
    step = room / len(buckets)
    bar = max(step * 0.78, 1.0)
    worst = max((sum(getattr(item.tally, part) for part in _DRIFTED) / item.tally.calls for item in buckets if item.tally.calls), default=0)
    most = max(item.tally.calls for item in buckets)
    scale = next(limit for limit in _TOPS if worst <= limit + 1e-9)
    base, floor = top + middle, top + middle + gap + low
    shapes = []
    for line in range(5):
        y = base - middle * line / 4
        share = f"{100 * scale * line / 4:.4g} %"
        shapes.append(f'<line class="grid" x1="{left}" x2="{width - right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        shapes.append(f'<text class="axis" x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{share}</text>')
    for place, item in enumerate(buckets):
        x = left + step * place + (step - bar) / 2
        y = float(base)
        for part in _DRIFTED:
            count = getattr(item.tally, part)
            if count:
                tall = middle * count / item.tally.calls / scale
                y -= tall
                shapes.append(f'<rect class="{part}" x="{x:.1f}" y="{y:.1f}" width="{bar:.1f}" height="{max(tall - 0.5, 0.5):.1f}"/>')
        if item.tally.calls:
            tall = max(low * item.tally.calls / most, 1.0)
            shapes.append(f'<rect class="calls" x="{x:.1f}" y="{floor - tall:.1f}" width="{bar:.1f}" height="{tall:.1f}"/>')
    shapes.append(f'<line class="base" x1="{left}" x2="{width - right}" y1="{base}" y2="{base}"/>')
    shapes.append(f'<line class="base" x1="{left}" x2="{width - right}" y1="{floor}" y2="{floor}"/>')
    shapes.append(f'<text class="axis" x="{left - 6}" y="{floor - low + 10}" text-anchor="end">{_short(most)}</text>')
    shapes.append(f'<text class="axis" x="{left - 6}" y="{floor}" text-anchor="end">calls</text>')
    is_long = buckets[0].end - buckets[0].start >= _DAY
    labels = max(min(len(buckets), width // 130), 1)
    for number in range(labels):
        place = number * (len(buckets) - 1) // max(labels - 1, 1)
        anchor = "start" if place == 0 else "end" if place == len(buckets) - 1 else "middle"
        x = left + step * place + (0 if anchor == "start" else step if anchor == "end" else step / 2)
        shapes.append(f'<text class="axis" x="{x:.1f}" y="{floor + 18}" text-anchor="{anchor}">{_moment(buckets[place], is_long)}</text>')
    span = span_text(buckets[0].end - buckets[0].start)
    said = (
        f"Each column stands for {span}, from {time_text(buckets[0].start)} to {time_text(buckets[-1].end)}. Above: the share of calls that"
        f" were mended, refused, or of an unknown tool, at most {100 * worst:.1f} %. Below: the number of calls, at most"
        f" {count_text(most)}. The numbers stand in the table that follows."
    )
    return (
        f'<svg class="chart {name}" viewBox="0 0 {width} {height}" role="img" aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">Drift over time</title><desc id="{name}-desc">{said}</desc>{"".join(shapes)}</svg>'
    )


def _moment(bucket: Bucket, is_long: bool) -> str:
    said = time_text(bucket.start)
    return said[:10] if is_long else f"{said[5:10]} {said[11:16]}"


def _short(number: int) -> str:
    """A count in few letters.

    >>> _short(950), _short(12_345), _short(3_400_000)
    ('950', '12k', '3.4M')
    """
    if number < 10_000:
        return count_text(number)
    return f"{number / 1_000:.0f}k" if number < 1_000_000 else f"{number / 1_000_000:.1f}M"
