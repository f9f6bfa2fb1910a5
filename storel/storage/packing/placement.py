"""Entries placed by one chain: each of its variables found, for all entries at once.

Keys determine variables by equations (``solving.py``); boundaries follow from the places in their segments;
runs are found by their breaks; and a position that nothing determines is the rank of the required values at
its address among the distinct ones within its bounds. An entry that cannot satisfy the chain is dropped, and
the first of the dropped ones is remembered with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from storel.arrays import Array
from storel.storage.formats.chain import ChainGuard, ChainLoop
from storel.storage.formats.format import Format
from storel.storage.packing import ranking
from storel.storage.packing.building import Building
from storel.storage.packing.columns import narrowed
from storel.storage.packing.leaf import not_understood
from storel.storage.packing.selection import Names
from storel.storage.packing.solving import Solution
from storel.storage.packing.turned import (
    Required,
    RequiredBit,
    Run,
    Segment,
    TurnedChain,
    key_name,
    segment_boundaries,
)
from storel.syntax.free_names import free_names
from storel.syntax.nodes.declarations import Ascending, Increasing, IncreasingTuple
from storel.syntax.nodes.expressions import Binary, Expression, Name


@dataclass
class Placement(Solution):
    """The entries that one chain may still take, and the values of its variables for each."""

    _unchecked: list[ChainLoop | ChainGuard] = field(init=False)
    _segments: list[Segment] = field(init=False)
    _runs: list[Run] = field(init=False)
    _bits: list[RequiredBit] = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._unchecked = list(self.chain.steps)
        self._segments = list(self.chain.segments)
        self._runs = list(self.chain.runs)
        self._bits = list(self.chain.bits)

    @classmethod
    def of(
        cls,
        storage: Format,
        chain: TurnedChain,
        building: Building,
        entries: Array,
        coordinates: Array,
        values: Array,
    ) -> Placement:
        """Start with the keys of ``entries``, the columns of ``coordinates``, and their values."""
        keys = {key_name(d): narrowed(keys) for d, keys in enumerate(coordinates)}
        return cls(building, entries, values, keys, storage, chain)

    def find_variables(self) -> None:
        """Find every variable that the chain's address needs.

        Raises NotUnderstood, naming the part of the mapping, where nothing determines one.
        """
        while True:
            while (
                self._solve_equations()
                or self._check_steps()
                or self._set_bits()
                or self._delimit()
                or self._find_runs()
            ):
                pass
            loop = next((each for each in self.chain.loops if each.position not in self.vectors), None)
            if loop is None:
                break
            self._rank(loop)
        for equation in self._pending:
            raise not_understood(
                self.storage, f"its key '{self.chain.text(equation.unknown)}' cannot be solved"
            )
        for step in self._unchecked:
            what = step.condition if isinstance(step, ChainGuard) else step.high
            raise not_understood(self.storage, f"nothing determines '{self.chain.text(what)}'")
        if not self.is_known(self.chain.leaf.address):
            address = self.chain.text(self.chain.leaf.address)
            raise not_understood(self.storage, f"nothing determines '{address}'")
        written = [(each.array, each.address) for each in self.chain.required if each.element in self.vectors]
        for name, address in (*written, (self.chain.leaf.values, self.chain.leaf.address)):
            self._keep_inside(name, address, self.building.length(name))

    def _keep_segments(self, boundaries: str, index: Expression) -> None:
        """Drop the entries whose segment has no beginning and end among the boundaries."""
        length = self.building.length(boundaries)
        self._keep_inside(boundaries, index, None if length is None else length - 1)

    def _keep_inside(self, name: str, address: Expression, length: int | None) -> None:
        """Drop the entries whose address an array of this length, which may be open, does not have."""
        between = self.interval(address)
        if between is not None and between[0] >= 0 and (length is None or between[1] < length):
            return
        addresses = self.value(address)
        fits = addresses >= 0 if length is None else (addresses >= 0) & (addresses < length)
        bounds = "0:" if length is None else f"0:{length}"
        self.keep(fits, lambda first: f"{name}({addresses[first]}) is outside {bounds}")

    def text_of_bounds(self, loop: ChainLoop) -> str:
        return f"{self.chain.text(loop.low)}:{self.chain.text(loop.high)}"

    def _check_steps(self) -> bool:
        """Drop what is outside of a loop's bounds or does not pass a guard; return whether one was known."""
        before = len(self._unchecked)
        for step in list(self._unchecked):
            match step:
                case ChainLoop(position, low, high) if self.is_known(Name(position), low, high):
                    self._check_bounds(step)
                case ChainGuard(condition) if self.is_known(condition):
                    text = self.chain.text(condition)
                    holds = self.holds(partial(self.evaluate, condition), condition)
                    self.keep(holds, lambda _, text=text: f"not {text}")
                case _:
                    continue
            self._unchecked.remove(step)
        return len(self._unchecked) < before

    def _check_bounds(self, loop: ChainLoop) -> None:
        name = Name(loop.position)
        if self.is_never_below(name, loop.low) and self.is_never_below(loop.high, name, by=1):
            return

        def values(names: Names) -> tuple[Any, Any, Any]:
            low, position, high = (self.evaluate(each, names) for each in (loop.low, name, loop.high))
            return low, position, high

        def is_inside(names: Names) -> Any:
            low, position, high = values(names)
            return (low <= position) & (position < high)

        def reason(first: int) -> str:
            low, position, high = values(self.at(first))
            bounds = f"{self.text_of_bounds(loop)}, which is {low}:{high}"
            return f"{self.chain.text(name)} = {position} is outside {bounds}"

        self.keep(self.holds(is_inside, loop.low, name, loop.high), reason)

    def _set_bits(self) -> bool:
        """Set the bits whose places are known; return whether there were any."""
        found = [each for each in self._bits if self.is_known(each.address, each.position)]
        for bit in found:
            self._bits.remove(bit)
            self._keep_inside(bit.array, bit.address, self.building.length(bit.array))
            self.building.set_bits(bit.array, self.value(bit.address), self.value(bit.position))
        return bool(found)

    def _delimit(self) -> bool:
        """Find the boundaries of segments whose places are known; return whether there were any."""
        found = [each for each in self._segments if self.is_known(each.index, each.offset)]
        for segment in found:
            self._segments.remove(segment)
            index, offset = self.value(segment.index), self.value(segment.offset)
            self.keep(offset >= 0, lambda first, found=offset: f"place {found[first]} is before the first")
            self._keep_segments(segment.boundaries, segment.index)
            if segment.boundaries not in self.building.arrays:
                index, offset = self.value(segment.index), self.value(segment.offset)
                self.building.delimit(segment.boundaries, index, offset)
            if segment.position is not None:
                boundaries = self.building.arrays[segment.boundaries]
                index, offset = self.value(segment.index), self.value(segment.offset)
                at = boundaries[index + 1] - 1 - offset if segment.is_from_end else boundaries[index] + offset
                self.vectors[segment.position] = at
        return bool(found)

    def _find_runs(self) -> bool:
        """Find the runs of consecutive values of a known variable; return whether there were any."""
        found = [each for each in self._runs if each.position in self.vectors]
        for run in found:
            self._runs.remove(run)
            loops = [loop.position for loop in self.chain.loops]
            groups = [self.vectors[name] for name in loops[: loops.index(run.outer)] if name in self.vectors]
            has_own_values = run.position in free_names(self.chain.leaf.address)
            values = None if has_own_values else self.values
            first, end = ranking.runs(groups, self.vectors[run.position], values)
            self.vectors[run.first], self.vectors[run.end] = first, end - first if run.is_length else end
        return bool(found)

    def _run_along(self, loop: ChainLoop) -> Run | None:
        return next((run for run in self._runs if run.position == loop.position), None)

    def _rank(self, loop: ChainLoop) -> None:
        """Find a loop's position by ranking, and its segments' boundaries and its lengths with it.

        Of segments that are stored by their beginnings, each begins where the one before ended.
        """
        at_position = self._required_at(loop)
        boundaries = segment_boundaries(loop)
        if boundaries is not None:
            self._keep_segments(*boundaries)
        run = self._run_along(loop)
        bounds = free_names(loop.low) | free_names(loop.high) if run is None else {run.outer}
        others = [free_names(each.address) - {loop.position} for each in at_position]
        variables = self._variables & (bounds | frozenset.intersection(*others))
        groups = [self.vectors[name] for name in sorted(variables)]
        tuples = [self.vectors[each.element] for each in at_position]
        places = ranking.ranks(groups, tuples, len(self.entries))
        if boundaries is not None and boundaries[0] not in self.building.arrays:
            array, segment = boundaries
            self.building.delimit(array, self.value(segment), places)
            self._unchecked.remove(loop)
        if run is not None:
            self._runs.remove(run)
            first, end = ranking.stretches(groups, places)
            self.vectors[run.first], self.vectors[run.end] = first, end - first if run.is_length else end
        if not self.is_known(loop.low):
            raise not_understood(self.storage, f"'{self.text_of_bounds(loop)}' are no bounds of segments")
        self.vectors[loop.position] = places  # counted from the lower bound
        self.vectors[loop.position] = self.value(Binary("+", loop.low, Name(loop.position)))
        for each in at_position:
            if self.is_known(each.address):
                self.building.bind_length(each.array, self.value(each.address))

    def _required_at(self, loop: ChainLoop) -> list[Required]:
        """Return the values that are required at addresses with the position of a loop.

        They are in the order in which the format says that its arrays rise, whatever the order of the keys.
        """
        found = [
            each
            for each in sorted(self.chain.required, key=lambda each: _turn(self.storage, each.array))
            if loop.position in free_names(each.address) and each.element in self.vectors
        ]
        name = self.chain.text(Name(loop.position))
        if not found:
            raise not_understood(self.storage, f"nothing determines '{name}' of {self.text_of_bounds(loop)}")
        shared = sorted(each.array for each in found if each.array in self.building.arrays)
        if shared:
            raise not_understood(self.storage, f"two of its parts look for their places in {shared[0]}")
        run = self._run_along(loop)
        own = {loop.position} if run is None else {loop.position, run.first, run.end}
        needed = (free_names(loop.low) | free_names(loop.high)).union(*(free_names(e.address) for e in found))
        if (needed & self._variables) - own - set(self.vectors):
            raise not_understood(self.storage, f"nothing determines where '{name}' begins")
        return found


def _turn(storage: Format, array: str) -> int:
    """Return after how many other arrays the elements of an array decide the order."""
    turns = [len(storage.arrays)]
    for declaration in storage.arrays:
        for each in declaration.properties:
            match each:
                case IncreasingTuple(arrays) if array in arrays:
                    turns.append(arrays.index(array))
                case Ascending() | Increasing() if declaration.name == array:
                    turns.append(0)
                case _:
                    pass
    return min(turns)
