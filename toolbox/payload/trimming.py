"""What surrounds a model's output and means nothing: byte order marks, special tokens, thoughts, code fences, markdown escapes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

__all__ = ["Fence", "fence_around", "fences_in", "trim", "unescape_markdown", "without_asides", "without_thoughts"]

_BLANK: Final = " \t\r\n\f\v\ufeff\u200b\u200c\u200d\u2060\x00"
_SPECIAL: Final = (
    r"<\|(?:end|endoftext|end_of_text|end_of_turn|eot_id|eom_id|im_end|im_sep|stop|assistant|end_header_id|begin_of_text)\|>"
    r"|</?s>|<eos>|<bos>|<end_of_turn>|<\uff5cend\u2581of\u2581sentence\uff5c>"
)
_AT_START: Final = re.compile(rf"(?:\s*+(?:{_SPECIAL}|<\|start_header_id\|>\s*+(?:assistant|ipython)?|<\|im_start\|>assistant\b))++\s*+")
_AT_END: Final = re.compile(rf"(?:{_SPECIAL})\Z")
_ESCAPED_NAME: Final = re.compile(r"(?<![\w.\\])[\w.\\]++(?=\s*+[(=:\"'`])")
_ESCAPED: Final = re.compile(r"(?<!\\)\\(?=[_*\[\]])")


_THOUGHTS: Final = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("[THINK]", "[/THINK]"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<scratchpad>", "</scratchpad>"),
)
_OTHERS: Final = "user|system|tool|function|developer|ipython|observation|environment"
# Where thoughts, results of tools, and what others say begin.
_ASIDE: Final = re.compile(
    r"<(?P<tag>think|thinking|thought|thoughts|reasoning|scratchpad|reflection|analysis|tool_results?|tool_responses?|tool_outputs?"
    r"|function_results?|function_responses?|function_outputs?|observation)>"
    rf"|\[THINK\]|\[INST\]|<\|im_start\|>\s*+(?:{_OTHERS})\b|<\|start_header_id\|>\s*+(?:{_OTHERS})\s*+<\|end_header_id\|>"
    rf"|<\|(?:{_OTHERS})\|>|<start_of_turn>(?:user|tool)\b|<\|start\|>\s*+(?:{_OTHERS}|functions\.[\w.]++)\b"
    r"|<\|channel\|>\s*+analysis\b(?![^<\n]{0,80}\bto=)"
)
_BRACKETED: Final = re.compile(r"\[/(?:THINK|INST)\]")
_TURN: Final = re.compile(r"<\|(?:im_end|im_start|eot_id|eom_id|start_header_id|assistant|end|call|return|start|channel)\|>|<end_of_turn>")
_VALUE_STARTS: Final = ("{", "[", '"', "'", "<", "`", "(")


class Fence(NamedTuple):
    """A code fence: where its body starts and ends, where it ends itself, and whether it was closed."""

    start: int
    body: int
    body_end: int
    end: int
    closed: bool


def trim(text: str) -> tuple[str, bool]:
    """The text without blanks and special tokens at both ends, and whether anything but white space was left out.

    >>> trim('{"a": 1}<|im_end|>')
    ('{"a": 1}', True)
    """
    plain = text.strip()
    result = plain.strip(_BLANK)
    if "<" in result:
        leading = _AT_START.match(result)
        if leading is not None:
            result = result[leading.end() :]
        while result.endswith(">"):
            trailing = _AT_END.search(result, max(0, len(result) - 24))
            if trailing is None:
                break
            result = result[: trailing.start()].rstrip(_BLANK)
    return result, len(result) != len(plain)


def without_thoughts(text: str) -> str:
    """The text after the model's thoughts, where it starts with some; nothing where they never end.

    >>> without_thoughts("<think>maybe {} ?</think>[]")
    '[]'
    """
    begun = text.lstrip()
    for opening, closing in _THOUGHTS:
        # Some models leave out the opening tag; a text that begins as a value holds no thoughts.
        opens = begun.startswith(opening)
        if opens or (closing in begun and begun[:1] not in _VALUE_STARTS):
            end = begun.find(closing)
            if end >= 0:
                return begun[end + len(closing) :].lstrip()
            if opens:
                return ""
    return text


def without_asides(text: str, is_inside: Callable[[int, int], bool]) -> str:
    """The text without what the model only thought, what tools gave, and what others said.

    Args:
        text: a model's output.
        is_inside: whether a mark at the second index stands inside a value that starts at or after the first one.

    >>> without_asides("a<tool_result>b</tool_result>c<|im_start|>user d<|im_end|>e", lambda start, mark: False)
    'a c e'
    """
    aside = _ASIDE.search(text)
    if aside is None:
        return text
    kept: list[str] = []
    start = scanned = 0
    while aside is not None:
        if is_inside(scanned, aside.start()):
            scanned = aside.start()
            aside = _ASIDE.search(text, aside.end())
            continue
        kept.append(text[start : aside.start()])
        closing = _closing_of(aside)
        end = closing.search(text, aside.end())
        if end is None:
            start = len(text)
            break
        start = scanned = end.start() if end.group().startswith("<|") and "end" not in end.group() else end.end()
        aside = _ASIDE.search(text, start)
    return " ".join((*kept, text[start:]))


def _closing_of(aside: re.Match[str]) -> re.Pattern[str]:
    if aside.group("tag"):
        return re.compile(rf"</{aside.group('tag')}>")
    return _BRACKETED if aside.group().startswith("[") else _TURN


def fence_around(text: str) -> str | None:
    r"""The body of the one fence that the text consists of, or None.

    >>> fence_around("```json\n{}\n```")
    '{}'
    """
    if not text.startswith("```"):
        return None
    fences = fences_in(text)
    body = fences[0].body
    if len(fences) == 1 and fences[0].end >= len(text):
        return text[body : fences[0].body_end].strip()
    # Texts in JSON may hold fences themselves.
    if text.endswith("```") and text[body : body + 1] in ("{", "["):
        return text[body:-3].strip()
    return None


def fences_in(text: str) -> list[Fence]:
    """The code fences of a text, in order; the last one may lack its end."""
    fences: list[Fence] = []
    start = text.find("```")
    if start > 0 and text.count("```") % 2 and not text[:start].isspace() and text[start + 3 : start + 4] in ("\n", ""):
        start = text.find("```", start + 3)  # the first one ends a fence that never began
    while start >= 0:
        body = _after_language(text, start + 3)
        end = text.find("```", body)
        if end < 0:
            fences.append(Fence(start, body, len(text), len(text), closed=False))
            break
        fences.append(Fence(start, body, end, end + 3, closed=True))
        start = text.find("```", end + 3)
    return fences


_LANGUAGE: Final = re.compile(r"`*[\w+#.-]*[ \t]*\r?\n|[a-z]+(?=\s*[\[{])|`*")


def _after_language(text: str, position: int) -> int:
    found = _LANGUAGE.match(text, position)
    return found.end() if found is not None else position


def unescape_markdown(text: str) -> str:
    r"""The text without the backslashes that markdown puts before underscores, where names have them.

    >>> unescape_markdown(r"get\_news(max\_items=5)")
    'get_news(max_items=5)'
    """
    if "\\_" in text and any("\\_" in found.group() for found in _ESCAPED_NAME.finditer(text)):
        return _ESCAPED.sub("", text)
    return text
