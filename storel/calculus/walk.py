"""Walking through terms: what they are made of, and the same term made of other parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from storel.calculus.nodes import (
    Add,
    Apply,
    Empty,
    Find,
    If,
    Let,
    Literal,
    Lookup,
    Merge,
    Multiply,
    Range,
    Reduce,
    Singleton,
    Slice,
    Sum,
    Symbol,
    Term,
    Unique,
    Variable,
)

_LAYOUTS: dict[type, tuple[tuple[str, int], ...]] = {
    Variable: (),
    Literal: (),
    Symbol: (),
    Empty: (),
    Sum: (("source", 0), ("body", 2)),
    Reduce: (("source", 0), ("body", 2)),
    Singleton: (("key", 0), ("value", 0)),
    Lookup: (("mapping", 0), ("key", 0)),
    Range: (("low", 0), ("high", 0)),
    Slice: (("array", 0), ("low", 0), ("high", 0)),
    Let: (("value", 0), ("body", 1)),
    If: (("condition", 0), ("body", 0)),
    Add: (("left", 0), ("right", 0)),
    Multiply: (("left", 0), ("right", 0)),
    Merge: (("left", 0), ("right", 0), ("body", 3)),
    Find: (("source", 0), ("key", 0), ("body", 1)),
    Unique: (("key", 0),),
}
"""The fields of nodes that are children: the one place that says what binds how many variables in which."""


def children(term: Term) -> tuple[tuple[Term, int], ...]:
    """Return the children of ``term``, each with the number of binders that it stands under."""
    found: tuple[tuple[Term, int], ...] | None = getattr(term, "kept_children", None)
    if found is None:
        if isinstance(term, Apply):
            found = tuple([(argument, 0) for argument in term.arguments])
        else:
            found = tuple([(getattr(term, name), binders) for name, binders in _LAYOUTS[type(term)]])
        object.__setattr__(term, "kept_children", found)
    return found


def map_children(term: Term, function: Callable[[Term, int], Term]) -> Term:
    """Rebuild ``term`` with ``function(child, binders)`` for each child; it is the same if nothing changes.

    ``binders`` is the number of binders that the child stands under, seen from ``term``.
    """
    new, changes = list[tuple[Term, int]](), False
    for child, binders in children(term):
        made = function(child, binders)
        changes = changes or made is not child
        new.append((made, binders))
    return _with_children(term, tuple(new)) if changes else term


def length(term: Term) -> int:
    """Return how many nodes a term has as it is written."""
    found: int | None = getattr(term, "kept_length", None)
    if found is None:
        found = 1 + sum([length(child) for child, _ in children(term)])
        object.__setattr__(term, "kept_length", found)
    return found


def subterms(term: Term) -> Iterator[Term]:
    """Yield ``term`` and all that it is made of."""
    yield term
    for child, _ in children(term):
        yield from subterms(child)


def names_in(term: Term) -> frozenset[str]:
    """Return the names of the symbols that occur in ``term``.

    >>> sorted(names_in(Add(Symbol("a"), Singleton(Variable(0), Symbol("b")))))
    ['a', 'b']
    """
    found = frozenset((term.name,)) if isinstance(term, Symbol) else frozenset[str]()
    return found.union(*(names_in(child) for child, _ in children(term)))


def _with_children(term: Term, new: tuple[tuple[Term, int], ...]) -> Term:
    """Return ``term`` with other children."""
    terms = [child for child, _ in new]
    match term:
        case Sum() | Singleton() | Lookup() | If() | Add() | Multiply():
            made = type(term)(terms[0], terms[1], term.semiring)
        case Merge() | Find():
            made = type(term)(terms[0], terms[1], terms[2], term.semiring)
        case Reduce(monoid):
            made = Reduce(monoid, *terms)
        case Apply(name):
            made = Apply(name, tuple(terms))
        case Range() | Slice() | Let() | Unique():
            made = type(term)(*terms)
        case Variable() | Literal() | Symbol() | Empty():
            return term
    object.__setattr__(made, "kept_children", new)
    return made
