"""Minima and maxima with a number need not look for NaN.

    t = minimum(t, a[i] + x[j])    =    t = lesser(t, a[i] + x[j])    where all of a and x are finite

A minimum is NaN where an operand is, which takes a chain of three instructions. Where the second operand
cannot be NaN, one comparison does: it is false where the first is NaN, which then stays.
"""

from __future__ import annotations

import math
from dataclasses import replace
from enum import IntEnum

from storel.loops.dependence import assigned
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
    Store,
    Unary,
    Update,
    While,
)
from storel.loops.types import type_of
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, Symbols

WITH_NUMBER = {"minimum": "lesser", "maximum": "larger"}
"""What each operator is where its second operand is no NaN."""


class _Range(IntEnum):
    """Among which values one is: those above are among those below."""

    ANY = 0
    NO_NAN = 1
    FINITE = 2


def simplify_minima(kernel: Kernel, symbols: Symbols) -> Kernel:
    """Return the same kernel, with the minima and maxima that need not look for NaN."""
    finite = frozenset(buffer for buffer in kernel.inputs if _is_finite(buffer, symbols))
    minima = _Minima(finite, frozenset(assigned(kernel.compute.body)))
    return replace(kernel, compute=replace(kernel.compute, body=minima.block(kernel.compute.body)))


def _is_finite(buffer: Buffer, symbols: Symbols) -> bool:
    fact = symbols.get(buffer.name)
    return isinstance(fact, ArraySymbol) and fact.finite


class _Minima:
    """Rewrites blocks from the first statement on; ``finite`` buffers hold neither inf nor NaN."""

    def __init__(self, finite: frozenset[Buffer], reassigned: frozenset[Local]) -> None:
        self.finite = finite
        self.reassigned = reassigned
        self.known: dict[Local, _Range] = {}

    def block(self, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(map(self._statement, body))

    def _statement(self, statement: Statement) -> Statement:
        match statement:
            case Declare(local, value):
                if local not in self.reassigned:
                    self.known[local] = self.range(value)
                return Declare(local, self._simplified(value))
            case Assign(local, value):
                return Assign(local, self._simplified(value))
            case Store(buffer, place, value):
                return Store(buffer, place, self._simplified(value))
            case Update(buffer, place, operator, value) if buffer.type.is_real and self._is_number(value):
                return Update(buffer, place, WITH_NUMBER.get(operator, operator), value)
            case For(body=body) | While(body=body):
                return replace(statement, body=self.block(body))
            case If(_, body, otherwise):
                return replace(statement, body=self.block(body), otherwise=self.block(otherwise))
            case _:
                return statement

    def _simplified(self, value: Expression) -> Expression:
        """Return what a statement takes, which is where minima and maxima stand."""
        if not (isinstance(value, Binary) and value.operator in WITH_NUMBER and type_of(value).is_real):
            return value
        is_plain = self._is_number(value.right)
        return replace(value, operator=WITH_NUMBER[value.operator]) if is_plain else value

    def _is_number(self, value: Expression) -> bool:
        return self.range(value) >= _Range.NO_NAN

    def range(self, value: Expression) -> _Range:
        """Return what a value is among: finite operands may make infinite sums and products, but no NaN."""
        if not type_of(value).is_real:
            return _Range.FINITE
        match value:
            case Constant(number):
                return _Range.FINITE if math.isfinite(number) else _Range(not math.isnan(number))
            case Local():
                return self.known.get(value, _Range.ANY)
            case Load(buffer):
                return _Range.FINITE if buffer in self.finite else _Range.ANY
            case Cast(_, operand) if type_of(operand) is ScalarType.FLOAT64:
                return min(self.range(operand), _Range.NO_NAN)
            case Cast(_, operand):
                return self.range(operand)
            case Unary("negate" | "abs", operand):
                return self.range(operand)
            case Select(_, positive, negative):
                return min(self.range(positive), self.range(negative))
            case Binary(operator, left, right):
                return _of_both(operator, self.range(left), self.range(right))
            case _:
                return _Range.ANY


def _of_both(operator: str, left: _Range, right: _Range) -> _Range:
    least, most = sorted((left, right))
    match operator:
        case "minimum" | "maximum":
            return least
        case "add" | "subtract" if least is not _Range.ANY and most is _Range.FINITE:
            return _Range.NO_NAN
        case "multiply" if least is _Range.FINITE:
            return _Range.NO_NAN
        case _:
            return _Range.ANY
