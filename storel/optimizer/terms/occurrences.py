"""Subterms in value positions, each with the binders around it.

Keys, addresses, bounds, and conditions without loops are left alone: what is in them is cheap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from storel.calculus.binders import binder_intervals, binder_types
from storel.calculus.binding import free_mask, shift
from storel.calculus.bounds import bounds, narrowed
from storel.calculus.domains import Domains, binder_domains
from storel.calculus.intervals import Interval
from storel.calculus.nodes import (
    Apply,
    Find,
    If,
    Lookup,
    Merge,
    Range,
    Reduce,
    Singleton,
    Slice,
    Sum,
    Term,
    Variable,
)
from storel.calculus.verify import Type
from storel.calculus.walk import children, map_children
from storel.functions import COSTLY
from storel.symbols import Symbols


@dataclass(eq=False)
class Binding:
    """A term that binds variables of its body, in a scope; what is known of them is found once asked for.

    Types, intervals and domains are those of all variables that the body sees, the innermost first.
    """

    term: Term
    symbols: Symbols
    scope: tuple[Binder, ...]

    @cached_property
    def types(self) -> tuple[Type, ...]:
        outer = types_of(self.scope)
        return (*reversed(binder_types(self.term, self.symbols, outer)), *outer)

    @cached_property
    def intervals(self) -> tuple[Interval, ...]:
        outer = intervals_of(self.scope)
        return (*reversed(binder_intervals(self.term, self.symbols, outer)), *outer)

    @cached_property
    def domains(self) -> Domains:
        outer = domains_of(self.scope)
        return (*reversed(binder_domains(self.term, len(self.types) - len(outer))), *outer)


LOOPS = (Sum, Reduce, Merge)
"""What repeats its body."""


class Binder(NamedTuple):
    """A binder above an occurrence: its term, which of its variables, and the path to its body.

    Variables are counted from the innermost one.
    """

    binding: Binding
    position: int
    body: tuple[int, ...]

    @property
    def term(self) -> Term:
        return self.binding.term

    @property
    def type(self) -> Type:
        return self.binding.types[self.position]

    @property
    def interval(self) -> Interval:
        return self.binding.intervals[self.position]

    @property
    def is_integer(self) -> bool:
        return self.type.rank == 0 and self.type.scalar.is_integer

    @property
    def is_loop(self) -> bool:
        return isinstance(self.binding.term, LOOPS)


def types_of(scope: tuple[Binder, ...]) -> tuple[Type, ...]:
    """Return the types of all variables in scope, the innermost first."""
    return scope[0].binding.types if scope else ()


def intervals_of(scope: tuple[Binder, ...]) -> tuple[Interval, ...]:
    """Return the intervals of all variables in scope, the innermost first."""
    return scope[0].binding.intervals if scope else ()


def domains_of(scope: tuple[Binder, ...]) -> Domains:
    """Return the domains of all variables in scope, the innermost first."""
    return scope[0].binding.domains if scope else ()


class Condition(NamedTuple):
    """What is asked before an occurrence is evaluated, and how many binders are around it."""

    term: Term
    binders: int


class Occurrence(NamedTuple):
    """A subterm with its path from the root, its binders (innermost first), and whether it is conditional.

    Of the conditions those of ``If`` are kept. It is a tuple, as binders are, since thousands are made for
    each plan.
    """

    term: Term
    path: tuple[int, ...]
    scope: tuple[Binder, ...]
    conditional: bool
    conditions: tuple[Condition, ...] = ()

    @property
    def types(self) -> tuple[Type, ...]:
        return types_of(self.scope)

    def inside(self, index: int) -> int:
        """Return the number of variables below the binder of variable ``index``: the scope of its body."""
        return index - self.scope[index].position if index < len(self.scope) else index

    def home(self, depth: int) -> tuple[int, ...]:
        """Return the path to what stands right outside the ``depth`` innermost binders."""
        return self.scope[depth].body if depth < len(self.scope) else ()

    @property
    def intervals(self) -> tuple[Interval, ...]:
        return intervals_of(self.scope)

    @property
    def domains(self) -> Domains:
        return domains_of(self.scope)

    @property
    def narrowed(self) -> tuple[Interval, ...]:
        """The intervals of all variables where the conditions around the occurrence hold."""
        intervals = self.intervals
        for condition in self.holding if self.scope else ():
            intervals = narrowed(condition, self.scope[0].binding.symbols, intervals)
        return intervals

    @property
    def holding(self) -> tuple[Term, ...]:
        """The conditions around the occurrence, as it sees their variables."""
        return tuple(shift(condition, len(self.scope) - binders) for condition, binders in self.conditions)

    def outside(self, depth: int) -> Occurrence:
        """Return the place outside the ``depth`` innermost binders, with the conditions that hold there."""
        scope = self.scope[depth:]
        conditions = tuple(each for each in self.conditions if each.binders < len(scope))
        return self._replace(path=self.home(depth), scope=scope, conditions=conditions)

    def bounds_of(self, term: Term) -> Interval:
        """Return the bounds of an integer where the conditions around the occurrence hold."""
        context = self.narrowed
        symbols = self.scope[0].binding.symbols
        known = bounds(term, symbols, context)
        for condition in self.holding:
            of_term = abstracted(shift(condition, 1), shift(term, 1), 0)
            known = narrowed(of_term, symbols, (known, *context))[0]
        return known

    def is_key(self, index: int) -> bool:
        """Return whether a variable may be a key of what is stored: an integer, proved not to be negative."""
        low = self.narrowed[index].low if self.scope[index].is_integer else None
        return low is not None and low >= 0


def has_loop(term: Term) -> bool:
    """Return whether evaluating ``term`` takes a loop."""
    found: bool | None = getattr(term, "kept_loop", None)
    if found is None:
        found = isinstance(term, (*LOOPS, Find)) or any(has_loop(child) for child, _ in children(term))
        object.__setattr__(term, "kept_loop", found)
    return found


def is_costly(term: Term) -> bool:
    """Return whether ``term`` takes a loop, or a function that takes longer than to read what it gave."""
    found: bool | None = getattr(term, "kept_costly", None)
    if found is None:
        is_called = isinstance(term, Apply) and term.function in COSTLY
        found = is_called or has_loop(term) or any(is_costly(child) for child, _ in children(term))
        object.__setattr__(term, "kept_costly", found)
    return found


def has_only_ranges(term: Term) -> bool:
    """Return whether all sums in ``term`` are over ranges."""
    if isinstance(term, Sum) and not isinstance(term.source, Range):
        return False
    return all(has_only_ranges(child) for child, _ in children(term))


def occurrences(
    term: Term, symbols: Symbols, wanted: Callable[[Term], bool] = has_loop
) -> Iterator[Occurrence]:
    """Yield the subterms of a closed term in value positions that are ``wanted``, larger ones first.

    What is in a subterm that is not wanted is not looked at.
    """
    pending = [Occurrence(term, (), (), False)] if wanted(term) else []
    while pending:
        found = pending.pop()
        yield found
        pending += _inside(found, symbols, wanted)


def _inside(outer: Occurrence, symbols: Symbols, wanted: Callable[[Term], bool]) -> list[Occurrence]:
    """Return the children that are values, or conditions with loops, and wanted; the last one first."""
    term, path, scope, conditional, conditions = outer
    found: list[Occurrence] = []
    for index, (child, binders) in enumerate(children(term)):
        if not (wanted(child) and is_value(term, index)):
            continue
        below, inner = (*path, index), scope
        if binders:
            binding = Binding(term, symbols, scope)
            inner = (*[Binder(binding, position, below) for position in range(binders)], *scope)
        asked = index > 0 and asks_first(term)
        holding = (
            (*conditions, Condition(term.condition, len(scope)))
            if asked and isinstance(term, If)
            else conditions
        )
        found.append(Occurrence(child, below, inner, conditional or asked, holding))
    found.reverse()
    return found


def asks_first(term: Term) -> bool:
    """Return whether the first child of a term decides whether the others are evaluated."""
    return isinstance(term, If) or (isinstance(term, Apply) and term.function in ("and", "or"))


_VALUE: dict[type, int | None] = {
    Sum: 1,
    Reduce: 1,
    If: 1,
    Singleton: 1,
    Merge: 2,
    Find: 2,
    Lookup: None,
    Slice: None,
}
"""For each kind of term whose children are not all values, the child that is one, if any."""


def is_value(term: Term, child: int) -> bool:
    """Return whether a child is a value, or a condition or key with a loop: no address, bound or source."""
    if isinstance(term, If | Singleton) and child == 0:
        return has_loop(children(term)[0][0])
    return _VALUE.get(type(term), child) == child


def at(term: Term, path: tuple[int, ...]) -> Term:
    """Return the subterm at ``path``."""
    for index in path:
        term = children(term)[index][0]
    return term


def replaced(term: Term, path: tuple[int, ...], new: Term) -> Term:
    """Return ``term`` with ``new`` at ``path``."""
    if not path:
        return new
    position = iter(range(len(children(term))))
    return map_children(
        term, lambda child, _: replaced(child, path[1:], new) if next(position) == path[0] else child
    )


def abstracted(term: Term, part: Term, index: int) -> Term:
    """Return ``term`` with every occurrence of ``part`` (seen from here) replaced by a variable."""
    if term == part:
        return Variable(index)

    def visit(child: Term, binders: int) -> Term:
        if free_mask(part) & ~(free_mask(child) >> binders) or (has_loop(part) and not has_loop(child)):
            return child
        return abstracted(child, shift(part, binders), index + binders)

    return map_children(term, visit)


def reindexed(term: Term, mapping: Callable[[int], int], depth: int = 0) -> Term:
    """Return ``term`` with each free variable i replaced by variable ``mapping(i)``."""
    if not free_mask(term) >> depth:
        return term
    if isinstance(term, Variable):
        return Variable(mapping(term.index - depth) + depth) if term.index >= depth else term
    return map_children(term, lambda child, binders: reindexed(child, mapping, depth + binders))
