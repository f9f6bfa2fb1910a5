"""The level structure of a mapping, if it has one, read off its shape.

A mapping is *level-wise* if it is one chain whose loops each fix one key and one position:

    dense       for i in 0:n                            position = parent * n + i
    compressed  for p in pos(parent):pos(parent + 1)    position = p, key = idx(p)
    singleton   key = idx(p) for an enclosing p         position = p

and whose leaf is ``val(position)``, in arrays that are declared as long as their level. These are the
levels of Chou, Kjolstad, Amarasinghe, OOPSLA 2018.
Such a mapping can be packed by sorting, and a result can be assembled in it directly: so none is level-wise
whose arrays may take only some of the entries.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cache

from storel.errors import FormatError
from storel.storage.formats.chain import Chain, ChainLoop
from storel.storage.formats.format import Format
from storel.storage.formats.sizes import is_same_size
from storel.syntax.free_names import free_names
from storel.syntax.nodes.declarations import IncreasingTuple
from storel.syntax.nodes.expressions import Binary, Call, Expression, Name, Number


class LevelKind(Enum):
    """How one level lays out the keys of one dimension."""

    DENSE = "dense"
    COMPRESSED = "compressed"
    SINGLETON = "singleton"


@dataclass(frozen=True, slots=True)
class Level:
    """One level: its dimension of the tensor, the arrays that hold it, and its extent.

    ``pos`` is None for a compressed level at the top, whose segment is the whole of ``idx``.
    """

    kind: LevelKind
    dimension: int
    extent: str
    pos: str | None = None
    idx: str | None = None


@dataclass(frozen=True, slots=True)
class LevelSignature:
    """The levels of a format, outermost first, and the array of its values."""

    levels: tuple[Level, ...]
    values: str

    @property
    def order(self) -> tuple[int, ...]:
        """The tensor's dimensions in the order of the levels."""
        return tuple(level.dimension for level in self.levels)

    @property
    def is_full(self) -> bool:
        """Whether each key has its place, so that the values are an array, its dimensions in ``order``."""
        return all(level.kind is LevelKind.DENSE for level in self.levels)


@cache
def level_signature(storage: Format) -> LevelSignature | None:
    """Return the level structure of ``storage``, or None if its mapping is not level-wise."""
    if storage.takings:
        return None
    try:
        found = storage.chains
    except FormatError:
        return None
    if len(found) != 1 or len(found[0].loops) != len(found[0].steps):
        return None
    return _signature(storage, found[0])


def _signature(storage: Format, chain: Chain) -> LevelSignature | None:
    levels: list[Level] = []
    parent: Expression = Number(0)
    dimensions = {key.name: number for number, key in enumerate(chain.keys) if isinstance(key, Name)}
    for loop in chain.loops:
        key = loop.position if loop.element is None else loop.element
        dimension = dimensions.get(key)
        if dimension is None:
            return None
        extent = storage.extents[dimension]
        if loop.array is None:
            if not (is_same_size(loop.low, Number(0)) and is_same_size(loop.high, Name(extent))):
                return None
            levels.append(Level(LevelKind.DENSE, dimension, extent))
            parent = _next_position(parent, extent, loop.position)
        else:
            pos = _segment(storage, loop, parent)
            if pos is None:
                return None
            boundaries = pos if isinstance(pos, str) else None
            levels.append(Level(LevelKind.COMPRESSED, dimension, extent, boundaries, loop.array))
            parent = Name(loop.position)
    levels.extend(_singletons(storage, chain, parent))
    match chain.leaf:
        case Call(Name(values), (index,)) if len(levels) == storage.rank and is_same_size(index, parent):
            found = LevelSignature(tuple(levels), values)
            return found if _is_as_long(storage, found) else None
        case _:
            return None


def _is_as_long(storage: Format, found: LevelSignature) -> bool:
    """Return whether arrays are as long as their levels, whatever entries there are, and no longer.

    Of an array whose length is a number of keys, some places may have no entry.
    """
    named = {*storage.extents, *(each.name for each in storage.declaration.parameters)}
    declared = {each.name: each.type.extents[0] for each in storage.arrays}
    places: Expression = Number(1)
    for level in found.levels:
        if level.pos is not None and not is_same_size(declared[level.pos], Binary("+", places, Number(1))):
            return False
        if level.idx is None:
            places = Binary("*", places, Name(level.extent))
        elif level.kind is LevelKind.COMPRESSED:
            places = declared[level.idx]
            if free_names(places) & named:
                return False
        elif not is_same_size(declared[level.idx], places):
            return False
    return is_same_size(declared[found.values], places)


def _singletons(storage: Format, chain: Chain, parent: Expression) -> list[Level]:
    found: list[Level] = []
    if not (chain.loops and chain.loops[-1].array):
        return found  # places of a dense level may have no entry
    for number, key in enumerate(chain.keys):
        match key:
            case Call(Name(array), (index,)) if is_same_size(index, parent):
                found.append(Level(LevelKind.SINGLETON, number, storage.extents[number], None, array))
            case _:
                pass
    rising = _rising_with(storage, chain.loops[-1].array)
    return sorted(found, key=lambda level: rising.index(level.idx) if level.idx in rising else len(rising))


def _rising_with(storage: Format, array: str) -> tuple[str, ...]:
    """Return the arrays that are declared to increase together, the given one first: the order of levels."""
    declared = (each for declaration in storage.arrays for each in declaration.properties)
    tuples = (each.arrays for each in declared if isinstance(each, IncreasingTuple))
    return next((arrays for arrays in tuples if arrays[0] == array), ())


def _next_position(parent: Expression, extent: str, variable: str) -> Expression:
    if parent == Number(0):
        return Name(variable)
    return Binary("+", Binary("*", parent, Name(extent)), Name(variable))


def _segment(storage: Format, loop: ChainLoop, parent: Expression) -> str | bool | None:
    """Return the name of the boundaries, True for a whole array at the top, None for neither."""
    lengths = {each.name: each.type.extents[0] for each in storage.arrays}
    match loop.low, loop.high:
        case Call(Name(pos), (start,)), Call(Name(again), (stop,)) if pos == again:
            is_segment = is_same_size(start, parent) and is_same_size(stop, Binary("+", parent, Number(1)))
            return pos if is_segment else None
        case Number(0), Name() if loop.array in lengths and lengths[loop.array] == loop.high:
            return True if parent == Number(0) else None
        case _:
            return None
