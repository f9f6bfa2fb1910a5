"""A sum of sums taken apart, so that each part can be planned alone.

    sum(R) ({i -> sum(S) a + sum(T) b} + c)   =   sum(R) {i -> sum(S) a} + sum(R) {i -> sum(T) b} + sum(R) c

A tensor that is itself a sum, as the table of a join with columns of both sides is, has as many of them in
each product with itself as pairs of parts. Each factors in its own way, and together they have more loops
than a search can order. Only additions change places: no product of sums is multiplied out.
"""

from __future__ import annotations

from functools import reduce

from storel.calculus.nodes import Add, If, Singleton, Sum, Term
from storel.optimizer.physical.shape import addends, semiring_of


def taken_apart(term: Term) -> list[Term]:
    """Return the parts whose sum a term is: what its outermost addition adds up, or but the term itself.

    >>> from storel.calculus.nodes import Symbol
    >>> a, b, c = map(Symbol, "abc")
    >>> whole = Sum(a, Singleton(b, Add(Sum(a, Add(b, c)), c)))
    >>> taken_apart(whole) == [Sum(a, Singleton(b, Sum(a, Add(b, c)))), Sum(a, Singleton(b, c))]
    True
    """
    return _parts(term, semiring_of(term))


def together(parts: list[Term], like: Term) -> Term:
    """Return the sum of parts, in the semiring of what they are parts of."""
    semiring = semiring_of(like)
    return reduce(lambda left, right: Add(left, right, semiring), parts)


def _parts(term: Term, semiring: str) -> list[Term]:
    match term:
        case Add(_, _, same) if same == semiring:
            return addends(term)
        case Sum(source, body, same) if same == semiring:
            return [Sum(source, part, semiring) for part in _parts(body, semiring)]
        case Singleton(key, value, same) if same == semiring:
            return [Singleton(key, part, semiring) for part in _parts(value, semiring)]
        case If(condition, body, same) if same == semiring:
            return [If(condition, part, semiring) for part in _parts(body, semiring)]
        case _:
            return [term]
