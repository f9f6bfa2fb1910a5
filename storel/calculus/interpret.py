"""What a term means: a scalar, a dictionary without zero entries, or an array (``storel/values.py``).

    ⟦sum_s(e1) e2⟧ρ = ⊕_s { ⟦e2⟧ρ[key ↦ k, value ↦ v] | (k, v) ∈ ⟦e1⟧ρ }      and so on, node by node

The equations are those of the docstrings in ``nodes.py``. A term is translated once into a Python
function of its environment, guided by the types that ``infer`` finds.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from storel.calculus.nodes import (
    Add,
    Apply,
    Empty,
    Find,
    If,
    Let,
    Literal,
    Lookup,
    Merge,
    Multiply,
    Range,
    Reduce,
    Singleton,
    Slice,
    Sum,
    Symbol,
    Term,
    Unique,
    Variable,
)
from storel.calculus.verify import KEY, Context, Type, element, infer
from storel.errors import EvaluationError
from storel.functions import FUNCTIONS
from storel.scalars import ScalarType
from storel.semiring import SEMIRINGS, Scalar, Semiring
from storel.symbols import ArraySymbol, EndSymbol, MappingSymbol, ParameterSymbol, SizeSymbol, Symbols
from storel.values import (
    Array,
    Value,
    add_into,
    entries,
    integers,
    plus,
    put,
    reduce_all,
    rounded,
    stored_array,
    times,
    zero_of,
)

Environment: TypeAlias = tuple[Value, ...]
Meaning: TypeAlias = Callable[[Environment], Value]


def evaluate(
    term: Term,
    symbols: Symbols,
    values: Mapping[str, Any],
    context: Sequence[tuple[Type, Value]] = (),
) -> Value:
    """Return the value of ``term``: a scalar or a dictionary without zero entries.

    ``values`` holds a NumPy array for each array symbol and a scalar for each parameter; sizes come
    from ``symbols``. ``context`` gives the types and values of the free variables, the innermost
    first. Raises ``EvaluationError`` for reads out of bounds, overflow, the minimum of no entries, and
    merges and searches of arrays that are not in order.

    >>> evaluate(Sum(Range(Literal(0, KEY.scalar), Literal(4, KEY.scalar)), Variable(1)), {}, {})
    6
    """
    types = tuple(kind for kind, _ in context)
    return _Interpreter(symbols, values).meaning(term, types)(tuple(value for _, value in context))


def computed(term: Apply) -> Term:
    """Return the number that a function of numbers is, where it is a finite real; else ``term``.

    >>> computed(Apply("sqrt", (Literal(4, KEY.scalar),)))
    Literal(value=2.0, type=<ScalarType.FLOAT64: 'float64'>)
    """
    if not all(isinstance(each, Literal) for each in term.arguments):
        return term
    kind = infer(term, {}, ()).scalar
    value = evaluate(term, {}, {}) if kind.is_real else None
    return Literal(value, kind) if isinstance(value, float) and math.isfinite(value) else term


@dataclass(frozen=True, slots=True)
class _Interpreter:
    symbols: Symbols
    values: Mapping[str, Any]

    def meaning(self, term: Term, context: Context) -> Meaning:
        """Return the function from environments (the innermost value first) to the value of ``term``."""

        def of(child: Term) -> Meaning:
            return self.meaning(child, context)

        match term:
            case Variable(index):
                return lambda environment: environment[index]
            case Literal(value, scalar):
                constant = rounded(value, scalar)
                return lambda _: constant
            case Symbol(name):
                known = self._symbol(name)
                return lambda _: known
            case Empty():
                return lambda _: {}
            case Sum(source, body, semiring):
                bindings = _entries_of(of(source))
                return self._total(term, bindings, self._under(source, body, context), semiring, context)
            case Reduce(monoid, source, body):
                inner = self._under(source, body, context)
                return _reduce(monoid, of(source), inner, self._scalar(term, context))
            case Singleton(key, value, semiring):
                return _singleton(of(key), of(value), SEMIRINGS[semiring])
            case Lookup(mapping, key, _) if infer(mapping, self.symbols, context).is_array:
                return _read(of(mapping), of(key))
            case Lookup(mapping, key, semiring):
                return _lookup(of(mapping), of(key), self._zero(term, semiring, context))
            case Range(low, high):
                return _range(of(low), of(high))
            case Slice(array, low, high):
                return _slice(of(array), of(low), of(high))
            case Let(value, body):
                bound = self.meaning(body, (infer(value, self.symbols, context), *context))
                return _let(of(value), bound)
            case If(condition, body, semiring):
                return _if(of(condition), of(body), self._zero(term, semiring, context))
            case Add(left, right, semiring):
                return _combined(plus, of(left), of(right), self._scalar(term, context), SEMIRINGS[semiring])
            case Multiply(left, right, semiring):
                return _combined(times, of(left), of(right), self._scalar(term, context), SEMIRINGS[semiring])
            case Apply("and" | "or" as name, (left, right)):
                return _connective(name, of(left), of(right))
            case Apply(name, arguments):
                return self._apply(name, arguments, context)
            case Merge(left, right, body, semiring):
                kinds = (element(infer(left, self.symbols, context)), KEY, KEY)
                inner, matches = self.meaning(body, (*kinds, *context)), _matches(of(left), of(right))
                return self._total(term, matches, inner, semiring, context)
            case Find(source, key, body, semiring):
                inner, found = self.meaning(body, (KEY, *context)), _found(of(source), of(key))
                return self._total(term, found, inner, semiring, context)
            case Unique(key):
                return of(key)

    def _symbol(self, name: str) -> Value:
        match self.symbols[name]:
            case SizeSymbol(_, value):
                return value
            case EndSymbol():
                return self.values[name]
            case ArraySymbol():
                return stored_array(name, self.values[name])
            case ParameterSymbol(_, scalar_type):
                return rounded(self.values[name], scalar_type)
            case MappingSymbol():
                raise AssertionError(f"{name} is a mapping, which no term names")

    def _under(self, source: Term, body: Term, context: Context) -> Meaning:
        value = element(infer(source, self.symbols, context))
        return self.meaning(body, (value, KEY, *context))

    def _total(
        self,
        term: Term,
        bindings: Callable[[Environment], Iterator[Environment]],
        body: Meaning,
        semiring: str,
        context: Context,
    ) -> Meaning:
        """Return the sum of ``body`` over the extensions of the environment that ``bindings`` yields."""
        kind, ring = infer(term, self.symbols, context), SEMIRINGS[semiring]

        def total(environment: Environment) -> Value:
            result = zero_of(kind.scalar, kind.rank, ring)
            for bound in bindings(environment):
                result = add_into(result, body((*bound, *environment)), kind.scalar, ring)
            return result

        return total

    def _scalar(self, term: Term, context: Context) -> ScalarType:
        return infer(term, self.symbols, context).scalar

    def _zero(self, term: Term, semiring: str, context: Context) -> Value:
        kind = infer(term, self.symbols, context)
        return zero_of(kind.scalar, kind.rank, SEMIRINGS[semiring])

    def _apply(self, name: str, arguments: tuple[Term, ...], context: Context) -> Meaning:
        function = FUNCTIONS[name]
        types = tuple(self._scalar(argument, context) for argument in arguments)
        operand, result = function.operand_type(*types), function.result_type(*types)
        assert operand is not None and result is not None
        parts = [self.meaning(argument, context) for argument in arguments]

        def applied(environment: Environment) -> Value:
            return rounded(function.meaning(*(rounded(part(environment), operand) for part in parts)), result)

        return applied


def _singleton(key: Meaning, value: Meaning, semiring: Semiring) -> Meaning:
    def singleton(environment: Environment) -> Value:
        result: dict[int, Value] = {}
        found = key(environment)
        put(result, found, value(environment), semiring)
        if found < 0 and result:  # a zero is no entry, whatever its key
            raise EvaluationError(f"a negative key in a dictionary: {found}")
        return result

    return singleton


def _lookup(mapping: Meaning, key: Meaning, zero: Value) -> Meaning:
    return lambda environment: mapping(environment).get(key(environment), zero)


def _read(array: Meaning, position: Meaning) -> Meaning:
    return lambda environment: array(environment).at(position(environment))


def _range(low: Meaning, high: Meaning) -> Meaning:
    return lambda environment: integers(low(environment), high(environment))


def _slice(array: Meaning, low: Meaning, high: Meaning) -> Meaning:
    return lambda environment: array(environment).part(low(environment), high(environment))


def _let(value: Meaning, body: Meaning) -> Meaning:
    return lambda environment: body((value(environment), *environment))


def _if(condition: Meaning, body: Meaning, zero: Value) -> Meaning:
    return lambda environment: body(environment) if condition(environment) else zero


def _reduce(monoid: str, source: Meaning, body: Meaning, scalar: ScalarType) -> Meaning:
    def reduced(environment: Environment) -> Value:
        found = (body((value, key, *environment)) for key, value in entries(source(environment)))
        return reduce_all(monoid, found, scalar)

    return reduced


def _combined(
    operation: Callable[[Value, Value, ScalarType, Semiring], Value],
    left: Meaning,
    right: Meaning,
    scalar: ScalarType,
    semiring: Semiring,
) -> Meaning:
    return lambda environment: operation(left(environment), right(environment), scalar, semiring)


def _connective(name: str, left: Meaning, right: Meaning) -> Meaning:
    """Return ``and`` or ``or``: the right side is computed only if the left does not decide."""
    if name == "and":
        return lambda environment: bool(left(environment)) and bool(right(environment))
    return lambda environment: bool(left(environment)) or bool(right(environment))


def _entries_of(source: Meaning) -> Callable[[Environment], Iterator[Environment]]:
    return lambda environment: ((value, key) for key, value in entries(source(environment)))


def _matches(left: Meaning, right: Meaning) -> Callable[[Environment], Iterator[Environment]]:
    def matches(environment: Environment) -> Iterator[Environment]:
        one, other = left(environment), right(environment)
        _require_order(one, operator.lt, "increase")
        _require_order(other, operator.lt, "increase")
        positions = {k: q for q, k in entries(other)}
        return ((k, positions[k], p) for p, k in entries(one) if k in positions)

    return matches


def _found(source: Meaning, key: Meaning) -> Callable[[Environment], Iterator[Environment]]:
    def found(environment: Environment) -> Iterator[Environment]:
        array, wanted = source(environment), key(environment)
        _require_order(array, operator.le, "ascend")
        return ((p,) for p, y in entries(array) if y == wanted)

    return found


def _require_order(array: Array, in_order: Callable[[Scalar, Scalar], bool], order: str) -> None:
    """Raise EvaluationError for an array out of order: what a search or a merge finds there is undefined.

    Else rules that forget to ask for the order would keep the meaning of all terms, though not of kernels.
    """
    elements = [element for _, element in entries(array)]
    if not all(map(in_order, elements, elements[1:])):
        raise EvaluationError(f"undefined: {array.name} does not {order}")
