"""Definitions that need themselves, at once or through others."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from storel.errors import UnknownNameError
from storel.syntax.free_names import free_names, free_occurrences
from storel.syntax.nodes.statements import CreateTensor
from storel.syntax.spelling import CALLS


def require_no_circle(definition: CreateTensor, pending: Mapping[str, CreateTensor]) -> None:
    """Raise UnknownNameError where a definition reads itself, or a ``pending`` one that comes back to it.

    In its own definition the name of a function is still the function's.
    """
    for read in free_occurrences(definition.expression):
        way = _way(read.name, definition.name, pending)
        if way and not (len(way) == 1 and read.name in CALLS):
            needs = [f"{one} needs {other}" for one, other in pairwise((definition.name, *way))]
            raise UnknownNameError(
                f"'{definition.name}' is defined by itself",
                found=", ".join(needs) if len(way) > 1 else None,
                span=read.span,
                hint="give what was there before another name; a repetition is a loop around the program",
            )


def _way(start: str, goal: str, pending: Mapping[str, CreateTensor]) -> list[str]:
    """Return the names from ``start`` to ``goal``, each read by the definition of the one before, if any."""
    ways = [[start]]
    seen = {start}
    for way in ways:  # which grows
        if way[-1] == goal:
            return way
        if way[-1] in pending:
            read = free_names(pending[way[-1]].expression) - seen
            seen |= read
            ways += [[*way, name] for name in sorted(read)]
    return []
