"""Names from elsewhere: legal for every provider, unique, and the same whatever stands beside them."""

import pytest

from toolbox.sources.names import parameter_name, tool_name, unique_names

# What the source calls it, and its name as a parameter and as a tool.
NAMES = [
    ("limit", "limit", "limit"),
    ("_private", "_private", "_private"),
    ("max-results", "max_results", "max-results"),
    ("X-Request-ID", "X_Request_ID", "X-Request-ID"),
    ("files.read", "files_read", "files_read"),
    ("filter[status]", "filter_status", "filter_status"),
    ("$filter", "filter", "filter"),
    ("2fa", "_2fa", "_2fa"),
    ("-flag", "flag", "flag"),
    ("GET /pets/{petId}", "GET_pets_petId", "GET_pets_petId"),
    ("Größe", "Gro_e", "Gro_e"),
    ("naïve café", "naive_cafe", "naive_cafe"),
    ("名前", "", ""),
    ("", "", ""),
    ("a\nb", "a_b", "a_b"),
]


@pytest.mark.parametrize(("text", "parameter", "tool"), NAMES)
def test_names_are_legal(text: str, parameter: str, tool: str) -> None:
    """What is legal stays as it is; of the rest only what is legal is left."""
    assert parameter_name(text) == parameter
    assert tool_name(text) == tool


def test_names_are_unique_and_short() -> None:
    """The one that had a name from the beginning keeps it; the others, and those that are too long, end in a digest."""
    made = unique_names([("a_b", "a.b"), ("a_b", "a_b"), ("a_b", "a/b"), ("", "名前"), ("c", "c"), ("x" * 80, "x" * 80)])
    assert made[1] == "a_b"
    assert made[4] == "c"
    assert len({*made}) == len(made)
    assert all(0 < len(name) <= 64 for name in made)
    assert made[0].startswith("a_b_")
    assert made[3].startswith("unnamed_")


def test_a_name_does_not_depend_on_the_order() -> None:
    """The same wishes in another order get the same names."""
    wishes = [("a", "a."), ("a", "a/"), ("b", "b"), ("a" * 70, "a" * 70)]
    forth, back = unique_names(wishes), unique_names(wishes[::-1])
    assert forth == back[::-1]


def test_a_digest_is_never_taken_twice() -> None:
    """Even the same wish for the same thing gets another name, and so does one that looks like a digest."""
    first = unique_names([("a", "a."), ("a", "a/")])[0]
    made = unique_names([("a", "a."), ("a", "a."), ("a", "a/"), (first, first)])
    assert len({*made}) == 4
    assert made[3] == first
