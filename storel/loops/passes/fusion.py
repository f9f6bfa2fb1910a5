"""What is added up over a run of equal keys is added while the run's end is looked for.

    end = begin
    while end + 7 < h and row[end + 7] == k { end = end + 8 }
    while end < h and row[end] == k { end = end + 1 }
    for p in begin:end { t = t + e(p) }

    =  end = begin
       while end + 7 < h and row[end + 7] == k { for p in end:end + 8 { t = t + e(p) }; end = end + 8 }
       while end < h and row[end] == k { t = t + e(end); end = end + 1 }

Where a short run ends is a surprise to the processor; so it is one only once (loop fusion: Kennedy, Allen,
"Optimizing Compilers for Modern Architectures", 2001, chapter 8).
"""

from __future__ import annotations

from dataclasses import replace

from storel.loops.dependence import declared
from storel.loops.emitter import RUN, Emitter, index, plus
from storel.loops.nodes import (
    Assign,
    Binary,
    Constant,
    Declare,
    Expression,
    For,
    If,
    Kernel,
    Local,
    Statement,
    Store,
    Update,
    While,
)
from storel.loops.walk import all_parts, evaluated


def fuse(kernel: Kernel) -> Kernel:
    """Return the same kernel, with the loops over runs fused with the searches for their ends."""
    compute = kernel.compute
    emitter = Emitter([local.name for local in (*compute.scalars, *declared(compute.body))])
    return replace(kernel, compute=replace(compute, body=_Fusing(emitter).block(compute.body)))


class _Fusing:
    """Rewrites blocks; the emitter knows the names that are taken."""

    def __init__(self, emitter: Emitter) -> None:
        self._emitter = emitter

    def block(self, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        made: list[Statement] = []
        for statement in map(self._inside, body):
            is_fused = isinstance(statement, For) and self._fused(made, statement)
            made.extend([] if is_fused else [statement])
        return tuple(made)

    def _fused(self, before: list[Statement], loop: For) -> bool:
        """Fuse a loop with the searches for its end, if these are ``before``; return whether it was."""
        first = len(before)
        while first > 0 and isinstance(before[first - 1], Declare):
            first -= 1
        match before[max(0, first - 2) : first]:
            case [While() as blocks, While() as rest] if (
                isinstance(loop.high, Local)
                and (_step(blocks, loop.high), _step(rest, loop.high)) == (RUN, 1)
                and _is_beginning(loop.low, loop.high, before[: first - 2])
                and all(loop.high not in all_parts(evaluated(each)) for each in before[first:])
                and all(isinstance(each, Declare | Assign | Update | Store) for each in loop.body)
            ):
                end, own = loop.high, self._emitter.fresh(loop.local.name)
                block = replace(
                    loop,
                    local=own,
                    low=end,
                    high=plus(end, index(RUN)),
                    body=self._emitter.iteration(loop, own),
                )
                single = self._emitter.iteration(loop, end)
                before[first - 2 :] = [
                    *before[first:],
                    replace(blocks, body=(block, *blocks.body)),
                    replace(rest, body=(*single, *rest.body), role=loop.role),
                ]
                return True
            case _:
                return False

    def _inside(self, statement: Statement) -> Statement:
        match statement:
            case For(body=body) | While(body=body):
                return replace(statement, body=self.block(body))
            case If(_, body, otherwise):
                return replace(statement, body=self.block(body), otherwise=self.block(otherwise))
            case _:
                return statement


def _step(search: While, position: Local) -> int | None:
    """Return by how much a search moves a position each time, None if that is not all it does."""
    match search.body:
        case (Assign(moved, Binary("add", before, Constant(step))),) if moved == before == position:
            return int(step)
        case _:
            return None


def _is_beginning(low: Expression, position: Local, before: list[Statement]) -> bool:
    """Return whether ``position`` is ``low`` after these statements."""
    for statement in reversed(before):
        match statement:
            case Declare(local, value) if (local, value) == (low, position):
                return True
            case Assign(local, value) if (local, value) == (position, low):
                return True
            case Declare(local) if local not in (low, position):
                pass
            case _:
                return False
    return False
