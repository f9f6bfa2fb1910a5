"""Functions of what is scattered are evaluated some at a time, by vector instructions, and scattered then.

    for p in l:h { y[idx[p]] += exp(a[p]) }

    =  for b in 0:(h - l + 63) / 64 {
           s = l + 64 * b; n = min(64, h - s)
           for i in 0:n { v[i] = exp(a[s + i]) }
           for p in s:s + n { y[idx[p]] += v[p - s] }
       }

Loop distribution (Kennedy, Allen, "Optimizing Compilers for Modern Architectures", 2001, section 5.5), a
block at a time, so that the values stay in the nearest cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from storel.loops.dependence import declared, keep_values, step
from storel.loops.emitter import Emitter, index, plus, times
from storel.loops.nodes import (
    Assign,
    Binary,
    Buffer,
    Declare,
    Expression,
    For,
    If,
    Kernel,
    Load,
    Local,
    Role,
    Statement,
    Store,
    Unary,
    Update,
    While,
)
from storel.loops.passes.ahead import lengths, mean_iterations
from storel.loops.types import type_of
from storel.loops.walk import (
    certain,
    certain_operands,
    evaluated,
    loads_of,
    note,
    replaced,
    rewritten,
    substituted,
)
from storel.loops.workspaces import Workspaces
from storel.symbols import Symbols

FUNCTIONS = frozenset(("exp", "log", "sigmoid", "tanh"))
"""What backends compute without a branch."""

BLOCK = 64
"""How many values are computed at a time, a power of two."""

FEWEST = 5
"""Iterations below which most of a vector stays empty."""


def evaluate_apart(kernel: Kernel, symbols: Symbols) -> Kernel:
    """Return the same kernel, in which no function is evaluated where something is scattered."""
    workspaces = Workspaces(kernel)
    taken = [local.name for local in (*kernel.compute.scalars, *declared(kernel.compute.body))]
    splitting = _Splitting(Emitter(taken), lengths(kernel, symbols), workspaces)
    return workspaces.kernel(splitting.block(kernel.compute.body))


@dataclass(frozen=True, slots=True)
class _Splitting:
    """Rewrites blocks; ``sizes`` are the lengths of buffers as far as they are known."""

    emitter: Emitter
    sizes: Mapping[Buffer, int]
    workspaces: Workspaces

    def block(self, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(made for statement in body for made in self._statement(statement))

    def _statement(self, statement: Statement) -> tuple[Statement, ...]:
        match statement:
            case For() if self._is_split(statement) and (values := _values(statement)):
                return self._split(statement, values)
            case For(body=body) | While(body=body):
                return (replace(statement, body=self.block(body)),)
            case If(_, body, otherwise):
                return (replace(statement, body=self.block(body), otherwise=self.block(otherwise)),)
            case _:
                return (statement,)

    def _is_split(self, loop: For) -> bool:
        """Return whether a loop scatters, and is long enough."""
        reads = (load for each in loop.body for part in evaluated(each) for load in loads_of(part))
        is_straight = all(isinstance(each, Declare | Assign | Update | Store) for each in loop.body)
        is_short = 0 < mean_iterations(loop, reads, self.sizes) < FEWEST
        return is_straight and not is_short and _scatters(loop)

    def _split(self, loop: For, values: dict[Expression, Expression]) -> tuple[Statement, ...]:
        """Return the loop in blocks, with ``values``, said by its own variable, computed before."""
        low, high = (self.emitter.fresh(name) for name in ("first", "last"))
        block, start, length, lane = (
            self.emitter.fresh(name) for name in ("block", "start", "length", "lane")
        )
        here = Binary("add", start, lane)
        stored: list[Statement] = []
        body = loop.body
        for value, said in values.items():
            buffer = self.workspaces.reserve("values", type_of(value), BLOCK)
            stored.append(Store(buffer, lane, substituted(said, {loop.local: here})))
            held = Load(buffer, Binary("subtract", loop.local, start))
            body = rewritten(body, partial(replaced, old=value, new=held))
        blocks = Binary(
            "shift_right",
            plus(Binary("subtract", high, low), index(BLOCK - 1)),
            index(BLOCK.bit_length() - 1),
        )
        inside = (
            Declare(start, plus(low, times(block, index(BLOCK)))),
            Declare(length, Binary("minimum", index(BLOCK), Binary("subtract", high, start))),
            For(lane, index(0), length, tuple(stored), Role.WORKSPACE, in_lanes=True),
            replace(loop, low=start, high=plus(start, length), body=body),
        )
        ends = Declare(low, loop.low), Declare(high, loop.high)
        return (*ends, For(block, index(0), blocks, inside, Role.INDEX))


def _scatters(loop: For) -> bool:
    """Return whether a loop writes to places that are not consecutive."""
    steps: dict[Local, int | None] = {loop.local: 1}
    for statement in loop.body:
        if isinstance(statement, Declare):
            steps[statement.local] = step(statement.value, steps)
    written = (each.index for each in loop.body if isinstance(each, Store | Update))
    return any(step(place, steps) != 1 for place in written)


def _values(loop: For) -> dict[Expression, Expression]:
    """Return the largest values for which functions are evaluated, and how they are said without locals."""
    known: dict[Local, Expression] = {}
    found: dict[Expression, Expression] = {}
    for statement in loop.body:
        for value in _largest(statement, loop.body):
            found[value] = substituted(value, known)
        if isinstance(statement, Declare) and not note(statement, known):
            return {}
    return found


def _largest(statement: Statement, body: tuple[Statement, ...]) -> Iterator[Expression]:
    """Yield the largest values of functions, none inside another, that mean the same all through a body."""
    waiting = list(evaluated(statement))
    while waiting:
        value = waiting.pop()
        if not any(isinstance(each, Unary) and each.operator in FUNCTIONS for each in certain(value)):
            continue
        if keep_values((value,), body):
            yield value
        else:
            waiting.extend(certain_operands(value))
