"""Padding is passed over without a branch where much of what is read is padding.

    k = idx[p]; t = 0; if 0 <= k { t = val[p] * x[k] }
        =  k = idx[p]; t = 0 <= k ? val[p] * x[maximum(k, 0)] : 0

Where the entries of a row end in tables of constant width, such as `ell`, the processor cannot foresee, which
takes longer than to evaluate all places of a short row and to add nothing for some of them. What is looked up
for padding is at place 0, whatever that holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from storel.loops.nodes import (
    Assign,
    Binary,
    Buffer,
    Cast,
    Constant,
    Declare,
    Expression,
    For,
    If,
    Kernel,
    Load,
    Local,
    Select,
    Statement,
    While,
)
from storel.loops.passes.ahead import lengths
from storel.loops.passes.polynomials import constant_of
from storel.loops.passes.reorder import is_plain
from storel.loops.walk import loads_of, substituted
from storel.symbols import ArraySymbol, Symbols

FILLED = 0.95
"""The share of entries from which on a branch is foreseen well enough."""

LONGEST = 16
"""Places of a row up to which evaluating them all takes no longer than a surprise."""


def evaluate_padding(kernel: Kernel, symbols: Symbols) -> Kernel:
    """Return the same kernel, in which short rows with much padding are read without branches."""
    known = {name: fact for name, fact in symbols.items() if isinstance(fact, ArraySymbol)}
    padding = _Padding(
        {buffer: length for buffer, length in lengths(kernel, symbols).items() if length}, known
    )
    return replace(kernel, compute=replace(kernel.compute, body=padding.block(kernel.compute.body)))


@dataclass(frozen=True, slots=True)
class _Padding:
    """Rewrites loops; ``lengths`` are those of buffers as far as known, ``facts`` what is known of arrays."""

    lengths: Mapping[Buffer, int]
    facts: Mapping[str, ArraySymbol]

    def block(self, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(map(self._statement, body))

    def _statement(self, statement: Statement) -> Statement:
        match statement:
            case For(body=body):
                length = constant_of(Binary("subtract", statement.high, statement.low))
                is_short = length is not None and length <= LONGEST
                return replace(statement, body=self._row(body) if is_short else self.block(body))
            case While(body=body):
                return replace(statement, body=self.block(body))
            case If(_, body, otherwise):
                return replace(statement, body=self.block(body), otherwise=self.block(otherwise))
            case _:
                return statement

    def _row(self, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        """Return the body of a loop over a short row without the branches for padding."""
        keys: dict[Local, Load] = {}
        made: list[Statement] = []
        for statement in body:
            match made[-1:], statement:
                case _, Declare(local, (Load() as read) | Cast(_, Load() as read)):
                    keys[local] = read
                    made.append(statement)
                case (
                    [Declare(chosen, Constant() as zero)],
                    If(
                        Binary("less_equal", Constant(0), Local() as key) as test,
                        (Assign(local, value),),
                        (),
                    ),
                ) if local == chosen and key in keys and self._is_often_padding(value, key, keys[key]):
                    inside = substituted(value, {key: Binary("maximum", key, Constant(0, key.type))})
                    made[-1] = Declare(chosen, Select(test, inside, zero, branchless=True))
                case _:
                    made.append(self._statement(statement))
        return tuple(made)

    def _is_often_padding(self, value: Expression, key: Local, read: Load) -> bool:
        """Return whether ``value`` can be evaluated where the ``key`` is padding, and often would be."""
        loads = loads_of(value)
        beside = [load.buffer for load in loads if load.index == read.index]
        looked_up = [load.buffer for load in loads if load.index == key]
        exists = all(self.lengths.get(each, 0) >= self.lengths.get(read.buffer, 1) for each in beside)
        is_total = exists and all(each in self.lengths for each in looked_up)
        is_all = len(beside) + len(looked_up) == len(loads)
        return is_total and is_all and is_plain(value) and any(map(self._is_often_zero, beside))

    def _is_often_zero(self, buffer: Buffer) -> bool:
        fact = self.facts.get(buffer.name)
        return fact is not None and fact.nonzeros is not None and fact.nonzeros < FILLED * fact.length
