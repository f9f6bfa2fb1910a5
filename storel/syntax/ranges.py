"""Blank ranges: the largest that read no array or closed extent out of bounds, given the others.

A read ``A(c * i + rest)`` in a dimension of size E demands 0 ≤ c·i + rest < E for all values of the
other variables. A blank range is the largest that satisfies those demands in which every other range
is known; ranges found that way make others known (Vasilache et al., Tensor Comprehensions, 2018).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce

from storel.syntax.dimensions import Dimension, Facts
from storel.syntax.intervals import Bounds
from storel.syntax.nodes.expressions import Binary, Call, Expression, Name, Number, Range, Unary


@dataclass(frozen=True, slots=True)
class Access:
    """A read at ``index``; ``scope`` says what is known of the variables in it."""

    index: Expression
    dimension: Dimension
    scope: Mapping[str, Facts]


@dataclass(frozen=True, slots=True)
class Linear:
    """``constant`` + Σ coefficient · name."""

    constant: int
    coefficients: Mapping[str, int]

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        total = dict(self.coefficients)
        for name, coefficient in other.coefficients.items():
            total[name] = total.get(name, 0) + factor * coefficient
        kept = {name: coefficient for name, coefficient in total.items() if coefficient}
        return Linear(self.constant + factor * other.constant, kept)


@dataclass(frozen=True, slots=True)
class Demand:
    """The first value that a blank key may have, and the one after the last, None if there is no limit."""

    first: Expression | None
    end: Expression | None


def infer_ranges(
    accesses: Iterable[Access], blanks: Iterable[str], unsolved: Collection[str]
) -> dict[str, Range]:
    """Return the ranges of those blank keys that demands settle; the others are not in the result.

    ``unsolved`` are all keys whose ranges are not known now, outer ones included.
    """
    accesses = list(accesses)
    found: dict[str, Range] = {}
    for blank in blanks:
        others = set(unsolved) - {blank}
        demands = [_demand(access, blank, others) for access in accesses]
        ends = _distinct(each.end for each in demands if each is not None)
        if ends:
            firsts = _distinct(each.first for each in demands if each is not None)
            low = reduce(_greatest, firsts) if firsts else Number(0)
            found[blank] = Range(low, reduce(_least, ends))
    return found


def linear(index: Expression, scope: Mapping[str, Facts]) -> Linear | None:
    """Return ``index`` as a linear form, None if it is none.

    >>> linear(Binary("+", Binary("*", Number(2), Name("i")), Name("w")), {"i": Facts(), "w": Facts()})
    Linear(constant=0, coefficients={'i': 2, 'w': 1})
    """
    match index:
        case Number(int() as value):
            return Linear(value, {})
        case Name(name):
            return Linear(0, {name: 1})
        case Unary("-", operand):
            inner = linear(operand, scope)
            return None if inner is None else Linear(0, {}).plus(inner, -1)
        case Binary("+" | "-" as operator, left, right):
            one, two = linear(left, scope), linear(right, scope)
            return None if one is None or two is None else one.plus(two, 1 if operator == "+" else -1)
        case Binary("*", left, right):
            one, two = linear(left, scope), linear(right, scope)
            if one is None or two is None:
                return None
            for factor, other in ((one, two), (two, one)):
                value = _constant(factor, scope)
                if value is not None:
                    return Linear(0, {}).plus(other, value)
            return None
        case _:
            return None


def _constant(form: Linear, scope: Mapping[str, Facts]) -> int | None:
    """Return the value of a linear form of names whose values are known."""
    total = form.constant
    for name, coefficient in form.coefficients.items():
        value = scope[name].bounds.constant
        if value is None:
            return None
        total += coefficient * value
    return total


def _demand(access: Access, blank: str, others: Collection[str]) -> Demand | None:
    """Return what a read demands of ``blank``, None if it says nothing or nothing yet."""
    form = linear(access.index, access.scope)
    if form is None or blank not in form.coefficients or any(name in form.coefficients for name in others):
        return None
    factor = form.coefficients[blank]
    rest = form.plus(Linear(0, {blank: factor}), -1)
    low, high = _extremes(rest, access.scope)
    size = access.dimension.symbol or Number(access.dimension.size or 0)
    if factor < 0:  # the blank range runs against the dimension
        end = None if low is None else _add(_divide(low, -factor), Number(1))
        first = None if high is None else _ceiling(_subtract(high, _subtract(size, Number(1))), -factor)
        return Demand(first if _is_needed(rest, access, factor) else None, end)
    if high is None:
        return None
    end = _subtract(size, high)
    if factor > 1:
        end = _add(_divide(_subtract(end, Number(1)), factor), Number(1))
    first = None if low is None else _ceiling(_subtract(Number(0), low), factor)
    return Demand(first if _is_needed(rest, access, factor) else None, end)


def _is_needed(rest: Linear, access: Access, factor: int) -> bool:
    """Return whether the first value that a demand allows may be above 0."""
    bounds = _bounds(rest, access.scope)
    if factor > 0:
        return not bounds.is_natural
    size = access.dimension.size
    return bounds.high is None or size is None or bounds.high >= size


def _bounds(form: Linear, scope: Mapping[str, Facts]) -> Bounds:
    total = Bounds.exactly(form.constant)
    for name, coefficient in form.coefficients.items():
        total += scope[name].bounds.scaled(coefficient)
    return total


def _extremes(form: Linear, scope: Mapping[str, Facts]) -> tuple[Expression | None, Expression | None]:
    """Return the least and the greatest value of a linear form, as expressions of known names."""
    low: Expression | None = Number(form.constant)
    high: Expression | None = Number(form.constant)
    for name, coefficient in form.coefficients.items():
        facts = scope[name]
        first = facts.first or _literal(facts.bounds.low)
        last = facts.last or _literal(facts.bounds.high)
        if coefficient < 0:
            first, last = last, first
        low = None if low is None or first is None else _add(low, _scale(first, coefficient))
        high = None if high is None or last is None else _add(high, _scale(last, coefficient))
    return low, high


def _literal(value: int | None) -> Number | None:
    return None if value is None else Number(value)


def _distinct(expressions: Iterable[Expression | None]) -> list[Expression]:
    return list(dict.fromkeys(each for each in expressions if each is not None))


def _add(left: Expression, right: Expression) -> Expression:
    match left, right:
        case Number(a), Number(b):
            return Number(a + b)
        case (Number(0), other) | (other, Number(0)):
            return other
        case Binary("-", other, Number(a)), Number(b):
            return _subtract(other, Number(a - b))
        case _, Number(b) if b < 0:
            return Binary("-", left, Number(-b))
        case _:
            return Binary("+", left, right)


def _subtract(left: Expression, right: Expression) -> Expression:
    match left, right:
        case Number(a), Number(b):
            return Number(a - b)
        case other, Number(0):
            return other
        case Binary("+", other, Number(a)), Number(b):
            return _add(other, Number(a - b))
        case _, Number(b) if b < 0:
            return _add(left, Number(-b))
        case _, Binary("-", other, Number(a)):
            return _subtract(_add(left, Number(a)), other)
        case _, Binary("*", Number(int() as a), other) if a < 0:
            return _add(left, _scale(other, -a))
        case _:
            return Binary("-", left, right)


def _scale(expression: Expression, factor: int) -> Expression:
    match expression:
        case Number(value):
            return Number(value * factor)
        case _ if factor == 1:
            return expression
        case _:
            return Binary("*", Number(factor), expression)


def _divide(expression: Expression, factor: int) -> Expression:
    return expression if factor == 1 else Binary("//", expression, Number(factor))


def _ceiling(expression: Expression, factor: int) -> Expression:
    return _divide(_add(expression, Number(factor - 1)), factor)


def _least(left: Expression, right: Expression) -> Expression:
    return Call(Name("min"), (left, right))


def _greatest(left: Expression, right: Expression) -> Expression:
    return Call(Name("max"), (left, right))
