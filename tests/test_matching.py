"""Matching of texts to choices and names: a table of cases, then laws."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolbox.diagnostics import Risk
from toolbox.errors import AmbiguousMatch, NoMatch
from toolbox.matching import ChoiceIndex, Match, MatchLevel, NameIndex, closest, fuzzy_match_enum, normalise, tokens

EXACT, CASE, SEPARATOR, PREFIX, TOKEN, SUBSTRING, TYPO = MatchLevel
INFO, WARNING, RISKY = Risk.INFO, Risk.WARNING, Risk.RISKY

SORT = ["asc", "desc"]
SPELT = ["ascending", "descending"]
REGION = ["us-east-1", "us-west-2", "eu-central-1"]
PRIORITY = ["low", "medium", "high"]
STATUS = ["active", "inactive", "pending"]
SWITCH = ["on", "off", "none"]
ACCESS = ["allow", "disallow", "deny"]
LOG = ["debug", "info", "warning", "error", "critical"]
DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
STOCK = ["in_stock", "out_of_stock"]
MONEY = ["USD", "AUD", "EUR", "CAD"]
LANDS = ["United States", "United Kingdom", "South Korea", "North Korea"]
MODELS = ["gpt-4", "gpt-4-turbo", "gpt-3.5"]
VENDORS = ["anthropic", "openai"]
ROLES = ["user", "admin", "super_admin"]

MATCHES = [
    (SORT, "asc", "asc", EXACT, None),
    (SORT, "DESC", "desc", CASE, INFO),
    (SORT, " Asc ", "asc", CASE, INFO),
    (SORT, "asc.", "asc", CASE, INFO),
    (SORT, "asc,", "asc", CASE, INFO),
    (SORT, '"asc"', "asc", CASE, INFO),
    (SORT, '"asc".', "asc", CASE, INFO),
    (SORT, "`DESC`", "desc", CASE, INFO),
    (SORT, "**desc**", "desc", CASE, INFO),
    (SORT, "\u201cdesc\u201d", "desc", CASE, INFO),
    (SORT, "desc\n", "desc", CASE, INFO),
    (SORT, "\ufeffdesc", "desc", CASE, INFO),
    (SORT, "ASCENDING", "asc", PREFIX, WARNING),
    (SORT, "ascending", "asc", PREFIX, WARNING),
    (SORT, "ascend", "asc", PREFIX, WARNING),
    (SORT, "ascending order", "asc", PREFIX, WARNING),
    (SORT, "sort asc", "asc", TOKEN, WARNING),
    (SORT, "sort=asc", "asc", TOKEN, WARNING),
    (SORT, "order: desc", "desc", TOKEN, WARNING),
    (SORT, "sort descending", "desc", TOKEN, WARNING),
    (SORT, "sortOrder: descending", "desc", TOKEN, WARNING),
    (SORT, "desc order", "desc", PREFIX, WARNING),
    (SORT, "d", "desc", PREFIX, RISKY),
    (SPELT, "asc", "ascending", PREFIX, WARNING),
    (SPELT, "sort desc", "descending", TOKEN, WARNING),
    (REGION, "us-east", "us-east-1", PREFIX, INFO),
    (REGION, "east us", "us-east-1", TOKEN, WARNING),
    (REGION, "US East 1", "us-east-1", SEPARATOR, INFO),
    (REGION, "useast1", "us-east-1", SEPARATOR, INFO),
    (REGION, "UsEast1", "us-east-1", SEPARATOR, INFO),
    (REGION, "us.east.1", "us-east-1", SEPARATOR, INFO),
    (REGION, "US_EAST_1.", "us-east-1", SEPARATOR, INFO),
    (REGION, "region us-west-2", "us-west-2", TOKEN, WARNING),
    (REGION, "eu", "eu-central-1", PREFIX, INFO),
    (REGION, "us-east-1a", "us-east-1", PREFIX, RISKY),
    (PRIORITY, "LOW", "low", CASE, INFO),
    (PRIORITY, "Med", "medium", PREFIX, WARNING),
    (PRIORITY, "high priority", "high", PREFIX, WARNING),
    (PRIORITY, "priority high", "high", TOKEN, WARNING),
    (PRIORITY, "(high)", "high", PREFIX, INFO),
    (PRIORITY, "high (urgent)", "high", PREFIX, WARNING),
    (PRIORITY, "as high as possible", "high", TOKEN, WARNING),
    (PRIORITY, "m", "medium", PREFIX, RISKY),
    (STATUS, "Active!", "active", CASE, INFO),
    (STATUS, "in-active", "inactive", SEPARATOR, INFO),
    (STATUS, "is active", "active", TOKEN, WARNING),
    (STATUS, "Inactive account", "inactive", PREFIX, WARNING),
    (SWITCH, "ON", "on", CASE, INFO),
    (SWITCH, "turn on", "on", TOKEN, WARNING),
    (SWITCH, "turn off", "off", TOKEN, WARNING),
    (SWITCH, "no", "none", PREFIX, RISKY),
    (ACCESS, "allowed", "allow", PREFIX, WARNING),
    (ACCESS, "disallowed", "disallow", PREFIX, WARNING),
    (ACCESS, "allow everyone", "allow", PREFIX, WARNING),
    (["include", "exclude"], "exclude archived", "exclude", PREFIX, WARNING),
    (["include", "exclude"], "included", "include", PREFIX, WARNING),
    (["public", "private"], "pub", "public", PREFIX, WARNING),
    (["enabled", "disabled"], "disable", "disabled", PREFIX, WARNING),
    (LOG, "WARN", "warning", PREFIX, WARNING),
    (LOG, "errors", "error", PREFIX, WARNING),
    (LOG, "DEBUG level", "debug", PREFIX, WARNING),
    (LOG, "level: info", "info", TOKEN, WARNING),
    (LOG, "eror", "error", TYPO, RISKY),
    (LOG, "crtiical", "critical", TYPO, RISKY),
    (DAYS, "Thurs", "thursday", PREFIX, WARNING),
    (DAYS, "next Monday", "monday", TOKEN, WARNING),
    (DAYS, "mo", "monday", PREFIX, RISKY),
    (DAYS, "Sunday's", "sunday", PREFIX, WARNING),
    (STOCK, "InStock", "in_stock", SEPARATOR, INFO),
    (STOCK, "out of stock", "out_of_stock", SEPARATOR, INFO),
    (STOCK, "currently in stock", "in_stock", TOKEN, WARNING),
    (MONEY, "eur (Euro)", "EUR", PREFIX, WARNING),
    (MONEY, "UDS", "USD", TYPO, RISKY),
    (LANDS, "The United States", "United States", TOKEN, WARNING),
    (LANDS, "united states of america", "United States", PREFIX, WARNING),
    (LANDS, "Korea South", "South Korea", TOKEN, WARNING),
    (LANDS, "South Korean", "South Korea", PREFIX, WARNING),
    (MODELS, "gpt4", "gpt-4", SEPARATOR, INFO),
    (MODELS, "GPT-4 Turbo", "gpt-4-turbo", SEPARATOR, INFO),
    (MODELS, "gpt-4-turbo-preview", "gpt-4-turbo", PREFIX, WARNING),
    (MODELS, "turbo", "gpt-4-turbo", TOKEN, WARNING),
    (VENDORS, "open ai", "openai", SEPARATOR, INFO),
    (VENDORS, "OpenAI GPT", "openai", PREFIX, WARNING),
    (VENDORS, "thropic", "anthropic", SUBSTRING, RISKY),
    (ROLES, "superadmin", "super_admin", SEPARATOR, INFO),
    (ROLES, "super admin account", "super_admin", PREFIX, WARNING),
    (ROLES, "the super admin", "super_admin", TOKEN, WARNING),
    (["ascending"], "ascnding", "ascending", TYPO, RISKY),
    (["female", "male"], "females", "female", PREFIX, WARNING),
    (["annual"], "annually", "annual", PREFIX, WARNING),
    (["caf\u00e9"], "cafe\u0301", "caf\u00e9", CASE, INFO),
    (["cafe\u0301"], "CAF\u00c9", "cafe\u0301", CASE, INFO),
    (["stra\u00dfe"], "STRASSE", "stra\u00dfe", CASE, INFO),
    (["\u9ad8", "\u4f4e"], "\u9ad8\u4f18\u5148\u7ea7", "\u9ad8", PREFIX, RISKY),
    (["1", "2", "10"], "page 2", "2", TOKEN, WARNING),
    (["1", "2", "10"], "10 items", "10", PREFIX, RISKY),
    (["1", "2", "10"], "2nd", "2", PREFIX, RISKY),
    (["v1.4", "v1.3"], "V1_4", "v1.4", SEPARATOR, INFO),
    (["A", "A-", "A+"], "a-", "A-", CASE, INFO),
    (["", "x"], "", "", EXACT, None),
    (["High", "high", "HIGH"], "high", "high", EXACT, None),
    (["user_id", "userId"], "userId", "userId", EXACT, None),
    (["high", "very high"], "very high priority", "very high", PREFIX, WARNING),
    (["non-smoking", "smoking"], "non smoking room", "non-smoking", PREFIX, WARNING),
]

REFUSALS = [
    (SORT, "rising"),
    (SORT, "reverse asc"),
    (SORT, "desc -> asc"),
    (REGION, "us-east-10"),
    (REGION, "us-east-3"),
    (REGION, "1a"),
    (PRIORITY, "not high"),
    (PRIORITY, "Not High"),
    (PRIORITY, "high, not low"),
    (PRIORITY, "anything but high"),
    (PRIORITY, "all but high"),
    (PRIORITY, "other than high"),
    (PRIORITY, "rather than high"),
    (PRIORITY, "instead of high"),
    (PRIORITY, "opposite of high"),
    (PRIORITY, "isn't high"),
    (PRIORITY, "isn\u2019t high"),
    (PRIORITY, "isnt high"),
    (PRIORITY, "don't set high"),
    (PRIORITY, "without high"),
    (PRIORITY, "except high"),
    (PRIORITY, "excluding high"),
    (PRIORITY, "never high"),
    (PRIORITY, "non high"),
    (PRIORITY, "!high"),
    (PRIORITY, ""),
    (PRIORITY, "   "),
    (PRIORITY, "..."),
    (["", "x"], " "),
    (["active"], "inactive"),
    # what is said to be open
    (["approve", "deny"], "maybe approve"),
    (["approve", "deny"], "approve if cheap"),
    (["approve", "deny"], "approve later"),
    (["approve", "deny"], "wait to approve"),
    (["spam", "ham"], "likely spam"),
    (["paid", "unpaid"], "partially paid"),
    (["shipped", "lost"], "shipped when paid"),
    (["approval", "denial"], "pending approval"),
    (["active"], "in active"),
    (["active"], "un-active"),
    (["active"], "isn't active"),
    (["active"], "deactivated"),
    (["paid"], "unpaid"),
    (["paid"], "prepaid"),
    (["paid"], "pre-paid"),
    (["used"], "unused"),
    (["annual"], "semiannual"),
    (["annual"], "semi-annual"),
    (["annual"], "bi annual"),
    (["safe"], "unsafe"),
    (["safe"], "un safe"),
    (["stop"], "non-stop"),
    (["stop"], "nonstop"),
    (["non-smoking"], "smoking"),
    (["non-smoking"], "smoking room"),
    (["no_smoking"], "smoking"),
    (["sugar"], "sugar-free"),
    (["sugar"], "sugarfree"),
    (["sugar-free"], "sugar"),
    (["care"], "careless"),
    (["careless"], "care"),
    (["can"], "cannot"),
    (["with"], "without"),
    (["log"], "logout"),
    (["time"], "time out"),
    (["increase"], "decrease"),
    (["include"], "exclude"),
    (["internal"], "external"),
    (["import"], "export"),
    (["ascending"], "descending"),
    (["enabled"], "not enabled"),
    (["enabled"], "enabled=false"),
    (["allow"], "disallow"),
    (["allow"], "not allowed"),
    (["legal"], "illegal"),
    (["used_items"], "unused_items"),
    (STOCK, "stock"),
    (["v1.3"], "v1.4"),
    (["v1.4"], "v14"),
    (["v14"], "v1.4"),
    (["10"], "100"),
    (["100"], "10"),
    (["model 35"], "model 3"),
    (["model 3"], "model 35"),
    (["model 3 5"], "model 3"),
    (["gpt-4"], "gpt-4.1"),
    (["gpt-4.1"], "gpt-4"),
    (["item1"], "item2"),
    (["1"], "-1"),
    (["1"], "1.5"),
    (["15"], "1.5"),
    (["1"], "01"),
    (["A", "B"], "B-"),
    (["A", "B"], "B+"),
    (["C", "Java"], "C++"),
    (["C", "Java"], "C#"),
    (["utc-5"], "utc+5"),
    (["created"], "-created"),
    (["<", ">"], "<="),
    (["us", "uk"], "un"),
    (PRIORITY, "x" * 300),
    (["high"], "high " * 60),
]

AMBIGUOUS = [
    (["center", "central"], "cen", ["center", "central"]),
    (["asc", "all"], "a", ["asc", "all"]),
    (SORT, "asc or desc", SORT),
    (SORT, "sort asc or desc", SORT),
    (SPELT, "ascending or desc", SPELT),
    (REGION, "us", ["us-east-1", "us-west-2"]),
    (PRIORITY, "medium-high", ["medium", "high"]),
    (SWITCH, "on/off", ["on", "off"]),
    (ACCESS, "allow or deny", ["allow", "deny"]),
    (MODELS, "gpt", MODELS),
    (LANDS, "united", ["United States", "United Kingdom"]),
    (LANDS, "korea", ["South Korea", "North Korea"]),
    (DAYS, "t", ["tuesday", "thursday"]),
    (DAYS, "monday to friday", ["monday", "friday"]),
    (MONEY, "USD or EUR", ["USD", "EUR"]),
    (ROLES, "user or admin", ["user", "admin"]),
    (["High", "high"], "HIGH", ["High", "high"]),
    (["user_id", "userId"], "user id", ["user_id", "userId"]),
    (["cat", "car"], "caz", ["cat", "car"]),
]


SWITCHES = ["enabled", "disabled"]
COMMANDS = ["start", "stop", "cancel"]
FILES = ["read", "write"]

# What is left over beside a match: choices, value, choice, level, risk.
LEFTOVERS = [
    # Words left over in the value are a warning, words left over in the choice are none.
    (["insulin"], "insulin glargine", "insulin", PREFIX, WARNING),
    (["once", "twice"], "once daily", "once", PREFIX, WARNING),
    (["mg", "g"], "MG daily", "mg", PREFIX, WARNING),
    (["python 2"], "python", "python 2", PREFIX, INFO),
    (["low priority", "high priority"], "high", "high priority", PREFIX, INFO),
    (["R&D", "HR"], "R&D department", "R&D", PREFIX, WARNING),
    (SORT, "order == desc", "desc", TOKEN, WARNING),
    # The end of a choice that says something else with the word after it.
    (["yes", "no"], "no problem", "no", PREFIX, RISKY),
    (SWITCH, "on hold", "on", PREFIX, RISKY),
    (SWITCH, "off-peak", "off", PREFIX, RISKY),
    (["on_hold", "sold"], "on", "on_hold", PREFIX, RISKY),
    # A symbol adorns a choice; it is no part of a value.
    (["\U0001f534 High", "\U0001f7e2 Low"], "high", "\U0001f534 High", PREFIX, WARNING),
    (["\u26a0\ufe0f High", "Low"], "high", "\u26a0\ufe0f High", PREFIX, WARNING),
    # What touches or follows a number makes another measure, model or version.
    (["5", "10"], "5 k", "5", PREFIX, RISKY),
    (["5", "10"], "5k", "5", PREFIX, RISKY),
    (["gpt-4"], "gpt-4o", "gpt-4", PREFIX, RISKY),
    (["gpt-4o"], "gpt-4", "gpt-4o", PREFIX, RISKY),
    (["gpt-4"], "gpt-4-turbo", "gpt-4", PREFIX, RISKY),
    (["gpt-4-turbo"], "gpt-4", "gpt-4-turbo", PREFIX, WARNING),
    (["\u00bd", "2"], "\u00bd cup", "\u00bd", PREFIX, RISKY),
    # A word like these that is a choice itself.
    (COMMANDS, "stop", "stop", EXACT, None),
    (COMMANDS, "Cancel.", "cancel", CASE, INFO),
    (COMMANDS, "stop now", "stop", PREFIX, WARNING),
    (COMMANDS, "please stop", "stop", TOKEN, WARNING),
    (COMMANDS, "canc", "cancel", PREFIX, WARNING),
    (COMMANDS, "cancle", "cancel", TYPO, RISKY),
    (["delete", "create"], "del", "delete", PREFIX, WARNING),
    (SWITCHES, "disabled now", "disabled", PREFIX, WARNING),
    (["before", "after"], "After", "after", CASE, INFO),
    (["w/o", "with"], "W/O", "w/o", CASE, INFO),
    (["in_progress", "done"], "in progress", "in_progress", SEPARATOR, INFO),
    (["female", "male"], "fe-male", "female", SEPARATOR, INFO),
    (["typical"], "a typical", "typical", TOKEN, WARNING),
    # A prefix that is a word too turns round only with a hyphen.
    (["draft", "published"], "post published", "published", TOKEN, WARNING),
    (PRIORITY, "re: high", "high", TOKEN, WARNING),
    (["post-paid", "free"], "post paid", "post-paid", SEPARATOR, INFO),
    (["post-paid", "free"], "post-paid plan", "post-paid", PREFIX, WARNING),
    # Qualifiers make another name or grade.
    (["high", "very low"], "very high", "high", TOKEN, RISKY),
    (["very high", "low"], "high", "very high", TOKEN, RISKY),
    (["Korea", "Japan"], "North Korea", "Korea", TOKEN, RISKY),
    (["Korea", "Japan"], "Korea, South", "Korea", PREFIX, RISKY),
    (["Korea", "Japan"], "Republic of Korea", "Korea", TOKEN, WARNING),
    (["Korea", "Republic of China"], "Republic of Korea", "Korea", TOKEN, RISKY),
    (["York"], "New York", "York", TOKEN, RISKY),
    (["super_admin", "user"], "admin", "super_admin", TOKEN, RISKY),
    (REGION, "us-gov-east-1", "us-east-1", TOKEN, RISKY),
    (["us-gov-east-1"], "us-east-1", "us-gov-east-1", TOKEN, RISKY),
    (FILES, "reading", "read", PREFIX, WARNING),
]
MATCHES += LEFTOVERS

OTHER_THINGS = [
    # Ratios, units, lists and signs.
    (["mg", "g"], "mg/kg"),
    (["mg", "g"], "MG per hour"),
    (["mg", "g"], "g/L"),
    (["5 mg"], "5 mg/kg"),
    (["m", "km"], "m/s"),
    (["m/s"], "m"),
    (["EUR", "USD"], "EUR/GBP"),
    (["EUR/GBP"], "EUR"),
    (PRIORITY, "high or unknown"),
    (PRIORITY, "high and rising"),
    (PRIORITY, "high | unknown"),
    (PRIORITY, "high & rising"),
    (PRIORITY, "high vs unknown"),
    (PRIORITY, "either high"),
    (PRIORITY, "\u274c high"),
    (PRIORITY, "\U0001f6abhigh"),
    (PRIORITY, "high \u26a0\ufe0f"),
    (PRIORITY, "\u20ac high"),
    (["\U0001f6ab smoking", "seats"], "smoking"),
    (MONEY, "eur (\u20ac)"),
    (PRIORITY, "high=unknown"),
    (PRIORITY, "level!=high"),
    (["user", "admin"], "admin@example"),
    (["user", "admin"], "EXAMPLE\\admin"),
    # Another number.
    (PRIORITY, "high=0"),
    (SWITCHES, "enabled 0"),
    (["once", "twice"], "once every 2 hours"),
    (["arm"], "arm64"),
    (["arm64"], "arm"),
    (["m"], "m2"),
    (["m"], "m\u00b2"),
    (["m"], "m\u00b3"),
    (["m2"], "m"),
    (["m\u00b2"], "m"),
    (["m\u00b2"], "m\u00b3"),
    (["sha"], "sha256"),
    (["int"], "int8"),
    (["jpeg"], "jpeg2000"),
    (["python2"], "python"),
    (["1"], "1\u00bd"),
    # What ended, was taken back, or is kept away.
    (["insulin"], "insulin discontinued"),
    (["auto"], "auto disabled"),
    (["premium"], "premium expired"),
    (PRIORITY, "avoid high"),
    (PRIORITY, "skipping high"),
    (PRIORITY, "high was removed"),
    (PRIORITY, "denied: high"),
    (PRIORITY, "stop high"),
    (PRIORITY, "withdraw high"),
    (PRIORITY, "withdrew high"),
    (PRIORITY, "he forbade high"),
    (["payment_failed"], "payment"),
    (COMMANDS, "never stop"),
    (["button"], "but"),
    (["afternoon"], "after"),
    # Beside it, or hardly it.
    (PRIORITY, "w/o high"),
    (PRIORITY, "aside from high"),
    (PRIORITY, "apart from high"),
    (PRIORITY, "far from high"),
    (PRIORITY, "below high"),
    (PRIORITY, "above high"),
    (PRIORITY, "hardly high"),
    (PRIORITY, "zero high"),
    # At another time, not now.
    (["admin"], "former admin"),
    (["member", "guest"], "previous member"),
    (["member", "guest"], "past member"),
    (["member", "guest"], "a member in the past"),
    (["member", "guest"], "previously a member"),
    (["member", "guest"], "future member"),
    (["member", "guest"], "retired member"),
    (["active", "blocked"], "used to be active"),
    (["active", "blocked"], "yet to be active"),
    (["approved", "open"], "about to be approved"),
    (["approved", "open"], "would be approved"),
    (["past_due"], "due"),
    (["due"], "past due"),
    (["paid"], "under paid"),
    (["paid"], "over-paid"),
    # Prefixes written apart.
    (["male"], "fe-male"),
    (["man"], "wo-man"),
    (["legal"], "il-legal"),
    (["regular"], "ir regular"),
    (["possible"], "im possible"),
    (["typical"], "a-typical"),
    (["mail"], "e-mail"),
    (["production", "staging"], "post-production"),
    (["post-production", "staging"], "production"),
    (["paid"], "Post-Paid invoice"),
    (["national"], "inter-national"),
    (["user"], "multi-user"),
    (["opened"], "re-opened"),
    (["admin"], "co-admin"),
    (["postpaid"], "paid"),
    # Other languages, with borders and without.
    (PRIORITY, "nicht high"),
    (PRIORITY, "kein high"),
    (PRIORITY, "pas high"),
    (PRIORITY, "\u043d\u0435 high"),
    (PRIORITY, "n\u00e3o high"),
    (PRIORITY, "high de\u011fil"),
    (PRIORITY, "geen high"),
    (PRIORITY, "high \u306a\u3057"),
    (PRIORITY, "\u975e high"),
    (["serif"], "sans-serif"),
    (["zucker"], "zuckerfrei"),
    (["\u9ad8\u4f18\u5148\u7ea7"], "\u9ad8\u4f18\u5148\u7ea7\u4ee5\u5916"),
    (["\u9ad8\u4f18\u5148\u7ea7"], "\u4e0d\u9ad8\u4f18\u5148\u7ea7"),
    (["\ud65c\uc131\ud654"], "\ud65c\uc131\ud654\ub418\uc9c0 \uc54a\uc74c"),
]
REFUSALS += OTHER_THINGS

AMBIGUOUS += [
    (FILES, "readwrite", FILES),
    (FILES, "open readwrite", FILES),
    (FILES, "readorwrite", FILES),
    (COMMANDS, "startstop", ["start", "stop"]),
    (PRIORITY, "lowhigh", ["low", "high"]),
    (SORT, "ascdesc", SORT),
    (["EUR", "GBP"], "EUR/GBP", ["EUR", "GBP"]),
    (["on", "off"], "onoff", ["on", "off"]),
    (["auto", "disabled"], "auto disabled", ["auto", "disabled"]),
]


@pytest.mark.parametrize(("choices", "value", "choice", "level", "risk"), MATCHES)
def test_find_gives_the_choice_with_level_and_risk(
    choices: list[str], value: str, choice: str, level: MatchLevel, risk: Risk | None
) -> None:
    """A value matches one choice, at the first level that has it, with that level's risk."""
    assert ChoiceIndex(choices).find(value, TYPO) == Match(choices.index(choice), choice, level, risk)


@pytest.mark.parametrize(("choices", "value"), REFUSALS)
def test_find_refuses_what_would_be_a_guess(choices: list[str], value: str) -> None:
    """What may mean something else, or the opposite, matches at no level and at no risk."""
    with pytest.raises((NoMatch, AmbiguousMatch)):
        fuzzy_match_enum(value, choices)
    with pytest.raises((NoMatch, AmbiguousMatch)):
        fuzzy_match_enum(value, choices, level=TYPO)
    with pytest.raises((NoMatch, AmbiguousMatch)):
        fuzzy_match_enum(value, choices, level=TYPO, max_risk=RISKY)


@pytest.mark.parametrize(("choices", "value", "candidates"), AMBIGUOUS)
def test_find_names_the_candidates_of_an_ambiguous_value(choices: list[str], value: str, candidates: list[str]) -> None:
    """A level with more than one match raises with the candidates in the order of the choices."""
    with pytest.raises(AmbiguousMatch) as caught:
        ChoiceIndex(choices).find(value, TYPO)
    assert list(caught.value.candidates) == candidates
    assert caught.value.value == value


@pytest.mark.parametrize(("short", "long"), [("male", "female"), ("thropic", "anthropic"), ("gregate", "aggregate")])
def test_letters_before_the_shorter_side_are_never_better_than_risky(short: str, long: str) -> None:
    """Letters before the shorter side inside a token make a match risky, and only where SUBSTRING is asked for."""
    for value, choice in ((short, long), (long, short)):
        assert ChoiceIndex([choice]).find(value) is None
        assert ChoiceIndex([choice]).find(value, SUBSTRING) == (0, choice, SUBSTRING, RISKY)
        with pytest.raises(NoMatch) as caught:
            fuzzy_match_enum(value, [choice], level=TYPO)
        assert caught.value.nearest[0] == choice


@pytest.mark.parametrize(
    ("value", "position"),
    [
        (1, 0),
        (True, 1),
        ("1", 2),
        (None, 3),
        (1.0, 4),
        ([1], 5),
        ([True], 6),
        ({"a": 1}, 7),
        (" 1 ", 2),
        (False, None),
        ([2], None),
        (2, None),
    ],
)
def test_choices_are_told_apart_by_type_and_value(value: object, position: int | None) -> None:
    """Choices of mixed types keep their identity, inside containers too."""
    choices: list[object] = [1, True, "1", None, 1.0, [1], [True], {"a": 1}]
    match = ChoiceIndex(choices).find(value)
    assert (match and match.position) == position
    assert match is None or match.choice is choices[match.position]


@pytest.mark.parametrize(
    ("value", "choice", "level"),
    [("urgent", "high", CASE), ("URGENT!", "high", CASE), ("High", "high", CASE), ("very-soon", "high", SEPARATOR), ("one", 1, CASE)],
)
def test_aliases_match_after_the_exact_choices(value: str, choice: object, level: MatchLevel) -> None:
    """A declared alias stands for its choice, at the risk of a case match."""
    match = ChoiceIndex(["low", "high", 1], {"urgent": "high", "very soon": "high", "one": 1}).find(value)
    assert match is not None
    assert (match.choice, match.level, match.risk) == (choice, level, INFO)


def test_an_exact_choice_beats_an_alias() -> None:
    """A choice is itself even when the same text is an alias of another."""
    assert fuzzy_match_enum("a", ["a", "b"], aliases={"a": "b"}) == "a"


def test_an_alias_of_no_choice_is_refused() -> None:
    """An alias for something that is not a choice is a fault of the declaration."""
    with pytest.raises(ValueError, match="none of the choices"):
        ChoiceIndex(["a"], {"x": "b"})


@pytest.mark.parametrize("level", list(MatchLevel))
def test_no_level_above_the_one_asked_for_runs(level: MatchLevel) -> None:
    """Each row of the table matches when its level is allowed, and not when only lower ones are."""
    for choices, value, _, needed, _ in MATCHES:
        match = ChoiceIndex(choices).find(value, level)
        assert (match is not None) == (level >= needed), (choices, value)


@pytest.mark.parametrize(
    ("choices", "value", "nearest"),
    [
        (PRIORITY, "not high", ["high"]),
        (LOG, "eror", ["error"]),
        (["v1.3", "v1.5"], "v1.4", []),
        (["alpha", "beta"], "zzz", []),
        (STATUS, "not active", ["active"]),
        ([1, 2], "1", [1]),
        (["1", "2"], 1, ["1"]),
        ([True, False], "True", [True]),
        (PRIORITY, "", []),
        (PRIORITY, [1], []),
        (["non-smoking", "x"], "smoking", ["non-smoking"]),
    ],
)
def test_no_match_suggests_the_nearest(choices: list[object], value: object, nearest: list[object]) -> None:
    """A refusal names the choices that look like the value and nothing else."""
    with pytest.raises(NoMatch) as caught:
        fuzzy_match_enum(value, choices)
    assert list(caught.value.nearest) == nearest
    assert list(caught.value.choices) == choices


def test_a_match_above_the_highest_risk_is_suggested_first() -> None:
    """A match that is too risky is refused and named first among the nearest."""
    with pytest.raises(NoMatch) as caught:
        fuzzy_match_enum("d", SORT)
    assert caught.value.nearest[0] == "desc"
    assert fuzzy_match_enum("d", SORT, max_risk=RISKY) == "desc"
    with pytest.raises(NoMatch):
        fuzzy_match_enum("descending", SORT, max_risk=INFO)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("max_results", "maxresults"),
        ("maxResults", "maxresults"),
        ("Max Results", "maxresults"),
        ("a/b.c", "abc"),
        ("v1.4", "v1 4"),
        ("v1_4", "v1 4"),
        ("-1", "-1"),
        ("1-2", "1 2"),
        ("A-", "a-"),
        ("--all", "all"),
        ("_id", "id"),
        ("CAFE\u0301", "caf\u00e9"),
    ],
)
def test_normalise_drops_separators_and_keeps_numbers_apart(text: str, key: str) -> None:
    """The key of a text has no case and no separators, but two numbers stay two and a sign stays a sign."""
    assert normalise(text) == key


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("maxResults", ("max", "results")),
        ("HTTPServer", ("http", "server")),
        ("userIDs", ("user", "ids")),
        ("us-east-1a", ("us", "east", "1", "a")),
        ("isn't", ("is", "not")),
        ("driver's", ("drivers",)),
        ("C++", ("c", "+", "+")),
        ("\u00c9tatCivil", ("\u00e9tat", "civil")),
        ("", ()),
        ("...", ()),
    ],
)
def test_tokens_are_words_numbers_and_signs(text: str, expected: tuple[str, ...]) -> None:
    """A text is cut at separators, camel-case borders, and between letters and digits."""
    assert tokens(text) == expected


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("max_result", ["max_results", "query"], ["max_results"]),
        ("maxResults", ["query", "max_results"], ["max_results"]),
        ("maxResults", ["min_results", "max_results"], ["max_results", "min_results"]),
        ("maxResults", ["maxResult", "min_results", "MAX-RESULTS", "max_results"], ["MAX-RESULTS", "max_results", "maxResult"]),
        (
            "maxResults",
            [*(f"max_{place}_results" for place in range(400)), "m.a.x.results"],
            ["m.a.x.results", "max_0_results", "max_1_results"],
        ),
        ("usrname", ["username", "password"], ["username"]),
        ("weather_get", ["get_weather", "get_time"], ["get_weather"]),
        ("get_weather_now", ["get_weather", "set_alarm"], ["get_weather"]),
        ("foo", ["bar", "baz"], []),
        ("get_stock", ["get_weather", "get_time_zone"], []),
        ("item10", ["item1", "item2"], []),
        ("", ["a"], []),
        ("a", [], []),
    ],
)
def test_closest_names_only_what_is_near(text: str, names: list[str], expected: list[str]) -> None:
    """Did-you-mean names what looks like the text and nothing unrelated."""
    assert closest(text, names) == expected


def test_closest_and_nearest_are_bounded_and_count_what_is_asked_for() -> None:
    """Many near names give at most as many suggestions as asked for."""
    names = [f"item_{letter}{other}" for letter in "abcdefghijklmnopqrstuvwxyz" for other in "abcdefghijklmnopqrstuvwxyz"]
    assert len(closest("item", names, 5)) == 5
    assert len(ChoiceIndex(names).nearest("item", 5)) == 5
    assert closest("item", names, 0) == ChoiceIndex(names).nearest("item", 0) == []
    with pytest.raises(AmbiguousMatch):
        ChoiceIndex(names).find("item")
    assert ChoiceIndex(names).find("xitemx", TYPO) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("max_results", "max_results"),
        ("maxResults", "max_results"),
        ("MAX-RESULTS", "max_results"),
        ("max", None),
        ("user-id", None),
        ("userId", "userId"),
    ],
)
def test_a_name_is_resolved_up_to_separator_only(text: str, expected: str | None) -> None:
    """An exact name wins, then the unique one that differs by separators; there is no guess above that."""
    names = NameIndex(["max_results", "userId", "user_id"])
    assert names.resolve(text) == expected
    assert expected is None or expected in names.candidates(text)


DEEP = {f"toolbox.matching.{name}" for name in ("comparing", "deep_index", "texts", "words")}


@pytest.mark.parametrize(
    ("code", "loaded"),
    [
        ("import toolbox", set()),
        ("from toolbox import Registry", set()),
        ("import toolbox.matching as m; m.ChoiceIndex(['on hold']).find('On-Hold'); m.NameIndex(['a_b']).resolve('aB')", set()),
        ("import toolbox.matching as m; m.ChoiceIndex(['on hold']).find('holding')", DEEP),
        ("import toolbox.matching as m; m.closest('usrname', ['username'])", DEEP - {"toolbox.matching.deep_index"}),
    ],
)
def test_what_only_a_guess_needs_is_loaded_with_the_first_one(code: str, loaded: set[str]) -> None:
    """Tables of words and comparisons cost nothing until a value goes beyond SEPARATOR."""
    code += f"; import sys; print(*sorted({DEEP} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(run.stdout.split()) == loaded


WORDS = st.sampled_from(
    ["high", "low", "not", "non", "in", "active", "us", "east", "1", "10", "2", "ascending", "asc", "desc", "free", "-", "+"]
)
TEXTS = st.one_of(st.lists(WORDS, min_size=1, max_size=4).map(" ".join), st.lists(WORDS, max_size=3).map("".join), st.text(max_size=12))
CHOICES = st.lists(TEXTS, min_size=1, max_size=6, unique=True)
LEVELS = st.sampled_from(list(MatchLevel))


def outcome(choices: Sequence[str], value: str, level: MatchLevel) -> object:
    """What comes out, so that two runs can be compared."""
    try:
        match = ChoiceIndex(choices).find(value, level)
    except AmbiguousMatch as error:
        return frozenset(error.candidates)
    return match and (match.choice, match.level, match.risk)


@given(CHOICES, LEVELS)
def test_every_choice_matches_itself(choices: list[str], level: MatchLevel) -> None:
    """An exact value wins whatever the other choices are, so that matching is idempotent."""
    for position, choice in enumerate(choices):
        assert ChoiceIndex(choices).find(choice, level) == (position, choice, EXACT, None)


@given(CHOICES, TEXTS, LEVELS, st.randoms(use_true_random=False))
def test_the_order_of_the_choices_changes_nothing(choices: list[str], value: str, level: MatchLevel, random: object) -> None:
    """Permuted choices give the same match or the same candidates."""
    shuffled = list(choices)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert outcome(choices, value, level) == outcome(shuffled, value, level)


@given(CHOICES, TEXTS, LEVELS, st.sampled_from(list(Risk)))
def test_the_result_is_a_choice_or_one_of_two_errors(choices: list[str], value: str, level: MatchLevel, risk: Risk) -> None:
    """Nothing comes out but a choice, AmbiguousMatch or NoMatch; what came out comes out again."""
    with contextlib.suppress(AmbiguousMatch, NoMatch):
        result = fuzzy_match_enum(value, choices, level=level, max_risk=risk)
        assert result in choices
        assert fuzzy_match_enum(result, choices, level=level, max_risk=risk) == result


@given(
    st.sampled_from(["high", "active", "paid", "asc", "us-east-1", "fast mode"]),
    st.sampled_from(
        [
            "not {}",
            "non-{}",
            "anything but {}",
            "isn't {}",
            "{}, not",
            "never {}",
            "everything except {}",
            "without {}",
            "un {}",
            "w/o {}",
            "avoid {}",
            "{} expired",
            "no longer {}",
            "until {}",
            "nicht {}",
            "sin {}",
            "{} なし",
        ]
    ),
    st.sampled_from(["{}", "{} please", "set {}", "the {} one"]),
    LEVELS,
)
def test_a_negated_choice_never_matches(choice: str, negation: str, around: str, level: MatchLevel) -> None:
    """Neither a negated value matches the choice, nor the plain value a negated choice."""
    negated = around.format(negation.format(choice))
    assert outcome([choice, "zebra"], negated, level) is None
    assert outcome([negation.format(choice), "zebra"], choice, level) is None


@given(CHOICES, TEXTS)
def test_a_guess_is_certain_only_when_the_value_begins_the_choice(choices: list[str], value: str) -> None:
    """Whatever is left over in a value is at least a warning."""
    with contextlib.suppress(AmbiguousMatch):
        match = ChoiceIndex(choices).find(value, TYPO)
        if match is not None and match.level > SEPARATOR and match.risk == INFO:
            assert "".join(tokens(str(match.choice))).startswith("".join(tokens(value)))


@given(st.text(alphabet="abc-", min_size=1, max_size=6), st.integers(0, 999), st.integers(0, 999), LEVELS)
def test_texts_that_differ_in_digits_only_never_match(text: str, one: int, other: int, level: MatchLevel) -> None:
    """Another number is another thing."""
    value, choice = f"{text}{one}", f"{text}{other}"
    if one != other:
        assert outcome([choice], value, level) is None
        assert closest(value, [choice]) == ChoiceIndex([choice]).nearest(value) == []


@given(TEXTS)
def test_normalise_is_idempotent(text: str) -> None:
    """The key of a key is the key."""
    assert normalise(normalise(text)) == normalise(text)
