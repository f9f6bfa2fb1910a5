"""Expressions of mappings over vectors: one value per loop iteration, all at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import numpy as np

from storel.arrays import Array
from storel.errors import FormatError
from storel.source import Span
from storel.syntax.bits import expand_bits
from storel.syntax.free_names import free_names
from storel.syntax.nodes.expressions import Binary, Call, Expression, If, Let, Name, Number, Truth, Unary


class Undefined(FormatError):
    """A mapping means nothing with the arrays that it reads."""


class NotComputed(FormatError):
    """A mapping says what has to be computed iteration by iteration."""


class ReadOutside(Undefined):
    """A mapping reads what an array has not."""

    def __init__(self, name: str, array: Array, position: int, span: Span) -> None:
        super().__init__(f"the mapping reads {name}({position}), outside 0:{len(array)}", span=span)


class DividedByZero(Undefined):
    """A mapping divides an integer by zero."""

    def __init__(self, expression: Expression) -> None:
        super().__init__("the mapping divides an integer by zero", span=expression.span)


def evaluate_vector(expression: Expression, names: Mapping[str, Any], arrays: Mapping[str, Array]) -> Any:
    """Return the values of ``expression``; ``names`` are vectors or sizes, ``arrays`` are read.

    Raises NotComputed for what is not understood.
    """
    match expression:
        case Number(value):
            return value
        case Truth(value):
            return value
        case Name(name) if name in names:
            return names[name]
        case Unary(operator, operand):
            inner = evaluate_vector(operand, names, arrays)
            return -inner if operator == "-" else np.logical_not(inner)
        case Binary("and" | "or" as operator, left, right):
            return _connected(operator, left, right, names, arrays)
        case Binary(operator, left, right) if operator in OPERATORS:
            one, other = evaluate_vector(left, names, arrays), evaluate_vector(right, names, arrays)
            if operator in ("//", "%") and _are_divided_by_zero(one, other):
                raise DividedByZero(expression)
            with np.errstate(divide="ignore", invalid="ignore"):
                return OPERATORS[operator](one, other)
        case Call(Name(array), (index,)) if array in arrays:
            positions = evaluate_vector(index, names, arrays)
            return read_at(array, arrays[array], positions, expression.span)
        case Call(Name(name), arguments) if name in _FUNCTIONS:
            return reduce(_FUNCTIONS[name], (evaluate_vector(each, names, arrays) for each in arguments))
        case Call(Name(name), arguments) if name in _OF_REALS:
            operands = [np.asarray(evaluate_vector(each, names, arrays)) for each in arguments]
            if operands[0].dtype.kind != "f":
                raise NotComputed("a function of reals is given integers", span=expression.span)
            with np.errstate(all="ignore"):
                return _OF_REALS[name](*operands)
        case Call(Name("popcount"), (argument,)):
            return _popcount(evaluate_vector(argument, names, arrays))
        case Call(Name("abs"), (argument,)):
            return np.abs(evaluate_vector(argument, names, arrays))
        case Let(binder, value, body):
            named = {str(binder.name): evaluate_vector(value, names, arrays)}
            return evaluate_vector(body, {**names, **named}, arrays)
        case Call(Name(name)) if (expanded := expand_bits(expression, {*names, *arrays})) != expression:
            return evaluate_vector(expanded, names, arrays)
        case _:
            raise NotComputed(
                "this part of a mapping is not understood",
                expected="numbers, elements of arrays, arithmetic, comparisons and functions of them",
                span=expression.span,
                hint="add two parts up, each under a condition" if isinstance(expression, If) else None,
            )


def _connected(
    operator: str, left: Expression, right: Expression, names: Mapping[str, Any], arrays: Mapping[str, Array]
) -> Any:
    """Return ``and`` or ``or``; the right side need only be defined where the left one does not decide."""
    one = evaluate_vector(left, names, arrays)
    try:
        return OPERATORS[operator](one, evaluate_vector(right, names, arrays))
    except Undefined:
        used = {name: names[name] for name in free_names(left) | free_names(right) if name in names}
        shape = np.broadcast_shapes(*map(np.shape, used.values()))
        found = np.broadcast_to(one, shape).astype(bool)
        is_open = found if operator == "and" else ~found
        if is_open.all():
            raise
        if is_open.any():
            open_names = {name: np.broadcast_to(each, shape)[is_open] for name, each in used.items()}
            found[is_open] = evaluate_vector(right, open_names, arrays)
        return found


def _are_divided_by_zero(numbers: Any, divisors: Any) -> bool:
    """Return whether an integer is divided by zero; for reals IEEE 754 says what that gives."""
    kinds = np.result_type(numbers, divisors).kind
    return kinds in "biu" and np.size(numbers) > 0 and not np.all(divisors)


def read_at(name: str, array: Array, positions: Any, span: Span) -> Any:
    """Return the elements at positions; raises ReadOutside, placed, for one that the array has not."""
    given = np.asarray(positions)
    if given.size and (given.min() < 0 or given.max() >= len(array)):
        is_outside = (given < 0) | (given >= len(array))
        raise ReadOutside(name, array, int(given.reshape(-1)[np.argmax(is_outside)]), span)
    return array[positions]


def _popcount(numbers: Any) -> Any:
    return np.bitwise_count(np.asarray(numbers, dtype=np.int64).view(np.uint64)).astype(np.int64)


_FUNCTIONS = {"min": np.minimum, "max": np.maximum}

_OF_REALS: dict[str, Callable[..., Any]] = {
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "floor": np.floor,
    "ceil": np.ceil,
    "pow": np.power,
}
"""What is computed otherwise, or refused, where the first argument is an integer."""

OPERATORS = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "//": np.floor_divide,
    "%": np.mod,
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "and": np.logical_and,
    "or": np.logical_or,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
    "<<": np.left_shift,
    ">>": np.right_shift,
}
