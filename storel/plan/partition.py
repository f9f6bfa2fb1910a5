"""A plan that several threads can run, a part of its outermost loop each.

    result <- loop x in l:h: B          =      result <- loop x in l:c: B  and  loop x in c:h: B

What becomes of the parts' results depends on where the loop writes: to places of its own in one dense
result, as a list in the order of its keys does where it is cut between two of them, to the end of a sparse
one, or to places that other parts write, too; then each part has a result of its own, and they are combined.
No two threads ever write to one place, so none waits for another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import reduce
from typing import TypeAlias

from storel.calculus.binding import free_variables
from storel.calculus.bounds import bounds, elements
from storel.calculus.nodes import Literal, Multiply, Symbol, Term, Variable
from storel.plan.binding import binders
from storel.plan.nodes import (
    Accumulate,
    Action,
    Bind,
    Coordinates,
    Destination,
    Elements,
    Enter,
    Gather,
    Guard,
    Levels,
    Loop,
    Matches,
    Place,
    Plan,
    Positions,
    ScalarStore,
    Together,
    Unite,
)
from storel.plan.ownership import enter_their_own
from storel.plan.work import at_most, steps, together, without_asking, work_of_iteration, work_until
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, EndSymbol, Symbols

LOW = Symbol("part.low")
HIGH = Symbol("part.high")
"""The ends of a part of a loop."""

_ZERO = Literal(0, ScalarType.INT64)

EXACT = frozenset({"minimum", "maximum", "and", "or"})
"""Operators whose order does not matter to real numbers."""

REORDERED = frozenset({"add", "multiply"})
"""Operators whose order matters to the rounding of real numbers alone."""

WRITING = 3
"""Steps that clearing a place of a dense result, and bringing it to memory, take as long as."""

Divisible: TypeAlias = Positions | Elements
"""The sources whose iterations have numbers."""


class Parts(Enum):
    """What becomes of the results of the parts of a loop."""

    SHARED = "places of their own"
    RUNS = "places of their own where no run of equal keys is cut"
    APPENDED = "one after the other"
    COMBINED = "combined"

    @property
    def are_apart(self) -> bool:
        """Whether each part writes to places of its own in one dense result."""
        return self in (Parts.SHARED, Parts.RUNS)


@dataclass(frozen=True, slots=True)
class Stretch:
    """The elements of an ascending list that a part comes to: those from ``LOW`` up to ``HIGH``, exclusive.

    They are between the positions ``ends``; ``work`` is that on all elements before the second one.
    """

    source: Elements
    ends: tuple[EndSymbol, EndSymbol]
    work: Term


@dataclass(frozen=True, slots=True)
class Split:
    """How a loop over ``source`` is run in parts, or several loops over lists whose elements are in it.

    ``plan`` runs the part between ``LOW`` and ``HIGH``; ``ends`` is what is known of these. ``work`` is an
    action that counts what one iteration does, under the binders of ``source``, except for the elements of
    lists: how many belong to a part is known from its ``stretches``, whose ends ``plan`` may use.
    """

    plan: Plan
    source: Divisible
    work: Action
    parts: Parts
    ends: tuple[EndSymbol, EndSymbol]
    stretches: tuple[Stretch, ...] = ()

    @property
    def goes_over_lists(self) -> bool:
        """Whether all loops are over lists, and the keys that are divided are their elements."""
        loops = outermost(self.plan.action)
        return isinstance(self.source, Positions) and all(isinstance(each.source, Elements) for each in loops)

    @property
    def symbols(self) -> Symbols:
        """What is known of all ends."""
        found = (*self.ends, *(end for stretch in self.stretches for end in stretch.ends))
        return {end.name: end for end in found}


def split_of(plan: Plan, symbols: Symbols, *, reorders: bool) -> Split | None:
    """Return how the outermost loop of ``plan`` is run in parts, None if it is not.

    ``reorders`` says that real sums may be added up in any order.
    """
    loops = outermost(plan.action)
    sources = {loop.source for loop in loops}
    if len(sources) > 1:
        return _cut_at_keys(plan, loops, symbols)
    if not loops:
        return None
    source = loops[0].source
    if not isinstance(source, Divisible) or free_variables(source.low) | free_variables(source.high):
        return None
    parts = _parts(plan.destination, loops, symbols, reorders)
    if parts is None:
        return None
    each = together([*map(work_of_iteration, loops), *_written(plan.destination, source, parts)])
    part = replace(plan, action=_restricted(plan.action, {source: (LOW, HIGH)}))
    has_keys = isinstance(source, Positions)
    lists = (found for loop in loops if has_keys for found in _found_by_key(loop.body, 0))
    stretches = tuple(_stretches(lists, symbols))
    # What comes before a cut in a list is found by a search, for which the work must be a formula.
    work = at_most(each) if stretches else without_asking(each)
    return Split(part, source, work, parts, _ends(source, (LOW, HIGH), symbols), stretches)


def _cut_at_keys(plan: Plan, loops: tuple[Loop, ...], symbols: Symbols) -> Split | None:
    """Return how loops over ascending lists are run in parts that enter different keys, None if they are not.

    The work on the elements of a list before a cut must be a formula.
    """
    extent = _extent_of_places(plan.destination)
    if extent is None or not all(_enters_its_elements(loop, extent, symbols) for loop in loops):
        return None
    works: dict[Elements, list[Action]] = {}
    for loop in loops:
        assert isinstance(loop.source, Elements)
        works.setdefault(loop.source, []).append(at_most(work_of_iteration(loop)))
    lists = ((source, together(each)) for source, each in works.items())
    stretches = tuple(_stretches(lists, symbols))
    if len(stretches) < len(works):
        return None
    ends: dict[Divisible, tuple[Symbol, ...]]
    ends = {each.source: tuple(Symbol(end.name) for end in each.ends) for each in stretches}
    keys = Positions(_ZERO, extent)
    return Split(
        replace(plan, action=_restricted(plan.action, ends)),
        keys,
        together(_written(plan.destination, keys, Parts.SHARED)),
        Parts.SHARED,
        _ends(keys, (LOW, HIGH), symbols),
        stretches,
    )


def _written(destination: Destination, source: Divisible, parts: Parts) -> list[Action]:
    """Return the work on the places that belong to each key of a loop, if a dense result has such."""
    match destination:
        case Levels((Place(extent), *levels)) if parts is Parts.SHARED and source == Positions(_ZERO, extent):
            inner = [level.extent for level in levels if isinstance(level, Place)]
            return [Accumulate(reduce(Multiply, inner, Literal(WRITING, ScalarType.INT64)))]
        case _:
            return []


def _extent_of_places(destination: Destination) -> Term | None:
    """Return the extent of the outermost dimension of a dense result."""
    match destination:
        case Levels((Place(extent), *levels)) if all(isinstance(level, Place) for level in levels):
            return extent
        case _:
            return None


def _enters_its_elements(loop: Loop, extent: Term, symbols: Symbols) -> bool:
    """Return whether a loop goes over an ascending list of keys in 0:``extent``, and enters just these."""
    match loop.source:
        case Elements(array, low, high) if not free_variables(low) | free_variables(high):
            fact, least = symbols[array], bounds(extent, symbols).low or 0
            assert isinstance(fact, ArraySymbol)
            is_list = fact.never_descends and elements(fact).within(0, least - 1)
            return is_list and _enters(loop.body, 0)
        case _:
            return False


def _enters(action: Action, index: int) -> bool:
    """Return whether ``action`` enters just one key, variable ``index``."""
    match action:
        case Guard(_, body):
            return _enters(body, index)
        case Bind(_, Accumulate(), body):
            return _enters(body, index + 1)
        case Loop(source, body):
            return _enters(body, index + binders(source))
        case Enter(key, _):
            return key == Variable(index)
        case _:
            return False


def _stretches(lists: Iterable[tuple[Elements, Action]], symbols: Symbols) -> Iterator[Stretch]:
    """Yield the stretches of lists, each with the work on one element, if it makes the work a formula."""
    for number, (source, each) in enumerate(lists):
        first, last = (Symbol(f"part.{end}_{number}") for end in ("first", "last"))
        work = work_until(source, each, last)
        if work is not None:
            yield Stretch(source, _ends(source, (first, last), symbols), work)


def _ends(source: Divisible, names: tuple[Symbol, Symbol], symbols: Symbols) -> tuple[EndSymbol, EndSymbol]:
    """Return what is known of the ends of a part of a loop over ``source``."""
    low, high = bounds(source.low, symbols).low, bounds(source.high, symbols).high
    first, last = names
    return EndSymbol(first.name, low, high), EndSymbol(last.name, low, high)


def _found_by_key(action: Action, depth: int) -> Iterator[tuple[Elements, Action]]:
    """Yield what is searched for the key of a loop over positions, ``depth`` binders inside of it.

    With each comes the work on an element, as far as it is the same for all of them.
    """
    match action:
        case Accumulate():
            return
        case Enter(_, body) | Guard(_, body):
            yield from _found_by_key(body, depth)
        case Loop(Matches(array, low, high, Variable(index), is_unique=False), body) if (
            depth <= index <= depth + 1 and not free_variables(low) | free_variables(high)
        ):
            yield Elements(array, low, high), Accumulate(steps(body))
            yield from _found_by_key(body, depth + 1)
        case Loop(source, body):
            yield from _found_by_key(body, depth + binders(source))
        case Bind(_, value, body):
            yield from _found_by_key(value, depth)
            yield from _found_by_key(body, depth + 1)
        case Together(actions) | Unite(actions):
            for part in actions:
                yield from _found_by_key(part, depth)


def outermost(action: Action) -> tuple[Loop, ...]:
    """Return the loops that ``action`` consists of, but for what is cheap; none if there is more to it."""
    match action:
        case Loop():
            return (action,)
        case Bind(ScalarStore(), Accumulate(), body):
            return outermost(body)
        case Together(actions):
            loops = [outermost(part) for part in actions]
            return tuple(loop for part in loops for loop in part) if all(loops) else ()
        case _:
            return ()


def _restricted(action: Action, ends: Mapping[Divisible, tuple[Symbol, ...]]) -> Action:
    """Return ``action`` with its outermost loops between the ``ends`` for their sources."""
    match action:
        case Loop(Positions() | Elements() as source, body):
            low, high = ends[source]
            return Loop(replace(source, low=low, high=high), body)
        case Bind(store, value, body):
            return Bind(store, value, _restricted(body, ends))
        case Together(actions):
            return Together(tuple(_restricted(each, ends) for each in actions))
        case Accumulate() | Enter() | Loop() | Guard() | Unite():
            raise AssertionError("these are no outermost loops")


def _parts(
    destination: Destination, loops: tuple[Loop, ...], symbols: Symbols, reorders: bool
) -> Parts | None:
    """Return how parts of the loops' iterations fill ``destination``; None where they cannot."""
    match destination:
        case Coordinates():
            return Parts.APPENDED if len(loops) == 1 else None
        case Levels(levels, leaf):
            if not all(isinstance(level, Place) for level in levels):
                first = levels[0]
                is_ascending = not isinstance(first, Gather) and not first.repeats
                return Parts.APPENDED if is_ascending and len(loops) == 1 else None
            if levels and enter_their_own(loops, symbols):
                return Parts.SHARED
            if levels and enter_their_own(loops, symbols, by_runs=True):
                return Parts.RUNS
            is_free = reorders or not leaf.type.is_real
            if leaf.zero is not None and leaf.operator in EXACT | (REORDERED if is_free else frozenset()):
                return Parts.COMBINED
            return None
