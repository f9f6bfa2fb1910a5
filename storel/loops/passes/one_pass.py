"""Long sums over the same elements are taken in one pass over them.

    s = 0; for p in l:h { s = s + a[p] }; t = 0; for q in l:h { t = t + a[q] * a[q] }

    =  s = 0; t = 0; for p in l:h { s = s + a[p]; t = t + a[p] * a[p] }

so that what is in no cache is read once (loop fusion: Kennedy, Allen, "Optimizing Compilers for Modern
Architectures", 2001, chapter 8): means and variances, cosines, the sums of a regression.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from storel.loops.dependence import declared, parted
from storel.loops.emitter import Emitter
from storel.loops.nodes import (
    Assign,
    Declare,
    For,
    If,
    Kernel,
    Load,
    Local,
    Sort,
    Statement,
    While,
)
from storel.loops.walk import substituted, walk


def sum_in_one_pass(kernel: Kernel) -> Kernel:
    """Return the same kernel, with neighbouring long sums over the same elements in one loop."""
    compute = kernel.compute
    emitter = Emitter([local.name for local in (*compute.scalars, *declared(compute.body))])
    return replace(kernel, compute=replace(compute, body=_block(compute.body, emitter)))


def _block(body: tuple[Statement, ...], emitter: Emitter) -> tuple[Statement, ...]:
    made: list[Statement] = []
    for statement in body:
        match statement:
            case For() if _is_long_sum(statement):
                made = _added(made, statement, emitter)
            case For(body=inner) | While(body=inner):
                made.append(replace(statement, body=_block(inner, emitter)))
            case If(_, inner, otherwise):
                branches = _block(inner, emitter), _block(otherwise, emitter)
                made.append(replace(statement, body=branches[0], otherwise=branches[1]))
            case _:
                made.append(statement)
    return tuple(made)


def _is_long_sum(loop: For) -> bool:
    """Return whether all that a loop does is to add up elements of large arrays, in any order."""
    totals = {local for local, _ in loop.reductions}
    return bool(loop.reductions and loop.streams) and all(
        isinstance(each, Declare) or (isinstance(each, Assign) and each.local in totals) for each in loop.body
    )


def _added(before: list[Statement], loop: For, emitter: Emitter) -> list[Statement]:
    """Return the statements ``before`` with a long sum after them, or in the one that is the last of them."""
    place = max((place for place, each in enumerate(before) if not _is_simple(each)), default=0)
    first = before[place] if before else None
    if not (isinstance(first, For) and _is_long_sum(first) and _reads_the_same(first, loop)):
        return [*before, loop]
    around = parted(first, before[place + 1 :], loop)
    if around is None:
        return [*before, loop]
    streams = (*first.streams, *_moved(loop.streams, loop.local, first.local))
    joined = replace(
        first,
        body=(*first.body, *emitter.iteration(loop, first.local)),
        reductions=(*first.reductions, *loop.reductions),
        streams=tuple(dict.fromkeys(streams)),
    )
    return [*before[:place], *around[0], joined, *around[1]]


def _is_simple(statement: Statement) -> bool:
    """Return whether a statement may come later than where it stands: all but loops."""
    return not any(isinstance(each, For | While | Sort) for each in walk((statement,)))


def _reads_the_same(first: For, loop: For) -> bool:
    """Return whether two sums are over the same range, and some elements that both read."""
    if (first.low, first.high, first.role) != (loop.low, loop.high, loop.role):
        return False
    return not set(first.streams).isdisjoint(_moved(loop.streams, loop.local, first.local))


def _moved(streams: Iterable[Load], local: Local, to: Local) -> list[Load]:
    """Return what is read one element after the other by a loop with another variable."""
    return [Load(load.buffer, substituted(load.index, {local: to})) for load in streams]
