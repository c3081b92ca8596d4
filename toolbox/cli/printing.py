"""What reaches the terminal or the pipe: tables, JSON, lines of text.

On a terminal rich draws; anywhere else the text is plain, unwrapped and aligned, for ``grep`` and for files. What a model sent is never
read as markup, and no control character of it gets out: it is shown as an escape.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import IO, Any, Final

from rich import box
from rich.cells import cell_len
from rich.console import Console, Group
from rich.highlighter import JSONHighlighter
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

__all__ = ["RISK_STYLES", "Cell", "Column", "Printer", "Row", "one_line", "several_lines"]

RISK_STYLES: Final = {"info": "cyan", "warning": "yellow", "risky": "red"}
_GAP: Final = "  "
_NARROW: Final = 66
"""Columns of a terminal below which the cells of a row stand below each other."""
_LONG_WORD: Final = 64
"""Longer words are no names, and may be broken."""
_BETWEEN: Final = 3
"""Columns between two columns of a table."""


def one_line(text: str) -> str:
    r"""The text with everything that cannot be printed as an escape, line breaks too.

    >>> one_line("a\x1b[31mb\nc")
    'a\\x1b[31mb\\nc'
    """
    return text if text.isprintable() else "".join(map(_printable, text))


def several_lines(text: str) -> str:
    """The same, but line breaks and tabs stay."""
    return "\n".join("\t".join(map(one_line, line.split("\t"))) for line in text.replace("\r\n", "\n").split("\n"))


def _printable(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode("ascii")


def _json_escape(found: re.Match[str]) -> str:
    return "".join(character if character.isprintable() or character == "\n" else json.dumps(character)[1:-1] for character in found[0])


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table.

    Attributes:
        text: what it says; several lines are allowed.
        style: how rich draws it.
    """

    text: str
    style: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes:
        header: its name.
        right: whether it holds numbers.
        whole: whether its words must not be broken on a narrow terminal.
    """

    header: str
    right: bool = False
    whole: bool = False


Row = Sequence[str | Cell]


class Printer:
    """Writes results to standard output, and everything about them to standard error.

    Attributes:
        out: where results go.
        err: where everything else goes.
    """

    def __init__(self) -> None:
        self.out = _console(sys.stdout)
        self.err = _console(sys.stderr)

    def line(self, text: str = "", style: str = "", *, err: bool = False, hanging: int = 0) -> None:
        """One paragraph; its control characters are shown as escapes.

        Args:
            text: what it says.
            style: how rich draws it.
            err: whether it goes to standard error.
            hanging: by how many columns the lines are set in that a terminal needs beyond the first one: as wide as the number, or the
                space, that the text begins with.
        """
        console = self.err if err else self.out
        if console.is_terminal:
            console.print(_hanging(Text(one_line(text), style=style), hanging, console))
        else:
            console.file.write(f"{one_line(text)}\n")

    def block(self, text: str, *, err: bool = False) -> None:
        """Text with its own line breaks, never wrapped."""
        console = self.err if err else self.out
        shown = several_lines(text)
        console.file.write(shown if shown.endswith("\n") else f"{shown}\n")

    def json(self, value: Any) -> None:
        """A JSON value to standard output; whatever cannot be printed, or cannot be written there, is escaped."""
        console = self.out
        ascii_only = not console.encoding.lower().startswith("utf")
        text = json.dumps(value, indent=2, ensure_ascii=ascii_only, allow_nan=False)
        # In JSON text, what cannot be printed can only stand inside a string.
        text = re.sub(r"[^ -~\n]+", _json_escape, text)
        if console.is_terminal:
            shown = Text(text)
            JSONHighlighter().highlight(shown)
            console.print(shown, soft_wrap=True)
        else:
            console.file.write(f"{text}\n")

    def table(self, columns: Sequence[Column], rows: Iterable[Row], *, total: Row | None = None, err: bool = False) -> None:
        """A table; `total` is set off below it."""
        console = self.err if err else self.out
        # A head may be a name too, such as that of a model.
        columns = [replace(column, header=one_line(column.header)) for column in columns]
        listed = [[_cell(item) for item in row] for row in rows]
        last = None if total is None else [_cell(item) for item in total]
        whole = [*listed, *([last] if last else [])]
        if console.is_terminal:
            widths = None if console.width < _NARROW else _widths(columns, whole, console.width)
            console.print(_stacked(columns, whole) if widths is None else _drawn(columns, listed, last, widths))
            return
        written = _aligned(columns, whole)
        console.file.write("".join(f"{line}\n" for line in written))


def _console(stream: IO[str]) -> Console:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    if not encoding.lower().startswith("utf") and hasattr(stream, "reconfigure"):
        # A name that the terminal has no letters for is shown as an escape and ends no command.
        stream.reconfigure(errors="backslashreplace")
    return Console(file=stream, markup=False, emoji=False, highlight=False)


def _hanging(text: Text, columns: int, console: Console) -> Text:
    """The text in lines of which all but the first one are set in."""
    if not columns or console.width < 3 * columns or text.cell_len <= console.width:
        return text
    begin, rest = text.divide([columns])
    lines = rest.wrap(console, console.width - columns)
    for line in lines:
        line.rstrip()
    return begin + Text(f"\n{' ' * columns}").join(lines)


def _cell(item: str | Cell) -> Cell:
    style, text = (item.style, item.text) if isinstance(item, Cell) else ("", item)
    return Cell("\n".join(map(one_line, text.split("\n"))), style)


def _least_widths(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> list[int]:
    """How wide each column must be so that no word of it is broken; one that is very long may be."""
    widths = []
    for index, column in enumerate(columns):
        texts = [column.header, *(row[index].text for row in rows)]
        if column.right or column.whole:
            widths.append(max(map(cell_len, texts)))
        else:
            widths.append(max((min(cell_len(word), _LONG_WORD) for text in texts for word in text.split()), default=0))
    return widths


def _widths(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], width: int) -> list[int] | None:
    """How wide each column is: the widest ones give way where there is too little room; None where words would have to be broken.

    They are all set here, since rich cuts off what is left over when columns that may not become narrower leave too little room.
    """
    room = width - _BETWEEN * (len(columns) - 1)
    least = _least_widths(columns, rows)
    if sum(least) > room:
        return None
    made = []
    for index, column in enumerate(columns):
        lines = [column.header, *(line for row in rows for line in row[index].text.split("\n"))]
        made.append(min(max(map(cell_len, lines)), room))
    while sum(made) > room:
        widest = max((index for index in range(len(made)) if made[index] > least[index]), key=made.__getitem__)
        made[widest] -= 1
    return made


def _drawn(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], total: Sequence[Cell] | None, widths: Sequence[int]) -> Table:
    table = Table(
        box=box.SIMPLE if total else box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        show_footer=total is not None,
        header_style="bold",
        footer_style="bold",
    )
    for index, column in enumerate(columns):
        table.add_column(
            Text(column.header),
            Text(total[index].text) if total is not None else "",
            justify="right" if column.right else "left",
            no_wrap=column.right or column.whole,
            width=widths[index],
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(Text(item.text, style=item.style, overflow="fold") for item in row))
    return table


def _stacked(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> Group:
    """The rows one below the other, each cell after the name of its column."""
    drawn: list[Padding | Text] = []
    for row in rows:
        drawn.append(Text(row[0].text, style=row[0].style or "bold"))
        for column, cell in zip(columns[1:], row[1:], strict=True):
            lines = cell.text.split("\n")
            if len(lines) == 1 and cell.text:
                drawn.append(Padding(Text.assemble(f"{column.header}: ", (cell.text, cell.style)), (0, 0, 0, 2)))
            elif cell.text:
                drawn.append(Padding(Text(f"{column.header}:"), (0, 0, 0, 2)))
                drawn += [Padding(Text(line, style=cell.style), (0, 0, 0, 4)) for line in lines]
    return Group(*drawn)


def _aligned(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> list[str]:
    texts = [[column.header for column in columns], *([item.text.replace("\n", "; ") for item in row] for row in rows)]
    widths = [max(cell_len(row[index]) for row in texts) for index in range(len(columns))]
    lines = []
    for row in texts:
        padded = []
        for text, column, width in zip(row, columns, widths, strict=True):
            space = " " * (width - cell_len(text))
            padded.append(space + text if column.right else text + space)
        lines.append(_GAP.join(padded).rstrip())
    return lines
