"""The frame that all families of coercers are built in.

A coercer is a closure ``(value, path, out) -> coerced value or INVALID``. It is built once for a node and a policy: what the policy
says is decided at build, so that the hot path holds no flags.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from toolbox.coercion.expected import expectation
from toolbox.coercion.judge import BEST_EFFORT, STRING, WARNING, Judge
from toolbox.coercion.recurrence import holds_itself
from toolbox.diagnostics import FOREIGN, INVALID, FailureReason, Outcome, Path, path_text
from toolbox.policy import STRICT, Policy
from toolbox.types import CONSTRAINTS, Ref, Type

__all__ = ["Builder", "Coercer", "Factory", "check_constraints", "constructed", "is_set", "refused_reading", "single_item"]

Coercer = Callable[[Any, Path, Outcome], Any]
Factory = Callable[[Any, "Builder"], Coercer]


class Builder:
    """Builds the coercers of one document under one policy.

    Args:
        definitions: the nodes that references name.
        policy: what the coercers may do.
        factories: how each class of node is built.
        advises: whether a refusal looks for what to send instead; not so where it is only asked whether a value fits.
    """

    def __init__(
        self, definitions: Mapping[str, Type], policy: Policy, factories: Mapping[type[Type], Factory], *, advises: bool = True
    ) -> None:
        self.definitions = definitions
        self.policy = policy
        self.judge = Judge(policy)
        self.factories = factories
        self.advises = advises
        self._built: dict[str, Coercer] = {}
        self._tightened: dict[Policy, Builder] = {}
        self._asking: Builder | None = None
        self._endless: dict[int, bool] = {}

    def build(self, node: Type) -> Coercer:
        """The coercer of a node, its constructor included."""
        coerce = self.factories[type(node)](node, self)
        return coerce if node.construct is None else constructed(coerce, node, self)

    def under(self, policy: Policy | None) -> Builder:
        """The builder of the same document under a policy that tightens this one."""
        if policy is None:
            return self
        tightened = self.policy.tightened(policy)
        if tightened == self.policy:
            return self
        if tightened not in self._tightened:
            self._tightened[tightened] = Builder(self.definitions, tightened, self.factories, advises=self.advises)
        return self._tightened[tightened]

    def asking(self) -> Builder:
        """The builder of the same document that tells whether a value fits as it is, and nothing more."""
        if not self.advises:
            return self.under(STRICT)
        if self._asking is None:
            self._asking = Builder(self.definitions, self.policy.tightened(STRICT), self.factories, advises=False)
        return self._asking

    def reading_text(self) -> Builder:
        """The builder of the same document that may read text in any case: a key has no other form in JSON."""
        if self.policy.coercion >= STRING:
            return self
        return Builder(self.definitions, replace(self.policy, coercion=STRING), self.factories, advises=self.advises)

    def expected(self, node: Type) -> str:
        """What the node expects, in words."""
        return expectation(node, self.definitions)

    def resolve(self, node: Type) -> Type:
        """The node that a reference stands for, or the node itself."""
        seen = 0
        while isinstance(node, Ref) and seen < 100:
            node, seen = self.definitions[node.name], seen + 1
        return node

    def holds_itself(self, node: Type) -> bool:
        """Whether a node is met again at any depth below it."""
        found = self._endless.get(id(node))
        if found is None:
            found = self._endless[id(node)] = holds_itself(node, self.resolve)
        return found

    def reference(self, name: str) -> Coercer:
        """The coercer of a definition; built when it is first used, since definitions refer to each other."""
        built = self._built

        def coerce_reference(value: Any, path: Path, out: Outcome) -> Any:
            coerce = built.get(name)
            if coerce is None:
                coerce = built[name] = self.build(self.definitions[name])
            return coerce(value, path, out)

        return coerce_reference


def constructed(coerce: Coercer, node: Type, builder: Builder) -> Coercer:
    """The coercer, with the node's constructor behind it."""
    construct, instance = node.construct, node.instance
    assert construct is not None
    expected = builder.expected(node)
    # A constructor that also checks has its check apart, for values that need no making.
    check = getattr(construct, "check", None)

    def coerce_and_construct(value: Any, path: Path, out: Outcome) -> Any:
        is_made = instance is not None and isinstance(value, instance)
        if is_made and check is None:
            return value
        made = value if is_made else coerce(value, path, out)
        if made is INVALID:
            return INVALID
        try:
            return check(made) if is_made and check is not None else construct(made)
        except FOREIGN as error:  # a constructor is the author's
            return _rejected(error, expected, value, made, path, out)

    return coerce_and_construct


def _rejected(error: BaseException, expected: str, value: Any, made: Any, path: Path, out: Outcome) -> Any:
    errors = getattr(error, "errors", None)
    if callable(errors) and hasattr(error, "error_count"):  # pydantic's ValidationError: one failure each, without its documentation URLs
        for item in errors(include_url=False, include_context=False):
            place, below = path, made
            for key in item.get("loc", ()):
                # What follows is the name of a member of a union or of a validator, and no place in the value.
                if not (isinstance(below, dict) and key in below) and not (isinstance(below, list) and key in range(len(below))):
                    break
                place, below = (place, key), below[key]
            out.fail(place, FailureReason.REJECTED, expected, item.get("input", value), str(item.get("msg", ""))[:200])
        return INVALID
    try:
        words = str(error)
    except FOREIGN:
        words = ""
    if isinstance(error, KeyError):
        words = ""
    return out.fail(path, FailureReason.REJECTED, expected, value, words[:200] or type(error).__name__)


def is_set(limit: Any) -> bool:
    """Whether a limit was given. 0 is one, though it equals False."""
    return limit is not None and limit is not False


def check_constraints(node: Type, builder: Builder) -> Callable[[Any, Any, Path, Outcome], bool] | None:
    """A function ``(measured, came, path, out) -> whether every limit of the node holds``, or None when the node has no limits."""
    checks = [
        (constraint.holds, getattr(node, constraint.attribute), constraint.broken.format(getattr(node, constraint.attribute)))
        for constraint in CONSTRAINTS.get(type(node), ())
        if is_set(getattr(node, constraint.attribute))
    ]
    if not checks:
        return None
    expected = builder.expected(node)

    def holds_all(measured: Any, came: Any, path: Path, out: Outcome) -> bool:
        for holds, limit, words in checks:
            if not holds(measured, limit):
                out.fail(path, FailureReason.CONSTRAINT, expected, came, words)
                return False
        return True

    return holds_all


def refused_reading(
    holds: Callable[[Any, Any, Path, Outcome], bool] | None, value: Any, path: Path, out: Outcome, failures_before: int
) -> Any:
    """A reading that was refused, and that would break a limit as well, is refused for the limit: it must not be advised."""
    if holds is not None and len(out.failures) > failures_before:
        failure = out.failures[-1]
        trial = Outcome()
        if failure.would_be is not None and failure.path == path_text(path) and not holds(failure.would_be.after, value, path, trial):
            out.failures[-1] = trial.failures[0]
    return INVALID


def single_item(coerce: Coercer, value: Any, expected: str, path: Path, out: Outcome, judge: Judge) -> Any:
    """The one item of a list that came for a scalar, coerced; a failure when it is no such list."""
    item = value[0]
    made = coerce(item, (path, 0), out)
    if made is INVALID:
        return INVALID
    return judge.change(out, path, expected, value, made, BEST_EFFORT, WARNING, suggestion="Send the value itself, without an array")
