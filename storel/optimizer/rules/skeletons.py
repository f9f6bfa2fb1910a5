"""What the nodes of a pattern ask of a term, without a look at holes, semirings or guards.

    sum(R) {k -> ?e}        a sum whose body is a singleton
    ?a + 0                  a sum of two, the second of them a literal or empty

Most rules are told from most terms by this; only what fits is matched (matching.py).
"""

from __future__ import annotations

from dataclasses import dataclass

from storel.calculus.nodes import Apply, Empty, Literal, Term, children
from storel.optimizer.encoding.layouts import LAYOUTS, TERMS
from storel.optimizer.estimation.cardinality import CONSTRUCTORS
from storel.optimizer.rules.patterns import Node, Pattern

_TYPES: dict[str, tuple[type, ...]] = {
    **{name: (kind,) for kind, name in CONSTRUCTORS.items()},
    **dict.fromkeys(("Int", "Truth"), (Literal,)),
    **dict.fromkeys(("zero", "one"), (Literal, Empty)),
    **{name: (Apply,) for name in LAYOUTS if name.startswith("Apply")},
}


@dataclass(frozen=True, slots=True)
class Skeleton:
    """The types that a term may be of, a function if it is one, and what is asked of some of its children."""

    types: tuple[type, ...]
    function: str | None
    children: tuple[tuple[int, Skeleton], ...]


def skeleton(pattern: Pattern) -> Skeleton | None:
    """Return what a pattern asks of a term, None if that is nothing."""
    if not isinstance(pattern, Node) or pattern.constructor not in _TYPES:
        return None
    types, first = _TYPES[pattern.constructor], next(iter(pattern.arguments), None)
    function = first if types == (Apply,) and isinstance(first, str) else None
    kinds = zip(pattern.arguments, LAYOUTS.get(pattern.constructor, ""), strict=False)
    parts = [argument for argument, kind in kinds if kind in TERMS]
    asked = [
        (position, found)
        for position, part in enumerate(parts)
        if not isinstance(part, str | int) and (found := skeleton(part)) is not None
    ]
    return Skeleton(types, function, tuple(asked))


def fits(asked: Skeleton | None, term: Term) -> bool:
    """Return whether a term has the nodes that are asked for; only such a one can match."""
    if asked is None:
        return True
    if type(term) not in asked.types:
        return False
    if asked.function is not None and isinstance(term, Apply) and term.function != asked.function:
        return False
    inside = children(term)
    for position, part in asked.children:
        if position >= len(inside) or not fits(part, inside[position][0]):
            return False
    return True
