"""Chains of generators in the order in which each shares a key with the next one.

       sum(<(k,l), c> in C, <(i,j), a> in A, <(j,k), b> in B) …
    =  sum(<(i,j), a> in A, <(j,k), b> in B, <(k,l), c> in C) …

A program may name the operands of a product in any order. Where they are a chain, this is the one in which
loops are nested so that association (association.py) finds it, and all of them are the same program. Of both
directions it is the one in which more operands are gone through from an earlier key to a later one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from storel.syntax.free_names import free_names
from storel.syntax.nodes.expressions import Expression, Generator, Mapped, Name, Singleton, Sum
from storel.syntax.walk import children, map_children

SHORTEST = 3
"""Generators from which on there are orders other than the two directions."""


def along_paths(expression: Expression) -> Expression:
    """Return a composed expression with the generators of each sum that are a chain in its order."""
    match expression:
        case Mapped():
            return expression
        case Sum(generators, body) if len(generators) >= SHORTEST:
            expression = replace(expression, generators=_in_order(generators, _first_key(body)))
        case _:
            pass
    return map_children(expression, along_paths)


def _in_order(generators: tuple[Generator, ...], first_key: str | None) -> tuple[Generator, ...]:
    """Return a chain from one of its ends to the other, anything else as it is."""
    found = _path(generators)
    if found is None:
        return generators

    def preference(path: Sequence[Generator]) -> tuple[int, bool, str]:
        source = path[0].source
        name = source.tensor if isinstance(source, Mapped) else ""
        return -_forward(path), first_key not in _keys(path[0]), name

    return tuple(min(found, found[::-1], key=preference))


def _path(generators: Sequence[Generator]) -> list[Generator] | None:
    """Return generators each of which shares one key with the next, and none with any other; None else."""
    uses = Counter(key for each in generators for key in _keys(each))
    values = [each.value.name for each in generators if each.value.name is not None]
    shared = {key for key, count in uses.items() if count == 2}
    links = [shared.intersection(_keys(each)) for each in generators]
    is_plain = len(set(values)) == len(values) and uses.keys().isdisjoint(values)
    is_linked = max(uses.values(), default=0) == 2 and len(shared) == len(generators) - 1
    if not (is_plain and is_linked) or sorted(map(len, links)) != [1, 1, *[2] * (len(generators) - 2)]:
        return None
    if any(free_names(each.source) & {*uses, *values} for each in generators):
        return None
    left = list(zip(generators, links, strict=True))
    path, (link,) = left.pop(next(at for at, (_, ends) in enumerate(left) if len(ends) == 1))
    found = [path]
    while left:
        at = next((at for at, (_, ends) in enumerate(left) if link in ends), None)
        if at is None:
            return None  # the rest is a circle
        each, ends = left.pop(at)
        found.append(each)
        link = next(iter(ends - {link}), "")
    return found


def _forward(path: Sequence[Generator]) -> int:
    """Return how many generators of a path are gone through from an earlier key to a later one."""
    links = [next(key for key in _keys(one) if key in _keys(other)) for one, other in pairwise(path)]
    between = zip(links, path[1:-1], links[1:], strict=False)
    inner = sum(_keys(each).index(enter) < _keys(each).index(leave) for enter, each, leave in between)
    return inner + (_keys(path[0])[-1] == links[0]) + (_keys(path[-1])[0] == links[-1])


def _keys(generator: Generator) -> list[str]:
    return [key.name for key in generator.keys if key.name is not None]


def _first_key(body: Expression) -> str | None:
    """Return the first key of the result, if that is what a generator may bind."""
    match body:
        case Singleton((Name(name), *_)):
            return name
        case Mapped() | Singleton():
            return None
        case _:
            return next((name for each in children(body) if (name := _first_key(each)) is not None), None)
