"""What is kept out of every record, log, error and message beside the parameters that are declared secret.

Two means: patterns of keys, whose values are masked at any depth; and a redactor of the application's own, which is given every text. Text
without structure is searched for the same keys, since a secret may stand in it in any form.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from typing import Any, Final

from toolbox.diagnostics import MASK
from toolbox.json_values import KEPT, Bounds, snapshot

__all__ = ["Redaction", "joined"]

LONGEST_KEY: Final = 256
"""Longer keys are not compared with any pattern: they count as matching."""
_REMEMBERED: Final = 4_096
_DROPPED: Final = re.compile(r"[\W_]+")
_ESCAPED: Final = re.compile(r"(?<!\\)\\++(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))")
# A key in text is a word, perhaps in quotes, before a sign: JSON, code, headers, query strings, tags; in full width too.
_WORD: Final = r"[\w.\-/]"
_CLOSING: Final = "[ \t\r\n\"'`\\\\*\\]\u2018\u2019\u201c\u201d]{0,16}"
_KEY: Final = re.compile(f"(?<!{_WORD})({_WORD}++){_CLOSING}[:=<>\uff1a\uff1d]")
# The same in text that nobody could read, where anything may be missing: a closing quote will do for a sign.
_KEY_ANYWHERE: Final = re.compile(f"(?<!{_WORD})({_WORD}++){_CLOSING}[:=<>\uff1a\uff1d\"'`|\\\\\u2018-\u201f]")
_WORDS_BEFORE: Final = re.compile(f"(?:{_WORD}+ ){{1,3}}\\Z")
_GAP: Final = re.compile(r"[ \t]{0,8}[\"']?")
_INVISIBLE: Final = re.compile("[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]")
_JSON_BEGINS: Final = frozenset("{[")
_LONGEST_JSON: Final = 262_144
PATH_KEYS: Final = re.compile(r"\.(\w+(?:\.\.\.)?)|\['((?:[^'\\]|\\.)*)'\]")


class Redaction:
    """What is masked wherever it could be seen, beside the parameters that are declared secret.

    The function gets its arguments, and the program its results and reports, as they are. Records, logs, errors, changes, failures and what
    is sent to a model show ``***`` in the place of what a key pattern matches, and of every text what the redactor makes of it.

    Args:
        keys: patterns of names, in which ``*`` stands for anything; case and separators do not count. A parameter or a declared field of
            such a name is secret as if it were declared so; other keys are matched at any depth.
        redactor: makes of a text the text that may be seen. What it raises breaks no call: that text is masked as a whole. It may be given
            its own output again.
        results: whether what tools return is redacted where it is written for a model.

    Attributes:
        keys: the patterns.
        redactor: the function, or None.
        results: the same.
        lost_texts: how many texts were masked as a whole because the redactor failed.

    Raises:
        TypeError: the keys are one text, or the redactor cannot be called.
        ValueError: a pattern says nothing.

    >>> redaction = Redaction(["*password*", "x-api-key"])
    >>> redaction.hides("userPassword"), redaction.hides("X_API_KEY"), redaction.hides("user")
    (True, True, False)
    >>> redaction.text("no such user; password=hunter2")
    'no such user; password=***'
    """

    COMMON: Final[tuple[str, ...]] = (
        "*password*",
        "*passwd*",
        "*pwd",
        "*passphrase*",
        "*passcode*",
        "*secret",
        "*secrets",
        "*secret_key*",
        "*credential*",
        "*authorization",
        "*api_key*",
        "*access_key*",
        "*private_key*",
        "*signing_key*",
        "*encryption_key*",
        "token",
        "*access_token*",
        "*api_token*",
        "*auth_token*",
        "*bearer*",
        "*csrf_token*",
        "*id_token",
        "*refresh_token*",
        "*secret_token*",
        "*session_token*",
        "*webhook_token*",
        "jwt",
        "cookie",
        "set_cookie",
        "*session_cookie*",
        "*connection_string*",
        "*card_number*",
        "cvc",
        "cvv",
    )

    __slots__ = ("_known", "_patterns", "keys", "lost_texts", "redactor", "results")

    def __init__(self, keys: Iterable[str] = (), redactor: Callable[[str], str] | None = None, *, results: bool = True) -> None:
        if isinstance(keys, str):
            raise TypeError(f'keys are several patterns: write ["{keys}"] for one')
        if redactor is not None and not callable(redactor):
            raise TypeError(f"redactor must take a text and give one, and is a {type(redactor).__name__}")
        self.keys = tuple(dict.fromkeys(keys))
        self._patterns = tuple(map(_Pattern, self.keys))
        self.redactor = redactor
        self.results = results
        self.lost_texts = 0
        self._known: dict[str, bool] = {}

    @classmethod
    def common(cls, more: Iterable[str] = (), *, redactor: Callable[[str], str] | None = None, results: bool = True) -> Redaction:
        """A redaction with the usual names of passwords, keys and tokens, `Redaction.COMMON`, and perhaps more of them."""
        if isinstance(more, str):
            raise TypeError(f'keys are several patterns: write ["{more}"] for one')
        return cls((*cls.COMMON, *more), redactor, results=results)

    def hides(self, key: object) -> bool:
        """Whether the value under a key is masked."""
        if not self._patterns:
            return False
        name = key if isinstance(key, str) else str(key)
        found = self._known.get(name)
        if found is None:
            plain = _plain(name) if len(name) <= LONGEST_KEY else ""
            found = len(name) > LONGEST_KEY or any(pattern.matches(plain) for pattern in self._patterns)
            # Keys are what a model sends: what is remembered of them is bounded.
            if len(name) <= LONGEST_KEY and len(self._known) < _REMEMBERED:
                self._known[name] = found
        return found

    def hides_at(self, path: str) -> bool:
        """Whether a path such as ``$.login.password`` leads to, or through, a key that is masked."""
        if not self._patterns:
            return False
        # Of a key that was too long for the path, nobody sees the end.
        return any(key.endswith("...") or self.hides(key) for key in map(_unescaped, _path_keys(path)))

    def text(self, text: str) -> str:
        """A text as it may be seen: what stands behind a key that matches is masked, to the end; the redactor is given the rest."""
        return self.message(self._behind_keys(text) if self._patterns else text)

    def unread(self, text: str | bytes | bytearray) -> str:
        """A payload that came as text, as it may be seen: masked as a whole where a key that matches may stand anywhere in it."""
        words = text if isinstance(text, str) else bytes(text).decode("utf-8", "replace")
        if self._patterns and (self._place(html.unescape(_plainly(words)), _KEY_ANYWHERE) is not None or self._hides_in_json(words)):
            return MASK
        return self.message(words)

    def message(self, text: str) -> str:
        """What the redactor makes of a text that holds no structure, or whose parts have been masked already."""
        if self.redactor is None or not text or text == MASK:
            return text
        shown: Any = None
        # Whatever it does, the call goes on; then nothing of the text is shown.
        with suppress(Exception, SystemExit, GeneratorExit):
            shown = self.redactor(text)
        if not isinstance(shown, str):
            self.lost_texts += 1
            return MASK
        return str(shown)

    def value(
        self, value: Any, bounds: Bounds = KEPT, *, also: Callable[[str], bool] | None = None, known: Collection[str] = frozenset()
    ) -> Any:
        """A JSON-safe copy of a value as it may be seen: bounded, masked by key, each text of it redacted.

        Args:
            value: any value.
            bounds: how much of it is kept.
            also: tells of more keys whose values are masked.
            known: keys that are the application's own, and no text of a model's.
        """
        hides: Callable[[str], bool] | None = self.hides if self._patterns else None
        if also is not None:
            hides = also if hides is None else lambda key: self.hides(key) or also(key)

        def write_key(key: str) -> str:
            # A name that nobody has declared may be a text: password=hunter2.
            return key if key in known else self.text(key)

        if self.redactor is None:
            return snapshot(value, bounds, hide=hides, mask=MASK, write=self.text, write_key=write_key)

        return snapshot(value, bounds, hide=hides, mask=MASK, write=self.text, write_key=write_key, number=self._number)

    def path(self, path: str, known: Collection[str] = frozenset()) -> str:
        """A path as it may be seen: its keys redacted, but for those that are the application's own."""
        if self.redactor is None and not self._patterns:
            return path

        def key(found: re.Match[str]) -> str:
            name = found[1] or found[2]
            shown = name if name in known else self.text(name)
            return found[0] if shown == name else f"['{shown}']"

        return PATH_KEYS.sub(key, path)

    def touches(self, value: Any) -> bool:
        """Whether anything in a value is not shown as it is."""
        if isinstance(value, str):
            return self.text(value) != value
        if value is None or isinstance(value, int | float):
            return self.redactor is not None and not isinstance(value, bool) and self._number(value or 0) != (value or 0)
        return bool(self.value(value) != snapshot(value))

    def _number(self, value: float) -> Any:
        """A number, or the text that the redactor makes of it: a card's number is not always sent as text."""
        written = str(value)
        shown = self.message(written)
        return value if shown == written else shown

    def _behind_keys(self, text: str) -> str:
        place = self._place(text, _KEY)
        if place is None:
            # A key may be written in escapes or with what is invisible; then nobody knows where in the text it stands.
            plain = _plainly(text)
            is_hidden = (plain != text and self._place(plain, _KEY) is not None) or self._hides_in_json(text)
            return MASK if is_hidden else text
        gap = _GAP.match(text, place)
        start = place if gap is None else gap.end()
        return f"{text[:start]}{MASK}" if text[start:].strip() else text

    def _hides_in_json(self, text: str) -> bool:
        """Whether a text is JSON in which a key is hidden, however it is written."""
        if text.lstrip()[:1] not in _JSON_BEGINS or len(text) > _LONGEST_JSON:
            return False
        try:
            pending = [json.loads(text)]
        except ValueError:
            return False
        except RecursionError:
            return True
        while pending:
            value = pending.pop()
            if isinstance(value, dict):
                if any(map(self.hides, value)):
                    return True
                pending.extend(value.values())
            elif isinstance(value, list):
                pending.extend(value)
            elif isinstance(value, str) and self._behind_keys(value) != value:
                return True
        return False

    def _place(self, text: str, keys: re.Pattern[str]) -> int | None:
        """Where what a key names begins in a text, or None."""
        for found in keys.finditer(text):
            if any(map(self.hides, _keys(text, found.start(), found[1][-LONGEST_KEY:]))):
                return found.end()
        return None

    def __repr__(self) -> str:
        custom = "" if self.redactor is None else ", with a redactor"
        return f"<Redaction {len(self.keys)} key patterns{custom}>"


def joined(one: Redaction | None, other: Redaction | None) -> Redaction | None:
    """What hides whatever either of two hides."""
    if one is None or other is None or one is other:
        return one or other
    first, second = one.text, other.text
    redactor = one.redactor or other.redactor
    if one.redactor is not None and other.redactor is not None:

        def redactor(text: str) -> str:
            return second(first(text))

    return Redaction((*one.keys, *other.keys), redactor, results=one.results or other.results)


class _Pattern:
    """One pattern, as its parts between the stars."""

    __slots__ = ("ends", "parts", "starts")

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise TypeError(f"a key pattern is a text, and not a {type(text).__name__}")
        if re.search(r"[?\[\]{}]", text):
            raise ValueError(f"the key pattern {text!r}: only * has a meaning of its own in it")
        parts = [_plain(part) for part in text.split("*")]
        self.parts = [part for part in parts if part]
        if not self.parts and "*" not in text:
            raise ValueError(f"the key pattern {text!r} names nothing")
        self.starts, self.ends = bool(parts[0]), bool(parts[-1])

    def matches(self, key: str) -> bool:
        """Whether a key, without its separators, is of the pattern."""
        parts = self.parts
        if not parts:
            return True
        if len(parts) == 1 and self.starts and self.ends:
            return key == parts[0]
        start, end = 0, len(key)
        inner = parts
        if self.starts:
            if not key.startswith(parts[0]):
                return False
            start, inner = len(parts[0]), inner[1:]
        if self.ends:
            if not key.endswith(parts[-1]):
                return False
            end, inner = end - len(parts[-1]), inner[:-1]
        for part in inner:
            found = key.find(part, start, max(end, 0))
            if found < 0:
                return False
            start = found + len(part)
        return start <= end


def _plain(name: str) -> str:
    """A name without case and without anything but letters and digits, so that no way to write it apart is another name."""
    if name.isalnum() and name.isascii():
        return name.lower()
    return _DROPPED.sub("", unicodedata.normalize("NFKC", name).casefold())


def _unescaped(text: str) -> str:
    r"""A text with ``\u0070`` and ``\x70`` as the letters that they stand for."""
    return _ESCAPED.sub(lambda found: chr(int(found[1] or found[2], 16)), text) if "\\" in text else text


def _plainly(text: str) -> str:
    """A text without escapes, and without what nobody sees."""
    return text if text.isascii() and "\\" not in text else _INVISIBLE.sub("", _unescaped(text))


def _path_keys(path: str) -> Iterator[str]:
    return (found[1] or found[2] for found in PATH_KEYS.finditer(path))


def _keys(text: str, start: int, word: str) -> Iterator[str]:
    """What the key before a sign may be: the word, the last part of it, or it with the words before it."""
    yield word
    part = re.split("[./]", word)[-1]
    if part != word:
        yield part
    if text[start - 1 : start] == " ":
        before = _WORDS_BEFORE.search(text[max(start - 64, 0) : start])
        words = before[0].split() if before else []
        for count in range(1, len(words) + 1):
            yield "".join(words[-count:]) + word
