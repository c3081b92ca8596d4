"""Docstrings of all styles, tidy and untidy: the text of the tool and of its parameters."""

import pytest

from toolbox.docstrings import DocText, read_docstring

CASES = [
    ("nothing", None, "", {}),
    ("white space", "  \n ", "", {}),
    ("one line", "Search.", "Search.", {}),
    ("two paragraphs", "Search.\n\nIn all shops.", "Search.\n\nIn all shops.", {}),
    ("a colon in prose", "Search: now.\n\nNote: slow.", "Search: now.\n\nNote: slow.", {}),
    (
        "google",
        "Search.\n\nMore.\n\nArgs:\n    a: first.\n    b (int): second,\n        in two lines.",
        "Search.\n\nMore.",
        {"a": "first.", "b": "second, in two lines."},
    ),
    ("google with stars", "S.\n\nArgs:\n    *args: many.\n    **kwargs: named.", "S.", {"args": "many.", "kwargs": "named."}),
    ("google, space before the colon", "S.\n\nArgs:\n    a (list[int]) : first.\n    b : second.", "S.", {"a": "first.", "b": "second."}),
    ("google, crowded sections", "S.\n\nArgs:\n    a: first.\nReturns:\n    None: nothing.", "S.", {"a": "first."}),
    ("google attributes", "S.\n\nAttributes:\n    a: first.", "S.", {"a": "first."}),
    ("a parameter without a text", "S.\n\nArgs:\n    a: first.\n    b:", "S.", {"a": "first."}),
    (
        "numpy",
        "S.\n\nParameters\n----------\na : int\n    first.\nb\n    second,\n    in two lines.",
        "S.",
        {"a": "first.", "b": "second, in two lines."},
    ),
    (
        "reST",
        "S.\n\n:param a: first.\n:param int b: second,\n    in two lines.\n:returns: none.",
        "S.",
        {"a": "first.", "b": "second, in two lines."},
    ),
    ("Epydoc", "S.\n\n@param a: first.\n@param b: second.", "S.", {"a": "first.", "b": "second."}),
    ("returns only", "S.\n\nReturns:\n    An int.", "S.", {}),
    ("a head without a section", "S.\n\nParameters:", "S.\n\nParameters:", {}),
    ("indented", "\n    S.\n\n    Args:\n        a: first.\n    ", "S.", {"a": "first."}),
]


@pytest.mark.parametrize(("text", "summary", "parameters"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_read(text: str | None, summary: str, parameters: dict[str, str]) -> None:
    """The text before the sections is the summary, and every described parameter has its text as one paragraph."""
    assert read_docstring(text) == DocText(summary, parameters)


@pytest.mark.parametrize(
    "text", ["Args:\n    a b c", ":param:", ":param a b c d: x", "@param", "Parameters\n---", "Args:\n:", ":raises", "\0Args:\n    x: \0"]
)
def test_broken_docstrings_do_not_raise(text: str) -> None:
    """A docstring that follows no style gives what can be read of it."""
    assert isinstance(read_docstring(text).summary, str)
