"""What can be read off a pattern before an instance of it is drawn."""

from __future__ import annotations

from collections.abc import Iterator

from storel.optimizer.encoding.layouts import LAYOUTS
from storel.optimizer.rules.patterns import Bound, Hole, Node, Pattern


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
