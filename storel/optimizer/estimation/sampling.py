"""What integers are on average, where intervals do not tell: drawn from the data.

    for i in 0:n: for j in i:min(n, i + w): if (idx(j) >= 0) …

is gone through SIZE times, at random: each loop draws one of its iterations, and counts for as many as it
has. The mean length of a range, weighted so, times those of the loops around it is an unbiased estimate of
how often its body is run (Knuth, "Estimating the Efficiency of Backtrack Programs", 1975). The draws are
stratified: all of a loop's iterations, evenly spaced, in an order of the loop's own. A search is a loop over
what it finds. Nothing is drawn before it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[Any]

SIZE = 256
"""How often the loops are gone through."""


@dataclass(frozen=True, eq=False)
class Sample:
    """The values of an integer in SIZE iterations of the loops that it depends on."""

    draw: Callable[[], Vector]
    loops: frozenset[LoopSample] = frozenset()

    @cached_property
    def values(self) -> Vector:
        drawn = np.asarray(self.draw())
        # Truths are numbers for arithmetic, which NumPy has none of for its own.
        return np.broadcast_to(drawn.astype(np.int64) if drawn.dtype == np.bool_ else drawn, (SIZE,))

    @cached_property
    def weights(self) -> Vector:
        """How many iterations each of the values stands for."""
        return reduce(np.multiply, (loop.lengths for loop in self.loops), np.ones(SIZE))

    def where(self, condition: Sample) -> Sample:
        """Return the values in those of the iterations in which a condition holds."""
        held = LoopSample(constant(0), condition)
        return Sample(lambda: self.values, self.loops | condition.loops | {held})

    def drawn_again(self, key: int) -> Vector:
        """Return some of the values, each as often as it is weighed, in an order that belongs to ``key``."""
        reached = np.cumsum(self.weights)
        return self.values[np.minimum(np.searchsorted(reached, _fractions(key) * reached[-1]), SIZE - 1)]

    def mean(self) -> float | None:
        """Return the mean over all iterations of the loops; None if they have none."""
        weights = self.weights
        total = float(weights.sum())
        return float((weights * self.values).sum()) / total if total > 0 else None


@dataclass(frozen=True, eq=False)
class LoopSample:
    """A loop from ``low`` to before ``high`` over ``array``, if any; ``key`` tells it from other loops."""

    low: Sample
    high: Sample
    array: Vector | None = None
    key: int = 0
    _keyed: dict[int, LoopSample] = field(default_factory=dict[int, "LoopSample"])

    def bound_by(self, key: int) -> LoopSample:
        """Return the loop as that of one binder."""
        return self._keyed.setdefault(key, LoopSample(self.low, self.high, self.array, key))

    def matching(self, key: Sample | None) -> LoopSample | None:
        """Return the loop over the positions at which an ascending array holds a key; None if not known."""
        array = self.array
        if array is None or key is None:
            return None
        loops = self.around | key.loops

        def end(passes: Callable[[Vector, Vector], Vector]) -> Sample:
            return Sample(
                lambda: _searched(array, self.low.values, self.high.values, key.values, passes), loops
            )

        return LoopSample(end(np.less), end(np.less_equal))

    @cached_property
    def lengths(self) -> Vector:
        """The number of iterations, each time that the loop is reached."""
        return np.maximum(self.high.values - self.low.values, 0)

    @property
    def around(self) -> frozenset[LoopSample]:
        return self.low.loops | self.high.loops

    def length(self) -> float | None:
        """Return the mean number of iterations; None where the loops around it have none."""
        return Sample(lambda: self.lengths, self.around).mean()

    @cached_property
    def position(self) -> Sample:
        return Sample(self._positions, self.around | {self})

    @cached_property
    def element(self) -> Sample:
        """The element at the position; that of a range is the position."""
        return self.position if self.array is None else read(self.array, self.position)

    def _positions(self) -> Vector:
        return self.low.values + np.floor(_fractions(self.key) * self.lengths).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Bound:
    """What a loop binds: its position, or else its element."""

    loop: LoopSample
    is_element: bool = False

    def by(self, name: int) -> Sample:
        """Return the sample of binder ``name``; the binders of one loop have consecutive names."""
        return self.loop.bound_by(name - 1).element if self.is_element else self.loop.bound_by(name).position


@dataclass(frozen=True, eq=False)
class Keys:
    """What is bound by a loop over a dictionary whose keys have been made of ``made``."""

    made: Sample
    _named: dict[int, Sample] = field(default_factory=dict[int, Sample])

    def by(self, name: int) -> Sample:
        """Return the sample of binder ``name``: it depends on no loop in which the keys were made."""
        once = LoopSample(constant(0), constant(1), key=name)
        return self._named.setdefault(name, Sample(lambda: self.made.drawn_again(name), frozenset({once})))


@cache
def _fractions(key: int) -> Vector:
    """Return evenly spaced numbers between 0 and 1, in an order that belongs to ``key``.

    Places of binders that are outside of what they are counted from are negative.
    """
    return (np.random.default_rng(key % (1 << 32)).permutation(SIZE) + 0.5) / SIZE


def constant(value: int) -> Sample:
    """Return the sample of a number."""
    return Sample(lambda: np.asarray(value))


def read(array: Vector, position: Sample) -> Sample:
    """Return the sample of an array's elements; those outside are of iterations that do not occur."""
    if not len(array):
        return Sample(lambda: np.asarray(0), position.loops)
    last = len(array) - 1
    return Sample(lambda: array[np.clip(position.values, 0, last)].astype(np.int64), position.loops)


def _searched(
    array: Vector, low: Vector, high: Vector, keys: Vector, passes: Callable[[Vector, Vector], Vector]
) -> Vector:
    """Return, for each key, the first position from low to high whose element does not pass beside it."""
    low, high = np.clip(low, 0, len(array)), np.clip(high, 0, len(array))
    while (is_open := low < high).any():
        middle = (low + high) // 2
        is_before = is_open & passes(array[np.minimum(middle, len(array) - 1)], keys)
        low = np.where(is_before, middle + 1, low)
        high = np.where(is_open & ~is_before, middle, high)
    return low


def applied(function: str, arguments: Sequence[Sample | None]) -> Sample | None:
    """Return the sample of a function of integers; None where it or an argument is not known."""
    known = [each for each in arguments if each is not None]
    computed = _FUNCTIONS.get(function)
    if computed is None or len(known) < len(arguments):
        return None
    loops = frozenset[LoopSample]().union(*(each.loops for each in known))
    return Sample(lambda: computed(*(each.values for each in known)), loops)


def agreement(left: Sample, right: Sample) -> float | None:
    """Return how often two integers are equal; None where their loops have no iterations.

    Those of different loops are compared each with each, which finds what is rare.
    """
    if left.loops & right.loops:
        both = applied("equal", (left, right))
        return None if both is None else both.mean()
    total = float(left.weights.sum()) * float(right.weights.sum())
    if total == 0:
        return None
    numbers, own = np.unique(np.concatenate((left.values, right.values)), return_inverse=True)
    sides = zip((own[:SIZE], own[SIZE:]), (left.weights, right.weights), strict=True)
    counted = [np.bincount(side, weights, len(numbers)) for side, weights in sides]
    return float(counted[0] @ counted[1]) / total


def _divided(function: Callable[[Vector, Vector], Vector]) -> Callable[[Vector, Vector], Vector]:
    """Return a division that is 0 where the divisor is."""
    return lambda a, b: np.where(b == 0, 0, function(a, np.where(b == 0, 1, b)))


_FUNCTIONS: dict[str, Callable[..., Vector]] = {
    "Add": np.add, "Mul": np.multiply, "subtract": np.subtract, "negate": np.negative,
    "floor_divide": _divided(np.floor_divide), "modulo": _divided(np.mod),
    "minimum": np.minimum, "maximum": np.maximum,
    "equal": np.equal, "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal,
    "greater": np.greater, "greater_equal": np.greater_equal,
    "and": np.logical_and, "or": np.logical_or, "not": np.logical_not,
    "bit_and": np.bitwise_and, "bit_or": np.bitwise_or, "bit_xor": np.bitwise_xor,
    "shift_left": np.left_shift, "shift_right": np.right_shift, "int64": np.positive,
}  # fmt: skip
