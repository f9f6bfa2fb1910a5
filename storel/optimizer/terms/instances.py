"""Terms that are alike but for what stands in the place of one variable, and what may stand there."""

from __future__ import annotations

from collections.abc import Iterator

from storel.calculus.binding import free_mask, shift
from storel.calculus.nodes import Empty, Term, Variable
from storel.calculus.walk import children, map_children


def instance(pattern: Term, term: Term) -> Term | None:
    """Return what variable 0 of ``pattern`` is in ``term``, None if that is no instance of it.

    All other variables are the same in both.

    >>> from storel.calculus.nodes import Add, Multiply
    >>> instance(Add(Variable(0), Variable(3)), Add(Multiply(Variable(1), Variable(2)), Variable(3)))
    Multiply(left=Variable(index=1), right=Variable(index=2), semiring='plus_times')
    """
    found: list[Term] = []
    return found[0] if _is_instance(pattern, term, 0, found) and found else None


def covering(term: Term, count: int) -> Iterator[Term]:
    """Yield the parts of ``term`` outside of which none of some variables is, the largest first.

    The variables are so many, the innermost ones.

    >>> from storel.calculus.nodes import Add, Literal, Lookup, Multiply, Range, Sum, Symbol
    >>> from storel.scalars import ScalarType
    >>> address = Add(Multiply(Variable(3), Variable(4)), Variable(0))
    >>> row = Sum(Range(Literal(0, ScalarType.INT64), Symbol("n")), Lookup(Symbol("x"), address))
    >>> *_, smallest = covering(row, 3)
    >>> smallest
    Multiply(left=Variable(index=1), right=Variable(index=2), semiring='plus_times')
    """
    some = (1 << count) - 1
    for part in _around_first(term, 0, some):
        if _covers(part, term, some):
            yield part


def _covers(part: Term, term: Term, some: int) -> bool:
    """Return whether none of ``some`` variables is in ``term`` outside of a part of it."""
    if not free_mask(term) & some or term == part:
        return True
    inside = children(term)
    return bool(inside) and all(
        _covers(shift(part, binders), child, some << binders) for child, binders in inside
    )


def _around_first(term: Term, inside: int, some: int) -> Iterator[Term]:
    """Yield the parts around the first of ``some`` variables, from the outside in, seen from outside.

    ``inside`` are the variables that are bound between these.
    """
    first = next((each for each in children(term) if free_mask(each[0]) >> inside + each[1] & some), None)
    if first is None:
        return
    child, binders = first
    if not free_mask(term) & ((1 << inside) - 1):
        yield shift(term, -inside)
    yield from _around_first(child, inside + binders, some)


def _is_instance(pattern: Term, term: Term, variable: int, found: list[Term]) -> bool:
    """Return whether ``pattern`` is ``term`` for what is ``found`` for a variable, which is added."""
    if pattern == Variable(variable):
        if free_mask(term) & ((1 << variable) - 1):
            return False  # something bound in between
        seen = shift(term, -variable)
        found.append(seen)
        return seen == found[0]
    if not free_mask(pattern) >> variable & 1:
        return pattern == term
    if type(pattern) is not type(term) or _shell(pattern) != _shell(term):
        return False
    pairs = zip(children(pattern), children(term), strict=True)
    return all(_is_instance(one, other, variable + binders, found) for (one, binders), (other, _) in pairs)


def _shell(term: Term) -> Term:
    """Return ``term`` with nothing in it."""
    return map_children(term, lambda child, binders: Empty(0))
