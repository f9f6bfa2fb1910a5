"""Keys of stored tensors, told by what they read: they are within the extents, whatever their bounds are.

Whoever stores a tensor has verified that its entries are within its extents. What is known of arrays need
not imply it: the bits of any number may be gathered. So a key of a dictionary that a plan stores is compared
with the keys of mappings, each written with the arrays that it reads, wherever it reads them:

    sum(<p, z> in key(0:nnz)) { (gather(z, 0), gather(z, 1)) -> … }      gather(key(_), 0) < m

It is no proof that keys are the same, and need be none: to an intermediate result extents are a promise that
the kernel checks, as it does for what a user says of a result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias, cast

from storel.calculus.nodes import Add, If, Let, Lookup, Range, Singleton, Slice, Sum, Symbol, Term, Variable
from storel.calculus.walk import children, map_children, names_in
from storel.plan.binding import binders
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
from storel.symbols import MappingSymbol, Symbols

ANYWHERE = Symbol("_")
"""A position, whichever it is."""

_Context: TypeAlias = tuple[Term | None, ...]
"""What each binder stands for, the innermost first; None where that is not known."""


def stored_extents(action: Action, rank: int, symbols: Symbols) -> tuple[int | None, ...]:
    """Return an extent for the keys that ``action`` enters in each level, None unless all are stored keys."""
    known = _known(symbols)
    found: list[int | None] = []
    parts: list[tuple[Action, _Context]] = [(action, ())]
    for _ in range(rank):
        entered = [each for part, context in parts for each in _entered(part, context)]
        extents = [known.get(_read(enter.key, context)) for enter, context in entered]
        certain = [extent for extent in extents if extent is not None]
        found.append(max(certain) if certain and len(certain) == len(extents) else None)
        parts = [(enter.body, context) for enter, context in entered]
    return tuple(found)


def _known(symbols: Symbols) -> dict[Term, int]:
    """Return the extents of keys that read arrays, of all stored tensors."""
    found: dict[Term, int] = {}
    for fact in symbols.values():
        if isinstance(fact, MappingSymbol):
            for key, extent in _keys(cast("Term", fact.term), fact.extents, ()):
                if names_in(key) - {ANYWHERE.name}:
                    found[key] = max(extent, found.get(key, 0))
    return found


def _keys(term: Term, extents: Sequence[int], context: _Context) -> Iterator[tuple[Term, int]]:
    """Yield the keys of a mapping, by what they read, and the extents that they are within."""
    match term:
        case Singleton(key, value) if extents:
            yield _read(key, context), extents[0]
            yield from _keys(value, extents[1:], context)
        case Sum(source, body):
            yield from _keys(body, extents, (_element(source), ANYWHERE, *context))
        case Let(value, body):
            yield from _keys(body, extents, (_read(value, context), *context))
        case If(_, body):
            yield from _keys(body, extents, context)
        case Add(left, right):
            yield from _keys(left, extents, context)
            yield from _keys(right, extents, context)
        case _:
            return


def _element(source: Term) -> Term | None:
    match source:
        case Symbol(name) | Slice(Symbol(name)):
            return _element_of(name)
        case Range():
            return ANYWHERE
        case _:
            return None


def _element_of(array: str) -> Term:
    return Lookup(Symbol(array), ANYWHERE)


def _entered(action: Action, context: _Context) -> Iterator[tuple[Enter, _Context]]:
    """Yield the keys that are entered next, and what is bound there."""
    match action:
        case Accumulate():
            return
        case Enter():
            yield action, context
        case Guard(_, body):
            yield from _entered(body, context)
        case Loop(source, body):
            yield from _entered(body, (*_bound(source), *context))
        case Bind(_, value, body):
            named = _read(value.value, context) if isinstance(value, Accumulate) else None
            yield from _entered(body, (named, *context))
        case Together(parts) | Unite(parts):
            for part in parts:
                yield from _entered(part, context)


def _bound(source: Source) -> _Context:
    """Return what a loop binds, the innermost first."""
    match source:
        case Elements(array):
            return _element_of(array), ANYWHERE
        case Intersection(left):
            return _element_of(left.array), ANYWHERE, ANYWHERE
        case Positions() | Matches():
            return (ANYWHERE,) * binders(source)
        case Entries():
            return (None,) * binders(source)


def _read(term: Term, context: _Context, depth: int = 0) -> Term:
    """Return ``term`` with what its variables stand for; ``depth`` of them are bound in itself.

    Variables of which nothing is known stay, so that nothing is equal to it by chance.
    """
    match term:
        case Lookup(Symbol(name)):
            return _element_of(name)
        case Variable(index) if depth <= index < depth + len(context):
            return context[index - depth] or term
        case _ if children(term):
            return map_children(term, lambda child, inner: _read(child, context, depth + inner))
        case _:
            return term
