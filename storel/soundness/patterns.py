"""What can be read off a pattern before an instance of it is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from storel.errors import StorelError
from storel.functions import FUNCTIONS
from storel.optimizer.encoding.layouts import LAYOUTS
from storel.optimizer.rules.patterns import Bound, Hole, Node, Pattern
from storel.optimizer.rules.rulefile import Rule
from storel.optimizer.rules.wellformed import require_meaning


def holes(pattern: Pattern, scope: frozenset[str] = frozenset()) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield each occurrence of a pattern variable, with the binders around it."""
    match pattern:
        case Hole(name):
            yield name, scope
        case Bound() | Node("zero" | "one", _):
            return
        case Node(constructor, arguments):
            kinds = list(zip(arguments, LAYOUTS[constructor], strict=True))
            bound = scope.union(part.name for part, kind in kinds if kind == "b" and isinstance(part, Bound))
            for part, kind in kinds:
                if isinstance(part, Hole | Node):
                    yield from holes(part, bound if kind == "B" else scope)


def keys_of(pattern: str | int | Pattern) -> int:
    """Return how many keys a pattern of a dictionary gives each entry, at least."""
    match pattern:
        case Node("Single", (_, _, value)):
            return 1 + keys_of(value)
        case Node("Sum" | "Merge" | "Find", (*_, body)):
            return keys_of(body)
        case _:
            return 0


def is_key(pattern: Pattern) -> bool:
    """Return whether only a key can be an instance: of ``unique(?k)``, or of a lookup in a range."""
    match pattern:
        case Node("Uniq") | Node("Look", (_, Node("Range"), _)):
            return True
        case _:
            return False


def has_conversions(pattern: Pattern) -> bool:
    """Return whether a pattern makes numbers longer, so that it is about those of several types."""
    match pattern:
        case Node(constructor, (function, *_)) if constructor.startswith("Apply"):
            if FUNCTIONS[str(function)].conversion is not None:
                return True
        case _:
            pass
    return isinstance(pattern, Node) and any(
        has_conversions(part) for part in pattern.arguments if isinstance(part, Node)
    )


def binds_in_two_loops(pattern: Pattern) -> bool:
    """Return whether two loops of a pattern bind variables of the same name."""
    names = list(_bound(pattern))
    return len(names) > len(set(names))


def _bound(pattern: Pattern) -> Iterator[str]:
    """Yield the name of each variable that is bound, once for each loop."""
    if isinstance(pattern, Node):
        for part, kind in zip(pattern.arguments, LAYOUTS.get(pattern.constructor, ""), strict=False):
            if isinstance(part, Bound) and kind == "b":
                yield part.name
            elif isinstance(part, Node):
                yield from _bound(part)


def backwards(rule: Rule) -> Rule | None:
    """Return a rule from right to left, None if its right side does not say all that its left side is."""
    other = replace(rule, name=f"{rule.name}-backwards", left=rule.right, right=rule.left)
    try:
        require_meaning(other)
    except StorelError:
        return None
    return other
