"""The words, parts of words and signs that change what stands beside them: one table a kind."""

from __future__ import annotations

from typing import Final

__all__ = [
    "APART",
    "ENDINGS",
    "FILLERS",
    "FOREIGN",
    "GOVERNING",
    "HYPHENED",
    "INNER_FOREIGN",
    "INNER_PREFIXES",
    "INNER_SUFFIXES",
    "INNER_WORDS",
    "JOINING",
    "JOINTS",
    "NEGATIONS",
    "NO_SIGNS",
    "OPEN",
    "QUALIFIERS",
    "SUFFIXES",
    "TURNING_PAIRS",
]


def _forms(verbs: str) -> frozenset[str]:
    """Regular verbs with their endings; a form too many does no harm."""
    found: set[str] = set()
    for verb in verbs.split():
        stem = verb[:-1] if verb[-1] == "e" else verb
        found |= {verb, verb + "s", verb + "es", stem + "ed", stem + "ing", verb + verb[-1] + "ed", verb + verb[-1] + "ing"}
        if verb[-1] == "y":
            found |= {verb[:-1] + "ies", verb[:-1] + "ied"}
    return frozenset(found)


# fmt: off
# Words that turn round, or set aside, what stands beside them: a leftover one blocks every level above SEPARATOR. They are also what a
# word may begin with without being its short form ("but" is no "button", "after" no "afternoon").
NEGATIONS: Final = frozenset({
    # plain negation
    "not", "no", "non", "none", "never", "neither", "nor", "nothing", "without", "nobody", "nowhere", "cannot", "cant", "dont", "doesnt",
    "didnt", "isnt", "arent", "wasnt", "werent", "wont", "wouldnt", "shouldnt", "couldnt", "hasnt", "havent", "hadnt", "aint", "false",
    # all but this one
    "except", "excepting", "excluding", "excludes", "excluded", "exclude", "but", "than", "instead", "aside", "apart", "barring",
    "besides", "beyond", "against", "different", "unlike", "opposite", "reverse", "reversed", "inverse", "inverted",
    # less of it, or none
    "minus", "less", "lacking", "lacks", "missing", "zero", "hardly", "barely", "scarcely", "rarely", "seldom", "almost", "nearly",
    # beside it in order, place or time, not at it
    "below", "above", "under", "over", "before", "after", "until", "till", "unless", "off", "out",
    # at another time, not now
    "former", "formerly", "previous", "previously", "past", "erstwhile", "onetime", "future", "futures", "prospective", "aspiring",
})
# Verbs that end, keep away or take back what stands beside them.
ENDINGS: Final = _forms(
    "avoid skip stop cancel undo abort prevent refuse fail deny ban block ignore omit drop disable expire discontinue reject remove delete "
    "revoke forbid prohibit suspend terminate deprecate disallow decline cease quit withdraw "
    "retire lapse resign"
) | {"forbade", "forbidden", "undid", "undone", "withdrew", "withdrawn"}
# Words that leave open whether, when or how far what stands beside them is so.
OPEN: Final = frozenset({
    "maybe", "perhaps", "possibly", "probable", "probably", "presumably", "potentially", "likely", "unlikely",
    "apparently", "supposedly", "allegedly", "suspected", "might", "could", "unsure", "undecided", "tentative", "tentatively",
    "if", "when", "whenever", "whether", "conditional", "conditionally", "provisional", "provisionally",
    "partial", "partially", "partly", "incomplete", "incompletely",
    "later", "soon", "eventually", "someday", "pending", "wait", "waiting", "await", "awaiting", "postponed", "deferred", "delayed",
})
# The plain negations of other languages that are written with spaces; a word of two languages blocks in both.
FOREIGN: Final = frozenset({
    "nicht", "kein", "keine", "keinen", "keiner", "keinem", "keines", "ohne", "nie", "niemals", "weder", "nichts", "ausser",  # German
    "niet", "geen", "zonder", "nooit", "behalve",  # Dutch
    "ikke", "uten", "uden", "aldri", "aldrig", "inte", "utan", "ej", "ingen", "inget", "inga", "utom",  # Scandinavian
    "pas", "sans", "ne", "jamais", "sauf", "aucun", "aucune", "rien", "hors",  # French
    "sin", "nunca", "excepto", "salvo", "menos", "ninguno", "ninguna", "ningún", "tampoco",  # Spanish
    "senza", "mai", "nessuno", "nessuna", "eccetto", "tranne",  # Italian
    "sem", "não", "nao", "nenhum", "nenhuma", "exceto",  # Portuguese
    "nu", "fără", "fara", "nem", "nincs", "nélkül",  # Romanian, Hungarian
    "не", "нет", "ни", "без", "ні", "кроме", "никогда",  # Russian, Ukrainian
    "bez", "nigdy", "brak", "oprócz", "ani", "nikdy", "nikoli", "kromě",  # Polish, Czech, South Slavic
    "ei", "ilman",  # Finnish, Estonian
    "değil", "degil", "yok", "hay\u0131r", "hariç",  # Turkish
    "δεν", "μη", "όχι", "χωρίσ",  # Greek, folded
    "لا", "ليس", "بدون", "غير", "לא", "בלי", "אין",  # Arabic, Hebrew
    "नहीं", "बिना", "tidak", "bukan", "tanpa", "không", "ไม่",  # Hindi, Indonesian, Vietnamese, Thai
    "안", "아님",  # Korean
})
# Negations of languages that are written without spaces, or with the negation inside a word: anywhere in what is left over.
INNER_FOREIGN: Final = (
    "不", "没", "沒", "非", "无", "無", "未", "否", "勿", "别", "別", "除",  # Han
    "ない", "なし", "なく", "ません", "ずに", "以外",  # Japanese
    "않", "못", "없", "아니", "말고",  # Korean
)
# Two words that turn round only together.
TURNING_PAIRS: Final = frozenset({
    ("far", "from"), ("away", "from"), ("free", "of"), ("free", "from"), ("rid", "of"), ("short", "of"),
    ("used", "to"), ("yet", "to"), ("about", "to"), ("going", "to"), ("ready", "to"), ("would", "be"),
})
# Words that put what stands beside them in a list or in a ratio: the value is not the choice alone.
JOINING: Final = frozenset({
    "or", "and", "vs", "versus", "per", "either", "both", "between", "xor",
    "oder", "und", "ou", "et", "och", "eller", "и", "или", "lub",
})
# Signs that do the same.
JOINTS: Final = frozenset("/\\|&@\uff0f\uff3c\uff5c\uff06\u2044\u00a6")
# Symbols that say no. Any other symbol is no part of a value, but may adorn a choice.
NO_SIGNS: Final = frozenset("\u274c\u274e\u2716\u2717\u2718\u26d4\u20e0\U0001f6ab\U0001f44e\U0001f645\U0001f6d1\U0001f5d9")
# Words of place, age, size and degree: with one a name or a grade is another one ("North Korea", "very high", "super admin").
QUALIFIERS: Final = frozenset({
    "north", "south", "east", "west", "northern", "southern", "eastern", "western", "northeast", "northwest", "southeast", "southwest",
    "new", "old", "upper", "lower", "inner", "outer", "mid", "half", "semi",
    "very", "extra", "x", "xx", "super", "ultra", "hyper", "mega", "mini", "micro", "too",
})
# Words that, as the end of a choice, say something else together with the word that follows ("no problem", "on hold").
GOVERNING: Final = frozenset({
    "no", "not", "non", "never", "neither", "nor", "without", "on", "off", "in", "out", "up", "down", "at", "to", "by",
})
# Words that say nothing of their own.
FILLERS: Final = frozenset(("the", "a", "an", "of"))
# fmt: on
# Prefixes that turn round or change the word they precede, when written apart ("in active", "semi-annual") and inside a word.
_PREFIXES: Final = frozenset(
    ("un", "in", "dis", "anti", "non", "de", "mis", "counter", "contra", "semi", "half", "bi", "tri", "pseudo", "quasi", "ex", "pre", "sub")
)
# Prefixes that are words or names too, so that they say so only with a hyphen ("post-production", "re-open") and inside a word.
HYPHENED: Final = frozenset(
    ("post", "re", "co", "inter", "intra", "trans", "para", "meta", "multi", "poly", "mono", "dys", "proto", "retro", "vice", "neo")
)
INNER_PREFIXES: Final = _PREFIXES | HYPHENED | frozenset(("im", "il", "ir", "no"))
# Those that are no words of their own, so that they say so only when written apart ("il-legal", "fe-male").
APART: Final = _PREFIXES | frozenset(("im", "il", "ir", "ig", "mal", "ab", "fe", "wo", "hypo", "infra"))
# Endings that take away what stands before them: apart ("sugar-free") and inside a word ("careless", "zuckerfrei").
SUFFIXES: Final = frozenset(("free", "proof"))
INNER_SUFFIXES: Final = ("less", "free", "proof", "frei", "los", "loos", "vrij", "fri", "siz", "s\u0131z", "suz", "süz")
INNER_WORDS: Final = frozenset(("not", "out", "off"))
