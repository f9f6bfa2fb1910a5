"""Whether a mapping fits given arrays: proved, or else gone through.

It reads only what they have, divides by no zero, and makes no entry outside of the extents (``keys.py``).
A zero is no entry, but kernels rely on keys that are not negative: whether there are others is found, too.

The least and the greatest element of an array bound most reads, as those in segments. Where an address is
computed otherwise, as from the bits of a word, each iteration is looked at, as if the tensor were read.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from storel.arrays import Array
from storel.errors import DataError, FormatError, MemoryLimitError
from storel.semiring import SEMIRINGS
from storel.storage.formats.chain import Chain, ChainGuard, ChainLoop
from storel.storage.formats.format import Format
from storel.storage.unpacking.distinct_entries import MOST, has_at_most
from storel.storage.unpacking.extremes import Interval, interval
from storel.storage.unpacking.iterations import Iterations
from storel.storage.unpacking.keys import are_inside, are_natural, require_keys_inside
from storel.storage.unpacking.own_places import require_own_places
from storel.storage.unpacking.unpack import slices
from storel.storage.unpacking.vectors import Undefined
from storel.syntax.nodes.expressions import Binary, Call, Expression, Name
from storel.syntax.walk import children, map_children


def verify_reads(
    storage: Format, arrays: Mapping[str, Array], sizes: Mapping[str, int], semiring: str = "plus_times"
) -> None:
    """Raise DataError where the mapping reads what an array has not, or divides an integer by zero.

    Nor may it make an entry outside of the extents; what is the semiring's zero is none. Nor may a key lie
    where the mapping does not look for it (``own_places.py``). Mappings that only kernels compute are left to
    them: they check what they read.
    """
    shape, ring = tuple(sizes[name] for name in storage.extents), SEMIRINGS[semiring]
    try:
        for chain in storage.chains:
            if _Ranges(arrays, sizes).hold(chain, storage.extents):
                continue
            for part in slices((chain,), arrays, sizes):
                made = Iterations.of(part, arrays, sizes)
                for each in part.keys:
                    made.value(each)
                made.entry(part.leaf, ring)
                require_keys_inside(part, made, shape, ring)
        require_own_places(storage, arrays, sizes, ring)
    except Undefined as error:
        hint = "the arrays do not fit together"
        raise DataError(error.message, span=error.span, hint=hint) from error
    except FormatError:
        pass


def keys_are_natural(storage: Format, arrays: Mapping[str, Array], sizes: Mapping[str, int]) -> bool:
    """Return whether it is found that no iteration makes a negative key, be its value zero or not.

    It is not where there are more than ``MOST`` iterations, or one reads outside of an array.
    """
    try:
        unproved = [each for each in storage.chains if not _Ranges(arrays, sizes).has_natural_keys(each)]
        if unproved and not has_at_most(MOST, storage, arrays, sizes):
            return False
        parts = slices(unproved, arrays, sizes)
        return all(_makes_natural_keys(part, Iterations.of(part, arrays, sizes)) for part in parts)
    except (FormatError, MemoryLimitError):
        return False


def _makes_natural_keys(chain: Chain, made: Iterations) -> bool:
    return all(np.min(made.value(key), initial=0) >= 0 for key in chain.keys)


class _Ranges:
    """Between which numbers the elements of arrays and the variables of a chain's loops lie."""

    def __init__(self, arrays: Mapping[str, Array], sizes: Mapping[str, int]) -> None:
        self._arrays = arrays
        self._known: dict[str, Interval | None] = {name: (size, size) for name, size in sizes.items()}
        self._elements: dict[str, str] = {}

    def hold(self, chain: Chain, extents: tuple[str, ...]) -> bool:
        """Return whether it is proved that reads and keys of a chain are inside, and no divisor is zero."""
        for step in chain.steps:
            match step:
                case ChainGuard(condition):
                    if not self._are_defined(condition):
                        return False
                case ChainLoop(position, low, high, array, element):
                    bounds = self._entered(step)
                    if not self._are_defined(low, high) or bounds is None:
                        return False
                    if bounds[0] > bounds[1]:  # nothing is read
                        return True
                    if array is None or element is None:
                        continue
                    if not self._is_defined(Call(Name(array), (Name(position),))):
                        return False
        return self._are_defined(*chain.keys, chain.leaf) and are_inside(chain, extents, self._interval)

    def has_natural_keys(self, chain: Chain) -> bool:
        """Return whether it is proved that no key of a chain is negative, be its value zero or not."""
        return all(self._entered(loop) for loop in chain.loops) and are_natural(chain, self._interval)

    def _entered(self, loop: ChainLoop) -> Interval | None:
        """Return between which numbers the position of a loop lies, and note it, if that is known."""
        first, last = self._interval(loop.low), self._interval(loop.high)
        if first is None or last is None:
            return None
        self._known[loop.position] = first[0], last[1] - 1
        if loop.array is not None and loop.element is not None:
            self._elements[loop.element] = loop.array
        return self._known[loop.position]

    def _are_defined(self, *expressions: Expression) -> bool:
        return all(self._is_defined(each) for each in expressions)

    def _is_defined(self, expression: Expression) -> bool:
        match expression:
            case Call(Name(array), (index,)) if array in self._arrays:
                bounds = self._interval(index)
                is_possible = bounds is not None and bounds[0] >= 0 and bounds[1] < len(self._arrays[array])
            case Binary("//" | "%", _, divisor):
                bounds = self._interval(divisor)
                is_possible = bounds is not None and (bounds[0] > 0 or bounds[1] < 0)
            case _:
                is_possible = True
        return is_possible and self._are_defined(*children(expression))

    def _interval(self, expression: Expression) -> Interval | None:
        return interval(self._without_reads(expression), self._range)

    def _without_reads(self, expression: Expression) -> Expression:
        """Return the expression with an array's name for each of its elements."""
        match expression:
            case Call(Name(array), (_,)) if array in self._arrays:
                return Name(array)
            case _:
                return map_children(expression, self._without_reads)

    def _range(self, name: str) -> Interval | None:
        name = self._elements.get(name, name)
        if name not in self._known and name in self._arrays:
            array = self._arrays[name]
            is_known = array.dtype.kind == "i" and array.size
            self._known[name] = (int(array.min()), int(array.max())) if is_known else None
        return self._known.get(name)
