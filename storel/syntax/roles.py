"""What types alone do not say: which names address, and messages about names of the wrong kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from storel.errors import TypeMismatchError
from storel.semiring import PLUS_TIMES, Scalar, Semiring
from storel.source import Span
from storel.syntax.nodes.expressions import Binary, Call, Expression, Extent, Name, Number, Unary
from storel.syntax.types import Role, Type, Variable
from storel.syntax.walk import children

Scope = Mapping[str, Variable]

CONDITIONS = ("any", "all")
"""The monoids of truths: comprehensions whose bodies are conditions."""


@dataclass(frozen=True, slots=True)
class Remark:
    """What is allowed and probably not meant."""

    message: str
    span: Span

    def __str__(self) -> str:
        return f"{self.message}\n{self.span.render()}"


def is_index(expression: Expression, scope: Scope) -> bool:
    """Return whether an expression addresses: its names are keys, sizes, or read from arrays.

    >>> from storel.syntax.types import INTEGER
    >>> is_index(Binary("+", Name("i"), Number(1)), {"i": Variable(INTEGER, Role.KEY)})
    True
    """
    match expression:
        case Name(name):
            return name in scope and scope[name].role is Role.KEY
        case Binary() | Unary():
            return all(
                is_index(child, scope) or isinstance(child, Number) for child in children(expression)
            ) and any(is_index(child, scope) for child in children(expression))
        case Call(Name(name), arguments):
            reads_array = name in scope and scope[name].type.is_array and scope[name].type.scalar.is_integer
            is_function = name not in scope and all(
                is_index(each, scope) or isinstance(each, Number) for each in arguments
            )
            return reads_array or is_function
        case Extent():
            return True
        case _:
            return False


def body_semiring(monoid: str, ring: Semiring) -> Semiring:
    """Return the arithmetic of a comprehension's body, which is a condition or a value."""
    return PLUS_TIMES if monoid in CONDITIONS else ring


def rank_error(expression: Expression, kind: Type, keys: int, scope: Scope) -> TypeMismatchError:
    """Say that ``expression`` has fewer levels than the keys that it is given."""
    expected = f"a tensor of rank {keys}" + (" or more" if not kind.is_array else "")
    is_key = isinstance(expression, Name) and scope[expression.name].role is Role.KEY
    if is_key and kind.rank == 0:
        found = f"the key '{expression.span.text}', an integer"
        return TypeMismatchError(
            "a key is used as a value", expected=expected, found=found, span=expression.span
        )
    return TypeMismatchError("ranks do not fit", expected=expected, found=str(kind), span=expression.span)


def require_inverse(has_inverse: bool, operator: str, ring: Semiring, span: Span) -> None:
    """Raise ``TypeMismatchError`` where a semiring lacks the inverse that an operator needs."""
    if not has_inverse:
        kind = "division" if operator in ("/", "//", "%") else "negation"
        raise TypeMismatchError(f"'{operator}' needs {kind}, which {ring.name} does not have", span=span)


def require_number(literal: Scalar, ring: Semiring, span: Span) -> None:
    """Raise ``TypeMismatchError`` for a literal that is none of the numbers of a semiring."""
    if not ring.has_negatives and not literal >= 0:
        what = "negative numbers" if literal < 0 else "NaN"
        raise TypeMismatchError(f"{ring.name} has no {what}", expected="a number from 0", span=span)
