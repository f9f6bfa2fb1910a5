"""Short loops of a constant length that are cut off at a border are whole in the interior.

    for j in maximum(0, i - 1):minimum(n, i + 2) {…}
        =  if 0 <= i - 1 and i + 2 <= n { for j in i - 1:i + 2 {…} }
           else { for j in maximum(0, i - 1):minimum(n, i + 2) {…} }

How often the first one runs is known to the compiler, which unrolls it; the branch is foreseen, since it goes
the same way for all rows but the first and the last ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from storel.loops.dependence import declared
from storel.loops.emitter import Emitter
from storel.loops.nodes import (
    Assign,
    Binary,
    Constant,
    Declare,
    Expression,
    For,
    If,
    Kernel,
    Statement,
    Store,
    Update,
    While,
)
from storel.loops.passes.polynomials import constant_of
from storel.loops.walk import loads_of

LONGEST = 16
"""The most iterations that compilers write out."""


class _Interior(NamedTuple):
    """The bounds of a loop where it is whole, from ``border`` on and up to ``end``, and its length there."""

    low: Expression
    high: Expression
    length: int
    border: Expression
    end: Expression


def split_interiors(kernel: Kernel) -> Kernel:
    """Return the same kernel, in which short loops that are cut off at a border have an interior."""
    taken = {local.name for local in (*kernel.compute.scalars, *declared(kernel.compute.body))}
    body = _Interiors(Emitter(taken)).block(kernel.compute.body)
    return replace(kernel, compute=replace(kernel.compute, body=body))


class _Interiors:
    """Splits loops; the emitter knows the names that are taken."""

    def __init__(self, emitter: Emitter) -> None:
        self._emitter = emitter

    def block(self, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(map(self._statement, body))

    def _statement(self, statement: Statement) -> Statement:
        match statement:
            case For(body=body):
                return self._split(replace(statement, body=self.block(body)))
            case While(body=body):
                return replace(statement, body=self.block(body))
            case If(_, body, otherwise):
                return replace(statement, body=self.block(body), otherwise=self.block(otherwise))
            case _:
                return statement

    def _split(self, loop: For) -> Statement:
        """Return the two cases of a loop without others inside, if it has an interior, else the loop.

        Partial results, which a compiler would keep for vector code, do not pay in so short a sum.
        """
        if not all(isinstance(each, Declare | Assign | Update | Store) for each in loop.body):
            return loop
        found = _interior_of(loop)
        if found is None or found.length > LONGEST:
            return loop
        reaches = Binary("less_equal", found.border, found.low), Binary("less_equal", found.high, found.end)
        return If(Binary("and", *reaches), (self._whole(loop, found.low, found.high),), (loop,))

    def _whole(self, loop: For, low: Expression, high: Expression) -> For:
        """Return a copy of a loop with other bounds."""
        own = self._emitter.fresh(loop.local.name, loop.local.type)
        return For(own, low, high, self._emitter.iteration(loop, own), loop.role, in_lanes=loop.in_lanes)


def _interior_of(loop: For) -> _Interior | None:
    """Return the whole of a loop that is cut off at a border, if it has a constant length."""
    for border, low in _operands("maximum", loop.low):
        for end, high in _operands("minimum", loop.high):
            length = constant_of(Binary("subtract", high, low))
            if length is not None and length > 0:
                return _Interior(low, high, length, border, end)
    return None


def whole(loop: For) -> tuple[Expression, int] | None:
    """Return where a loop of constant length begins, and the length, where no border cuts it off."""
    match loop.low, loop.high:
        case Constant(0), Constant(int() as high):
            return loop.low, high
        case _:
            found = _interior_of(loop)
            return None if found is None else (found.low, found.length)


def _operands(operator: str, bound: Expression) -> Iterator[tuple[Expression, Expression]]:
    """Yield both orders of the operands of a bound that is computed by ``operator``, without reads."""
    match bound:
        case Binary(found, left, right) if found == operator and not loads_of(bound):
            yield left, right
            yield right, left
        case _:
            pass
