"""What a term costs when it runs as loops, in nanoseconds.

    cost(sum(R) e) = cost(R) + start + length(R) · (step + cost(e))
    cost(merge(R, S) e) = (length(R) + length(S)) · step + matches · cost(e)
    cost(find(R at k) e) = log2(length) · probe + matches · cost(e)
    cost(let x = d in e) = cost(d) + entries(d) · store + slots(d) · clear + cost(e)
    cost(array(k)) = sequential where k walks along, else gather(length), by the working set
    cost({k -> e}) = write, and gather(places) where k jumps

with a dictionary that is summed over or looked up without being named charged as stored in a hash table.
Every node costs at least what each of its children does, so that extraction from an e-graph is well
founded; only ``selective`` costs, for a whole term, weigh a condition by its probability, and the body of a
loop that hardly ever runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from storel.functions import ONE_BY_ONE
from storel.optimizer.cost.constants import CONSTANTS, FREE, Constants, function, gather
from storel.optimizer.cost.variations import Variation
from storel.optimizer.estimation.appraised import Place
from storel.optimizer.estimation.cardinality import TILE
from storel.optimizer.estimation.estimate import Estimate
from storel.optimizer.estimation.estimates import is_by_library, iterations

LINE = 8
"""Places that are read together, so that an entry among places not used takes as much of a cache."""

HASHED_PLACES = 2**22
"""Places up to which a dense store is faster than hashing, however few are used: most stay in caches."""

HASHED_SPARSENESS = 64
"""Places for each entry beyond which hashing pays: fewer share a cache line or page with another entry."""

PAGE = 512
"""Places of a page of memory, all of which are made at the first access to one of them."""

FRESH = 2**19
"""Places from which on memory is made anew for each call."""

COMBINING = 8
"""How many iterations take as long as to add the lanes of a sum to each other."""

FORWARDED = 3
"""How many times as long as in a register an addition to an array's element waits for the one before it."""

OVERLAP = 32
"""Iterations up to which a loop's additions do not wait: the processor is at the next ones meanwhile."""

SPARSE = 0.25
"""The share of a row's places up to which its entries are collected, or merged, one by one."""


class CostModel(Protocol):
    """What plans are compared by: any measure that never makes a node cheaper than one of its children."""

    def price(
        self,
        constructor: str,
        text: str,
        costs: Sequence[float],
        estimates: Sequence[Estimate],
        result: Estimate,
        variation: Variation,
        outer: int,
        place: Place | None = None,
    ) -> float:
        """Return the cost of a node from those of its children.

        ``text`` is the name of a function or of a semiring; ``estimates`` and ``result`` are what is known of
        the values of the children and of the node, ``outer`` counts its free variables, and ``place`` is
        where it stands, if that is known. Of ``variation`` a model may make what it likes. A whole term is
        priced once more, as the child of a "Result".
        """
        ...


@dataclass(frozen=True, slots=True)
class Nanoseconds:
    """Time, given what operations take."""

    constants: Constants = CONSTANTS

    def price(
        self,
        constructor: str,
        text: str,
        costs: Sequence[float],
        estimates: Sequence[Estimate],
        result: Estimate,
        variation: Variation,
        outer: int,
        place: Place | None = None,
    ) -> float:
        """Return the nanoseconds of a node, those of its children included."""
        return combine(constructor, text, costs, estimates, result, variation, outer, self.constants, place)


NANOSECONDS = Nanoseconds()

ARITHMETIC = Nanoseconds(replace(FREE, flop=1.0))
"""The number of arithmetic operations on values instead."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The estimated time of a whole term, how often each of its loops iterates, in preorder, and its entries.

    ``counts`` are those of a dictionary down to each depth.
    """

    nanoseconds: float
    iterations: tuple[float, ...]
    counts: tuple[float, ...]

    @property
    def entries(self) -> float:
        """The number of scalar entries; 1 for a scalar."""
        return self.counts[-1] if self.counts else 1.0


def is_hashed(places: float, entries: float) -> bool:
    """Return whether so few entries are better stored in a hash table than at so many places."""
    return places > max(HASHED_PLACES, HASHED_SPARSENESS * entries)


def combine(
    constructor: str,
    text: str,
    costs: Sequence[float],
    estimates: Sequence[Estimate],
    result: Estimate,
    variation: Variation,
    outer: int,
    constants: Constants,
    place: Place | None = None,
) -> float:
    """Return the cost of a node from those of its children.

    ``outer`` counts its free variables; ``place`` is where it stands, if that is known.
    """
    below = sum(costs)
    match constructor:
        case "Mul" if result.counts:
            return below + _scaled(estimates, result, variation, constants)
        case "Add" if _is_sparse(result) and not _is_a_pair(result):
            return below + constants.merge_step * result.total
        case "Add" | "Mul":
            is_free = bool(result.counts) or text == "index"
            return below + (constants.node if is_free else constants.flop * variation.flops)
        case "Result":
            return below + constants.touch * _touched(result)
        case "Apply2" if text in ONE_BY_ONE and not is_by_library(text, estimates):
            return below + constants.flop * variation.flops
        case "Apply1" | "Apply2" | "Apply3":
            return below + function(text, constants)
        case "Look":
            mapping, key = estimates
            if not mapping.is_array and not mapping.stored:
                build = mapping.total * constants.hash_build * variation.unstored
                return below + build + constants.hash_probe
            return below + _read(mapping, key, place, constants)
        case "Single":
            near = math.prod(result.spans) <= TILE or (place is not None and place.fills_tile)
            written = constants.tile if near else _written(estimates[0], result, place, constants)
            copied = _handed_on(estimates[1], constants)
            return below + written + copied + constants.segment * estimates[1].chosen
        case "If":
            body = costs[1] * estimates[0].probability if variation.selective else costs[1]
            surprise = estimates[0].surprise if result.counts else 0.0  # scalars are chosen without it
            return costs[0] + body + constants.branch + constants.segment * surprise
        case "Let":
            value = estimates[0]
            return below + (_stored(value, place, constants) if value.counts else 0.0) + constants.node
        case "Sum" | "Reduce" | "Merge" | "Find":
            part = variation.shared_loops if outer <= 1 else 1.0
            loop = _loop(constructor, costs, estimates, result, variation, constants, place)
            gathered = _gathered(iterations(constructor, estimates), estimates[-1], result, constants)
            least = 0.0 if variation.selective else max(costs)
            return max(least, (loop + gathered) * part) + constants.node
        case _:
            return below + constants.node


def _scaled(
    estimates: Sequence[Estimate], result: Estimate, variation: Variation, constants: Constants
) -> float:
    """Return the cost of a product with a dictionary, or of two: a scalar goes to each of the leaves.

    It does so before those with equal keys are added up.
    """
    both = all(estimate.counts for estimate in estimates)
    table = constants.tile if result.total <= TILE else constants.hash_build
    each = constants.flop * variation.flops + (table if both else 0.0)
    copied = sum(_copied(estimate, constants) for estimate in estimates if estimate.stored)
    times = result.total if both else result.contributions
    return times * each + copied + constants.node


def _loop(
    constructor: str,
    costs: Sequence[float],
    estimates: Sequence[Estimate],
    result: Estimate,
    variation: Variation,
    constants: Constants,
    place: Place | None,
) -> float:
    source = estimates[0]
    times = iterations(constructor, estimates)
    if result.in_lanes:
        times = min(times, max(times / constants.lanes, COMBINING))
    body = costs[-1] + _handed_on(estimates[-1], constants)
    start = constants.start if source.array is None else constants.segment
    around = sum(costs[:-1]) + start + times * body
    match constructor:
        case "Merge":
            return around + (estimates[0].length + estimates[1].length) * constants.merge_step
        case "Find" if place is not None and place.finds(*estimates[:2]):
            return sum(costs[:-1]) + constants.branch + times * body
        case "Find":
            return around + math.log2(max(2.0, source.length)) * constants.search_step
        case _ if source.is_array:
            step = constants.step + (constants.sequential if source.array is not None else 0.0)
            return around + times * step
        case _ if source.stored:
            return around + _scanned(source, constants)
        case _:
            return (around + (1 + source.total) * constants.hash_build) * variation.unstored


def _scanned(stored: Estimate, constants: Constants) -> float:
    """Return the cost of visiting the entries of a stored dictionary: its places, or where they are too many
    the entries in a hash table. Which places are used is as hard to predict as the end of a segment.
    """
    places = math.prod(stored.spans)
    if math.isinf(places):
        return stored.total * constants.hash_probe
    surprises = max(0.0, min(stored.total, places - stored.total))
    looked_at = places * (constants.sequential + constants.branch) + surprises * constants.segment
    return min(looked_at, stored.total * constants.hash_probe)


def _touched(result: Estimate) -> float:
    """Return the places of new memory that a large result takes, whole pages if they lie apart."""
    places = math.prod(result.spans)
    if result.total <= SPARSE * places:
        places = min(places, result.total * (PAGE if len(result.spans) == 1 else 1))
    return places if places >= FRESH else 0.0


def _gathered(times: float, body: Estimate, result: Estimate, constants: Constants) -> float:
    """Return the cost of adding up what the iterations of a loop make, unless each has a key of its own.

    Additions to one value wait for each other, less so in the lanes of a vector; the keys of a sparse
    dictionary are put in order, too.
    """
    if body.counts and result.counts[0] >= (1 - 1e-9) * times * body.counts[0]:
        return 0.0
    collected = constants.collect * result.total if _is_sparse(result) else 0.0
    each = constants.accumulate / (constants.lanes if result.in_lanes else 1)
    if body.counts and body.total <= 1 and result.total < (1 - 1e-9) * times * body.total:
        each *= FORWARDED
    return each * max(0.0, times - OVERLAP) + collected


def _is_sparse(made: Estimate) -> bool:
    """Return whether a dictionary is too large for a small table, and has entries at few of its places."""
    places = math.prod(made.spans)
    return bool(made.counts) and places > TILE and 0 < made.total <= SPARSE * places


def _is_a_pair(made: Estimate) -> bool:
    """Return whether two numbers at most are added up, each of which goes to its place without a merge."""
    return len(made.counts) == 1 and made.total <= 2


def _handed_on(made: Estimate, constants: Constants) -> float:
    """Return the cost of going through a dictionary, if it is stored, where it is a row or is added."""
    return made.total * (constants.sequential + constants.branch) if made.stored and made.counts else 0.0


def _copied(stored: Estimate, constants: Constants) -> float:
    """Return the cost of taking the entries of a stored dictionary to where the result goes."""
    return constants.segment + _scanned(stored, constants) + stored.total * (constants.step + constants.write)


def _read(mapping: Estimate, key: Estimate, place: Place | None, constants: Constants) -> float:
    """Return the cost of a read: of a register, of the next element, or of one anywhere."""
    if place is not None and not key.varies & place.innermost:
        return constants.register
    if mapping.stored and mapping.total <= TILE:
        return constants.tile
    places = math.prod(mapping.spans)
    if mapping.stored and is_hashed(places, mapping.total):
        return constants.hash_probe
    if key.walks if place is None else key.walks & place.innermost:
        return constants.sequential
    return gather(min(places, LINE * mapping.total) if mapping.stored else mapping.total, constants)


def _written(key: Estimate, result: Estimate, place: Place | None, constants: Constants) -> float:
    """Return the cost of a write: beside the last one, or to any of the places of its level."""
    inner = key.varies if place is None else key.varies & place.innermost
    if len(result.counts) > 1 and inner:  # from row to row
        return constants.write + gather(math.prod(result.spans), constants)
    return constants.write + (gather(result.spans[0], constants) if inner - key.walks else 0.0)


def _stored(value: Estimate, place: Place | None, constants: Constants) -> float:
    """Return the cost of storing a dictionary.

    In a loop a large one is a list, which is not cleared, or if it has several keys a table, which is: how
    much is in it, which a hash table must know, is hardly ever known before the loop.
    """
    slots = math.prod(value.spans)
    if value.total <= TILE and slots <= TILE:
        return constants.tile * value.total
    is_inside, is_nested = place is not None and place.is_repeated, len(value.spans) > 1
    if is_hashed(slots, value.total) and not (is_inside and is_nested):
        return constants.hash_build * value.contributions
    is_cleared = place is not None and (is_nested or not is_inside) and math.isfinite(slots)
    return constants.store * value.total + (constants.clear * slots if is_cleared else 0.0)
