"""What a mapping gives its entries: values are computed over the tensor's semiring, all at once.

    u(i) * v(j) + w(i)      over plus_times     u(i) * v(j) + w(i)
                            over min_plus       min(u(i) + v(j), w(i))

Addresses, keys and conditions are ordinary arithmetic over any semiring (``vectors.py``). A zero annihilates
what it is multiplied with, inf and NaN among it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from storel.arrays import Array
from storel.semiring import Semiring
from storel.storage.unpacking.vectors import NotComputed, Undefined, evaluate_vector
from storel.syntax.nodes.expressions import Binary, Call, Expression, If, Name, Number, Truth, Unary

_OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "multiply": np.multiply,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "or": np.logical_or,
    "and": np.logical_and,
}
"""A semiring's operations by their names."""


def is_computed(value: Expression, arrays: Mapping[str, Array]) -> bool:
    """Return whether a value is computed, and not just read, or the negative of what is read."""
    match value:
        case Name() | Number() | Truth():
            return False
        case Call(Name(array)) if array in arrays:
            return False
        case Unary("-", operand):
            return is_computed(operand, arrays)
        case _:
            return True


def evaluate_value(
    value: Expression, names: Mapping[str, Any], arrays: Mapping[str, Array], ring: Semiring
) -> Any:
    """Return the values of entries; ``names`` are vectors or sizes, ``arrays`` are read.

    Raises NotComputed for what is not understood.
    """

    def of(part: Expression) -> Any:
        return evaluate_value(part, names, arrays, ring)

    with np.errstate(all="ignore"):  # what is infinite or NaN is a value, too
        match value:
            case Binary("*", left, right):
                return _product(of(left), of(right), ring)
            case Binary("+", left, right):
                return _OPERATIONS[ring.plus_name](*_numbers(of(left), of(right)))
            case Binary("-" | "/" | "//" | "%" as operator, left, right):
                given = {"left": of(left), "right": of(right)}
                named = Binary(operator, Name("left"), Name("right"), value.span)
                return evaluate_vector(named, given, {})
            case Unary("-", operand):
                return np.negative(*_numbers(of(operand)))
            case Call(Name(name), arguments) if name not in arrays:
                given = {str(place): of(each) for place, each in enumerate(arguments)}
                named = Call(Name(name), tuple(map(Name, given)), value.span)
                return evaluate_vector(named, given, {})
            case If(condition, positive, negative):
                holds = evaluate_vector(condition, names, arrays)
                return _chosen(holds, positive, Number(ring.zero) if negative is None else negative, of)
            case _:
                return evaluate_vector(value, names, arrays)


def _numbers(*values: Any) -> tuple[Any, ...]:
    """Return values that are not all truths, which are counted here and which NumPy does not count."""
    if np.result_type(*values).kind == "b":
        raise NotComputed("truths are added up")
    return values


def _product(one: Any, other: Any, ring: Semiring) -> Any:
    is_zero = np.equal(one, ring.zero) | np.equal(other, ring.zero)
    product = np.asarray(_OPERATIONS[ring.times_name](one, other))
    return np.where(is_zero, product.dtype.type(ring.zero), product) if np.any(is_zero) else product


def _chosen(holds: Any, positive: Expression, negative: Expression, of: Callable[[Expression], Any]) -> Any:
    """Return a choice of two values, both of which are computed everywhere."""
    try:
        return np.where(holds, of(positive), of(negative))
    except Undefined as error:  # perhaps only where it is not chosen
        raise NotComputed(error.message, span=error.span) from error
