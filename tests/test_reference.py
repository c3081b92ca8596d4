"""The API reference says what the code says: signatures, arguments, fields and members."""

import dataclasses
import enum
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import toolbox
import toolbox.audit.report
import toolbox.audit.store
import toolbox.providers
import toolbox.recovery
import toolbox.recovery.review
import toolbox.replaying
import toolbox.sources
import toolbox.testing
from toolbox.providers import streaming, turns

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "api.md"
PLACES = (
    toolbox,
    toolbox.audit.store,
    toolbox.audit.report,
    toolbox.providers,
    toolbox.recovery,
    toolbox.recovery.review,
    toolbox.replaying,
    toolbox.sources,
    toolbox.testing,
    turns,
    streaming,
)
SECTION = re.compile(r"^### `(\w+)`\n(.*?)(?=^##? |^### |\Z)", re.MULTILINE | re.DOTALL)
MEMBER = re.compile(r"^#### `(?:\w+)?\.(\w+)(?:\(\))?`\n(.*?)(?=^####? |\Z)", re.MULTILINE | re.DOTALL)
SECTIONS = SECTION.findall(PAGE.read_text("utf-8"))
# Written otherwise than the code has it: what a generator becomes by its decorator.
WRITTEN = {"Iterator[CapturedCalls]": "ContextManager[CapturedCalls]"}
# What is only returned: the reference shows of it what its readers use.
SHOWN_IN_PART = {"CallStream", "Turn"}


def _rows(text: str, head: str) -> list[str]:
    """The first cells of the table whose head begins so."""
    table = re.search(rf"^\| {head} \|.*\n\|[-|]+\|\n((?:\|.*\n?)+)", text, re.MULTILINE)
    return re.findall(r"^\| `(\w+)`", table[1], re.MULTILINE) if table else []


def _default(value: Any) -> str:
    if isinstance(value, toolbox.Policy):
        return value.name.upper()
    if value is toolbox.ABSENT:
        return "ABSENT"
    return f"{type(value).__name__}.{value.name}" if isinstance(value, enum.Enum) else repr(value)


def _signature(name: str, thing: Any) -> str:
    """The signature in one line, without what is bound and with the names of presets."""
    signature = inspect.signature(thing)
    words: list[str] = []
    kind = None
    for parameter in signature.parameters.values():
        if parameter.name == "self":
            continue
        if kind is inspect.Parameter.POSITIONAL_ONLY and parameter.kind is not kind:
            words.append("/")
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and kind is not parameter.kind:
            words.append("*")
        kind = parameter.kind
        stars = "**" if kind is inspect.Parameter.VAR_KEYWORD else ""
        default = "" if parameter.default is parameter.empty else f" = {_default(parameter.default)}"
        words.append(f"{stars}{parameter.name}: {parameter.annotation}{default}")
    if kind is inspect.Parameter.POSITIONAL_ONLY:
        words.append("/")
    gives = str(signature.return_annotation)
    return f"{name}({', '.join(words)})" + ("" if inspect.isclass(thing) else f" -> {WRITTEN.get(gives, gives)}")


def _check(name: str, thing: Any, text: str) -> None:
    """What one section says of one thing."""
    shown = re.search(r"^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    if shown:
        line = re.sub(r",? \)", ")", re.sub(r"\( ", "(", " ".join(shown[1].split())))
        assert line == _signature(name, thing)
    elif inspect.isroutine(thing):
        pytest.fail(f"{name} is shown without its signature")
    arguments = _rows(text, "argument")
    if arguments:
        assert arguments == [item for item in inspect.signature(thing).parameters if item != "self"]
    if inspect.isclass(thing) and issubclass(thing, enum.Enum):
        members = re.findall(r"^\| `(\w+)` \| `'?(\w+)'?`", text, re.MULTILINE)
        assert members == [(item.name, str(item.value)) for item in thing]


@pytest.mark.parametrize(("name", "text"), SECTIONS, ids=[name for name, _ in SECTIONS])
def test_the_reference_is_the_code(name: str, text: str) -> None:
    """Signatures, arguments and members are those of the code, and no field, property or method is missing or made up."""
    thing: Any = next(getattr(place, name) for place in PLACES if hasattr(place, name))
    members = MEMBER.findall(text)
    _check(name, thing, text.split("\n#### ", maxsplit=1)[0])
    for member, part in members:
        _check(member, getattr(thing, member), part)
    if not inspect.isclass(thing) or issubclass(thing, enum.Enum):
        return
    fields = {item.name for item in dataclasses.fields(thing)} if dataclasses.is_dataclass(thing) else set()
    listed = set(_rows(text, "field")) | {member for member, _ in members}
    public = {item for item in fields | set(vars(thing)) if not item.startswith("_")}
    assert name in SHOWN_IN_PART or not public - listed, f"{name}: {sorted(public - listed)} is not in the reference"
    if fields:
        assert not listed - public, f"{name}: {sorted(listed - public)} is only in the reference"


def test_the_sections_are_found() -> None:
    """The page is read as it is meant: its public names are among the sections, and each only once."""
    names = [name for name, _ in SECTIONS]
    assert len(set(names)) == len(names)
    assert set(toolbox.__all__) <= set(names)
