"""Google Gemini: function declarations in Google's own schema language, ``functionCall`` and ``functionResponse`` parts.

Sources: the Gemini API reference, and the types of the google-genai SDK (which forbid unknown keys).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolbox.payload.found import FoundCall
from toolbox.providers.dialects import Dialect, Recursion, Refs
from toolbox.providers.media import Media, mentions, parts_of, structured
from toolbox.providers.provider import Choice, Limits, Provider, WrittenTool
from toolbox.providers.records import SentResult
from toolbox.providers.shared import (
    MADE,
    Answer,
    IdRule,
    NameRule,
    arguments_object,
    cut_off,
    first,
    found_call,
    malformed,
    mappings,
    text_of,
)
from toolbox.providers.streaming import Assembler, Slot
from toolbox.types import (
    ABSENT,
    CONSTRAINTS,
    ArrayType,
    BooleanType,
    Document,
    EnumType,
    IntegerType,
    NullType,
    NumberType,
    ObjectType,
    StringType,
    Type,
    UnionType,
)

__all__ = ["PROVIDER", "Gemini", "write_node"]

_MALFORMED: Final = frozenset(
    ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE", "MISSING_THOUGHT_SIGNATURE")
)
_FINISHED: Final = frozenset(("STOP", "FINISH_REASON_UNSPECIFIED"))
_MODES: Final = {"auto": "AUTO", "none": "NONE", "required": "ANY", "tool": "ANY"}
_SIMPLE: Final = (StringType(), NumberType(), BooleanType(), ObjectType())
# A schema without a type is refused by Vertex AI and by newer models; the items of an array need one too.
_ANYTHING: Final = UnionType(members=(*_SIMPLE, ArrayType(items=UnionType(members=_SIMPLE)), NullType()))
_STEP: Final = re.compile(r"\.([^.\[]+)|\[(\d+)\]|\['([^']*)'\]")
_TYPES: Final = {
    NullType: "NULL",
    BooleanType: "BOOLEAN",
    IntegerType: "INTEGER",
    NumberType: "NUMBER",
    StringType: "STRING",
    EnumType: "STRING",
    ArrayType: "ARRAY",
    ObjectType: "OBJECT",
}


class Gemini(Provider):
    """The Gemini API, by the SDK or over HTTP."""

    name = "gemini"
    # 128 characters by the SDK, 64 by older references of the API.
    names = NameRule(re.compile(r"[^a-zA-Z0-9_.:-]"), 64, letter_first=True)
    ids = IdRule(re.compile(r".+", re.DOTALL))
    dialect = Dialect(
        title="Gemini",
        keywords=frozenset(
            ("minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength", "pattern", "minProperties", "maxProperties")
        ),
        formats=frozenset(("date-time",)),
        encodings=False,
        examples=False,
        deprecated=False,
        refs=Refs.INLINE,
        recursion=Recursion.CUT,
        one_of=False,
        opaque=False,
        prefixes=False,
        untyped=False,
        anything=_ANYTHING,
        open_objects=False,
        only_text_choices=True,
        lone_unions=True,
        properties=NameRule(re.compile(r"[^a-zA-Z0-9_]"), 64, letter_first=True),
    )
    limits = Limits(tools=512)

    def schema(self, document: Document) -> dict[str, Any]:
        """In Google's schema language."""
        return write_node(document.root)

    def definition(self, tool: WrittenTool) -> dict[str, Any]:
        """A function declaration; objects without properties are refused by some servers, so a tool without parameters has none."""
        made: dict[str, Any] = {"name": tool.name, "description": tool.description}
        return {**made, "parameters": tool.parameters} if tool.parameters.get("properties") else made

    def request_tools(self, definitions: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """All declarations in one tool."""
        return [{"functionDeclarations": definitions}]

    def choice(self, choice: Choice) -> dict[str, Any]:
        """``toolConfig``."""
        config: dict[str, Any] = {"mode": _MODES[choice.mode]}
        if choice.mode == "tool":
            config["allowedFunctionNames"] = [choice.name]
        return {"toolConfig": {"functionCallingConfig": config}}

    def recognises(self, response: Any) -> bool:
        """A response with ``candidates``, or a model's content."""
        if not isinstance(response, Mapping):
            return False
        if isinstance(response.get("candidates"), list):
            return True
        return response.get("role") == "model" and isinstance(response.get("parts"), list)

    def read(self, response: Any) -> Answer:
        """The ``functionCall`` parts of the first candidate; `finishReason` is STOP for them."""
        parts = mappings(_content(response).get("parts"))
        answer = Answer(texts=text_of(parts))
        for part in parts:
            call = _get(part, "functionCall", "function_call")
            if isinstance(call, Mapping):
                within = _get(response, "responseId", "response_id") or ""
                answer.calls.append(found_call(call.get("name"), call.get("args"), call.get("id"), len(answer.calls), within))
        reason = _get(first(response.get("candidates")), "finishReason", "finish_reason")
        answer.problem = _problem(reason, bool(answer.calls))
        return answer

    def echo(self, response: Any, answer: Answer) -> list[dict[str, Any]]:  # noqa: ARG002 - ids that were made stay at home
        """The model's content unchanged: the thought signatures in it have to come back."""
        content = _content(response)
        return [{**content, "role": "model"}] if content.get("parts") else []

    def assembler(self) -> Assembler:
        """Puts the responses of a stream together."""
        return _PartsAssembler()

    def results(self, results: Sequence[SentResult], names: Mapping[str, str]) -> list[dict[str, Any]]:
        """One message with as many ``functionResponse`` parts as there were calls."""
        return [{"role": "user", "parts": [{"functionResponse": self._response(result, names)} for result in results]}]

    def _response(self, result: SentResult, names: Mapping[str, str]) -> dict[str, Any]:
        made: dict[str, Any] = {} if result.call_id is None or result.call_id.startswith(MADE) else {"id": result.call_id}
        made["name"] = names.get(result.tool, result.tool)
        if result.failed:
            return {**made, "response": {"error": result.text}}
        parts = parts_of(result.value, result.text)
        media = [part for part in parts if isinstance(part, Media)]
        if media:
            texts = [part for part in parts if isinstance(part, str)]
            shown = [{"inlineData": {"mimeType": part.mime, "data": part.base64}} for part in media]
            return {**made, "response": {"output": "\n".join(texts) or "see the parts"}, "parts": shown}
        value = structured(result.value, result.text)
        # A "$ref" in a response is read as a reference to one of its parts.
        return {**made, "response": {"output": result.text if mentions(value, "$ref") else value}}

    def calls(self, calls: Sequence[FoundCall], text: str) -> list[dict[str, Any]]:
        """A model's content with ``functionCall`` parts."""
        parts: list[dict[str, Any]] = [{"text": text}] if text else []
        for call in calls:
            made = {} if (call.call_id or MADE).startswith(MADE) else {"id": call.call_id}
            parts.append({"functionCall": {**made, "name": call.name, "args": arguments_object(call.arguments)}})
        if calls:  # Gemini 3 refuses calls without a signature; this is the documented stand-in where there is none
            parts[-len(calls)]["thoughtSignature"] = "skip_thought_signature_validator"
        return [{"role": "model", "parts": parts}]

    def user(self, text: str) -> dict[str, Any]:
        """A user's content."""
        return {"role": "user", "parts": [{"text": text}]}


# Schemas


def write_node(node: Type) -> dict[str, Any]:
    """A node of the dialect in Google's schema language: types in capitals, null as ``nullable``, nothing beside ``anyOf``."""
    if isinstance(node, UnionType):
        return _write_union(node)
    written: dict[str, Any] = {}
    if type(node) in _TYPES:
        written["type"] = _TYPES[type(node)]
    if node.title is not None:
        written["title"] = node.title
    if node.description is not None:
        written["description"] = node.description
    if isinstance(node, StringType) and node.format is not None:
        written["format"] = node.format
    elif isinstance(node, EnumType):
        written["enum"] = list(node.values)
    elif isinstance(node, ArrayType):
        written["items"] = write_node(node.items)
    elif isinstance(node, ObjectType) and node.fields:
        written["properties"] = {item.name: write_node(item.type) for item in node.fields}
        required = [item.name for item in node.fields if item.required]
        if required:
            written["required"] = required
    for constraint in CONSTRAINTS.get(type(node), ()):
        limit = getattr(node, constraint.attribute)
        if limit is not None and limit is not False:
            written[constraint.keyword] = limit
    if node.default is not ABSENT and node.default is not None:
        written["default"] = node.default
    return written


def _write_union(node: UnionType) -> dict[str, Any]:
    kinds = [member for member in node.members if not isinstance(member, NullType)]
    written = [write_node(member) for member in kinds]
    if len(kinds) < len(node.members):
        written[0]["nullable"] = True
    if len(written) > 1:
        return {"anyOf": written}
    only = written[0]
    if node.title is not None:
        only["title"] = node.title
    if node.description is not None:
        only["description"] = f"{node.description} {only['description']}" if "description" in only else node.description
    if node.default is not ABSENT and node.default is not None:
        only["default"] = node.default
    return only


# Responses


def _get(data: Mapping[str, Any], *names: str) -> Any:
    return next((data[name] for name in names if data.get(name) is not None), None)


def _content(response: Any) -> dict[str, Any]:
    if "candidates" not in response:
        return dict(response)
    return dict(first(response["candidates"]).get("content") or {})


def _problem(reason: Any, calls: bool) -> Any:
    if not isinstance(reason, str) or reason in _FINISHED:
        return None
    if reason in _MALFORMED:
        return malformed(reason)
    return cut_off(reason) if calls else None


class _PartsAssembler(Assembler):
    """Every event is a whole response; its parts are strung together. A call comes whole, or (on Vertex AI) its arguments one by one."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[dict[str, Any]] = []
        self.open: Slot | None = None
        self.head: dict[str, Any] = {}

    def within(self) -> object:
        """The id of the response."""
        return self.head.get("responseId") or ""

    def add(self, event: dict[str, Any]) -> None:
        """Take one response."""
        for key, other in (("responseId", "response_id"), ("modelVersion", "model_version"), ("usageMetadata", "usage_metadata")):
            found = _get(event, key, other)
            if found is not None:
                self.head[key] = found
        candidate = first(event.get("candidates"))
        for part in mappings((candidate.get("content") or {}).get("parts")):
            call = _get(part, "functionCall", "function_call")
            if isinstance(call, dict):
                self._call(part, call)
            else:
                self._other(part)
        reason = _get(candidate, "finishReason", "finish_reason")
        if isinstance(reason, str) and reason != "FINISH_REASON_UNSPECIFIED":
            self.stop = reason
            self.problem = _problem(reason, bool(self.slots))
            self.finish()

    def _other(self, part: dict[str, Any]) -> None:
        text, last = part.get("text"), self.parts[-1] if self.parts else {}
        if isinstance(text, str) and not part.get("thought"):
            self.texts.append(text)
        if isinstance(text, str) and set(part) == set(last) <= {"text", "thought"} and part.get("thought") == last.get("thought"):
            last["text"] += text
        else:
            self.parts.append(dict(part))

    def _call(self, part: dict[str, Any], call: dict[str, Any]) -> None:
        pieces = mappings(_get(call, "partialArgs", "partial_args"))
        slot = self.open
        if slot is None:
            slot = Slot(call.get("name") or "", call.get("id"), value={})
            self.slots.append(slot)
            rest = {key: item for key, item in part.items() if key not in ("functionCall", "function_call")}
            own = {key: item for key, item in (("id", slot.call_id), ("name", slot.name)) if item}
            self.parts.append({"functionCall": {**own, "args": slot.value}, **rest})
        if isinstance(call.get("args"), dict):
            slot.value.update(call["args"])
        for piece in pieces:
            _place(slot.value, piece)
        more = bool(_get(call, "willContinue", "will_continue"))
        self.open = slot if more else None
        slot.ended = not more

    def response(self) -> dict[str, Any]:
        """The whole response."""
        stop = self.stop or ("MAX_TOKENS" if self.slots else "STOP")
        return {"candidates": [{"content": {"role": "model", "parts": self.parts}, "finishReason": stop, "index": 0}], **self.head}


def _place(target: dict[str, Any], piece: dict[str, Any]) -> None:
    """Put a partial argument where its path says."""
    path = _get(piece, "jsonPath", "json_path")
    steps: list[Any] = [int(number) if number else key or quoted for key, number, quoted in _STEP.findall(path or "")]
    if not steps:
        return
    inner: Any = target
    for step, after in zip(steps, [*steps[1:], None], strict=True):
        if isinstance(step, int):
            if not isinstance(inner, list) or step > len(inner):
                return
            if step == len(inner):
                inner.append(None)
        elif not isinstance(inner, dict):
            return
        old = inner[step] if isinstance(step, int) else inner.get(step)
        if after is None:
            inner[step] = _partial_value(piece, old)
        else:
            if old is None:
                inner[step] = [] if isinstance(after, int) else {}
            inner = inner[step]


def _partial_value(piece: dict[str, Any], old: Any) -> Any:
    text = _get(piece, "stringValue", "string_value")
    if isinstance(text, str):
        return old + text if isinstance(old, str) else text
    return _get(piece, "numberValue", "number_value", "boolValue", "bool_value")


PROVIDER: Provider = Gemini()
