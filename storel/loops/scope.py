"""What the variables of a plan stand for while it is lowered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from storel.calculus.intervals import Interval
from storel.loops.nodes import Buffer, Expression
from storel.scalars import ScalarType
from storel.semiring import Scalar


@dataclass(frozen=True, slots=True)
class Value:
    """A scalar, held in a local or cheap enough to be written again."""

    expression: Expression


@dataclass(frozen=True, slots=True)
class Occupied:
    """The list of occupied places of a ``ListStore``: its buffers, and the local that counts them."""

    places: Buffer
    marks: Buffer
    count: Expression


@dataclass(frozen=True, slots=True)
class View:
    """A dense store, or the part of it under some keys: places offset … offset + product(extents)."""

    buffer: Buffer
    offset: Expression
    extents: tuple[Expression, ...]
    limits: tuple[int, ...]
    zero: Scalar
    operator: str
    occupied: Occupied | None = None

    @property
    def type(self) -> ScalarType:
        return self.buffer.type


Binding: TypeAlias = Value | View


@dataclass(frozen=True, slots=True)
class Scope:
    """Bindings and integer bounds of the enclosing binders, the innermost first."""

    bindings: tuple[Binding, ...] = ()
    intervals: tuple[Interval, ...] = ()

    def bind(self, binding: Binding, interval: Interval) -> Scope:
        return Scope((binding, *self.bindings), (interval, *self.intervals))
