"""A result's keys entered in another order, such as that of its storage.

{i -> sum(R) {j -> v}}   =  sum(R) {j -> {i -> v}}       i and j change places,

and likewise through if, let, +, merge and find. ``hoist_keys`` then moves the outer key, which is now j, out
of the sums that do not bind it: columns are entered one after the other where they are stored so.
"""

from __future__ import annotations

from collections.abc import Iterator

from storel.calculus.binding import free_variables, shift
from storel.calculus.nodes import Add, Empty, Find, If, Let, Merge, Singleton, Sum, Term
from storel.optimizer.physical.shape import has_loop

Keys = tuple[Term, ...]


def reordered(term: Term, order: tuple[int, ...], keys: Keys = ()) -> Term | None:
    """Return a dictionary of dictionaries with its keys in another order; None if they cannot be moved.

    Level k of what is returned has the keys of level ``order[k]`` of ``term``, below ``keys`` which were
    taken off from above.
    """
    if not keys and order == tuple(range(len(order))):
        return term
    match term:
        case Empty(rank, scalar):
            return Empty(rank + len(keys), scalar)
        case Singleton(key, value, semiring) if not has_loop(key):
            keys = (*keys, key)
            moved = order[: len(keys)]
            if max(moved) >= len(keys):
                return reordered(value, order, keys)
            below = reordered(value, tuple(level - len(keys) for level in order[len(keys) :]))
            for level in reversed(moved):
                below = None if below is None else Singleton(keys[level], below, semiring)
            return below
        case Sum(source, body, semiring):
            inner = reordered(body, order, _shifted(keys, 2))
            return None if inner is None else Sum(source, inner, semiring)
        case Merge(left, right, body, semiring):
            inner = reordered(body, order, _shifted(keys, 3))
            return None if inner is None else Merge(left, right, inner, semiring)
        case Find(source, wanted, body, semiring):
            inner = reordered(body, order, _shifted(keys, 1))
            return None if inner is None else Find(source, wanted, inner, semiring)
        case Let(value, body):
            inner = reordered(body, order, _shifted(keys, 1))
            return None if inner is None else Let(value, inner)
        case If(condition, body, semiring):
            inner = reordered(body, order, keys)
            return None if inner is None else If(condition, inner, semiring)
        case Add(left, right, semiring):
            first, second = reordered(left, order, keys), reordered(right, order, keys)
            return None if first is None or second is None else Add(first, second, semiring)
        case _:
            return None


def binding_orders(term: Term, rank: int) -> tuple[tuple[int, ...], ...]:
    """Return the orders in which loops bind the keys of each level, the outermost first; equal ones once."""
    found = (tuple(sorted(range(rank), key=depths.__getitem__)) for depths in _depths(term, rank, (), ()))
    return tuple(dict.fromkeys(found))


def _depths(
    term: Term, rank: int, scopes: tuple[int, ...], depths: tuple[int, ...]
) -> Iterator[tuple[int, ...]]:
    """Yield for each leaf of a dictionary how deep the loops are that bind its keys.

    ``scopes`` are the depths of the enclosing binders, the innermost first.
    """
    if len(depths) == rank:
        yield depths
        return
    within = max(scopes, default=0) + 1
    match term:
        case Singleton(key, value):
            depth = max((scopes[index] for index in free_variables(key)), default=0)
            yield from _depths(value, rank, scopes, (*depths, depth))
        case Sum(_, body):
            yield from _depths(body, rank, (within,) * 2 + scopes, depths)
        case Merge(_, _, body):
            yield from _depths(body, rank, (within,) * 3 + scopes, depths)
        case Find(_, _, body) | Let(_, body):
            yield from _depths(body, rank, (within, *scopes), depths)
        case If(_, body):
            yield from _depths(body, rank, scopes, depths)
        case Add(left, right):
            yield from _depths(left, rank, scopes, depths)
            yield from _depths(right, rank, scopes, depths)
        case _:
            return


def _shifted(keys: Keys, binders: int) -> Keys:
    return tuple(shift(key, binders) for key in keys)
