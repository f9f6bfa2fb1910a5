"""Whether given keys lie in the places that they say themselves, as those of hashed levels do.

    for b in 0:buckets: for p, i in idx(pos(b):pos(b + 1)): if (i & (buckets - 1) == b): key i, leaf val(p)

No key has b: it only says where an entry lies. A key that lies elsewhere makes none, and its value would be
lost without a word. Other conditions leave out padding, or what the format is not about, as one half of a
matrix: what is given there is nobody's mistake.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from storel.arrays import Array
from storel.errors import DataError
from storel.semiring import Semiring
from storel.storage.formats.chain import Chain, ChainGuard, ChainLoop
from storel.storage.formats.format import Format
from storel.storage.unpacking.iterations import Iterations
from storel.storage.unpacking.unpack import slices
from storel.storage.unpacking.vectors import Undefined
from storel.syntax.free_names import free_names
from storel.syntax.nodes.expressions import Binary, Call, Expression, Name
from storel.syntax.printer import render
from storel.syntax.substitution import rename
from storel.syntax.walk import children


def require_own_places(
    storage: Format, arrays: Mapping[str, Array], sizes: Mapping[str, int], ring: Semiring
) -> None:
    """Raise DataError naming the first key with a value that is in no entry, since it lies elsewhere.

    The mapping reads what there is. Raises FormatError for one that is not understood.
    """
    for chain in storage.chains:
        placements = tuple(_placements(chain))
        if placements:
            _Places(storage, chain, placements, arrays, sizes).require(ring)


@dataclass(frozen=True, slots=True)
class _Placement:
    """A condition by which a key, an element of ``loop``, says what ``place`` is."""

    guard: ChainGuard
    loop: ChainLoop
    place: str


def _placements(chain: Chain) -> Iterator[_Placement]:
    in_keys = frozenset[str]().union(*map(free_names, chain.keys))
    variables = {name for loop in chain.loops for name in (loop.position, loop.element)}
    for step in chain.steps:
        match step:
            case ChainGuard(Binary("==", Name(place), said) | Binary("==", said, Name(place))):
                says = free_names(said) & variables
                if place not in variables - in_keys or not says <= in_keys:
                    continue
                for loop in chain.loops:
                    if loop.element in says and place in free_names(loop.low) | free_names(loop.high):
                        yield _Placement(step, loop, place)
            case _:
                pass


@dataclass
class _Places:
    """What iterations of a chain read where its placements hold, and where they do not."""

    storage: Format
    chain: Chain
    placements: tuple[_Placement, ...]
    arrays: Mapping[str, Array]
    sizes: Mapping[str, int]

    def require(self, ring: Semiring) -> None:
        guards = [each.guard for each in self.placements]
        steps = tuple(step for step in self.chain.steps if step not in guards)
        try:
            for part in slices((replace(self.chain, steps=steps),), self.arrays, self.sizes):
                made = Iterations.of(part, self.arrays, self.sizes)
                holds = np.logical_and.reduce([made.vector(each.condition) for each in guards])
                if not holds.all():
                    self._require(made, np.flatnonzero(~holds), ring)
        except Undefined:  # only there: the mapping itself was found to read what there is
            return

    def _require(self, made: Iterations, elsewhere: Array, ring: Semiring) -> None:
        """Raise DataError if one of the iterations ``elsewhere`` has a value that nothing reads."""
        for array, address in self._reads(self.chain):
            values, addresses = self.arrays[array], made.vector(address)[elsewhere]
            is_lost = (addresses >= 0) & (addresses < len(values))
            is_lost[is_lost] = values[addresses[is_lost]] != ring.zero
            is_lost[is_lost] = ~self._is_read[array][addresses[is_lost]]
            if is_lost.any():
                first = int(np.argmax(is_lost))
                place = int(addresses[first])
                raise self._lost(made, int(elsewhere[first]), f"{array}({place}) = {values[place]}")

    @cached_property
    def _is_read(self) -> dict[str, Array]:
        """Which elements of each array of values are read somewhere."""
        found = {name: np.zeros(len(self.arrays[name]), dtype=bool) for name in self._values}
        for chain in self.storage.chains:
            for part in slices((chain,), self.arrays, self.sizes):
                made = Iterations.of(part, self.arrays, self.sizes)
                for array, address in self._reads(chain):
                    found[array][made.vector(address)] = True
        return found

    @cached_property
    def _values(self) -> frozenset[str]:
        return frozenset(each.name for each in self.storage.arrays if each.holds_values)

    def _reads(self, chain: Chain) -> Iterator[tuple[str, Expression]]:
        """Yield the arrays of values that a chain's leaf reads, and where."""
        elements = {loop.element: loop for loop in chain.loops}
        parts = [chain.leaf]
        while parts:
            match parts.pop():
                case Call(Name(array), (address,)) if array in self._values:
                    yield array, address
                case Name(name) if name in elements and elements[name].array in self._values:
                    yield str(elements[name].array), Name(elements[name].position)
                case part:
                    parts += children(part)

    def _lost(self, made: Iterations, number: int, value: str) -> DataError:
        """Return the error for an iteration whose value is lost."""
        placement = next(each for each in self.placements if not made.vector(each.guard.condition)[number])
        loop, condition = placement.loop, placement.guard.condition
        position, key, place = (
            made.vector(Name(name))[number] for name in (loop.position, str(loop.element), placement.place)
        )
        names = {
            variable: text
            for each in self.chain.loops
            for variable, text in zip((each.position, each.element), each.written, strict=True)
            if variable is not None and text is not None
        }
        return DataError(
            f"{loop.array}({position}) = {key} lies where it is not looked for: {value} is in no entry",
            expected=render(rename(condition, names)),
            found=f"{names[str(loop.element)]} = {key}, {names[placement.place]} = {place}",
            hint="the arrays do not fit together",
        )
