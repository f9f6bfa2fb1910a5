"""Reductions down the columns of a row-major array go along its rows instead, all of them side by side.

    for i in l:h { t = 0; for j in m:n { t = t + a[j * w + i] }; b[i] = t }

    =  for i in l:h { b[i] = 0 }
       for j in m:n { for i in l:h { b[i] = b[i] + a[j * w + i] } }

so that what is read lies side by side, and fills the lanes of a vector. Each reduction combines the same
values in the same order (loop distribution and interchange: Allen, Kennedy, "Automatic Loop Interchange",
PLDI 1984). Of sums the optimizer chooses the order; of minima and maxima it cannot, as there may be none.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace

from storel.loops.dependence import changing, is_fixed, step
from storel.loops.nodes import (
    Assign,
    Binary,
    Buffer,
    Constant,
    Declare,
    Expression,
    Fail,
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
from storel.loops.walk import all_parts

INDEX_STEPS = (0, 1)
"""By how much a place grows that is read again, or next to the one before."""


def interchange(kernel: Kernel) -> Kernel:
    """Return the same kernel, with reductions down columns side by side."""
    body = _block(kernel.compute.body, frozenset(kernel.inputs))
    return replace(kernel, compute=replace(kernel.compute, body=body))


def _block(body: tuple[Statement, ...], constant: Set[Buffer]) -> tuple[Statement, ...]:
    return tuple(made for statement in body for made in _statement(statement, constant))


def _statement(statement: Statement, constant: Set[Buffer]) -> tuple[Statement, ...]:
    match statement:
        case For(body=body):
            if (columns := _columns(statement, constant)) is not None:
                return columns.along_rows()
            return (replace(statement, body=_block(body, constant)),)
        case While(body=body):
            return (replace(statement, body=_block(body, constant)),)
        case If(_, body, otherwise):
            return (replace(statement, body=_block(body, constant), otherwise=_block(otherwise, constant)),)
        case _:
            return (statement,)


@dataclass(frozen=True, slots=True)
class _Columns:
    """A loop over columns, each of which an ``inner`` loop combines to what goes ``to`` its place."""

    outer: For
    first: Expression
    inner: For
    declared: tuple[Declare, ...]
    operator: str
    value: Expression
    checks: tuple[If, ...]
    to: Store

    def along_rows(self) -> tuple[Statement, ...]:
        """Return what combines all columns, row by row."""
        outer, to = self.outer, self.to
        begun = replace(outer, body=(replace(to, value=self.first),))
        combined = Update(to.buffer, to.index, self.operator, self.value)
        row = replace(outer, body=(*self.declared, combined))
        checked = (If(Binary("less", outer.low, outer.high), self.checks),) if self.checks else ()
        return (*checked, begun, replace(self.inner, body=(row,)))


def _columns(outer: For, constant: Set[Buffer]) -> _Columns | None:
    """Return a loop over columns that may go along rows, and had better."""
    match outer.body:
        case (
            Declare(total, Constant() as first),
            For(body=(*declared, Assign(combined, Binary(operator, before, value)))) as inner,
            *checks,
            Store(buffer, _, Local() as stored) as to,
        ) if total == combined == before == stored and total.type is buffer.type:
            pass
        case _:
            return None
    names = [each for each in declared if isinstance(each, Declare)]
    failures = [each for each in checks if isinstance(each, If)]
    if len(names) < len(declared) or len(failures) < len(checks):
        return None
    moving = changing(outer)
    fixed = (inner.low, inner.high, *(each.condition for each in failures))
    if not all(is_fixed(each, moving, constant) for each in fixed) or not all(map(_only_fails, failures)):
        return None
    values = [*(each.value for each in names), value]
    reads = [part for part in all_parts(values) if isinstance(part, Load)]
    if total in all_parts(values) or any(load.buffer == buffer for load in reads):
        return None
    along_rows: dict[Local, int | None] = {outer.local: 1}
    along_columns: dict[Local, int | None] = {inner.local: 1}
    for each in names:
        for steps in (along_rows, along_columns):
            steps[each.local] = step(each.value, steps)
    is_row_major = any(step(load.index, along_columns) not in INDEX_STEPS for load in reads)
    is_contiguous = all(step(load.index, along_rows) in INDEX_STEPS for load in reads)
    if not (is_row_major and is_contiguous and step(to.index, {outer.local: 1}) == 1):
        return None
    return _Columns(outer, first, inner, tuple(names), operator, value, tuple(failures), to)


def _only_fails(check: If) -> bool:
    return not check.otherwise and all(isinstance(each, Fail) for each in check.body)
