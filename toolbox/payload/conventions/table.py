"""All conventions, in the order in which they are tried. A new one is a file beside this one and a line here."""

from __future__ import annotations

from typing import Final

from toolbox.payload.conventions.convention import Convention
from toolbox.payload.conventions.deepseek import DEEPSEEK
from toolbox.payload.conventions.function_tags import FUNCTION_TAGS
from toolbox.payload.conventions.functionary import FUNCTIONARY
from toolbox.payload.conventions.harmony import HARMONY
from toolbox.payload.conventions.invoke_tags import INVOKE_TAGS
from toolbox.payload.conventions.kimi import KIMI
from toolbox.payload.conventions.llama import LLAMA
from toolbox.payload.conventions.mistral import MISTRAL
from toolbox.payload.conventions.react import REACT
from toolbox.payload.conventions.tagged_json import TAGGED_JSON

__all__ = ["CONVENTIONS"]

CONVENTIONS: Final[tuple[Convention, ...]] = (
    FUNCTION_TAGS,
    INVOKE_TAGS,
    DEEPSEEK,
    KIMI,
    TAGGED_JSON,
    MISTRAL,
    LLAMA,
    HARMONY,
    FUNCTIONARY,
    REACT,
)
