"""What is read beside keys that are looked up is asked for early, as segments that follow each other.

    for i in 0:n { for p in pos[i]:pos[i + 1] { t = t + val[p] * x[idx[p]] } }

The keys of all rows are one stream, their values another, but the lookups between them are what the processor
waits for, so it comes to the next keys late, and each page of them is a surprise. Asking for what is read a
page later takes an instruction for each cache line and saves a third of the time (Callahan, Kennedy,
Porterfield, "Software Prefetching", ASPLOS 1991).
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
    Load,
    Local,
    Statement,
    While,
)
from storel.loops.walk import evaluated, loads_of, substituted, walk


def stream(kernel: Kernel) -> Kernel:
    """Return the same kernel, with the streams of its loops that look keys up."""
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
            found = tuple(dict.fromkeys(_read_beside(statement, constant))) if follows else ()
            return replace(statement, body=_block(body, statement, constant), streams=found)
        case While(body=body):
            return replace(statement, body=_block(body, None, constant))
        case If(_, body, otherwise):
            branches = _block(body, None, constant), _block(otherwise, None, constant)
            return replace(statement, body=branches[0], otherwise=branches[1])
        case _:
            return statement


def _read_beside(loop: For, constant: Set[Buffer]) -> Iterator[Buffer]:
    """Yield the buffers that are read at the loop's variable, if any key among them is looked up.

    There are none in a loop around another one, which is what takes the time.
    """
    if loop.in_lanes or any(isinstance(inner, For | While) for inner in walk(loop.body)):
        return
    read = list(_loads(loop.body))
    keys = [key for load in read for key in loads_of(load.index)]
    if any(key.index == loop.local and key.buffer in constant for key in keys):
        yield from (load.buffer for load in read if load.index == loop.local and load.buffer in constant)


def _loads(body: tuple[Statement, ...]) -> Iterator[Load]:
    """Yield what is read, with places said by what is read for them."""
    known: dict[Local, Expression] = {}
    for statement in walk(body):
        for value in evaluated(statement):
            yield from loads_of(substituted(value, known))
        if isinstance(statement, Declare):
            known[statement.local] = substituted(statement.value, known)
