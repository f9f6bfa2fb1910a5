"""What is read one element after the other is asked for early, or added up in many lanes.

    for i in 0:n { for p in pos[i]:pos[i + 1] { t = t + val[p] * x[idx[p]] } }
    for i in 0:n { for j in 0:n { t = t + val[i * n + j] * x[j] } }

The keys of all rows are one stream, their values another, but the lookups between them are what the processor
waits for, so it comes to the next keys late, and each page of them is a surprise. Asking for what is read a
page later takes an instruction for each cache line and saves a third of the time (Callahan, Kennedy,
Porterfield, "Software Prefetching", ASPLOS 1991).

Where many elements of a large array are added up in any order, each addition to a sum waits for the one
before it, which takes longer than reading a cache line, unless there are several sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, replace

from storel.loops.dependence import step
from storel.loops.nodes import (
    Buffer,
    Constant,
    Declare,
    Expression,
    For,
    If,
    Kernel,
    Load,
    Local,
    Statement,
    While,
)
from storel.loops.passes.ahead import NEAR, last_boundary, lengths
from storel.loops.walk import evaluated, loads_of, note, parts, substituted, walk
from storel.symbols import Symbols

SHORT = 128
"""Elements up to which compilers make better code of a sum of a constant number of them."""


def stream(kernel: Kernel, symbols: Symbols) -> Kernel:
    """Return the same kernel, with the streams of its innermost loops."""
    large = {
        buffer for buffer, length in lengths(kernel, symbols).items() if length * buffer.type.itemsize > NEAR
    }
    body = _Streaming(frozenset(kernel.inputs), large).block(kernel.compute.body, None)
    return replace(kernel, compute=replace(kernel.compute, body=body))


@dataclass(frozen=True, slots=True)
class _Streaming:
    """Marks loops; ``constant`` buffers are only read, ``large`` ones are in no cache."""

    constant: Set[Buffer]
    large: Set[Buffer]

    def block(self, body: tuple[Statement, ...], outer: For | None) -> tuple[Statement, ...]:
        return tuple(self._statement(each, outer) for each in body)

    def _statement(self, statement: Statement, outer: For | None) -> Statement:
        match statement:
            case For(_, low, high, body):
                follows = statement.until is not None or (
                    outer is not None and last_boundary(low, high, outer, self.constant) is not None
                )
                found = tuple(dict.fromkeys(self._streams(statement, follows)))
                return replace(statement, body=self.block(body, statement), streams=found)
            case While(body=body):
                return replace(statement, body=self.block(body, None))
            case If(_, body, otherwise):
                branches = self.block(body, None), self.block(otherwise, None)
                return replace(statement, body=branches[0], otherwise=branches[1])
            case _:
                return statement

    def _streams(self, loop: For, follows: bool) -> Iterator[Load]:
        """Yield what is read one element after the other.

        A loop around another one has no streams: the inner one takes the time.
        """
        if loop.in_lanes or any(isinstance(inner, For | While) for inner in walk(loop.body)):
            return
        read = [load for load in _loads(loop) if load.buffer in self.constant]
        keys = [key for load in read for key in loads_of(load.index)]
        if loop.reductions and not _is_short(loop):
            yield from (load for load in read if load.buffer in self.large and _is_next(load, loop))
        elif follows and any(key.index == loop.local and key.buffer in self.constant for key in keys):
            yield from (load for load in read if load.index == loop.local)


def _is_short(loop: For) -> bool:
    return isinstance(loop.high, Constant) and loop.high.value <= SHORT


def _is_next(load: Load, loop: For) -> bool:
    return step(load.index, {loop.local: 1}) == 1


def _loads(loop: For) -> Iterator[Load]:
    """Yield what is read, with places said by what is read for them, but where that would be too long."""
    known: dict[Local, Expression] = {}
    unsaid = set[Expression]()
    for statement in walk(loop.body):
        for value in evaluated(statement):
            for load in loads_of(substituted(value, known)):
                if unsaid.isdisjoint(parts(load)):
                    yield load
        if isinstance(statement, Declare) and not note(statement, known):
            unsaid.add(statement.local)
