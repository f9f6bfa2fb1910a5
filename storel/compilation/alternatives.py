"""What was compiled, computed otherwise without another search.

Costs that a search goes by know nothing of the kernels of dense products, nor in what a result is assembled.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from storel.compilation import schedule
from storel.compilation.compiled import Compilation
from storel.compilation.expectation import expected_time, has_only_products
from storel.compilation.results import ResultFormat
from storel.compilation.schedule import Schedule
from storel.optimizer.outcome import Priced
from storel.optimizer.physical.footprint import footprint
from storel.optimizer.physical.preferences import PLANNERS_OWN, Preferences
from storel.optimizer.terms.occurrences import has_only_ranges
from storel.plan.nodes import Coordinates
from storel.storage.formats.known import Formats

WORTH_PRODUCTS = 200_000.0
"""The nanoseconds from which on plans are looked at for dense products."""


SHARE_IN_NO_ORDER = 1 / 12
"""The share of occupied places from which on a result is better dense if its keys come in no order.

To sort an entry takes as long as to clear a dozen places, and to go through them once or twice.
"""


def with_dense_products(compilation: Compilation) -> Compilation:
    """Return the compilation by a term that is all dense products, if it is expected to take less.

    They have kernels of their own, of which the costs that the search goes by know nothing.
    """
    if compilation.optimized.cost.nanoseconds < WORTH_PRODUCTS:
        return compilation
    found = [compilation]
    if not has_only_products(compilation):
        found += [
            _by_term(compilation, each)
            for each in considered(compilation)
            if has_only_ranges(each.term) and footprint(each.term, compilation.symbols) <= compilation.memory
        ]
    products = list(filter(has_only_products, found))
    if not products:  # as for most programs: then nothing is compared
        return compilation
    best = min((compilation, *products), key=expected_time)
    return _as_products(best) if has_only_products(best) else compilation


def with_result_by_array(compilation: Compilation) -> Compilation:
    """Return the compilation that assembles an array on the way to its result, if that is to take less time.

    Then it may be a dense product, and keys may be entered in any order.
    """
    return min(compilation, with_dense_products(_by_array(compilation)), key=expected_time)


def _by_array(compilation: Compilation, preferences: Preferences = PLANNERS_OWN) -> Compilation:
    """Return the same with an array assembled on the way to its result, if it may be and there is room."""
    result, definition = compilation.result, compilation.definition
    if result.array is None or result.array is result.assembled:
        return compilation
    if math.prod(definition.shape) * definition.type.itemsize > compilation.memory:
        return compilation
    changed = replace(result, assembled=result.array)
    return replace(compilation, result=changed).replanned(compilation.optimized.term, preferences)


def with_places(compilation: Compilation, formats: Formats) -> Compilation:
    """Return the compilation with a place for each key of its result, if these come in no order and are many.

    Then entries need not be sorted. This is for a result that may be stored in any format.
    """
    extents, kind = compilation.definition.shape, compilation.definition.type
    entries, places = compilation.optimized.cost.entries, math.prod(extents)
    if not isinstance(compilation.plan.destination, Coordinates) or entries < SHARE_IN_NO_ORDER * places:
        return compilation
    if len(extents) not in formats.defaults.dense or places * kind.itemsize > compilation.memory:
        return compilation
    dense = formats.default(len(extents), is_dense=True)
    made = replace(compilation, result=ResultFormat(dense, dense))
    return made.replanned(compilation.optimized.term)


def with_schedule(compilation: Compilation, wanted: Schedule) -> Compilation | None:
    """Return a compilation of the same operands by a schedule, None if its term was not considered."""
    term = next(
        (each for each in considered(compilation) if schedule.digest_of(each.term) == wanted.term), None
    )
    if term is None:
        return None
    made = replace(_by_term(compilation, term, wanted.preferences), schedule=wanted)
    return min(made, _by_array(made, wanted.preferences), key=expected_time)


def _as_products(compilation: Compilation) -> Compilation:
    """Return the same compilation with the time that its kernels take for that of its term."""
    optimized = compilation.optimized
    cost = replace(optimized.cost, nanoseconds=expected_time(compilation))
    others = (
        replace(each, cost=cost) if each.term == optimized.term else each for each in optimized.considered
    )
    return replace(compilation, optimized=replace(optimized, cost=cost, considered=tuple(others)))


def _by_term(
    compilation: Compilation, chosen: Priced, preferences: Preferences = PLANNERS_OWN
) -> Compilation:
    """Return the compilation of the same operands by a term that was considered."""
    optimized = replace(compilation.optimized, term=chosen.term, cost=chosen.cost)
    return replace(compilation.replanned(chosen.term, preferences), optimized=optimized)


def considered(compilation: Compilation) -> Iterator[Priced]:
    """Yield the terms that the search priced, the cheapest first; equal ones once."""
    seen: set[str] = set()
    for each in compilation.optimized.considered:
        digest = schedule.digest_of(each.term)
        if digest not in seen:
            seen.add(digest)
            yield each
