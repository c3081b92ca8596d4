"""A handful of registered tools, as far as finding calls needs them."""

from collections.abc import Collection, Sequence

import pytest

from toolbox.payload import KnownTools

PARAMETERS = {
    "get_weather": (["city", "days"], ["city"]),
    "send_mail": (["to", "text", "urgent"], ["to", "text"]),
    "math.add": (["a", "b"], ["a", "b"]),
    "ping": ([], []),
    "store": (["data"], ["data"]),
}


class SampleTools:
    """Names are resolved without case and separators, with the prefixes that models put before them."""

    def resolve(self, name: str) -> str | None:
        plain = name.removeprefix("functions.").removeprefix("default_api.")
        spelt = {_letters(known): known for known in PARAMETERS}
        return plain if plain in PARAMETERS else spelt.get(_letters(plain)) or spelt.get(_letters(plain.rpartition(".")[2]))

    def parameters(self, name: str) -> Sequence[str]:
        return PARAMETERS[name][0]

    def required(self, name: str) -> Collection[str]:
        return PARAMETERS[name][1]

    def takes_any(self, name: str) -> bool:
        return name == "anything"


def _letters(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


@pytest.fixture
def tools() -> KnownTools:
    """The sample tools."""
    return SampleTools()
