"""What is known of dimensions, and how those of two values that meet agree."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from storel.errors import ExtentError
from storel.source import Span
from storel.syntax.intervals import Bounds
from storel.syntax.nodes.expressions import Binary, Expression, Extent, Name, Number
from storel.syntax.signatures import (
    ArraySignature,
    ParameterSignature,
    Signature,
    SizeSignature,
    TensorSignature,
)

NOTHING = Bounds(0, -1)
"""The bounds of the elements of an empty array."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """The keys of one level of a value lie in ``low:size``; a size of None is not known.

    A closed dimension ends where it ends; an open one grows to what it meets. ``symbol`` is an
    expression for the size without local names, ``origin`` says to a reader which dimension this is.
    """

    size: int | None
    is_closed: bool = False
    low: int = 0
    symbol: Expression | None = None
    origin: str = "the result"

    @property
    def keys(self) -> Bounds:
        return Bounds(self.low, None if self.size is None else self.size - 1)


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a value: bounds of its integers, and its dimensions, outermost first.

    ``first`` and ``last`` are expressions for the bounds without local names.
    """

    bounds: Bounds = field(default_factory=Bounds)
    dimensions: tuple[Dimension, ...] = ()
    first: Expression | None = None
    last: Expression | None = None

    def inner(self, depth: int = 1) -> Facts:
        """Return the facts of what lies under ``depth`` keys."""
        return Facts(self.bounds, self.dimensions[depth:])


def key_facts(dimension: Dimension) -> Facts:
    """Return what is known of a dimension's keys."""
    symbol = dimension.symbol
    last = None if symbol is None else Binary("-", symbol, Number(1))
    return Facts(dimension.keys, (), Number(dimension.low), last)


def facts_of(name: str, signature: Signature) -> Facts:
    """Return what is known of a name that is bound outside of expressions."""
    match signature:
        case TensorSignature(_, extents):
            dimensions = tuple(
                Dimension(extent.size, extent.is_closed, 0, Extent(Name(name), d), f"dimension {d} of {name}")
                for d, extent in enumerate(extents)
            )
            return Facts(Bounds(), dimensions)
        case ArraySignature(_, length, low, high):
            dimension = Dimension(length, True, 0, Number(length), f"the length of {name}")
            return Facts(Bounds(low, high) if length else NOTHING, (dimension,))
        case ParameterSignature():
            return Facts()
        case SizeSignature(value):
            return Facts(Bounds.exactly(value), (), Name(name), Name(name))


def agree(one: Dimension, two: Dimension, subject: str, span: Span) -> None:
    """Raise ``ExtentError`` if two closed dimensions differ."""
    if one.is_closed and two.is_closed and one.size != two.size:
        raise ExtentError(
            f"extents disagree: {subject}",
            expected=f"{one.size}, {one.origin}",
            found=f"{two.size}, {two.origin}",
            span=span,
        )


def united(one: Facts, two: Facts, span: Span) -> Facts:
    """Return the facts of a sum of two values: an open dimension grows to what it meets."""
    dimensions: list[Dimension] = []
    for d, (a, b) in enumerate(zip(one.dimensions, two.dimensions, strict=False)):
        agree(a, b, f"dimension {d} of the two sides", span)
        if a.is_closed and not _exceeds(b, a):
            dimensions.append(a)
        elif b.is_closed and not _exceeds(a, b):
            dimensions.append(b)
        else:
            size = None if a.size is None or b.size is None else max(a.size, b.size)
            dimensions.append(Dimension(size, False, min(a.low, b.low)))
    longer = one if len(one.dimensions) > len(two.dimensions) else two
    rest = longer.dimensions[len(dimensions) :]
    return Facts(one.bounds.union(two.bounds), (*dimensions, *rest))


def met(one: Facts, two: Facts, span: Span) -> Facts:
    """Return the facts of a product of two values: of dictionaries, the common keys."""
    dimensions: list[Dimension] = []
    for d, (a, b) in enumerate(zip(one.dimensions, two.dimensions, strict=False)):
        agree(a, b, f"dimension {d} of the two sides", span)
        smaller = a if _exceeds(b, a) else b
        closed = next((each for each in (a, b) if each.is_closed), smaller)
        dimensions.append(replace(closed, low=max(a.low, b.low)))
    longer = one if len(one.dimensions) > len(two.dimensions) else two
    rest = longer.dimensions[len(dimensions) :]
    return Facts(one.bounds * two.bounds, (*dimensions, *rest))


def _exceeds(one: Dimension, two: Dimension) -> bool:
    return two.size is not None and (one.size is None or one.size > two.size)
