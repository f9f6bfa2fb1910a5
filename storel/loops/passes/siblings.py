"""Loops over the same keys become one.

    for i in 0:m { for p in pos[i]:pos[i + 1] { t = t + e(p) * f(idx[p]) }; x[i] = t }
    for i in 0:m { for p in pos[i]:pos[i + 1] { y[idx[p]] += e(p) } }

    =  for i in 0:m { for p in pos[i]:pos[i + 1] { t = t + e(p) * f(idx[p]); y[idx[p]] += e(p) }; x[i] = t }

Loop fusion (Kennedy, Allen, "Optimizing Compilers for Modern Architectures", 2001, chapter 8): gradients add
up the same weights by rows and by columns. Only loops that look up places by the same keys are one: others
may be vector code each, and both together not.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace

from storel.loops.dependence import keep_values, parted
from storel.loops.nodes import (
    Assign,
    Declare,
    Expression,
    For,
    If,
    Kernel,
    Load,
    Local,
    Statement,
    Store,
    Update,
    While,
)
from storel.loops.passes.reorder import REORDERED
from storel.loops.walk import (
    evaluated,
    loads_of,
    note,
    rewritten,
    substituted,
    walk,
)


def unite_siblings(kernel: Kernel, *, reorders: bool) -> Kernel:
    """Return the same kernel, with one loop for those over the same keys, where none needs the other one.

    Both may add to the same places if that is done in any order: if it ``reorders``.
    """
    uniting = _Uniting(REORDERED if reorders else frozenset())
    return replace(kernel, compute=replace(kernel.compute, body=uniting.block(kernel.compute.body)))


@dataclass(frozen=True, slots=True)
class _Uniting:
    """Rewrites blocks from the inside out; with operators ``free`` it is all one what is combined first."""

    free: Set[str]

    def block(self, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        made: tuple[Statement, ...] = ()
        for statement in map(self._inside, body):
            made = self._with(made, statement)
        return made

    def _inside(self, statement: Statement) -> Statement:
        match statement:
            case For(body=body) | While(body=body):
                return replace(statement, body=self.block(body))
            case If(_, body, otherwise):
                return replace(statement, body=self.block(body), otherwise=self.block(otherwise))
            case _:
                return statement

    def _with(self, before: tuple[Statement, ...], statement: Statement) -> tuple[Statement, ...]:
        """Return the statements ``before`` with another one after them, or in one of them."""
        for place, first in enumerate(before):
            if not (isinstance(first, For) and isinstance(statement, For) and _is_alike(first, statement)):
                continue
            around = parted(first, before[place + 1 :], statement, self.free)
            if around and (united := self._united(first, statement)):
                return (*before[:place], *around[0], united, *around[1])
        return (*before, statement)

    def _united(self, first: For, second: For) -> For | None:
        """Return one loop for two over the same range; None if that saves nothing."""
        own = rewritten(second.body, lambda each: substituted(each, {second.local: first.local}))
        body = _named_once((*first.body, *own))
        inner = [len(_innermost(each)) for each in (first.body, own)]
        if inner == [0, 0]:
            looked_up = _looked_up(first.body, first.local) & _looked_up(own, first.local)
            return replace(first, body=body) if looked_up else None
        body = self.block(body)
        return replace(first, body=body) if len(_innermost(body)) < sum(inner) else None


def _is_alike(first: For, second: For) -> bool:
    """Return whether two loops are over the same range, and do nothing but what may be done in turns."""
    allowed = Declare | Assign | Update | Store | For | If
    return (first.low, first.high, first.role) == (second.low, second.high, second.role) and all(
        isinstance(each, allowed) for each in walk((first, second))
    )


def _innermost(body: tuple[Statement, ...]) -> list[For]:
    """Return the loops in a body that have none inside."""
    loops = [each for each in walk(body) if isinstance(each, For)]
    return [loop for loop in loops if not any(isinstance(each, For) for each in walk(loop.body))]


def _named_once(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Return statements in which no two locals are declared that have one value, and keep it."""
    same: dict[Local, Expression] = {}
    named: dict[Expression, Local] = {}
    made: list[Statement] = []
    for statement in body:
        if isinstance(statement, Declare) and keep_values((statement.local, statement.value), body):
            value = substituted(statement.value, same)
            same[statement.local] = named.setdefault(value, statement.local)
            if same[statement.local] != statement.local:
                continue
        made.append(statement)
    return rewritten(tuple(made), lambda each: substituted(each, same))


def _looked_up(body: tuple[Statement, ...], local: Local) -> set[Load]:
    """Return the keys, read one after the other along ``local``, by which a loop finds places."""
    known: dict[Local, Expression] = {}
    found: set[Load] = set()
    for statement in walk(body):
        places = [load.index for value in evaluated(statement) for load in loads_of(value)]
        if isinstance(statement, Store | Update):
            places.append(statement.index)
        elif isinstance(statement, Declare):
            note(statement, known)
        found |= {
            key for place in places for key in loads_of(substituted(place, known)) if key.index == local
        }
    return found
