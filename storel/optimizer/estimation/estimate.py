"""What is known of a term without its data: an abstract value."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import NamedTuple

from storel.calculus.intervals import ANY, Interval
from storel.degrees import KnownDegrees
from storel.optimizer.estimation import sampling
from storel.optimizer.estimation.joins import Boundary
from storel.optimizer.estimation.sampling import Bound, Keys, LoopSample, Sample, Vector
from storel.optimizer.estimation.selectivity import SELECTIVITY, span
from storel.symbols import ArraySymbol, Symbols

NATURAL = Interval(0)
UNKNOWN_LENGTH = 1000.0


class Estimate(NamedTuple):
    """What is known of a term (a tuple: thousands are made for each plan).

    ``identity`` is equal for equal integer terms; ``offset`` says that the value is that of another
    identity plus a constant, ``boundary`` that it is read from an array at such a place, or that a slice
    begins there. ``length`` is that of a source, ``elements`` the interval of its values, ``distinct`` how
    many of them differ.
    ``counts`` are the entries of a dictionary down to each depth, ``spans`` the number of keys that each
    depth can have, ``key`` the identity of the key at depth 0; ``stored`` says that it lies in memory.
    ``made`` counts the entries of a dictionary before those with equal keys are added up.
    ``varies`` are the binders that an integer depends on, ``walks`` those with which it takes steps of one:
    not those that ``jump``, which stand for elements of an array; of a singleton they are those of its key.
    ``scattered`` are binders with whose steps a value is read from here and there; ``is_one_by_one`` says
    that vectors do not hold it, as it is made by a loop, under a condition or by a library, ``in_lanes`` that
    a loop reads consecutive values only, which vectors add up.
    ``probability`` is that of a condition, ``chosen`` the surprise of one that makes a scalar zero.
    ``origins`` are the degrees of the integers in the arrays that the keys at each depth, and then the
    values, are elements of, as far as known: so of an array (None, its own), of an integer one.
    ``sample`` are values of an integer, ``loop`` those of a source's bounds, ``data`` an array's elements,
    ``keys`` values of the keys at depth 0.
    """

    identity: Hashable = None
    interval: Interval = ANY
    offset: tuple[Hashable, int] | None = None
    boundary: Boundary | None = None
    is_array: bool = False
    array: str | None = None
    length: float = 1.0
    elements: Interval = ANY
    distinct: float | None = None
    counts: tuple[float, ...] = ()
    spans: tuple[float, ...] = ()
    key: Hashable = None
    stored: bool = False
    made: float | None = None
    positions: Interval = NATURAL
    varies: frozenset[int] = frozenset()
    walks: frozenset[int] = frozenset()
    jumps: bool = False
    scattered: frozenset[int] = frozenset()
    is_one_by_one: bool = False
    in_lanes: bool = False
    origins: tuple[KnownDegrees | None, ...] = ()
    probability: float = SELECTIVITY
    chosen: float = 0.0
    sample: Sample | Bound | Keys | None = None
    loop: LoopSample | None = None
    data: Vector | None = None
    keys: Sample | None = None

    @property
    def drawn(self) -> Sample | None:
        """The sample of an integer whose binder, if any, is known."""
        return self.sample if isinstance(self.sample, Sample) else None

    @property
    def surprise(self) -> float:
        """How unpredictable a condition is: 0 if it is regular, 1 if it holds every other time."""
        is_regular = self.sample is not None
        return 0.0 if is_regular else 2 * min(self.probability, 1 - self.probability)

    @property
    def origin(self) -> KnownDegrees | None:
        """The origin of an integer, or of the keys of a source."""
        return self.origins[0] if self.origins else None

    @property
    def value_origin(self) -> KnownDegrees | None:
        """The origin of the elements of an array."""
        return self.origins[1] if len(self.origins) > 1 else None

    @property
    def total(self) -> float:
        """The number of scalar entries; 1 for a scalar."""
        return self.counts[-1] if self.counts else 1.0

    @property
    def contributions(self) -> float:
        """The number of values that a dictionary's entries are added up from; 1 for a scalar."""
        return self.total if self.made is None else self.made


def integer(value: int) -> Estimate:
    """Return the estimate of an integer literal."""
    exactly = Interval(value, value)
    return Estimate(("Int", value), exactly, offset=(None, value), sample=sampling.constant(value))


def variable(name: int, value: Estimate) -> Estimate:
    """Return the estimate of a variable that stands for something like ``value``."""
    identity = ("Var", name)
    names = frozenset((name,))
    sample = value.sample.by(name) if isinstance(value.sample, Bound | Keys) else value.sample
    return value._replace(
        identity=identity, offset=(identity, 0), boundary=None, stored=bool(value.counts),
        sample=sample, made=None, key=None, varies=names, walks=frozenset() if value.jumps else names,
    )  # fmt: skip


def unknown(interval: Interval, rank: int) -> Estimate:
    """Return the estimate of a value of which only the interval or the rank is known."""
    counts = tuple(UNKNOWN_LENGTH**depth for depth in range(1, rank + 1))
    return Estimate(
        interval=interval, length=counts[0] if counts else 1.0, counts=counts, spans=(math.inf,) * rank
    )


def symbol(name: str, symbols: Symbols, interval: Interval) -> Estimate:
    """Return the estimate of a symbol."""
    fact = symbols.get(name)
    identity = ("Sym", name)
    if not isinstance(fact, ArraySymbol):
        is_exact = interval.low is not None and interval.low == interval.high
        sample = sampling.constant(interval.low) if is_exact and interval.low is not None else None
        return Estimate(identity, interval, (identity, 0), sample=sample)
    elements = Interval(fact.low, fact.high) if fact.type.is_integer else ANY
    distinct = fact.distinct
    if distinct is None:
        distinct = fact.length if fact.unique or fact.increasing else min(float(fact.length), span(elements))
    data = None if fact.elements is None else fact.elements.vector
    return Estimate(
        identity,
        is_array=True,
        array=name,
        length=float(fact.length),
        elements=elements,
        positions=Interval(0, fact.length - 1),
        distinct=max(1.0, float(distinct)),
        counts=(float(fact.length),),
        spans=(float(fact.length),),
        origins=(None, fact.occurrences),
        data=data,
        loop=LoopSample(sampling.constant(0), sampling.constant(fact.length), data),
    )
