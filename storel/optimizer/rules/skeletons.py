"""What a pattern asks of the nodes of a term, without a look at holes, semirings or guards.

    sum(R) {k -> ?e}        a sum whose body is a singleton
    ?a + 0                  a sum of two, the second of them a literal or empty

Nearly all rules are told by these two levels from terms that they do not match. Terms have few outlines, for
each of which it is found once what rules fit; only those are matched (matching.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from storel.calculus.nodes import Apply, Empty, Literal, Term
from storel.calculus.walk import children
from storel.optimizer.encoding.layouts import LAYOUTS, TERMS
from storel.optimizer.estimation.cardinality import CONSTRUCTORS
from storel.optimizer.rules.patterns import Node, Pattern
from storel.optimizer.rules.rulefile import Rule

_TYPES: dict[str, tuple[type, ...]] = {
    **{name: (kind,) for kind, name in CONSTRUCTORS.items()},
    **dict.fromkeys(("Int", "Truth"), (Literal,)),
    **dict.fromkeys(("zero", "one"), (Literal, Empty)),
    **{name: (Apply,) for name in LAYOUTS if name.startswith("Apply")},
}

_Outline: TypeAlias = tuple[type, str, tuple[type, ...]]
"""The type of a term, its function if it applies one, and the types of its children."""


@dataclass(frozen=True, slots=True)
class _Skeleton:
    """The types that a term may be of, a function if it is one, and what types some children may be of."""

    types: tuple[type, ...]
    function: str | None
    children: tuple[tuple[int, tuple[type, ...]], ...]


def _skeleton(pattern: Pattern) -> _Skeleton | None:
    """Return what a pattern asks of a term, None if that is nothing."""
    if not isinstance(pattern, Node) or pattern.constructor not in _TYPES:
        return None
    types, first = _TYPES[pattern.constructor], next(iter(pattern.arguments), None)
    function = first if types == (Apply,) and isinstance(first, str) else None
    kinds = zip(pattern.arguments, LAYOUTS.get(pattern.constructor, ""), strict=False)
    parts = [argument for argument, kind in kinds if kind in TERMS]
    asked = [
        (position, _TYPES[part.constructor])
        for position, part in enumerate(parts)
        if isinstance(part, Node) and part.constructor in _TYPES
    ]
    return _Skeleton(types, function, tuple(asked))


def _fits(asked: _Skeleton | None, outline: _Outline) -> bool:
    """Return whether terms with an outline have what is asked for; only such a one can match."""
    if asked is None:
        return True
    own, function, inside = outline
    return (
        own in asked.types
        and asked.function in (None, function)
        and all(position < len(inside) and inside[position] in types for position, types in asked.children)
    )


def _outline(term: Term) -> _Outline:
    function = term.function if isinstance(term, Apply) else ""
    return type(term), function, tuple([type(child) for child, _ in children(term)])


class Fitting:
    """Rules, in their order, of which those that fit a term are found at once."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._asked = [(_skeleton(rule.left), rule) for rule in rules]
        self._found: dict[_Outline, tuple[Rule, ...]] = {}

    def to(self, term: Term) -> tuple[Rule, ...]:
        """Return the rules that may match ``term`` itself."""
        outline = _outline(term)
        found = self._found.get(outline)
        if found is None:
            found = tuple(rule for asked, rule in self._asked if _fits(asked, outline))
            self._found[outline] = found
        return found
