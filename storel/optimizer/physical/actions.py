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
from storel.calculus.bounds import bounds
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
)
from storel.calculus.strictness import strict
from storel.calculus.verify import Type, infer
from storel.optimizer.estimation.cardinality import appraise
from storel.optimizer.physical.arrivals import in_turn
from storel.optimizer.physical.facts import united
from storel.optimizer.physical.normalize import is_atom
from storel.optimizer.physical.operands import copied, multiplied, with_named_end, with_named_loop
from storel.optimizer.physical.preferences import StoreKind
from storel.optimizer.physical.reductions import (
    StoredEntries,
    any_entry,
    row_by_row,
    stored_entries,
    stored_rows,
)
from storel.optimizer.physical.scope import Monoid, Scope, sum_over
from storel.optimizer.physical.shape import addends, has_loop, semiring_of
from storel.optimizer.physical.sources import intersection, matches, scan, without_ranges
from storel.optimizer.physical.stores import choose_store, in_rows, in_stream, is_scanned, reduction_store
from storel.optimizer.terms.present import without_questions
from storel.plan.binding import store_terms
from storel.plan.nodes import (
    Accumulate,
    Action,
    Bind,
    Enter,
    Guard,
    Loop,
    ScalarStore,
    Together,
    Unite,
)
from storel.scalars import ScalarType
from storel.semiring import SEMIRINGS
from storel.symbols import Symbols

PlanBody: TypeAlias = Callable[[Term, Scope, Monoid], Action]

TRUTH_TYPE = Type(ScalarType.BOOL)


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
            case Singleton(key, value):
                if has_loop(key):
                    return self.dictionary(with_named_loop(term), scope, into)
                return Enter(key, self.value(value, scope, into))
            case Sum() | Merge() | Find():
                return self._loop(term, scope, into)
            case If():
                return self._guard(term, scope, into)
            case Let(value, body):
                return self._let(value, body, scope, into)
            case Add():
                return self._together(term, scope, into)
            case Multiply(left, right):
                ranks = self.rank(left, scope), self.rank(right, scope)
                return self.dictionary(multiplied(term, ranks), scope, into)
            case Variable() | Lookup():
                return self.dictionary(copied(term), scope, into)
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
            case If(semiring=semiring) if sum_over(semiring) == into:
                return self._guard(term, scope, into)
            case Let(value, body):
                return self._let(value, body, scope, into)
            case Lookup() if named := with_named_end(term):
                return self.scalar(named, scope, into)
            case Reduce() | If():
                return self._let(term, Variable(0), scope, into)
            case _:
                return self.scalar(with_named_loop(term), scope, into)

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
            entered = scan(sources[0], scope, self.symbols)
            assert entered is not None
            planned, inner = entered
            return Loop(planned, self._reduced_entries(sources[1:], entries, inner, into))
        question = Apply("not_equal", (entries.value, entries.zero))
        if isinstance(without_questions(question, self.symbols), Literal):  # all that is stored is an entry
            return self.value(substitute(entries.body, entries.value), scope, into)
        is_entry = Apply("not_equal", (Variable(0), entries.zero))
        return self._stored(
            entries.value, scope, False, lambda s: Guard(is_entry, self.value(entries.body, s, into))
        )

    def _guard(self, term: If, scope: Scope, into: Monoid) -> Action:
        if has_loop(term.condition):
            return self.value(with_named_loop(term), scope, into)
        within = scope.where(term.condition, self.symbols)
        return Guard(term.condition, self.value(term.body, within, into))

    def _together(self, term: Term, scope: Scope, into: Monoid) -> Action:
        parts = [self.value(part, scope, into) for part in addends(term)]
        if branches := united(parts, scope.intervals, self.symbols):
            return Unite(branches)
        is_dictionary = len(parts) > 1 and self.rank(term, scope) > 0
        return Together(tuple(in_turn(parts, scope, self.symbols) if is_dictionary else parts))

    def _loop(self, term: Sum | Merge | Find, scope: Scope, into: Monoid) -> Action:
        match term:
            case Sum() if rows := stored_rows(term, self.symbols) or row_by_row(term, self.symbols):
                assert isinstance(rows, Sum)
                return self._loop(rows, scope, into)
            case Sum() if entries := stored_entries(term, self.symbols):
                return self._reduced_entries(entries.sources, entries, scope, into)
            case Merge() | Find() if simpler := without_ranges(term) or with_named_end(term):
                return self.value(simpler, scope, into)
            case Sum(source, body, semiring):
                skips_empty = strict(body, 0, semiring)
                return self._loop_over(source, body, scope, self.value, into, skips_empty=skips_empty)
            case Merge(left, right, body):
                planned, inner = intersection(left, right, scope, self.symbols)
                return Loop(planned, self.value(body, inner, into))
            case Find(_, key) if has_loop(key):
                return self.value(with_named_loop(term), scope, into)
            case Find(source, key, body):
                planned, inner = matches(source, key, scope, self.symbols)
                return Loop(planned, self.value(body, inner, into))

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
            case Range() | Slice() if named := with_named_end(source):
                return self._stored(named.value, scope, False, over(named.body, 1))
            case _:
                pass
        entered = scan(source, scope, self.symbols)
        if entered is None:
            return self._stored(source, scope, True, over(Variable(0), 1))
        planned, within = entered
        if within.types[0].rank == 0 or skips_empty:
            return Loop(planned, plan_body(body, within, into))
        found = ScalarStore(ScalarType.BOOL, "or", False)
        guarded = Guard(Variable(0), plan_body(shift(body, 1), within.bind((TRUTH_TYPE, TRUTH)), into))
        return Loop(planned, Bind(found, any_entry(within.types[0].rank), guarded))
