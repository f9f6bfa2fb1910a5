"""Terms to actions: how each sum iterates, and what is stored.

A dictionary becomes an action on a dictionary destination, a scalar an action that accumulates. What
stands where neither can be, a loop inside a product, a dictionary that is looked up or scanned, is
bound to a store first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from storel.calculus.binding import shift, substitute
from storel.calculus.bounds import binder_bounds, bounds
from storel.calculus.intervals import ANY, TRUTH, Interval
from storel.calculus.nodes import (
    Add,
    Apply,
    Empty,
    Find,
    If,
    Let,
    Literal,
    Lookup,
    Merge,
    Multiply,
    Range,
    Reduce,
    Singleton,
    Slice,
    Sum,
    Symbol,
    Term,
    Unique,
    Variable,
    children,
    map_children,
)
from storel.calculus.strictness import strict
from storel.calculus.verify import Type, infer
from storel.optimizer.estimation.cardinality import appraise
from storel.optimizer.physical.arrivals import in_turn
from storel.optimizer.physical.facts import array, is_increasing, united
from storel.optimizer.physical.normalize import intersected, is_atom
from storel.optimizer.physical.preferences import StoreKind
from storel.optimizer.physical.reductions import (
    StoredEntries,
    any_entry,
    row_by_row,
    stored_entries,
    stored_rows,
)
from storel.optimizer.physical.scope import Monoid, Scope, sum_over
from storel.optimizer.physical.shape import addends, entries_of, has_loop, is_store, semiring_of
from storel.optimizer.physical.sources import (
    computed_end,
    elements,
    planned_source,
    with_named_end,
    without_ranges,
)
from storel.optimizer.physical.stores import choose_store, in_rows, in_stream, is_scanned, reduction_store
from storel.optimizer.terms.present import without_questions
from storel.optimizer.terms.products import pushed
from storel.plan.binding import row_extents, source_extents, store_terms
from storel.plan.nodes import (
    Accumulate,
    Action,
    Bind,
    Elements,
    Enter,
    Entries,
    Guard,
    Intersection,
    Loop,
    Matches,
    Positions,
    ScalarStore,
    Source,
    Together,
    Unite,
)
from storel.scalars import ScalarType
from storel.semiring import SEMIRINGS
from storel.symbols import Symbols

PlanBody: TypeAlias = Callable[[Term, Scope, Monoid], Action]

INDEX_TYPE, TRUTH_TYPE = Type(ScalarType.INT64), Type(ScalarType.BOOL)


@dataclass
class ActionPlanner:
    """Plans actions over the given symbols; dictionaries are bound to a ``preferred`` store if possible."""

    symbols: Symbols
    preferred: StoreKind | None = None

    def rank(self, term: Term, scope: Scope) -> int:
        return self.type_of(term, scope).rank

    def type_of(self, term: Term, scope: Scope) -> Type:
        return infer(term, self.symbols, scope.types)

    def value(self, term: Term, scope: Scope, into: Monoid) -> Action:
        """Plan ``term``, whatever its rank, into a destination combined by ``into``."""
        if self.rank(term, scope) > 0:
            return self.dictionary(term, scope, into)
        return self.scalar(term, scope, into)

    def dictionary(self, term: Term, scope: Scope, into: Monoid) -> Action:
        """Plan a term of rank 1 or more."""
        match term:
            case Empty():
                return Together(())
            case Singleton(key, value, semiring):
                if has_loop(key):
                    return self._let(key, Singleton(Variable(0), shift(value, 1), semiring), scope, into)
                return Enter(key, self.value(value, scope, into))
            case Sum() | Merge() | Find():
                return self._loop(term, scope, into)
            case If(condition, body):
                return self._guard(condition, body, term, scope, into)
            case Let(value, body):
                return self._let(value, body, scope, into)
            case Add():
                return self._together(term, scope, into)
            case Multiply(left, right, semiring):
                return self._product(left, right, semiring, scope, into)
            case Variable() | Lookup():
                return self._copy(term, scope, into)
            case Literal() | Symbol() | Range() | Slice() | Reduce() | Apply() | Unique():
                raise AssertionError(f"not a dictionary: {type(term).__name__}")

    def scalar(self, term: Term, scope: Scope, into: Monoid) -> Action:
        """Plan a term of rank 0: its loops add up in ``into`` if that is their own monoid."""
        if not has_loop(term):
            return Accumulate(term)
        match term:
            case Sum(semiring=semiring) | Merge(semiring=semiring) | Find(semiring=semiring):
                if sum_over(semiring) == into:
                    return self._loop(term, scope, into)
                return self._let(term, Variable(0), scope, into)
            case Add(semiring=semiring) if sum_over(semiring) == into:
                return self._together(term, scope, into)
            case If(condition, body, semiring) if sum_over(semiring) == into:
                return self._guard(condition, body, term, scope, into)
            case Let(value, body):
                return self._let(value, body, scope, into)
            case Lookup(Range() | Slice() as source, key) if end := computed_end(source):
                return self._let(end, Lookup(with_named_end(source, end), shift(key, 1)), scope, into)
            case Reduce() | If():
                return self._let(term, Variable(0), scope, into)
            case _:
                return self._bind_first_loop(term, scope, into)

    def _bind_first_loop(self, term: Term, scope: Scope, into: Monoid) -> Action:
        """Bind the first child of ``term`` that contains a loop, and go on with the rest."""
        chosen = next(child for child, binders in children(term) if binders == 0 and has_loop(child))
        replaced = False

        def replace(child: Term, _: int) -> Term:
            nonlocal replaced
            if not replaced and child == chosen:
                replaced = True
                return Variable(0)
            return shift(child, 1)

        return self._let(chosen, map_children(term, replace), scope, into)

    def _let(self, value: Term, body: Term, scope: Scope, into: Monoid) -> Action:
        """Plan ``let value in body``."""
        if is_atom(value):
            return self.value(substitute(body, value), scope, into)
        return self._stored(value, scope, is_scanned(body, 0), lambda inner: self.value(body, inner, into))

    def _stored(self, value: Term, scope: Scope, scanned: bool, use: Callable[[Scope], Action]) -> Action:
        """Bind ``value``; ``use`` plans what follows, with the value as variable 0."""
        type_ = self.type_of(value, scope)
        if isinstance(value, Reduce):
            store = reduction_store(value.monoid, type_.scalar)
            filled = self._reduced(value, scope, Monoid(store.operator, store.zero))
            return Bind(store, filled, use(scope.bind((type_, ANY))))
        ring, into = SEMIRINGS[semiring_of(value)], sum_over(semiring_of(value))
        if type_.rank == 0:
            interval = bounds(value, self.symbols, scope.intervals)
            store = ScalarStore(type_.scalar, ring.plus_name, ring.zero)
            return Bind(store, self.scalar(value, scope, into), use(scope.bind((type_, interval))))
        filled = self.dictionary(value, scope, into)
        again, preferred = scanned or scope.loops > 0, self.preferred
        chosen = choose_store(value, filled, type_, ring, scope, self.symbols, preferred, is_revisited=again)
        extents, known = store_terms(chosen), appraise(value, self.symbols, scope.estimates)
        high = bounds(extents[0], self.symbols).high
        keys = (type_, Interval(0, None if high is None else high - 1))
        body = use(scope.bind(keys, extents=(extents,), appraised=known))
        chosen = in_stream(chosen, filled, body, preferred)
        return Bind(in_rows(chosen, known, filled, body, self.symbols, preferred), filled, body)

    def _reduced(self, term: Reduce, scope: Scope, into: Monoid) -> Action:
        """Plan a comprehension; one over the rows of its own source adds to the same destination."""
        entries = stored_entries(term, self.symbols)
        if entries is not None:
            return self._reduced_entries(entries.sources, entries, scope, into)
        if (rows := row_by_row(term, self.symbols)) is not None:
            return self._loop_over(rows.source, rows.body, scope, self._reduced_rows, into, skips_empty=True)
        inner = term.body
        is_nest = isinstance(inner, Reduce) and inner.monoid == term.monoid and inner.source == Variable(0)

        def plan_body(body: Term, within: Scope, into: Monoid) -> Action:
            if is_nest and isinstance(body, Reduce):
                return self._reduced(body, within, into)
            return self.scalar(body, within, into)

        return self._loop_over(term.source, inner, scope, plan_body, into, skips_empty=is_nest)

    def _reduced_rows(self, term: Term, scope: Scope, into: Monoid) -> Action:
        """Plan what is reduced of one row, which goes where that of all of them goes."""
        assert isinstance(term, Reduce)
        return self._reduced(term, scope, into)

    def _reduced_entries(
        self, sources: tuple[Term, ...], entries: StoredEntries, scope: Scope, into: Monoid
    ) -> Action:
        """Plan the loops over entries that are read from storage, those over ``sources`` being left."""
        if sources:
            planned = planned_source(sources[0], self.symbols)
            assert planned is not None
            inner = scope.bind(*self._entry(sources[0], planned, scope), loops=1)
            return Loop(planned, self._reduced_entries(sources[1:], entries, inner, into))
        question = Apply("not_equal", (entries.value, entries.zero))
        if isinstance(without_questions(question, self.symbols), Literal):  # all that is stored is an entry
            return self.value(substitute(entries.body, entries.value), scope, into)
        is_entry = Apply("not_equal", (Variable(0), entries.zero))
        return self._stored(
            entries.value, scope, False, lambda s: Guard(is_entry, self.value(entries.body, s, into))
        )

    def _guard(self, condition: Term, body: Term, term: Term, scope: Scope, into: Monoid) -> Action:
        if has_loop(condition):
            return self._bind_first_loop(term, scope, into)
        return Guard(condition, self.value(body, scope.where(condition, self.symbols), into))

    def _together(self, term: Term, scope: Scope, into: Monoid) -> Action:
        parts = [self.value(part, scope, into) for part in addends(term)]
        if branches := united(parts, self.symbols):
            return Unite(branches)
        is_dictionary = len(parts) > 1 and self.rank(term, scope) > 0
        return Together(tuple(in_turn(parts, scope, self.symbols) if is_dictionary else parts))

    def _product(self, left: Term, right: Term, semiring: str, scope: Scope, into: Monoid) -> Action:
        ranks = self.rank(left, scope), self.rank(right, scope)
        if ranks[0] > 0 and ranks[1] > 0:
            if not is_store(right):
                return self._let(right, Multiply(shift(left, 1), Variable(0), semiring), scope, into)
            return self.dictionary(intersected(left, right, semiring), scope, into)
        factor, dictionary = (left, right) if ranks[0] == 0 else (right, left)
        if not is_atom(factor):
            return self._let(factor, Multiply(Variable(0), shift(dictionary, 1), semiring), scope, into)
        product = pushed(factor, dictionary, semiring, max(ranks))
        if isinstance(product, Multiply):
            product = pushed(factor, entries_of(dictionary, semiring), semiring, max(ranks))
        return self.dictionary(product, scope, into)

    def _copy(self, term: Term, scope: Scope, into: Monoid) -> Action:
        if not is_store(term):
            assert isinstance(term, Lookup)
            if is_store(term.mapping):
                named = Lookup(shift(term.mapping, 1), Variable(0), term.semiring)
                return self._let(term.key, named, scope, into)
            body = Lookup(Variable(0), shift(term.key, 1), term.semiring)
            return self._let(term.mapping, body, scope, into)
        return self.dictionary(entries_of(term, "plus_times"), scope, into)

    def _loop(self, term: Sum | Merge | Find, scope: Scope, into: Monoid) -> Action:
        match term:
            case Sum() if rows := stored_rows(term, self.symbols) or row_by_row(term, self.symbols):
                assert isinstance(rows, Sum)
                return self._loop(rows, scope, into)
            case Sum() if entries := stored_entries(term, self.symbols):
                return self._reduced_entries(entries.sources, entries, scope, into)
            case Merge() | Find() if conditional := without_ranges(term):
                return self.value(conditional, scope, into)
            case Merge(left, right, body, semiring) if end := computed_end(left) or computed_end(right):
                sides = with_named_end(left, end), with_named_end(right, end)
                return self._let(end, Merge(*sides, shift(body, 1, 3), semiring), scope, into)
            case Find(source, key, body, semiring) if end := computed_end(source):
                named = with_named_end(source, end), shift(key, 1), shift(body, 1, 1)
                return self._let(end, Find(*named, semiring), scope, into)
            case Sum(source, body, semiring):
                skips_empty = strict(body, 0, semiring)
                return self._loop_over(source, body, scope, self.value, into, skips_empty=skips_empty)
            case Merge(left, right, body):
                sources = elements(left, self.symbols), elements(right, self.symbols)
                p, x = binder_bounds(left, self.symbols, scope.intervals)
                q, y = binder_bounds(right, self.symbols, scope.intervals)
                inner = scope.bind((INDEX_TYPE, p), (INDEX_TYPE, q), (INDEX_TYPE, x.meet(y)), loops=1)
                return Loop(Intersection(*sources), self.value(body, inner, into))
            case Find(source, key, body):
                if has_loop(key):
                    replaced = Find(shift(source, 1), Variable(0), shift(body, 1, 1), term.semiring)
                    return self._let(key, replaced, scope, into)
                scan = elements(source, self.symbols)
                unique = array(self.symbols, scan.array).unique
                unique = unique or is_increasing(self.symbols, scan.array, scan.low, scan.high)
                position, _ = binder_bounds(source, self.symbols, scope.intervals)
                inner = scope.bind((INDEX_TYPE, position), loops=1)
                matches = Matches(scan.array, scan.low, scan.high, key, unique)
                return Loop(matches, self.value(body, inner, into))

    def _loop_over(
        self, source: Term, body: Term, scope: Scope, plan_body: PlanBody, into: Monoid, *, skips_empty: bool
    ) -> Action:
        """Plan a loop that binds key and value; a source that is not stored is bound first.

        ``skips_empty`` if ``body`` adds nothing for an empty row, which a table has and a dictionary has not.
        """

        def over(inner: Term, binders: int) -> Callable[[Scope], Action]:
            moved = shift(body, binders, 2)
            return lambda within: self._loop_over(
                inner, moved, within, plan_body, into, skips_empty=skips_empty
            )

        match source:
            case Let(value, inner) if is_atom(value):
                return over(substitute(inner, value), 0)(scope)
            case Let(value, inner):
                return self._stored(value, scope, is_scanned(inner, 0), over(inner, 1))
            case If(condition, inner) if has_loop(condition):
                return self._stored(
                    condition, scope, False, lambda s: Guard(Variable(0), over(shift(inner, 1), 1)(s))
                )
            case If(condition, inner):
                return Guard(condition, over(inner, 0)(scope.where(condition, self.symbols)))
            case Empty():
                return Together(())
            case _:
                pass
        if end := computed_end(source):
            return self._stored(end, scope, False, over(with_named_end(source, end), 1))
        planned = planned_source(source, self.symbols)
        if planned is None:
            return self._stored(source, scope, True, over(Variable(0), 1))
        extents = source_extents(planned, scope.extents)
        inner_scope = scope.bind(*self._entry(source, planned, scope), extents=extents, loops=1)
        if inner_scope.types[0].rank == 0 or skips_empty:
            return Loop(planned, plan_body(body, inner_scope, into))
        found = ScalarStore(ScalarType.BOOL, "or", False)
        guarded = Guard(Variable(0), plan_body(shift(body, 1), inner_scope.bind((TRUTH_TYPE, TRUTH)), into))
        return Loop(planned, Bind(found, any_entry(inner_scope.types[0].rank), guarded))

    def _entry(self, source: Term, planned: Source, scope: Scope) -> tuple[tuple[Type, Interval], ...]:
        """Return the types and bounds of the key and the value that a loop over ``source`` binds."""
        key, element = binder_bounds(source, self.symbols, scope.intervals)
        match planned:
            case Entries(store):
                stored = self.type_of(source, scope)
                highs = [bounds(extent, self.symbols).high for extent in row_extents(store, scope.extents)]
                keys = [Interval(0, None if high is None else high - 1) for high in highs]
                value = keys[1] if len(keys) > 1 else element
                return (INDEX_TYPE, keys[0]), (Type(stored.scalar, stored.rank - 1), value)
            case Elements(name):
                return (INDEX_TYPE, key), (Type(array(self.symbols, name).element_type), element)
            case Positions() | Matches() | Intersection():
                return (INDEX_TYPE, key), (INDEX_TYPE, element)
