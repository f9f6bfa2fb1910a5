"""Procedures whose sums GCC must not add up from vectors.

Sums that stay in order GCC may add up element by element, from vectors of what is added. Where several
additions to one number read elements in another order than they lie in, as the last ones first, GCC before
12.4 and 13.2 adds some of them twice and others never (https://gcc.gnu.org/PR110381). Several additions come
of what is written side by side, and of inner loops of few iterations, which are unrolled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, product
from typing import TypeAlias

from storel.codegen.c_unrolled import few_iterations, settled
from storel.loops.dependence import declared
from storel.loops.nodes import (
    Assign,
    Binary,
    Buffer,
    Constant,
    Expression,
    For,
    If,
    Load,
    Local,
    Statement,
    Update,
    While,
)
from storel.loops.passes.polynomials import constant_of
from storel.loops.walk import evaluated, loads_of, parts, substituted, walk

WITHOUT = '__attribute__((optimize("no-tree-vectorize")))'
"""Keeps all loops of a procedure from vectors but those that are said to be in lanes, or to be reductions."""

_Nest: TypeAlias = tuple[tuple[For, int], ...]
"""Unrolled loops around a place, the outermost first, with how many iterations they have."""


def may_count_twice(body: tuple[Statement, ...]) -> bool:
    """Return whether a loop of a procedure adds to one number, in order, what is read out of order."""
    known = settled(body)
    loops = (statement for statement in walk(body) if isinstance(statement, For | While))
    return any(_Iteration(loop, known).counts_twice() for loop in loops)


class _Iteration:
    """What one iteration of a loop adds up in order, with the loops in it that are unrolled."""

    def __init__(self, loop: For | While, known: Mapping[Local, Expression]) -> None:
        self._loop, self._known = loop, known
        self._own = {*declared(loop.body), *((loop.local,) if isinstance(loop, For) else ())}
        self._reads: dict[Load, _Nest] = {}
        self._additions: dict[Local | Load, list[_Nest]] = {}

    def counts_twice(self) -> bool:
        """Return whether several additions to one number read elements in another order than they lie in."""
        if not self._visit(self._loop.body, ()):
            return False
        if not any(len(nests) > 1 or nests[0] for nests in self._additions.values()):
            return False
        if any(self._is_turned(load, nest) for load, nest in self._reads.items()):
            return True
        return any(len(nests) > 1 for nests in self._additions.values()) and any(
            map(self._is_crossed, {load.buffer for load in self._reads})
        )

    def _visit(self, body: tuple[Statement, ...], nest: _Nest) -> bool:
        """Note reads and additions; return whether all loops inside are short: else there are no vectors."""
        for statement in body:
            for expression in evaluated(statement):
                for load in loads_of(substituted(expression, self._known)):
                    self._reads.setdefault(load, nest)
            for number in self._added_to(statement):
                self._additions.setdefault(number, []).append(nest)
            match statement:
                case If(_, inner, otherwise):
                    if not self._visit((*inner, *otherwise), nest):
                        return False
                case For(body=inner):
                    count = few_iterations(statement, self._known)
                    if count is None or not self._visit(inner, (*nest, (statement, count))):
                        return False
                case While():
                    return False
                case _:
                    pass
        return True

    def _added_to(self, statement: Statement) -> Iterator[Local | Load]:
        """Yield the real number to which a statement adds, if that is the same in all iterations."""
        match statement:
            case Assign(local, Binary("add" | "subtract", before)) if before == local and local.type.is_real:
                is_reduction = isinstance(self._loop, For) and (local, "add") in self._loop.reductions
                if local not in self._own and not is_reduction:
                    yield local
            case Update(buffer, index, "add" | "subtract") if buffer.type.is_real:
                place = substituted(index, self._known)
                if self._own.isdisjoint(parts(place)):
                    yield Load(buffer, place)
            case _:
                pass

    def _is_turned(self, load: Load, nest: _Nest) -> bool:
        """Return whether unrolled loops read each element once, and not one after the other."""
        places = self._places(load, load, nest)
        if None in places:
            return not loads_of(load.index)  # what is looked up does not lie side by side
        return len(set(places)) == len(places) and not _ascend(places)

    def _is_crossed(self, buffer: Buffer) -> bool:
        """Return whether what is read of a buffer side by side is not in its order."""
        reads = [(load, nest) for load, nest in self._reads.items() if load.buffer == buffer]
        first = reads[0][0]
        return not _ascend([place for load, nest in reads for place in self._places(load, first, nest)])

    def _places(self, load: Load, first: Load, nest: _Nest) -> list[int | None]:
        """Return how far from where ``first`` begins iterations read, None where that is not known."""
        start = self._index(first, self._reads[first], (0,) * len(self._reads[first]))
        steps = product(*(range(count) for _, count in nest))
        indices = (self._index(load, nest, each) for each in steps)
        return [constant_of(Binary("subtract", index, start)) for index in indices]

    def _index(self, load: Load, nest: _Nest, steps: Sequence[int]) -> Expression:
        """Return the index of a read after so many iterations of the loops around it."""
        index = load.index
        for (loop, _), step in reversed(list(zip(nest, steps, strict=True))):
            here = Binary("add", loop.low, Constant(step, loop.local.type))
            index = substituted(index, {loop.local: substituted(here, self._known)})
        return index


def _ascend(places: Sequence[int | None]) -> bool:
    """Return whether places that are known are in order."""
    known = [place for place in places if place is not None]
    return all(one <= other for one, other in pairwise(known))
