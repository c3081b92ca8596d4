"""Matching a model's text to declared names and choices: pure string functions, and never a guess that turns a meaning round.

The levels of `MatchLevel` run in order and the first one with exactly one match wins. A choice that a level would match, were it not for
a word that turns the meaning round (*blocked*), never wins; it still counts as a second reading, so that what is left beside it is
ambiguous and not certain. Nor does one win alone that stands in a list or a ratio (*joined*). What is left over is otherwise a question
of risk: none in a value that begins the choice, a warning in a value that says more, risky where it makes another thing of it.

What is equal up to SEPARATOR needs neither the tables of words nor the comparisons; they are loaded with the first value beyond it.
"""

from toolbox.matching.choices import ChoiceIndex, fuzzy_match_enum
from toolbox.matching.keys import normalise
from toolbox.matching.levels import Match, MatchLevel
from toolbox.matching.names import NameIndex, closest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolbox.matching.texts import tokens

__all__ = ["ChoiceIndex", "Match", "MatchLevel", "NameIndex", "closest", "fuzzy_match_enum", "normalise", "tokens"]


def __getattr__(name: str) -> object:
    if name == "tokens":
        from toolbox.matching.texts import tokens

        return tokens
    raise AttributeError(f"module 'toolbox.matching' has no attribute {name!r}")
