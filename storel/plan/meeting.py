"""What a union finds for its branches: at its key it stands in each of their sources that has the key."""

from __future__ import annotations

from storel.calculus.binding import shift
from storel.calculus.nodes import Variable
from storel.plan.binding import as_loop, binders, sources
from storel.plan.nodes import Elements, Matches, Unite


def finds(source: Elements, search: Matches, depth: int) -> bool:
    """Return whether a pass over ``source`` has found what a branch searches for.

    That is ``depth`` binders below the union, two of which are the branch's own: a position, and the key.
    """
    low, high = shift(source.low, depth), shift(source.high, depth)
    is_key = search.key == Variable(depth - binders(source))
    return is_key and (search.array, search.low, search.high) == (source.array, low, high)


def finds_any(union: Unite) -> bool:
    """Return whether a branch of a union searches for its key in the source of a branch."""
    branches = [as_loop(branch) for branch in union.branches]
    scanned = [branch.source for branch in branches if isinstance(branch.source, Elements)]
    return any(
        isinstance(search, Matches) and any(finds(source, search, depth) for source in scanned)
        for branch in branches
        for search, depth in sources(branch.body, binders(branch.source))
    )
