"""Lists of keys are asked for early where each key is looked up, as segments that follow each other.

    for i in 0:n { for p in pos[i]:pos[i + 1] { t = t + val[p] * x[idx[p]] } }

The keys of all rows are one stream, but the lookups between them are what the processor waits for, so it
comes to the next keys late, and each page of them is a surprise. Asking for what is read in some iterations
takes an instruction and saves a quarter of the time (Callahan, Kennedy, Porterfield, "Software Prefetching",
ASPLOS 1991). Compilers then leave such a loop as it is, which is well: they would gather into vectors, and
that is slower.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import replace

from storel.loops.ahead import last_boundary
from storel.loops.nodes import (
    Buffer,
    Declare,
    Expression,
    For,
    If,
    Kernel,
    Local,
    Statement,
    While,
)
from storel.loops.walk import evaluated, loads_of, substituted, walk


def stream(kernel: Kernel) -> Kernel:
    """Return the same kernel, with the streams of keys that its loops look up."""
    body = _block(kernel.compute.body, None, frozenset(kernel.inputs))
    return replace(kernel, compute=replace(kernel.compute, body=body))


def _block(body: tuple[Statement, ...], outer: For | None, constant: Set[Buffer]) -> tuple[Statement, ...]:
    return tuple(_statement(each, outer, constant) for each in body)


def _statement(statement: Statement, outer: For | None, constant: Set[Buffer]) -> Statement:
    match statement:
        case For(_, low, high, body):
            follows = statement.until is not None or (
                outer is not None and last_boundary(low, high, outer, constant) is not None
            )
            found = tuple(dict.fromkeys(_looked_up(statement, constant))) if follows else ()
            return replace(statement, body=_block(body, statement, constant), streams=found)
        case While(body=body):
            return replace(statement, body=_block(body, None, constant))
        case If(_, body, otherwise):
            branches = _block(body, None, constant), _block(otherwise, None, constant)
            return replace(statement, body=branches[0], otherwise=branches[1])
        case _:
            return statement


def _looked_up(loop: For, constant: Set[Buffer]) -> Iterator[Buffer]:
    """Yield the buffers whose elements at the loop's variable are places, in a loop without any other."""
    if loop.in_lanes or any(isinstance(inner, For | While) for inner in walk(loop.body)):
        return
    known: dict[Local, Expression] = {}
    for statement in walk(loop.body):
        for value in evaluated(statement):
            for load in loads_of(substituted(value, known)):
                for key in loads_of(load.index):
                    if key.index == loop.local and key.buffer in constant:
                        yield key.buffer
        if isinstance(statement, Declare):
            known[statement.local] = substituted(statement.value, known)
