"""What may fail, named outside the loops that repeat it, if they come to it at all.

    sum(R) … t …   =>   let x = if (sum(R) … 1 != 0) then t in sum(R) … x …

t is a scalar that contains a loop and does not depend on the binders of R, such as the greatest element of
a row that may have none, ``a - max(row)`` for each element a of it. It fails if and only if it did before:
where there is an iteration that comes to it, under the conditions on its way. To ask for one takes a pass;
the cost decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from storel.calculus.binding import free_variables, occurs, shift
from storel.calculus.nodes import Add, Apply, Find, If, Let, Literal, Merge, Reduce, Sum, Term, Variable
from storel.calculus.verify import infer
from storel.calculus.walk import children
from storel.optimizer.sharing.hoisting import is_movable
from storel.optimizer.terms.occurrences import at, occurrences, replaced
from storel.scalars import ScalarType
from storel.symbols import Symbols

_NONE, _ONE = (Literal(number, ScalarType.INT64) for number in (0, 1))


def guarded(term: Term, symbols: Symbols) -> Iterator[Term]:
    """Yield ``term`` with one part that may fail named outside the loops that it does not depend on.

    It may be met at several places under the same binders.
    """
    found: dict[tuple[tuple[int, ...], Term], dict[tuple[int, ...], int]] = {}
    for each in occurrences(term, symbols):
        depth = each.inside(min(free_variables(each.term), default=len(each.scope)))
        if not any(binder.is_loop for binder in each.scope[:depth]):
            continue
        if infer(each.term, symbols, each.types).rank == 0 and not is_movable(each, depth, symbols):
            home = each.home(depth)
            ways = found.setdefault((home, shift(each.term, -depth)), {})
            ways[each.path[len(home) :]] = depth
    for (home, part), ways in found.items():
        yield from _with_name(term, home, part, ways)


def _with_name(
    term: Term, home: tuple[int, ...], part: Term, ways: dict[tuple[int, ...], int]
) -> Iterator[Term]:
    """Yield ``term`` with a part named at its home; ways lead from there to it, past so many variables."""
    inside = at(term, home)
    times = {way: reached for way in ways if (reached := _times_reached(inside, way)) is not None}
    if times:
        total = reduce(Add, dict.fromkeys(times.values()))
        body = shift(inside, 1)
        for way in times:
            body = replaced(body, way, Variable(ways[way]))
        yield replaced(term, home, Let(If(Apply("not_equal", (total, _NONE)), part), body))


def _times_reached(term: Term, way: tuple[int, ...]) -> Term | None:
    """Return how often the subterm at the end of a way is evaluated, None where that is not known.

    Loops that may end early, once their answer is known, may not come to it.
    """
    if not way:
        return _ONE
    inner = _times_reached(children(term)[way[0]][0], way[1:])
    match term:
        case _ if inner is None:
            return None
        case Sum(_, _, "or_and") | Reduce("any" | "all"):
            return None
        case Sum(source) | Reduce(_, source):
            return Sum(source, inner)
        case Merge(left, right):
            return Merge(left, right, inner)
        case Find(source, key):
            return Find(source, key, inner)
        case Let(value) if way[0] == 1:
            return Let(value, inner) if occurs(inner, 0) else shift(inner, -1)
        case If(condition) if way[0] == 1:
            return If(condition, inner)
        case Apply("and" | "or") if way[0] == 1:
            return None
        case _:
            return inner
