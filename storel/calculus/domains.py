"""Bounds of terms in loops whose own bounds depend on each other, where intervals are too coarse.

    i in 0:m, j in max(0, i - l):min(n, i + u + 1)
      gives   0 <= i * (l + u + 1) + j - i + l < m * (l + u + 1)

A linear term is largest at the last value of its innermost variable, or at the first if its factor is
negative. Substituting that value leaves a term of the variables outside, and so on outward (Fourier, 1826,
for one inequality at a time). If an upper bound is a ``min``, either argument is one, too, and so for a lower
bound that is a ``max``. A term that depends on one variable alone, not linearly, is computed for all values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from storel.calculus.binding import free_variables, shift
from storel.calculus.bounds import bounds
from storel.calculus.intervals import Context, Interval
from storel.calculus.nodes import (
    Add,
    Apply,
    Literal,
    Multiply,
    Range,
    Reduce,
    Slice,
    Sum,
    Symbol,
    Term,
    Variable,
)
from storel.symbols import SizeSymbol, Symbols

Vector: TypeAlias = NDArray[Any]

MOST_VALUES = 2**20
"""How many values of a variable are tried one by one."""

LARGEST = 2**62
"""What such values stay below, so that 64 bits hold them."""


@dataclass(frozen=True, slots=True)
class Domain:
    """A loop's variable is at least ``low`` and less than ``high``, terms of what is outside of the loop."""

    low: Term
    high: Term


Domains: TypeAlias = tuple[Domain | None, ...]
"""The domains of the enclosing binders, the innermost first; None where there is none."""


def binder_domains(term: Term, binders: int) -> Domains:
    """Return the domains of the variables that ``term`` binds, so many of them, the outermost first."""
    match term:
        case Sum(Range(low, high)) | Reduce(_, Range(low, high)):
            return Domain(low, high), Domain(shift(low, 1), shift(high, 1))
        case Sum(Slice(_, low, high)) | Reduce(_, Slice(_, low, high)):
            return Domain(low, high), None
        case _:
            return (None,) * binders


def bounds_within(
    term: Term, symbols: Symbols, context: Context, domains: Domains, conditions: tuple[Term, ...] = ()
) -> Interval:
    """Return an interval that holds the integer ``term`` inside loops with these domains.

    Each condition, which holds there, says that a linear term is not positive: subtracting it from another
    one gives an upper bound.
    """
    prover = _Prover(symbols, context, domains)
    form = prover.linear(term)
    if form is None:
        return bounds(term, symbols, context)
    nonpositive = [each for condition in conditions for each in prover.nonpositive(condition)]
    highest = prover.highest(form, nonpositive)
    lowest = prover.highest(form.times(-1), nonpositive)
    return Interval(None if lowest is None else -lowest, highest).meet(bounds(term, symbols, context))


def affine(term: Term, symbols: Symbols, context: Context) -> tuple[dict[int, int], int] | None:
    """Return the factor of each variable in an integer ``term``, and its constant; None if it is not linear.

    >>> from storel.scalars import ScalarType
    >>> three, bit = Literal(3, ScalarType.INT64), Interval(0, 1)
    >>> affine(Add(Multiply(three, Variable(1)), Variable(0)), {}, (bit, bit))
    ({1: 3, 0: 1}, 0)
    """
    form = _Prover(symbols, context, ()).linear(term)
    if form is None or not all(isinstance(atom, Variable) for atom in form.factors):
        return None
    return {atom.index: by for atom, by in form.factors.items() if isinstance(atom, Variable)}, form.constant


def linear_form(term: Term, symbols: Symbols, context: Context) -> Mapping[Term, int] | None:
    """Return the factor of each atom in an integer ``term``: a variable, or a term that is not linear."""
    form = _Prover(symbols, context, ()).linear(term)
    return None if form is None else form.factors


def holds(condition: Term, symbols: Symbols, context: Context, domains: Domains) -> bool:
    """Return whether a condition is proved to hold inside loops with these domains."""
    match condition:
        case Apply("and", (left, right)):
            return holds(left, symbols, context, domains) and holds(right, symbols, context, domains)
        case Apply("less" | "less_equal" as name, (left, right)):
            return _is_below(left, right, name == "less", symbols, context, domains)
        case Apply("greater" | "greater_equal" as name, (left, right)):
            return _is_below(right, left, name == "greater", symbols, context, domains)
        case _:
            return False


def _is_below(
    left: Term, right: Term, is_strict: bool, symbols: Symbols, context: Context, domains: Domains
) -> bool:
    difference = bounds_within(Apply("subtract", (left, right)), symbols, context, domains)
    return difference.high is not None and difference.high <= (-1 if is_strict else 0)


@dataclass(frozen=True, slots=True)
class _Linear:
    """``constant`` plus each atom times its factor; an atom is a variable, or a term that is not linear."""

    factors: dict[Term, int]
    constant: int

    def times(self, factor: int) -> _Linear:
        return _Linear({atom: own * factor for atom, own in self.factors.items()}, self.constant * factor)

    def plus(self, other: _Linear) -> _Linear:
        factors = dict(self.factors)
        for atom, factor in other.factors.items():
            factors[atom] = factors.get(atom, 0) + factor
        kept = {atom: factor for atom, factor in factors.items() if factor}
        return _Linear(kept, self.constant + other.constant)

    def less(self, other: _Linear) -> Iterator[_Linear]:
        """Yield the form less a multiple of another one, so that an atom of both is gone."""
        times = {self.factors[atom] // own for atom, own in other.factors.items() if atom in self.factors}
        for by in sorted(by for by in times if by > 0):
            left = self.plus(other.times(-by))
            if len(left.factors) < len({**self.factors, **other.factors}):
                yield left

    def without(self, atom: Term) -> _Linear:
        return _Linear({own: factor for own, factor in self.factors.items() if own != atom}, self.constant)


@dataclass(frozen=True, slots=True)
class _Prover:
    symbols: Symbols
    context: Context
    domains: Domains

    def linear(self, term: Term) -> _Linear | None:
        """Return an integer term as a linear one of atoms; None if it may be no integer."""
        match term:
            case Literal(bool() | float()):
                return None
            case Literal(value):
                return _Linear({}, int(value))
            case Symbol(name) if isinstance(fact := self.symbols.get(name), SizeSymbol):
                return _Linear({}, fact.value)
            case _ if bounds(term, self.symbols, self.context).is_short:  # its parts may add up to more
                return self._atom(term)
            case Add(left, right, "plus_times"):
                return self._sum(left, right, 1)
            case Apply("subtract", (left, right)):
                return self._sum(left, right, -1)
            case Apply("negate", (operand,)):
                form = self.linear(operand)
                return None if form is None else form.times(-1)
            case Multiply(left, right, "plus_times"):
                one, other = self.linear(left), self.linear(right)
                if one is not None and other is not None and not (one.factors and other.factors):
                    return other.times(one.constant) if other.factors else one.times(other.constant)
                return self._atom(term)
            case _:
                return self._atom(term)

    def _sum(self, left: Term, right: Term, sign: int) -> _Linear | None:
        one, other = self.linear(left), self.linear(right)
        return None if one is None or other is None else one.plus(other.times(sign))

    def _atom(self, term: Term) -> _Linear | None:
        known = bounds(term, self.symbols, self.context)
        if not isinstance(term, Variable) and known.low is not None and known.low == known.high:
            return _Linear({}, known.low)
        return _Linear({term: 1}, 0) if known.is_known else None

    def nonpositive(self, condition: Term) -> Iterator[_Linear]:
        """Yield forms that are not positive where a condition holds."""
        match condition:
            case Apply("and", (left, right)):
                yield from self.nonpositive(left)
                yield from self.nonpositive(right)
            case Apply("less" | "less_equal" as name, (left, right)):
                yield from self._differences(left, right, 1 if name == "less" else 0)
            case Apply("greater" | "greater_equal" as name, (left, right)):
                yield from self._differences(right, left, 1 if name == "greater" else 0)
            case _:
                return

    def _differences(self, left: Term, right: Term, least: int) -> Iterator[_Linear]:
        """Yield the forms of ``left - right + least``, either argument of a minimum on the right in turn."""
        for each in _summands_chosen(right):
            form = self.linear(Apply("subtract", (left, each)))
            if form is not None:
                yield form.plus(_Linear({}, least))

    def highest(self, form: _Linear, nonpositive: Sequence[_Linear] = ()) -> int | None:
        """Return a number that the form does not exceed, None if none is found."""
        found = [self._by_values(form), self._by_intervals(form)]
        variable = self._innermost(form)
        if variable is not None:
            factor, rest = form.factors[variable], form.without(variable)
            extremes = self._extremes(variable, is_upper=factor > 0)
            found += [self.highest(rest.plus(extreme.times(factor)), nonpositive) for extreme in extremes]
        for number, other in enumerate(nonpositive):
            rest = nonpositive[number + 1 :]
            found += [self.highest(less, rest) for less in form.less(other)]
        return min((each for each in found if each is not None), default=None)

    def _innermost(self, form: _Linear) -> Variable | None:
        variables = [atom for atom in form.factors if isinstance(atom, Variable)]
        known = [v for v in variables if v.index < len(self.domains) and self.domains[v.index] is not None]
        return min(known, key=lambda variable: variable.index, default=None)

    def _extremes(self, variable: Variable, *, is_upper: bool) -> Iterator[_Linear]:
        """Yield forms that the variable does not exceed, or does not fall below."""
        domain, interval = self.domains[variable.index], self.context[variable.index]
        assert domain is not None
        bound, chosen = (domain.high, "minimum") if is_upper else (domain.low, "maximum")
        terms = _alternatives(shift(bound, variable.index + 1), chosen)
        forms = [form for form in map(self.linear, terms) if form is not None]
        yield from (form.plus(_Linear({}, -1)) if is_upper else form for form in forms)
        end = interval.high if is_upper else interval.low
        if end is not None and all(form.factors for form in forms):
            yield _Linear({}, end)

    def _by_intervals(self, form: _Linear) -> int | None:
        highest = form.constant
        for atom, factor in form.factors.items():
            interval = bounds(atom, self.symbols, self.context)
            end = interval.high if factor > 0 else interval.low
            if end is None:
                return None
            highest += factor * end
        return highest

    def _by_values(self, form: _Linear) -> int | None:
        """Return the maximum over all values of the one variable that the form depends on."""
        variables = frozenset[int]().union(*map(free_variables, form.factors))
        if len(variables) != 1 or all(isinstance(atom, Variable) for atom in form.factors):
            return None
        (index,) = variables
        low, high = self.context[index].low, self.context[index].high
        if low is None or high is None or not 0 <= high - low < MOST_VALUES:
            return None
        ends = self._by_intervals(form), self._by_intervals(form.times(-1))
        if any(end is None or end >= LARGEST for end in ends):
            return None
        values = np.arange(low, high + 1, dtype=np.int64)
        total: Any = np.int64(form.constant)
        for atom, factor in form.factors.items():
            computed = self._computed(atom, values)
            if computed is None:
                return None
            total = total + factor * computed
        return int(np.max(total))

    def _computed(self, term: Term, values: Vector) -> Any:
        """Return a term of one variable for all its values, None where it reads arrays."""
        match term:
            case Variable():
                return values
            case Literal(value):
                return value
            case Symbol(name) if isinstance(fact := self.symbols.get(name), SizeSymbol):
                return fact.value
            case Add(left, right, "plus_times"):
                parts, function = (left, right), np.add
            case Multiply(left, right, "plus_times"):
                parts, function = (left, right), np.multiply
            case Apply(name, arguments) if name in _FUNCTIONS:
                parts, function = arguments, _FUNCTIONS[name]
            case _:
                return None
        computed = [self._computed(part, values) for part in parts]
        if any(each is None for each in computed) or (function in _DIVISIONS and not np.all(computed[1])):
            return None
        return function(*computed)


def _alternatives(term: Term, chosen: str) -> Iterator[Term]:
    match term:
        case Apply(name, (left, right)) if name == chosen:
            yield from _alternatives(left, chosen)
            yield from _alternatives(right, chosen)
        case _:
            yield term


def _summands_chosen(term: Term) -> Iterator[Term]:
    """Yield terms that ``term`` does not exceed: sums with either argument of a minimum in them."""
    match term:
        case Apply("minimum", (left, right)):
            yield from _summands_chosen(left)
            yield from _summands_chosen(right)
        case Add(left, right, "plus_times"):
            for one, other in product(_summands_chosen(left), _summands_chosen(right)):
                yield Add(one, other)
        case _:
            yield term


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "subtract": np.subtract, "negate": np.negative, "minimum": np.minimum, "maximum": np.maximum,
    "shift_left": np.left_shift, "shift_right": np.right_shift,
    "bit_and": np.bitwise_and, "bit_or": np.bitwise_or,
    "floor_divide": np.floor_divide, "modulo": np.mod, "int64": np.positive,
}  # fmt: skip

_DIVISIONS = (np.floor_divide, np.mod)
