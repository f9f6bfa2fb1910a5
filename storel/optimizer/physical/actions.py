"""Terms to actions: how each sum iterates, and what is stored.

A dictionary becomes an action on a dictionary destination, a scalar an action that accumulates. What
stands where neither can be, a loop inside a product, a dictionary that is looked up or scanned, is
bound to a store first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from storel.calculus.binding import shift, substitute
from storel.calculus.intervals import Interval, binder_bounds, bounds, narrowed
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
from storel.calculus.verify import Type, infer
from storel.optimizer.physical.facts import ZERO, array, is_increasing, size_term
from storel.optimizer.physical.normalize import intersected, is_atom, scaled
from storel.optimizer.physical.stores import choose_store, reduction_store
from storel.plan.binding import store_terms
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


@dataclass(frozen=True, slots=True)
class Scope:
    """Types and integer bounds of the enclosing binders, the innermost first.

    The interval of a store is that of its outermost keys. ``loops`` counts the enclosing loops.
    """

    types: tuple[Type, ...] = ()
    intervals: tuple[Interval, ...] = ()
    loops: int = 0

    def bind(self, *entries: tuple[Type, Interval], loops: int = 0) -> Scope:
        """Enter binders, the outermost first."""
        types = tuple(entry[0] for entry in reversed(entries))
        intervals = tuple(entry[1] for entry in reversed(entries))
        return Scope(types + self.types, intervals + self.intervals, self.loops + loops)


INDEX_TYPE = Type(ScalarType.INT64, 0)


@dataclass
class ActionPlanner:
    """Plans actions over the given symbols."""

    symbols: Symbols

    def rank(self, term: Term, scope: Scope) -> int:
        return self.type_of(term, scope).rank

    def type_of(self, term: Term, scope: Scope) -> Type:
        return infer(term, self.symbols, scope.types)

    def value(self, term: Term, scope: Scope, operator: str) -> Action:
        """Plan ``term``, whatever its rank, into a destination combined by ``operator``."""
        if self.rank(term, scope) > 0:
            return self.dictionary(term, scope, operator)
        return self.scalar(term, scope, operator)

    def dictionary(self, term: Term, scope: Scope, operator: str) -> Action:
        """Plan a term of rank 1 or more."""
        match term:
            case Empty():
                return Together(())
            case Singleton(key, value, semiring):
                if has_loop(key):
                    return self._bound(
                        key, Singleton(Variable(0), shift(value, 1), semiring), scope, operator
                    )
                return Enter(key, self.value(value, scope, operator))
            case Sum() | Merge() | Find():
                return self._loop(term, scope, operator)
            case If(condition, body):
                return self._guard(condition, body, term, scope, operator)
            case Let(value, body):
                return self._let(value, body, scope, operator)
            case Add():
                return self._together(term, scope, operator)
            case Multiply(left, right, semiring):
                return self._product(left, right, semiring, scope, operator)
            case Variable() | Lookup():
                return self._copy(term, scope, operator)
            case Literal() | Symbol() | Range() | Slice() | Reduce() | Apply() | Unique():
                raise AssertionError(f"not a dictionary: {type(term).__name__}")

    def scalar(self, term: Term, scope: Scope, operator: str) -> Action:
        """Plan a term of rank 0: ``operator`` combines what its loops add up."""
        if not has_loop(term):
            return Accumulate(term)
        match term:
            case Sum(semiring=semiring) | Merge(semiring=semiring) | Find(semiring=semiring):
                if SEMIRINGS[semiring].plus_name == operator:
                    return self._loop(term, scope, operator)
                return self._bound(term, Variable(0), scope, operator)
            case Add(semiring=semiring) if SEMIRINGS[semiring].plus_name == operator:
                return self._together(term, scope, operator)
            case If(condition, body, semiring) if SEMIRINGS[semiring].plus_name == operator:
                return self._guard(condition, body, term, scope, operator)
            case Let(value, body):
                return self._let(value, body, scope, operator)
            case Reduce():
                return self._bound(term, Variable(0), scope, operator)
            case _:
                return self._bind_first_loop(term, scope, operator)

    def _bind_first_loop(self, term: Term, scope: Scope, operator: str) -> Action:
        """Bind the first child of ``term`` that contains a loop, and go on with the rest."""
        chosen = next(child for child, binders in children(term) if binders == 0 and has_loop(child))
        replaced = False

        def replace(child: Term, _: int) -> Term:
            nonlocal replaced
            if not replaced and child == chosen:
                replaced = True
                return Variable(0)
            return shift(child, 1)

        return self._bound(chosen, map_children(term, replace), scope, operator)

    def _bound(self, value: Term, body: Term, scope: Scope, operator: str) -> Action:
        """Plan ``let value in body``."""
        return self._let(value, body, scope, operator)

    def _let(self, value: Term, body: Term, scope: Scope, operator: str) -> Action:
        if is_atom(value):
            return self.value(substitute(body, value), scope, operator)
        type_ = self.type_of(value, scope)
        interval = bounds(value, self.symbols, scope.intervals)
        inner = scope.bind((type_, interval))
        if isinstance(value, Reduce):
            store = reduction_store(value.monoid, type_.scalar)
            filled = self._loop_over(value.source, value.body, scope, self.scalar, store.operator)
            return Bind(store, filled, self.value(body, inner, operator))
        ring = SEMIRINGS[semiring_of(value)]
        if type_.rank == 0:
            store = ScalarStore(type_.scalar, ring.plus_name, ring.zero)
            return Bind(store, self.scalar(value, scope, ring.plus_name), self.value(body, inner, operator))
        filled = self.dictionary(value, scope, ring.plus_name)
        chosen = choose_store(filled, body, type_, ring, scope.intervals, scope.loops, self.symbols)
        extent = bounds(store_terms(chosen)[0], self.symbols)
        keys = Interval(0, None if extent.high is None else extent.high - 1)
        return Bind(chosen, filled, self.value(body, scope.bind((type_, keys)), operator))

    def _guard(self, condition: Term, body: Term, term: Term, scope: Scope, operator: str) -> Action:
        if has_loop(condition):
            return self._bind_first_loop(term, scope, operator)
        inner = Scope(scope.types, narrowed(condition, self.symbols, scope.intervals), scope.loops)
        return Guard(condition, self.value(body, inner, operator))

    def _together(self, term: Term, scope: Scope, operator: str) -> Action:
        parts = [self.value(part, scope, operator) for part in addends(term)]
        branches = [part for part in parts if self._is_increasing_scan(part)]
        if len(parts) > 1 and len(branches) == len(parts):
            return Unite(tuple(branch for branch in branches if isinstance(branch, Loop)))
        return Together(tuple(parts))

    def _is_increasing_scan(self, action: Action) -> bool:
        match action:
            case Loop(Elements(name, low, high), Enter(Variable(0), _)):
                return is_increasing(self.symbols, name, low, high)
            case _:
                return False

    def _product(self, left: Term, right: Term, semiring: str, scope: Scope, operator: str) -> Action:
        ranks = self.rank(left, scope), self.rank(right, scope)
        if ranks[0] > 0 and ranks[1] > 0:
            if not _is_store(right):
                body = Multiply(shift(left, 1), Variable(0), semiring)
                return self._bound(right, body, scope, operator)
            return self.dictionary(intersected(left, right, semiring), scope, operator)
        factor, dictionary = (left, right) if ranks[0] == 0 else (right, left)
        if not is_atom(factor):
            return self._bound(factor, Multiply(Variable(0), shift(dictionary, 1), semiring), scope, operator)
        product = scaled(factor, dictionary, semiring)
        if isinstance(product, Multiply):
            product = scaled(factor, _entries_of(dictionary, semiring), semiring)
        return self.dictionary(product, scope, operator)

    def _copy(self, term: Term, scope: Scope, operator: str) -> Action:
        if not _is_store(term):
            assert isinstance(term, Lookup)
            body = Lookup(Variable(0), shift(term.key, 1), term.semiring)
            return self._bound(term.mapping, body, scope, operator)
        return self.dictionary(_entries_of(term, "plus_times"), scope, operator)

    def _loop(self, term: Sum | Merge | Find, scope: Scope, operator: str) -> Action:
        match term:
            case Sum(source, body):
                return self._loop_over(source, body, scope, self.value, operator)
            case Merge(left, right, body):
                sources = self._elements(left), self._elements(right)
                p, x = binder_bounds(left, self.symbols, scope.intervals)
                q, y = binder_bounds(right, self.symbols, scope.intervals)
                inner = scope.bind((INDEX_TYPE, p), (INDEX_TYPE, q), (INDEX_TYPE, x.meet(y)), loops=1)
                return Loop(Intersection(*sources), self.value(body, inner, operator))
            case Find(source, key, body):
                if has_loop(key):
                    replaced = Find(shift(source, 1), Variable(0), shift(body, 1, 1), term.semiring)
                    return self._bound(key, replaced, scope, operator)
                scan = self._elements(source)
                unique = array(self.symbols, scan.array).unique
                unique = unique or is_increasing(self.symbols, scan.array, scan.low, scan.high)
                position, _ = binder_bounds(source, self.symbols, scope.intervals)
                inner = scope.bind((INDEX_TYPE, position), loops=1)
                matches = Matches(scan.array, scan.low, scan.high, key, unique)
                return Loop(matches, self.value(body, inner, operator))

    def _loop_over(
        self,
        source: Term,
        body: Term,
        scope: Scope,
        plan_body: Callable[[Term, Scope, str], Action],
        operator: str,
    ) -> Action:
        """Plan a loop that binds key and value; a source that is not stored is bound first."""
        match source:
            case Let(value, inner):
                moved = Sum(inner, shift(body, 1, 2), _semiring_named(operator))
                return self._let(value, moved, scope, operator)
            case If(condition, inner):
                moved = Sum(inner, body, _semiring_named(operator))
                return self.value(If(condition, moved, _semiring_named(operator)), scope, operator)
            case Empty():
                return Together(())
            case _:
                pass
        planned = self._source(source)
        if planned is None:
            moved = Sum(Variable(0), shift(body, 1, 2), _semiring_named(operator))
            return self._bound(source, moved, scope, operator)
        key, element = binder_bounds(source, self.symbols, scope.intervals)
        if isinstance(planned, Entries):
            stored = self.type_of(source, scope)
            value_type = Type(stored.scalar, stored.rank - 1)
            key = scope.intervals[source.index] if isinstance(source, Variable) else key
        elif isinstance(planned, Elements):
            value_type = Type(array(self.symbols, planned.array).type, 0)
        else:
            value_type = INDEX_TYPE
        inner_scope = scope.bind((INDEX_TYPE, key), (value_type, element), loops=1)
        return Loop(planned, plan_body(body, inner_scope, operator))

    def _source(self, source: Term) -> Source | None:
        match source:
            case Range(low, high):
                return Positions(low, high)
            case Symbol() | Slice(Symbol()):
                return self._elements(source)
            case Slice(Range(first, last), low, high):
                return Positions(Apply("maximum", (first, low)), Apply("minimum", (last, high)))
            case _:
                return Entries(source) if _is_store(source) else None

    def _elements(self, source: Term) -> Elements:
        match source:
            case Symbol(name):
                return Elements(name, ZERO, size_term(self.symbols, array(self.symbols, name).length))
            case Slice(Symbol(name), low, high):
                return Elements(name, low, high)
            case Slice(Slice(inner, first, last), low, high):
                ends = Apply("maximum", (first, low)), Apply("minimum", (last, high))
                return self._elements(Slice(inner, *ends))
            case _:
                raise AssertionError(f"not an array: {type(source).__name__}")


def has_loop(term: Term) -> bool:
    """Return whether evaluating ``term`` needs a loop or a store."""
    if isinstance(term, Sum | Reduce | Merge | Find | Singleton | Empty):
        return True
    if isinstance(term, Lookup) and not isinstance(term.mapping, Symbol):
        return not _is_store(term.mapping) or has_loop(term.key)
    return any(has_loop(child) for child, _ in children(term))


def addends(term: Term) -> list[Term]:
    """Return the terms that a nest of additions over one semiring adds up."""
    if isinstance(term, Add):
        return [part for side in (term.left, term.right) for part in _same_addends(side, term.semiring)]
    return [term]


def _same_addends(term: Term, semiring: str) -> list[Term]:
    return addends(term) if isinstance(term, Add) and term.semiring == semiring else [term]


def semiring_of(term: Term) -> str:
    """Return the semiring in which the outermost operation of ``term`` adds."""
    match term:
        case Sum() | Merge() | Find() | Add() | If() | Multiply() | Lookup() | Singleton():
            return term.semiring
        case Let(_, value):
            return semiring_of(value)
        case _:
            return "plus_times"


def _semiring_named(operator: str) -> str:
    """Return a semiring that adds by ``operator``; which of them does not matter to a loop."""
    names = [name for name, ring in SEMIRINGS.items() if ring.plus_name == operator]
    return names[0] if names else "plus_times"


def _is_store(term: Term) -> bool:
    """Return whether ``term`` denotes a bound dictionary or a part of one."""
    match term:
        case Variable():
            return True
        case Lookup(mapping, key):
            return _is_store(mapping) and not has_loop(key)
        case _:
            return False


def _entries_of(store: Term, semiring: str) -> Term:
    return Sum(store, Singleton(Variable(1), Variable(0), semiring), semiring)
