"""The types of values: a scalar type and a rank, or an array."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, auto

from storel.scalars import ScalarType
from storel.semiring import Semiring
from storel.syntax.signatures import (
    ArraySignature,
    ParameterSignature,
    Signature,
    SizeSignature,
    TensorSignature,
)

ANY_RANK = -1


class Role(Enum):
    """What a name was bound as; keys and sizes are integers that address."""

    KEY = auto()
    ENTRY = auto()  # the value of an entry of a dictionary
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class Type:
    """A scalar (rank 0), a dictionary nested ``rank`` deep, or an array; ``{}`` is of any rank."""

    scalar: ScalarType
    rank: int = 0
    is_array: bool = False

    @property
    def is_zero(self) -> bool:
        return self.rank == ANY_RANK

    @property
    def is_scalar(self) -> bool:
        return self.rank in (0, ANY_RANK)

    def element(self, depth: int = 1) -> Type:
        """Return the type of what lies under ``depth`` keys."""
        return self if self.is_zero else Type(self.scalar, self.rank - depth)

    def __str__(self) -> str:
        if self.is_zero:
            return "{}"
        if self.is_array:
            return f"an array of {self.scalar.value}"
        names = {0: "a scalar", 1: "a vector", 2: "a matrix"}
        return f"{names.get(self.rank, f'a tensor of rank {self.rank}')} of {self.scalar.value}"


def by_entry(rank: int) -> str:
    """Return how something is said of each entry of a dictionary, for a hint.

    >>> by_entry(2)
    'say it of each entry: sum(<(i, j), x> in …) { (i, j) -> … }'
    """
    names = ", ".join("ijklmnpq"[:rank]) if rank <= 8 else "i, …"
    keys = f"({names})" if rank > 1 else names
    return f"say it of each entry: sum(<{keys}, x> in …) {{ {keys} -> … }}"


def by_number(scalar: ScalarType) -> str:
    """Return how a number that is no integer becomes a key, for a hint.

    >>> by_number(ScalarType.BOOL)
    'make a number of it: if … then 1 else 0'
    """
    if scalar is ScalarType.BOOL:
        return "make a number of it: if … then 1 else 0"
    return "a real without its fraction is int(a), rounded down int(floor(a))"


INTEGER = Type(ScalarType.INT64)
TRUTH = Type(ScalarType.BOOL)
ZERO = Type(ScalarType.BOOL, ANY_RANK)


@dataclass(frozen=True, slots=True)
class Variable:
    """What a name in scope stands for, as far as types go."""

    type: Type
    role: Role = Role.OTHER


def variable_of(signature: Signature) -> Variable:
    """Return the type of a name that is bound outside of expressions."""
    match signature:
        case TensorSignature(scalar, extents):
            return Variable(Type(scalar, len(extents)))
        case ArraySignature(scalar):
            return Variable(Type(scalar, 1, is_array=True))
        case ParameterSignature(scalar):
            return Variable(Type(scalar))
        case SizeSignature():
            return Variable(INTEGER, Role.KEY)


def joined(one: Type, two: Type) -> Type:
    """Return the type of a value that is either of two of equal rank; ``{}`` adapts.

    >>> str(joined(ZERO, Type(ScalarType.INT32, 2)))
    'a matrix of int32'
    """
    if one.is_zero:
        return two
    return one if two.is_zero else Type(one.scalar.join(two.scalar), one.rank)


def chosen(one: Type, two: Type, semiring: Semiring) -> Type:
    """Return the type of a value that is either of two of equal rank, or the semiring's zero."""
    kind = joined(one, two)
    return kind if kind.is_zero else replace(kind, scalar=semiring.choice_type(one.scalar, two.scalar))


def with_zero(kind: Type, semiring: Semiring) -> Type:
    """Return ``kind`` with a scalar type that holds the semiring's zero, too."""
    return kind if kind.is_zero else replace(kind, scalar=semiring.with_zero(kind.scalar))


def summed(kind: Type, semiring: Semiring) -> Type:
    """Return the type of the semiring's sums of ``kind``; truths are counted.

    >>> from storel.semiring import PLUS_TIMES
    >>> str(summed(TRUTH, PLUS_TIMES))
    'a scalar of int64'
    """
    return kind if kind.is_zero else replace(kind, scalar=semiring.sum_type(kind.scalar))


def multiplied(one: Type, two: Type, semiring: Semiring) -> Type:
    """Return the type of the semiring's products; ranks are equal or one of them is 0."""
    if one.is_zero or two.is_zero:
        return ZERO
    return Type(semiring.product_type(one.scalar, two.scalar), max(one.rank, two.rank))
