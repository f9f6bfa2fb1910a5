"""Entries placed by one chain: each of its variables found, for all entries at once.

Keys determine variables by equations; a position that no key determines is the rank of the required
values at its address among the distinct ones within its bounds. An entry that cannot satisfy the
chain is dropped, and the first of the dropped ones is remembered with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from storel.storage.chain import ChainGuard, ChainLoop
from storel.storage.coordinates import sorted_entries
from storel.storage.formats import Format
from storel.storage.packing.affine import affine, solve
from storel.storage.packing.building import Building
from storel.storage.packing.turned import (
    Equation,
    Required,
    TurnedChain,
    key_name,
    not_understood,
    segment_boundaries,
)
from storel.storage.sizes import free_size_names
from storel.storage.vectors import evaluate_vector
from storel.syntax.free_names import free_names
from storel.syntax.nodes.expressions import Call, Expression, Name

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Misfit:
    """The number of an entry, and why its chain cannot take it."""

    entry: int
    reason: str


@dataclass
class Placement:
    """The entries that one chain may still take, and the values of its variables for each."""

    storage: Format
    chain: TurnedChain
    building: Building
    entries: Array
    """The numbers of the entries, ascending."""

    vectors: dict[str, Array]
    """The keys, and of the variables those that have been found."""

    misfit: Misfit | None = None
    _pending: list[Equation] = field(init=False)
    _unchecked: list[ChainLoop | ChainGuard] = field(init=False)

    def __post_init__(self) -> None:
        self._pending = list(self.chain.equations)
        self._unchecked = list(self.chain.steps)
        self._variables = frozenset(self.chain.written) | {each.element for each in self.chain.required}

    @classmethod
    def of(
        cls, storage: Format, chain: TurnedChain, building: Building, entries: Array, coordinates: Array
    ) -> Placement:
        """Start with the keys of ``entries``, the columns of ``coordinates``."""
        keys = {key_name(d): keys.astype(np.int64, copy=False) for d, keys in enumerate(coordinates)}
        return cls(storage, chain, building, entries, keys)

    def find_variables(self) -> None:
        """Find every variable that the chain's address needs.

        Raises FormatError, naming the part of the mapping, where nothing determines one.
        """
        while True:
            self._solve_equations()
            self._check_steps()
            loop = next((each for each in self.chain.loops if each.position not in self.vectors), None)
            if loop is None and self._pending:
                raise not_understood(
                    self.storage, f"its key '{self.chain.text(self._pending[0].unknown)}' cannot be solved"
                )
            if loop is None:
                break
            self._rank(loop)
        for step in self._unchecked:
            what = step.condition if isinstance(step, ChainGuard) else step.high
            raise not_understood(self.storage, f"nothing determines '{self.chain.text(what)}'")
        if not self.is_known(self.chain.address):
            raise not_understood(self.storage, f"nothing determines '{self.chain.text(self.chain.address)}'")

    def is_known(self, expression: Expression) -> bool:
        return not free_names(expression) & self._unknown

    def value(self, expression: Expression) -> Array:
        """Return the value of a known expression for each entry."""
        found = evaluate_vector(expression, self._names, self.building.arrays)
        return np.broadcast_to(np.asarray(found), self.entries.shape)

    def text_of_bounds(self, loop: ChainLoop) -> str:
        return f"{self.chain.text(loop.low)}:{self.chain.text(loop.high)}"

    def keep(self, fits: Array, reason: Callable[[int], str]) -> None:
        """Drop the entries that do not fit; ``reason`` is asked for the first one, by its index."""
        if fits.all():
            return
        first = int(np.argmin(fits))
        entry = int(self.entries[first])
        if self.misfit is None or entry < self.misfit.entry:
            self.misfit = Misfit(entry, reason(first))
        self.entries = self.entries[fits]
        self.vectors = {name: vector[fits] for name, vector in self.vectors.items()}

    @property
    def _names(self) -> dict[str, Any]:
        return {**self.building.sizes, **self.vectors}

    @property
    def _unknown(self) -> frozenset[str]:
        """The variables, arrays and length symbols that have no values yet."""
        arrays = frozenset(each.name for each in self.storage.arrays)
        lengths = frozenset[str]().union(
            *(free_size_names(length) for each in self.storage.arrays for length in each.type.extents)
        )
        found = {*self.building.sizes, *self.vectors, *self.building.arrays}
        return (self._variables | arrays | lengths) - found

    def _solve_equations(self) -> None:
        """Solve equations as long as one of them determines a variable."""
        while any(self._solve(equation) for equation in self._pending):
            pass

    def _solve(self, equation: Equation) -> bool:
        left = affine(equation.unknown, self._names, self.building.arrays, self._unknown)
        if left is None or not set(left.factors) <= self._variables:
            return False
        right = self.value(equation.known)
        if not left.factors:
            self._pending.remove(equation)
            actual = np.broadcast_to(left.constant, right.shape)
            text = self.chain.text(equation.unknown)
            self.keep(actual == right, lambda first: f"{text} is {actual[first]}, not {right[first]}")
            return True
        solved = solve(left, right, self._bounds)
        if solved is None:
            return False
        self.vectors[solved.name] = solved.value
        text = self.chain.text(equation.unknown)
        self.keep(solved.fits, lambda first: f"{text} is never {right[first]}")
        return True

    def _bounds(self, variable: str) -> tuple[int, int] | None:
        """Return the least value of a loop's variable, and the number of values from there."""
        for loop in self.chain.loops:
            if loop.position == variable and self.is_known(loop.low):
                least = int(self.value(loop.low).min(initial=0))
                greatest = self._at_most(loop.high)
                return None if greatest is None else (least, greatest - least)
        return None

    def _at_most(self, expression: Expression) -> int | None:
        if self.is_known(expression):
            return int(self.value(expression).max(initial=0))
        match expression:
            case Call(Name("min"), arguments):
                known = [bound for each in arguments if (bound := self._at_most(each)) is not None]
                return min(known, default=None)
            case _:
                return None

    def _check_steps(self) -> None:
        """Drop the entries that are outside of a loop's bounds or do not pass a guard."""
        for step in list(self._unchecked):
            match step:
                case ChainLoop(position, low, high) if all(
                    self.is_known(each) for each in (Name(position), low, high)
                ):
                    self._check_bounds(step)
                case ChainGuard(condition) if self.is_known(condition):
                    text = self.chain.text(condition)
                    self.keep(self.value(condition).astype(bool), lambda _, text=text: f"not {text}")
                case _:
                    continue
            self._unchecked.remove(step)

    def _check_bounds(self, loop: ChainLoop) -> None:
        low, high, position = self.value(loop.low), self.value(loop.high), self.vectors[loop.position]
        name = self.chain.text(Name(loop.position))

        def reason(first: int) -> str:
            bounds = f"{low[first]}:{high[first]}"
            return f"{name} = {position[first]} is outside {self.text_of_bounds(loop)}, which is {bounds}"

        self.keep((low <= position) & (position < high), reason)

    def _rank(self, loop: ChainLoop) -> None:
        """Find a loop's position by ranking, and its segments' boundaries and its lengths with it."""
        at_position = self._required_at(loop)
        bounds = free_names(loop.low) | free_names(loop.high)
        others = [free_names(each.address) - {loop.position} for each in at_position]
        variables = self._variables & (bounds | frozenset.intersection(*others))
        group = [self.vectors[name] for name in sorted(variables)]
        tuples = [self.vectors[each.element] for each in at_position]
        boundaries = segment_boundaries(loop)
        ranks, is_first = _ranks(group, tuples, self.entries.shape)
        if boundaries is not None:
            array, segment = boundaries
            self.building.delimit(array, self.value(segment)[is_first])
        if not self.is_known(loop.low):
            raise not_understood(self.storage, f"'{self.text_of_bounds(loop)}' are no bounds of segments")
        self.vectors[loop.position] = self.value(loop.low) + ranks
        for each in at_position:
            if self.is_known(each.address):
                self.building.bind_length(each.array, self.value(each.address))

    def _required_at(self, loop: ChainLoop) -> list[Required]:
        """Return the values that are required at addresses with the position of a loop."""
        found = [
            each
            for each in self.chain.required
            if loop.position in free_names(each.address) and each.element in self.vectors
        ]
        name = self.chain.text(Name(loop.position))
        if not found:
            raise not_understood(self.storage, f"nothing determines '{name}' of {self.text_of_bounds(loop)}")
        shared = sorted(each.array for each in found if each.array in self.building.arrays)
        if shared:
            raise not_understood(self.storage, f"two of its parts look for their places in {shared[0]}")
        needed = free_names(loop.low) | free_names(loop.high)
        for each in found:
            needed |= free_names(each.address)
        if (needed & self._variables) - {loop.position} - set(self.vectors):
            raise not_understood(self.storage, f"nothing determines where '{name}' begins")
        return found


def _ranks(group: list[Array], tuples: list[Array], shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Return the rank of each tuple among the distinct ones of its group, and one index for each of these."""
    vectors = [vector - vector.min(initial=0) for vector in (*group, *tuples)]
    extents = tuple(int(vector.max(initial=0)) + 1 for vector in vectors)
    columns, order, _ = sorted_entries(np.stack(vectors), np.arange(shape[0]), extents)
    is_new = np.ones(shape, dtype=bool)
    is_new[1:] = (columns[:, 1:] != columns[:, :-1]).any(axis=0)
    starts_group = np.zeros(shape, dtype=bool)
    starts_group[:1] = True
    starts_group[1:] = (columns[: len(group), 1:] != columns[: len(group), :-1]).any(axis=0)
    number = np.cumsum(is_new) - 1
    first_of_group = number[starts_group][np.cumsum(starts_group) - 1]
    ranks = np.empty(shape, dtype=np.int64)
    ranks[order] = number - first_of_group
    return ranks, order[is_new]
