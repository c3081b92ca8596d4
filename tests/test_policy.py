"""Policies: presets, names, tightening."""

import itertools
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import pytest

from toolbox.diagnostics import Risk
from toolbox.matching import MatchLevel
from toolbox.policy import (
    ABSORBING,
    LENIENT,
    PRESETS,
    STRICT,
    CoercionLevel,
    Limits,
    Missing,
    OnFailure,
    Policy,
    RepairLevel,
    Unknown,
)

SWITCHES = ["coercion", "unknown", "missing", "failures", "max_risk", "matching", "repair"]
TABLE = {
    STRICT: (CoercionLevel.EXACT, Unknown.FORBID, Missing.ERROR, OnFailure.RAISE, Risk.INFO, MatchLevel.EXACT, RepairLevel.NONE),
    ABSORBING: (
        CoercionLevel.SAFE_WIDENING,
        Unknown.PRESERVE,
        Missing.ERROR,
        OnFailure.COLLECT,
        Risk.INFO,
        MatchLevel.CASE,
        RepairLevel.EXTRACT,
    ),
    LENIENT: (
        CoercionLevel.BEST_EFFORT,
        Unknown.DROP,
        Missing.DEFAULT,
        OnFailure.COLLECT,
        Risk.WARNING,
        MatchLevel.TOKEN,
        RepairLevel.CLOSE,
    ),
}


@pytest.mark.parametrize(("preset", "values"), TABLE.items(), ids=lambda item: getattr(item, "name", ""))
def test_presets(preset: Policy, values: tuple[Any, ...]) -> None:
    """The presets are what the table says, and each is as loose as the one before it or looser."""
    assert tuple(getattr(preset, name) for name in SWITCHES) == values


def test_default_limits() -> None:
    """The limits are those that are promised."""
    assert Limits() == Limits(text=1_048_576, depth=64, nodes=100_000, integer_digits=4_300, repair_text=65_536)


@pytest.mark.parametrize(("name", "preset"), [("strict", STRICT), (" Absorbing ", ABSORBING), ("LENIENT", LENIENT)])
def test_from_name(name: str, preset: Policy) -> None:
    """A preset is found by its name in any case."""
    assert Policy.from_name(name) is preset
    assert Policy.from_environment({"TOOLBOX_POLICY": name}) is preset


def test_unknown_name() -> None:
    """An unknown name is an error that lists the names, from the environment too."""
    words = r"there is no policy named 'nice'; the names are strict, absorbing, lenient"
    with pytest.raises(ValueError, match=words):
        Policy.from_name("nice")
    with pytest.raises(ValueError, match=words):
        Policy.from_environment({"TOOLBOX_POLICY": "nice"})


@pytest.mark.parametrize("environment", [{}, {"TOOLBOX_POLICY": ""}, {"TOOLBOX_POLICY": "  "}])
def test_without_a_variable(environment: dict[str, str]) -> None:
    """Without the variable the policy is LENIENT."""
    assert Policy.from_environment(environment) is LENIENT


def test_from_the_real_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable of the process counts."""
    monkeypatch.setenv("TOOLBOX_POLICY", "strict")
    assert Policy.from_environment() is STRICT


@pytest.mark.parametrize(("one", "other"), list(itertools.product(PRESETS.values(), repeat=2)), ids=lambda policy: policy.name)
def test_tightening_takes_the_stricter_of_each_switch(one: Policy, other: Policy) -> None:
    """Tightening never loosens, whichever way round, and is named after the preset that it is."""
    both = one.tightened(other)
    assert both == other.tightened(one)
    for item in fields(Policy):
        if item.name not in ("limits", "name"):
            assert getattr(both, item.name) == min(getattr(one, item.name), getattr(other, item.name))
    assert both.tightened(one) == both
    if both == other:
        assert both.name == other.name


def test_limits_tighten() -> None:
    """Each limit is the smaller one."""
    one, other = replace(LENIENT, limits=Limits(text=10, depth=5)), replace(LENIENT, limits=Limits(text=5, depth=10))
    both = one.tightened(other).limits
    assert (both.text, both.depth, both.nodes) == (5, 5, 100_000)


def test_a_policy_is_a_value() -> None:
    """Policies are immutable, and compared by what they allow and not by their names."""
    assert LENIENT.named("mine") == LENIENT
    assert LENIENT.named("mine").name == "mine"
    assert hash(LENIENT.named("mine")) == hash(LENIENT)
    assert replace(LENIENT, max_risk=Risk.RISKY) != LENIENT
    with pytest.raises(FrozenInstanceError):
        LENIENT.max_risk = Risk.RISKY  # type: ignore[misc]
