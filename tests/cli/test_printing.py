"""How tables are laid out on terminals of different widths."""

import io

import pytest
from rich.console import Console

from toolbox.cli.printing import Column, Printer

COLUMNS = (Column("tool"), Column("parameter"), Column("calls", right=True), Column("for example"))
ROW = ("search_products", "max_results_per_page", "1,234", "the word ascending and some more")


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("width", "is_stacked"), [(50, True), (72, False), (80, False), (140, False), (60, True)])
def test_no_word_is_broken_where_the_rows_can_stand_below_each_other(width: int, is_stacked: bool) -> None:
    """A table is drawn where every word of it has room; else the cells stand below each other, whole."""
    stream = _Terminal()
    printer = Printer()
    printer.out = Console(file=stream, width=width, force_terminal=True, color_system=None)
    printer.table(COLUMNS, [ROW])
    shown = stream.getvalue()
    assert ("─" not in shown) is is_stacked
    assert all(word in shown for cell in ROW for word in cell.split())


def test_a_table_that_would_break_names_is_stacked() -> None:
    """Also on a terminal that is wide enough for tables with shorter names."""
    stream = _Terminal()
    printer = Printer()
    printer.out = Console(file=stream, width=80, force_terminal=True, color_system=None)
    printer.table([Column(f"column {number}") for number in range(5)], [["a_name_of_22_characters"] * 5])
    assert "─" not in stream.getvalue()
    assert stream.getvalue().count("a_name_of_22_characters") == 5


@pytest.mark.parametrize("width", range(66, 130, 7))
def test_nothing_is_cut_off_at_any_width(width: int) -> None:
    """Long names stand whole, and every word of the other cells is there, whichever layout the width allows."""
    stream = _Terminal()
    printer = Printer()
    printer.out = Console(file=stream, width=width, force_terminal=True, color_system=None)
    columns = [Column("tool"), Column("calls", right=True), Column("as they are", right=True), Column("most frequent drift")]
    row = ("search_products_in_the_catalogue", "100", "0 %", "api_key: dropped, 20 of them")
    printer.table(columns, [row])
    shown = stream.getvalue()
    assert all(word in shown for cell in row for word in cell.split())
    assert all(len(line) <= width for line in shown.splitlines())


@pytest.mark.parametrize("width", [0, 40, 200])
def test_no_control_character_gets_out_of_a_table(width: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither from its cells nor from its heads, on a terminal of any width or in a pipe."""
    stream = _Terminal()
    printer = Printer()
    if width:
        printer.out = Console(file=stream, width=width, force_terminal=True, color_system=None)
    hostile = "a\x1b[31mb\u202ec\r\x07"
    printer.table([Column(hostile), Column(f"{hostile}d", right=True)], [(hostile, hostile)], total=(hostile, hostile))
    shown = stream.getvalue() + capsys.readouterr().out
    assert "\\x1b[31mb\\u202ec\\r\\x07" in shown
    assert all(character.isprintable() or character == "\n" for character in shown)


LONG = "1. description: say that the number of passengers is a JSON number, e.g. 2, and not text in quotes " + "x" * 90


@pytest.mark.parametrize("width", [20, 40, 80, 300])
def test_a_paragraph_with_a_hanging_indent(width: int) -> None:
    """Where it needs more lines than one, they begin below the words of the first; nothing is lost, and no line is too long."""
    stream = _Terminal()
    printer = Printer()
    printer.out = Console(file=stream, width=width, force_terminal=True, color_system=None)
    printer.line(LONG, "red", hanging=3)
    first, *others = stream.getvalue().splitlines()
    assert first.startswith("1. desc")
    assert bool(others) is (width < 200)
    assert all(line.startswith("   ") and line[3] != " " for line in others)
    assert all(line == line.rstrip() and len(line) <= width for line in (first, *others))
    assert "".join("".join((first, *others)).split()) == "".join(LONG.split())


@pytest.mark.parametrize("width", [1, 5, 8])
def test_no_hanging_indent_where_there_is_no_room(width: int) -> None:
    """On a terminal of a few columns every one of them is used."""
    stream = _Terminal()
    printer = Printer()
    printer.out = Console(file=stream, width=width, force_terminal=True, color_system=None)
    printer.line(LONG, hanging=3)
    assert "".join(stream.getvalue().split()) == "".join(LONG.split())


def test_a_pipe_gets_a_paragraph_as_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """It is searched there, and wrapped by whoever reads it."""
    Printer().line(LONG, "red", hanging=3)
    assert capsys.readouterr().out == f"{LONG}\n"
