"""Values that are as well computed where they are not needed, so that what asks for them need not branch.

Each step of a union goes another way than the one before, which costs more than what its branches add.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from storel.calculus.intervals import ANY
from storel.loops.emitter import ALWAYS, NEVER, Emitter, both, chosen, convert, index
from storel.loops.lowering.coiteration import Coiteration, Part
from storel.loops.lowering.expressions import ExpressionLowering
from storel.loops.lowering.scans import Scans
from storel.loops.lowering.scope import Scope, Value
from storel.loops.nodes import Constant, Declare, Expression, Role, Statement
from storel.plan.nodes import Accumulate, Action, Bind, Enter, Guard, Loop, Matches, ScalarStore
from storel.plan.single import is_light


@dataclass(frozen=True, slots=True)
class Added:
    """What an action adds to a scalar, where the ``condition`` holds; both may be evaluated anywhere."""

    condition: Expression
    value: Expression


def are_added_anyway(
    branches: Sequence[Loop], scope: Scope, expressions: ExpressionLowering, role: Role
) -> bool:
    """Return whether all branches of a union add what is as well computed where it is not needed.

    They are tried out, since a read that is not proved to be inside of its array comes with a check.
    """
    trial, emitted = replace(expressions, emitter=Emitter()), list[Statement]()
    found: list[Added | None] = []

    def step(key: Expression, parts: Sequence[Part]) -> None:
        with trial.emitter.block() as statements:
            found.extend(_branch(branches[part.number], part, trial, role) for part in parts)
        emitted.extend(statements)

    Coiteration(Scans(trial)).regions([branch.source for branch in branches], scope, step)
    return None not in found and all(isinstance(statement, Declare) for statement in emitted)


def added(
    branches: Sequence[Loop], parts: Sequence[Part], expressions: ExpressionLowering, role: Role
) -> Iterator[Added]:
    """Yield what each part of a union adds at an element, if these ``are_added_anyway``."""
    for part in parts:
        found = _branch(branches[part.number], part, expressions, role)
        assert found is not None
        yield found


def _branch(branch: Loop, part: Part, expressions: ExpressionLowering, role: Role) -> Added | None:
    assert isinstance(branch.body, Enter)
    found = _added(branch.body.body, part.scope, expressions, role)
    return found and _where(part.is_here, found)


def _added(action: Action, scope: Scope, expressions: ExpressionLowering, role: Role) -> Added | None:
    """Return what ``action`` adds, if that is one value at most and takes no time."""
    match action:
        case Accumulate(value) if is_light(value):
            return Added(ALWAYS, expressions.lower(value, scope, role))
        case Guard(condition, body) if is_light(condition):
            inner = _added(body, scope, expressions, role)
            return inner and _where(expressions.condition(condition, scope), inner)
        case Bind(ScalarStore(zero=zero) as store, value, body) if zero is not None:
            bound = _added(value, scope, expressions, role)
            if bound is None:
                return None
            nothing = convert(Constant(zero, store.type), store.type)
            number = chosen(bound.condition, convert(bound.value, store.type), nothing)
            local = expressions.emitter.declare("t", number)
            return _added(body, scope.bind(Value(local), ANY), expressions, role)
        case Loop(Matches() as search, body) if (met := scope.answer(search)) is not None:
            if met.is_here == NEVER:
                return Added(NEVER, index(0))
            inner = _added(body, scope.bind(Value(met.position), met.positions), expressions, role)
            return inner and _where(met.is_here, inner)
        case _:
            return None


def _where(condition: Expression, inner: Added) -> Added:
    return replace(inner, condition=both(condition, inner.condition))
