"""Loop-free scalar terms of the calculus to expressions of the loop IR.

Laws that hold of what is generated:

- an array is read in bounds: either the intervals of the calculus prove it, or a check precedes it;
- where a zero meets inf or NaN under ``times`` the product is zero, by a guard unless they never meet;
- the body of an ``if`` is evaluated only where its condition holds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from storel.calculus.bounds import bounds
from storel.calculus.domains import bounds_within, holds
from storel.calculus.intervals import Interval
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
from storel.calculus.reads import ends
from storel.errors import Cause
from storel.loops.emitter import (
    INDEX,
    Emitter,
    arithmetic,
    between,
    convert,
    holding_zero,
    index,
    plus,
)
from storel.loops.lowering.hashing import find, row_at
from storel.loops.lowering.operations import apply, check_exponent, product, remainder
from storel.loops.lowering.rows import stored_row
from storel.loops.lowering.scope import Arrived, HashRow, Rows, Scope, Stored, StoredRow, Value, View
from storel.loops.lowering.stores import found_in, missing_over, row_of
from storel.loops.nodes import (
    Assign,
    Binary,
    Buffer,
    Constant,
    Expression,
    Fail,
    Failure,
    Load,
    Local,
    Role,
    Select,
    Unary,
)
from storel.loops.nodes import If as Branch
from storel.loops.types import type_of
from storel.loops.walk import walk
from storel.scalars import ScalarType
from storel.semiring import SEMIRINGS
from storel.symbols import ArraySymbol, EndSymbol, MappingSymbol, ParameterSymbol, SizeSymbol, Symbols

SMALL_SIZE = 128
"""Sizes up to this one become constants of the kernel, so that short inner loops unroll."""

OUTSIDE_PART = Failure(Cause.READ, "a range or part of an array is read at position {}, outside of it")


@dataclass
class ExpressionLowering:
    """Lowers scalar terms at the emitter's cursor; notes which parameters and checks they need."""

    emitter: Emitter
    symbols: Symbols
    is_unguarded: bool

    def lower(self, term: Term, scope: Scope, role: Role = Role.VALUE) -> Expression:
        """Return an expression for ``term``; its arithmetic counts as ``role``."""
        match term:
            case Variable(position):
                return self._variable(scope, position)
            case Literal(value, scalar_type):
                return Constant(value, scalar_type)
            case Symbol(name):
                return self.symbol(name)
            case Lookup(mapping, key, semiring):
                return self._lookup(mapping, key, semiring, scope)
            case Add(left, right, semiring):
                operator = SEMIRINGS[semiring].plus_name
                one, two = self.lower(left, scope, role), self.lower(right, scope, role)
                return arithmetic(operator, holding_zero(one, semiring), two, role)
            case Multiply(left, right, semiring):
                one, two = self.lower(left, scope, role), self.lower(right, scope, role)
                return product(self.emitter, semiring, one, two, role, is_unguarded=self.is_unguarded)
            case Apply("and" | "or" as operator, (left, right)):
                return self._connected(operator, left, right, scope, role)
            case Apply("modulo", (number, divisor)) if self._turns_once(number, divisor, scope):
                one, two = self.key(number, scope), self.key(divisor, scope)
                return remainder(self.emitter, one, two, self.interval(number, scope), role)
            case Apply(function, arguments):
                operands = [self.lower(argument, scope, role) for argument in arguments]
                if function == "power" and not self.interval(arguments[1], scope).is_natural:
                    check_exponent(self.emitter, *operands)
                return apply(self.emitter, function, operands, role)
            case If(condition, body, semiring):
                return self._conditional(condition, body, semiring, scope, role)
            case Let(value, body):
                local = self.emitter.declare("t", self.lower(value, scope, role))
                return self.lower(body, scope.bind(Value(local), self.interval(value, scope)), role)
            case Unique(key):
                return self.lower(key, scope, role)
            case Sum() | Reduce() | Merge() | Find() | Singleton() | Empty() | Range() | Slice():
                raise AssertionError(f"not a loop-free scalar: {type(term).__name__}")

    def _turns_once(self, number: Term, divisor: Term, scope: Scope) -> bool:
        """Return whether it takes an addition or a subtraction at most to have the remainder of an index."""
        interval, least = self.interval(number, scope), self.interval(divisor, scope).low
        is_index = not interval.is_short
        return is_index and least is not None and least > 0 and interval.within(-least, 2 * least - 1)

    def key(self, term: Term, scope: Scope) -> Expression:
        """Return ``term`` as an int64 index; its arithmetic is not of values."""
        return convert(self.lower(term, scope, Role.INDEX), INDEX)

    def condition(self, term: Term, scope: Scope) -> Expression:
        """Return ``term`` as a truth value; its arithmetic is not of values."""
        return convert(self.lower(term, scope, Role.INDEX), ScalarType.BOOL)

    def interval(self, term: Term, scope: Scope) -> Interval:
        """Return what is known about the integer ``term``."""
        return bounds(term, self.symbols, scope.intervals)

    def extents(self, terms: tuple[Term, ...]) -> tuple[tuple[Expression, ...], tuple[int, ...]]:
        """Return closed terms as indices, and what they are for the data at hand."""
        return tuple(self.key(term, Scope()) for term in terms), tuple(map(self._known, terms))

    def _known(self, extent: Term) -> int:
        interval = self.interval(extent, Scope())
        assert interval.low is not None and interval.low == interval.high
        return interval.low

    def is_within(self, key: Term, length: int, scope: Scope) -> bool:
        """Return whether ``key`` is proved to be in 0:length."""
        if self.interval(key, scope).within(0, length - 1):
            return True
        return bounds_within(key, self.symbols, scope.intervals, scope.domains).within(0, length - 1)

    def holds(self, condition: Term, scope: Scope) -> bool:
        """Return whether ``condition`` is proved to hold."""
        return holds(condition, self.symbols, scope.intervals, scope.domains)

    def symbol(self, name: str) -> Expression:
        """Return the size, as a constant if small, or the scalar parameter ``name``."""
        fact = self.symbols[name]
        match fact:
            case SizeSymbol(_, value):
                return index(value) if value <= SMALL_SIZE else Local(name, INDEX)
            case EndSymbol():
                return Local(name, INDEX)
            case ParameterSymbol(_, scalar_type):
                return Local(name, scalar_type)
            case ArraySymbol() | MappingSymbol():
                raise AssertionError(f"{name} used as a scalar")

    def array(self, name: str) -> Buffer:
        """Return the input buffer of an array."""
        fact = self.symbols[name]
        assert isinstance(fact, ArraySymbol)
        return Buffer(name, fact.type, Role.VALUE if fact.type.is_real else Role.INDEX)

    def view(self, term: Term, scope: Scope) -> Stored:
        """Return the store, or part of a store, that ``term`` denotes."""
        if isinstance(term, Lookup):
            view = self.view(term.mapping, scope)
            match view:
                case View():
                    return self._row_of(view, term.key, scope)
                case HashRow():
                    return row_at(self.emitter, view, *self._key_inside(term.key, view, scope))
                case Rows():
                    return stored_row(self.emitter, view, *self._key_inside(term.key, view, scope))
                case StoredRow() | Arrived():
                    raise AssertionError("it has one level")
        assert isinstance(term, Variable)
        view = scope.bindings[term.index]
        assert not isinstance(view, Value)
        return view

    def _row_of(self, view: View, key: Term, scope: Scope) -> View:
        """Return the part of ``view`` under ``key``; one without places where there is no such key."""
        if self._is_key(key, view, scope):
            return row_of(self.emitter, view, self.key(key, scope))
        position, inside = self._key_inside(key, view, scope)
        assert inside is not None
        exists = self.emitter.declare("exists", inside)
        row = row_of(self.emitter, view, Select(exists, position, index(0)))
        first, *inner = row.extents
        return replace(row, extents=(Select(exists, first, index(0)), *inner), certain=False)

    def _is_key(self, key: Term, store: View | HashRow | Rows, scope: Scope) -> bool:
        """Return whether ``store`` is proved to have a place for ``key``."""
        is_certain = store.certain if isinstance(store, View) else True
        return is_certain and self.is_within(key, store.limits[0], scope)

    def _key_inside(
        self, key: Term, row: View | HashRow | Rows, scope: Scope
    ) -> tuple[Expression, Expression | None]:
        """Return ``key``, and the condition that ``row`` may have it, None if that is proved."""
        position = self.emitter.declare("at", self.key(key, scope))
        return position, None if self._is_key(key, row, scope) else between(position, row.extents[0])

    def _variable(self, scope: Scope, position: int) -> Expression:
        binding = scope.bindings[position]
        assert isinstance(binding, Value)
        return binding.expression

    def _lookup(self, mapping: Term, key: Term, semiring: str, scope: Scope) -> Expression:
        position = self.key(key, scope)
        if isinstance(mapping, Symbol | Range | Slice):
            return self._element(mapping, key, position, scope)
        view = self.view(mapping, scope)
        assert isinstance(view, View | HashRow) and len(view.extents) == 1
        if isinstance(view, HashRow):
            found = find(self.emitter, view, *self._key_inside(key, view, scope))
            return missing_over(self.emitter, semiring, found, view.table.zero.value)
        found = found_in(self.emitter, view, position, is_inside=self._is_key(key, view, scope))
        return missing_over(self.emitter, semiring, found, view.zero)

    def _element(self, array: Term, key: Term, position: Expression, scope: Scope) -> Expression:
        """Return the element of an array, a range or a part of one at ``position``, which ``key`` denotes."""
        match array:
            case Symbol(name):
                fact = self.symbols[name]
                assert isinstance(fact, ArraySymbol)
                if not self.is_within(key, fact.length, scope):
                    position = self.emitter.declare("at", position)
                    self.emitter.fail_unless(
                        between(position, index(fact.length)), self._outside(array), position
                    )
                return convert(Load(self.array(name), position), fact.element_type)
            case Range(low, high):
                return self._checked(low, key, high, position, scope)
            case Slice(whole, low, high):
                self.segment(whole, low, high, scope)
                return self._element(whole, key, self._checked(low, key, high, position, scope), scope)
            case _:
                raise AssertionError(f"not an array: {type(array).__name__}")

    def segment(self, array: Term, low: Term, high: Term, scope: Scope) -> tuple[Expression, Expression]:
        """Return the ends of ``array(low:high)``, below a check that it is empty or inside of the array."""
        first, last = self.key(low, scope), self.key(high, scope)
        start, end = ends(array, self.symbols)
        bounded = Apply("and", (Apply("less_equal", (start, low)), Apply("less_equal", (high, end))))
        if self.holds(bounded, scope):
            return first, last
        first, last = self.emitter.declare("first", first), self.emitter.declare("last", last)
        starts = Binary("less_equal", self.key(start, scope), first)
        inside = Binary("and", starts, Binary("less_equal", last, self.key(end, scope)))
        accepted = Binary("or", Binary("less_equal", last, first), inside)
        self.emitter.fail_unless(accepted, self._outside(array), Select(starts, plus(last, index(-1)), first))
        return first, last

    def _outside(self, array: Term) -> Failure:
        """Return the failure of a read of ``array`` outside of it."""
        if not isinstance(array, Symbol):
            return OUTSIDE_PART
        fact = self.symbols[array.name]
        assert isinstance(fact, ArraySymbol)
        message = f"array {array.name} is read at position {{}}, outside 0:{fact.length}"
        return Failure(Cause.READ, message, array.name)

    def _checked(self, low: Term, key: Term, high: Term, position: Expression, scope: Scope) -> Expression:
        """Return ``position``, which ``key`` denotes, below a check that it is in ``low:high``."""
        inside = Apply("and", (Apply("less_equal", (low, key)), Apply("less", (key, high))))
        if self.holds(inside, scope):
            return position
        position = self.emitter.declare("at", position)
        is_behind = Binary("less_equal", self.key(low, scope), position)
        is_before = Binary("less", position, self.key(high, scope))
        self.emitter.fail_unless(Binary("and", is_behind, is_before), OUTSIDE_PART, position)
        return position

    def _connected(self, operator: str, left: Term, right: Term, scope: Scope, role: Role) -> Expression:
        """Return ``and`` or ``or``; where the left side is the answer, nothing fails on the right side."""
        one = convert(self.lower(left, scope, role), ScalarType.BOOL)
        with self.emitter.block() as inside:
            other = convert(self.lower(right, scope, role), ScalarType.BOOL)
        if not any(isinstance(statement, Fail) for statement in walk(tuple(inside))):
            self.emitter.emit(*inside)
            return Binary(operator, one, other, role)
        found = self.emitter.declare("holds", one)
        is_open = found if operator == "and" else Unary("not", found)
        self.emitter.emit(Branch(is_open, (*inside, Assign(found, other))))
        return found

    def _conditional(
        self, condition: Term, body: Term, semiring: str, scope: Scope, role: Role
    ) -> Expression:
        if self.holds(condition, scope):
            return holding_zero(self.lower(body, scope, role), semiring)
        test, body, inner = self._tests(condition, body, semiring, scope)
        with self.emitter.block() as inside:
            value = holding_zero(self.lower(body, inner, role), semiring)
        scalar_type = type_of(value)
        zero = convert(Constant(SEMIRINGS[semiring].zero, scalar_type), scalar_type)
        if isinstance(value, Constant | Local) and not inside:
            return Select(test, value, zero)
        chosen = self.emitter.declare("chosen", zero)
        is_total = not inside and self._is_total(body, value, semiring, scope, role)
        self.emitter.emit(Branch(test, (*inside, Assign(chosen, value)), (), is_total))
        return chosen

    def _tests(
        self, condition: Term, body: Term, semiring: str, scope: Scope
    ) -> tuple[Expression, Term, Scope]:
        """Return a condition, with those that ``body`` begins with, the rest of it, and its scope."""
        test, inner = self.condition(condition, scope), scope.narrowed(condition, self.symbols)
        while isinstance(body, If) and body.semiring == semiring and not self.holds(body.condition, inner):
            with self.emitter.block() as inside:
                further = self.condition(body.condition, inner)
            if inside:
                break
            test = Binary("and", test, further)
            body, inner = body.body, inner.narrowed(body.condition, self.symbols)
        return test, body, inner

    def _is_total(self, body: Term, value: Expression, semiring: str, scope: Scope, role: Role) -> bool:
        """Return whether ``body`` is ``value``, without any check, whatever the condition before it says."""
        with self.emitter.block() as inside:
            always = holding_zero(self.lower(body, scope, role), semiring)
        return not inside and always == value
