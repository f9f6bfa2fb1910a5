"""A result that is only listed: key tuples and values, as they come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from storel.loops.emitter import INDEX, Emitter, compare, convert
from storel.loops.lowering.assembly import NO_ROOM
from storel.loops.lowering.targets import Dictionary, Limit, Target, reduced
from storel.loops.nodes import Buffer, Cast, Constant, Expression, Local, Role, Store
from storel.plan.nodes import Coordinates


@dataclass
class CoordinatesTarget(Dictionary):
    """The children under ``keys`` of a result that is listed; entries that are zero are overwritten."""

    emitter: Emitter
    destination: Coordinates
    limits: tuple[int, ...]
    cursor: Local
    capacity: Local
    keys: tuple[Expression, ...] = ()

    @property
    def zero(self) -> Constant:
        leaf = self.destination.leaf
        zero = convert(Constant(leaf.zero or 0, leaf.type), leaf.type)
        assert isinstance(zero, Constant)
        return zero

    @property
    def limit(self) -> Limit:
        return Limit(self.limits[len(self.keys)], self.zero)

    @property
    def coordinates(self) -> list[Buffer]:
        index_type = self.destination.index_type
        return [
            Buffer(f"result.coordinate_{n}", index_type, Role.INDEX) for n in range(self.destination.rank)
        ]

    @property
    def val(self) -> Buffer:
        return Buffer("result.val", self.destination.leaf.type)

    def enter(self, key: Expression, fill: Callable[[Target], None], *, is_simple: bool) -> None:
        emitter, leaf = self.emitter, self.destination.leaf
        keys = (*self.keys, emitter.declare("key", key))
        if len(keys) < self.destination.rank:
            inner = replace(self, keys=keys)
            fill(inner)
            return
        value = reduced(emitter, fill, leaf.type, leaf.operator, self.zero, is_simple=is_simple)
        fits = compare("less", self.cursor, self.capacity)
        emitter.fail_unless(fits, NO_ROOM, self.capacity)
        for buffer, each in zip(self.coordinates, keys, strict=True):
            emitter.emit(Store(buffer, self.cursor, convert(each, buffer.type)))
        emitter.emit(Store(self.val, self.cursor, value))
        emitter.advance(self.cursor, Cast(INDEX, compare("not_equal", value, self.zero)))
