"""How much an action does, as an action that adds it up: a share of a loop's work is a share of its time.

    work(accumulate e)         = 1                           work(enter k: A) = work(A)
    work(loop x in l:h: A)     = (h - l) · work(A)           where work(A) does not depend on x
                               = f(h) - f(l)                 where work(A) = f(x + 1) - f(x)
                               = loop x in l:h: work(A)      else
    work(bind s <- A in B)     = work(A) + work(B)
    work(guard c: A)           = guard c: work(A)            what A reads may exist only where c holds
                               = work(A)                     where c only asks for a value that is not zero

The second law telescopes: the work on a row of nested segments is a difference of two numbers, whatever
is in it. What depends on the content of stores counts as one step.
"""

from __future__ import annotations

from typing import TypeAlias, TypeGuard

from storel.calculus.binding import free_variables, shift
from storel.calculus.nodes import Add, Apply, Literal, Lookup, Multiply, Term, Variable
from storel.calculus.walk import children, map_children
from storel.plan.binding import binders, source_terms
from storel.plan.count import difference, lowered
from storel.plan.nodes import (
    Accumulate,
    Action,
    Bind,
    Elements,
    Enter,
    Entries,
    Guard,
    Intersection,
    Loop,
    Matches,
    Positions,
    Source,
    Together,
    Unite,
)
from storel.scalars import ScalarType

_ZERO = Literal(0, ScalarType.INT64)
_ONE = Literal(1, ScalarType.INT64)

Known: TypeAlias = tuple[bool, ...]
"""Whether each binder, the innermost first, is of a loop: a number that is known when work is counted."""


def work_of_iteration(loop: Loop) -> Action:
    """Return an action that counts the work of one iteration of a loop that stands in no other one."""
    inner = work(loop.body, (True,) * binders(loop.source))
    return together((Accumulate(_ONE), inner))


def work_until(source: Positions | Elements, each: Action, end: Term) -> Term | None:
    """Return the work of the iterations before ``end``, ``each`` for one; None if that takes a loop."""
    match source:
        case Positions(low, _):
            part: Source = Positions(low, end)
        case Elements(array, low, _):
            part = Elements(array, low, end)
    counted = _repeated(part, each, ())
    return counted.value if isinstance(counted, Accumulate) else None


def steps(action: Action) -> Term:
    """Return the work of ``action`` where sizes alone tell it, else one step."""
    counted = work(action, ())
    return counted.value if _is_constant(counted) else _ONE


def without_asking(counted: Action) -> Action:
    """Return a bound on the work that ``counted`` adds up, in which no loop asks for conditions alone.

    Asking for each would take as long as what is guarded, and nobody else asks meanwhile. A condition that
    is asked for once, outside of loops, is cheap.
    """
    match counted:
        case Guard(condition, body):
            return Guard(condition, without_asking(body))
        case Loop():
            return at_most(counted)
        case Together(actions):
            return together([without_asking(part) for part in actions])
        case _:
            return counted


def at_most(counted: Action) -> Action:
    """Return a bound on the work that ``counted`` adds up: what is the same each time is done each time.

    That is a formula where only such conditions, as on padding, keep the work from being one.
    """
    match counted:
        case Guard(condition, body):
            inner = at_most(body)
            return inner if _is_constant(inner) else Guard(condition, inner)
        case Loop(Positions() | Elements() as source, body):
            inner = at_most(body)
            summed = _summed(inner.value, source) if isinstance(inner, Accumulate) else None
            return Loop(source, inner) if summed is None else Accumulate(summed)
        case Together(actions):
            return together([at_most(part) for part in actions])
        case _:
            return counted


def _is_constant(counted: Action) -> TypeGuard[Accumulate]:
    """Return whether work is told by sizes alone: arrays may only be read where a condition holds."""
    return isinstance(counted, Accumulate) and _is_of_sizes(counted.value)


def _is_of_sizes(term: Term) -> bool:
    is_other = isinstance(term, Variable | Lookup)
    return not is_other and all(_is_of_sizes(child) for child, _ in children(term))


def work(action: Action, known: Known) -> Action:
    """Return an action that adds up the work of ``action``, without any store."""
    match action:
        case Accumulate():
            return Accumulate(_ONE)
        case Enter(_, body):
            return work(body, known)
        case Guard(condition, body):
            return _guarded(condition, work(body, known), known)
        case Loop(source, body):
            return _repeated(source, work(body, (True,) * binders(source) + known), known)
        case Bind(_, value, body):
            return together((work(value, known), lowered(work(body, (False, *known)))))
        case Together(actions) | Unite(actions):
            return together([work(part, known) for part in actions])


def together(actions: list[Action] | tuple[Action, ...]) -> Action:
    """Return the sum of what ``actions`` count."""
    total: Term = _ZERO
    rest: list[Action] = []
    for action in actions:
        if isinstance(action, Accumulate):
            total = _plus(total, action.value)
        else:
            rest.append(action)
    counted = [*rest, *([Accumulate(total)] if total != _ZERO or not rest else [])]
    return counted[0] if len(counted) == 1 else Together(tuple(counted))


def _guarded(condition: Term, inner: Action, known: Known) -> Action:
    """Return the work of what is guarded; one step where it depends on a condition that is not known."""
    match condition, inner:
        case (_, Accumulate(Literal())) | (Apply("not_equal", (Lookup(), Literal(0))), _):
            return inner
        case _:
            return Guard(condition, inner) if _is_known(condition, known) else Accumulate(_ONE)


def _repeated(source: Source, each: Action, known: Known) -> Action:
    """Return the work of a loop over ``source`` whose iterations do ``each``."""
    is_known = all(_is_known(term, known) for term in source_terms(source))
    if not is_known or isinstance(source, Entries | Matches):
        return Accumulate(_ONE)
    if isinstance(source, Intersection):
        steps = (difference(side.low, side.high) for side in (source.left, source.right))
        return Accumulate(_plus(*steps))
    if isinstance(each, Accumulate):
        summed = _summed(each.value, source)
        if summed is not None:
            return Accumulate(summed)
    return Loop(source, each)


def _is_known(term: Term, known: Known) -> bool:
    return all(index < len(known) and known[index] for index in free_variables(term))


def _summed(term: Term, source: Positions | Elements) -> Term | None:
    """Return the sum of ``term`` over ``source`` where that takes no loop."""
    inner = binders(source)
    if _is_outside(term, inner):
        return _times(difference(source.low, source.high), shift(term, -inner))
    match term:
        case Add(left, right):
            one, other = _summed(left, source), _summed(right, source)
            return None if one is None or other is None else _plus(one, other)
        case Multiply(left, right) if _is_outside(left, inner) or _is_outside(right, inner):
            same, other = (left, right) if _is_outside(left, inner) else (right, left)
            summed = _summed(other, source)
            return None if summed is None else _times(shift(same, -inner), summed)
        case Apply("maximum", (Literal(0), steps)):
            return _telescoped(steps, source)
        case _:
            return _telescoped(term, source)


def _telescoped(term: Term, source: Positions | Elements) -> Term | None:
    """Return the sum of f(x + 1) - f(x) over the positions x of ``source``."""
    if not (isinstance(term, Apply) and term.function == "subtract"):
        return None
    after, before = term.arguments
    inner = binders(source)
    positions = (0, 1) if isinstance(source, Positions) else (1,)
    for index in positions:
        variable = Variable(index)
        is_next = after in (_at(before, index, step) for step in (Add(variable, _ONE), Add(_ONE, variable)))
        ends = [_at(before, index, shift(end, inner)) for end in (source.high, source.low)]
        if is_next and all(_is_outside(end, inner) for end in ends):
            return Apply("subtract", tuple(shift(end, -inner) for end in ends))
    return None


def _at(term: Term, index: int, value: Term, depth: int = 0) -> Term:
    """Return ``term`` with ``value`` for the variable ``index``, in the same scope."""
    if term == Variable(index + depth):
        return shift(value, depth)
    return map_children(term, lambda child, bound: _at(child, index, value, depth + bound))


def _is_outside(term: Term, inner: int) -> bool:
    return all(index >= inner for index in free_variables(term))


def _plus(left: Term, right: Term) -> Term:
    match left, right:
        case Literal(one), Literal(other):
            return Literal(one + other, ScalarType.INT64)
        case (Literal(0), term) | (term, Literal(0)):
            return term
        case _:
            return Add(left, right)


def _times(left: Term, right: Term) -> Term:
    return left if right == _ONE else right if left == _ONE else Multiply(left, right)
