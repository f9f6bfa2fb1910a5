"""Size expressions: lengths, bounds and addresses over named integers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from storel.errors import FormatError
from storel.functions import WORD, Domain
from storel.syntax.nodes.expressions import Binary, Call, Expression, Name, Number, Unary
from storel.syntax.printer import render
from storel.syntax.spelling import CALLS, OPERATORS


def evaluate_size(expression: Expression, sizes: Mapping[str, int]) -> int:
    """Return the value of an integer expression; raises FormatError if it is none.

    >>> from storel.syntax.nodes.expressions import Binary, Name, Number
    >>> evaluate_size(Binary("+", Name("m"), Number(1)), {"m": 4})
    5
    """
    match expression:
        case Number(int() as value):
            return value
        case Name(name) if name in sizes:
            return sizes[name]
        case Unary("-", operand):
            return -evaluate_size(operand, sizes)
        case Binary(operator, left, right):
            return _apply(operator, evaluate_size(left, sizes), evaluate_size(right, sizes), expression)
        case Call(Name("min" | "max" as name), arguments):
            values = [evaluate_size(argument, sizes) for argument in arguments]
            return min(values) if name == "min" else max(values)
        case Call(Name(name), arguments) if name in CALLS and CALLS[name].domain is Domain.INTEGERS:
            return int(CALLS[name].meaning(*(evaluate_size(argument, sizes) for argument in arguments)))
        case _:
            raise FormatError(
                "a size must be an integer expression over extents and parameters", span=expression.span
            )


def _apply(operator: str, left: int, right: int, expression: Binary) -> int:
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "//" if right != 0:
            return left // right
        case "%" if right != 0:
            return left % right
        case "//" | "%":
            divisor = expression.right
            found = "0" if isinstance(divisor, Number) else f"{render(divisor)} = 0"
            raise FormatError("a size is divided by 0", found=found, span=expression.span)
        case "<<" if left and not (0 <= right < WORD and abs(left << right) < 2 ** (WORD - 1)):
            raise FormatError(f"a size is shifted out of {WORD} bits", span=expression.span)
        case _ if operator in OPERATORS and OPERATORS[operator].domain is Domain.INTEGERS:
            return int(OPERATORS[operator].meaning(left, right))
        case _:
            raise FormatError(f"'{operator}' cannot be used in a size", span=expression.span)


def solved_size(expression: Expression, value: int, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return the value of the one name in a linear expression that is not known yet; {} if there is none.

    >>> from storel.syntax.nodes.expressions import Binary, Name
    >>> solved_size(Binary("*", Name("rows"), Name("f")), 12, {"f": 4})
    {'rows': 3}
    """
    unknown = sorted(free_size_names(expression) - sizes.keys())
    if len(unknown) != 1:
        return {}
    (name,) = unknown
    at_none, at_one = (evaluate_size(expression, {**sizes, name: number}) for number in (0, 1))
    found = (value - at_none) // (at_one - at_none) if at_one != at_none else 0
    return {name: found} if evaluate_size(expression, {**sizes, name: found}) == value else {}


def free_size_names(expression: Expression) -> frozenset[str]:
    """Return the names in a size expression."""
    match expression:
        case Name(name):
            return frozenset((name,))
        case Unary(_, operand):
            return free_size_names(operand)
        case Binary(_, left, right):
            return free_size_names(left) | free_size_names(right)
        case Call(_, arguments):
            return frozenset[str]().union(*(free_size_names(argument) for argument in arguments))
        case _:
            return frozenset()


def is_same_size(one: Expression, other: Expression) -> bool:
    """Return whether two integer expressions are the same polynomial, of names and of what is none.

    >>> from storel.syntax.nodes.expressions import Binary, Name, Number
    >>> is_same_size(Binary("*", Number(2), Name("m")), Binary("+", Name("m"), Name("m")))
    True
    """
    form = _polynomial(one)
    return form is not None and form == _polynomial(other)


Monomial: TypeAlias = tuple[object, ...]
"""The factors of a product, in order: names, and operations on polynomials that make no polynomial."""


def _polynomial(expression: Expression) -> dict[Monomial, int] | None:
    """Return the factors that products have in an expression, or None if it is no size."""
    match expression:
        case Number(int() as value):
            return _summed([((), value)])
        case Name(name):
            return {(name,): 1}
        case Unary("-", operand):
            return _polynomial(Binary("-", Number(0), operand))
        case Binary(operator, left, right):
            return _combined(operator, _polynomial(left), _polynomial(right))
        case Call(Name(name), arguments) if name in ("min", "max") or name in CALLS:
            forms = [_polynomial(argument) for argument in arguments]
            known = [_fixed(form) for form in forms if form is not None]
            return {((name, *known),): 1} if len(known) == len(forms) else None
        case _:
            return None


def _combined(
    operator: str, left: dict[Monomial, int] | None, right: dict[Monomial, int] | None
) -> dict[Monomial, int] | None:
    if left is None or right is None:
        return None
    match operator:
        case "+":
            return _summed([*left.items(), *right.items()])
        case "-":
            return _summed([*left.items(), *((product, -factor) for product, factor in right.items())])
        case "*":
            return _summed(
                (tuple(sorted((*one, *other), key=repr)), factor * by)
                for one, factor in left.items()
                for other, by in right.items()
            )
        case _:
            return {((operator, _fixed(left), _fixed(right)),): 1}


def _summed(terms: Iterable[tuple[Monomial, int]]) -> dict[Monomial, int]:
    """Return the sum of products with their factors, of which none is 0."""
    found: dict[Monomial, int] = {}
    for product, factor in terms:
        found[product] = found.get(product, 0) + factor
    return {product: factor for product, factor in found.items() if factor}


def _fixed(form: dict[Monomial, int]) -> tuple[tuple[Monomial, int], ...]:
    """Return a polynomial as a value, whatever the order of its terms."""
    return tuple(sorted(form.items(), key=repr))
