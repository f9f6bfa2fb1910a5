"""Binds of a plan to statements: a store is laid out, filled, and used."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from typing import TypeAlias

from storel.calculus.intervals import ANY, Interval
from storel.calculus.nodes import Term
from storel.errors import Cause
from storel.loops.emitter import ALWAYS, BEYOND, both, compare, convert, index, times
from storel.loops.lowering.expressions import ExpressionLowering
from storel.loops.lowering.hashing import HashTarget, clear, open_table, sort_slots
from storel.loops.lowering.rows import RowsTarget, fill_counted, row_buffers
from storel.loops.lowering.scope import Arrived, HashRow, HashTable, Occupied, Rows, Scope, Value, View
from storel.loops.lowering.stores import (
    ListTarget,
    StreamTarget,
    TableTarget,
    clear_list,
    clear_table,
    list_buffers,
    sort_list,
)
from storel.loops.lowering.targets import (
    AssignTarget,
    Limit,
    LocalTarget,
    SeenTarget,
    Target,
    accumulating,
    furthest,
)
from storel.loops.nodes import Buffer, Constant, Expression, Failure, Load
from storel.loops.protocol import LENGTHS
from storel.plan.arrays import store_name
from storel.plan.binding import fills_rows, is_scanned, store_terms
from storel.plan.nodes import (
    ANY_KEY,
    Accumulate,
    Action,
    Bind,
    HashStore,
    ListStore,
    RowsStore,
    ScalarStore,
    Store,
    StreamStore,
    TableStore,
)
from storel.plan.single import adds_one_value, adds_values_where
from storel.semiring import Scalar

Counted: TypeAlias = tuple[HashStore, HashTable] | tuple[RowsStore, Rows]
"""A store whose entries are counted beforehand, and where it is."""


@dataclass(frozen=True, slots=True)
class Request:
    """A workspace that an action needs: places that hold ``fill`` at first, and where there is no mark.

    If they ``are_bits``, as many lie in each element as it has bits.
    """

    buffer: Buffer
    extents: tuple[Term, ...]
    fill: Scalar | None
    marks: Buffer | None = None
    are_bits: bool = False


@dataclass
class BindingLowering:
    """Lowers binds at the emitter's cursor; notes the workspaces and counted stores that they need.

    ``run`` emits an action on a target. The capacities of the tables are elements of ``LENGTHS``, from the
    element ``lengths`` on.
    """

    expressions: ExpressionLowering
    run: Callable[[Action, Target, Scope], None]
    requests: list[Request] = field(default_factory=list[Request])
    tables: list[Counted] = field(default_factory=list["Counted"])
    lengths: int = 0

    def __post_init__(self) -> None:
        self.emitter = self.expressions.emitter

    @contextmanager
    def again(self) -> Generator[None]:
        """Emit what is emitted again afterwards: both use the same workspaces and stores."""
        requests, tables = len(self.requests), len(self.tables)
        yield
        del self.requests[requests:]
        del self.tables[tables:]

    def bind(self, action: Bind, target: Target, scope: Scope) -> None:
        """Emit what fills the store, and then what uses it, which goes to ``target``."""
        store = action.store
        match store:
            case ScalarStore():
                local, interval = self._scalar(store, action.value, scope)
                self.run(action.body, target, scope.bind(Value(local), interval))
            case TableStore():
                view, length = self._table(store)
                if self.emitter.depth > 0:
                    clear_table(self.emitter, view, length)
                self.run(action.value, TableTarget(self.emitter, view), scope)
                self.run(action.body, target, scope.bind(view, ANY))
            case ListStore():
                view = self._list(store)
                self.run(action.value, ListTarget(self.emitter, view), scope)
                if is_scanned(action.body):
                    sort_list(self.emitter, view)
                self.run(action.body, target, scope.bind(view, ANY))
                clear_list(self.emitter, view)
            case StreamStore():
                self._stream(action, store, target, scope)
            case HashStore():
                self._hash(action, store, target, scope)
            case RowsStore():
                rows = self._rows(store, action.value, scope)
                self.run(action.body, target, scope.bind(rows, ANY))

    def _scalar(self, store: ScalarStore, value: Action, scope: Scope) -> tuple[Expression, Interval]:
        if adds_one_value(value):
            target = AssignTarget(self.emitter, "t", store.type)
            self.run(value, target, scope)
            assert target.local is not None
            interval = self.expressions.interval(value.value, scope) if isinstance(value, Accumulate) else ANY
            return target.local, interval
        zero = furthest(store.operator, store.type) if store.zero is None else store.zero
        local = self.emitter.declare("t", convert(Constant(zero, store.type), store.type))
        is_unguarded = self.expressions.is_unguarded
        target = accumulating(self.emitter, local, store.operator, is_unguarded=is_unguarded)
        if store.zero is not None:
            self.run(value, target, scope)
        else:
            is_any = self._extreme(target, value, scope)
            failure = Failure(Cause.NOTHING, f"the {store.operator} of no entries", store.operator)
            self.emitter.fail_unless(is_any, failure, index(0))
        return local, ANY

    def _extreme(self, target: LocalTarget, value: Action, scope: Scope) -> Expression:
        """Emit what looks for the least or greatest value; return whether there is one."""
        conditions = adds_values_where(value)
        if conditions is not None:
            self.run(value, target, scope)
            open_ = [each for each in conditions if not self.expressions.holds(each, scope)]
            return reduce(both, (self.expressions.condition(each, scope) for each in open_), ALWAYS)
        seen = self.emitter.declare("seen", index(0))
        self.run(value, SeenTarget(self.emitter, target.local, target.operator, seen=seen), scope)
        return compare("greater", seen, index(0))

    def _stream(self, action: Bind, store: StreamStore, target: Target, scope: Scope) -> None:
        """Emit what makes entries, and what uses them wherever one is made, with the same workspaces."""
        zero = convert(Constant(store.zero, store.type), store.type)
        assert isinstance(zero, Constant)
        _, (extent,) = self.expressions.extents((store.extent,))
        before: list[int] = []

        def use(key: Expression, value: Expression) -> None:
            before[:] = before or (len(self.requests), len(self.tables))
            del self.requests[before[0] :], self.tables[before[1] :]
            self.run(action.body, target, scope.bind(Arrived(key, value, zero, extent), ANY))

        made = StreamTarget(self.emitter, store.operator, Limit(extent, zero), use)
        self.run(action.value, made, scope)

    def _table(self, store: TableStore) -> tuple[View, Expression]:
        buffer = Buffer(f"table.{len(self.requests)}", store.type)
        self.requests.append(Request(buffer, store.extents, store.zero))
        extents, limits = self.expressions.extents(store.extents)
        length = reduce(times, extents, index(1))
        return View(buffer, index(0), extents, limits, store.zero, store.operator), length

    def _list(self, store: ListStore) -> View:
        number = len(self.requests)
        buffer = Buffer(f"list.{number}", store.type)
        places, marks = list_buffers(number)
        self.requests.append(Request(buffer, (store.extent,), store.zero, marks))
        self.requests.append(Request(places, (store.extent,), None))
        self.requests.append(Request(marks, (store.extent,), 0, are_bits=True))
        count = self.emitter.declare("count", index(0))
        extents, limits = self.expressions.extents((store.extent,))
        occupied = Occupied(places, marks, count)
        return View(buffer, index(0), extents, limits, store.zero, store.operator, occupied)

    def _hash(self, action: Bind, store: HashStore, target: Target, scope: Scope) -> None:
        number = len(self.tables)
        capacity = Load(LENGTHS, index(self.lengths + number))
        table = open_table(self.emitter, number, store, capacity)
        self.tables.append((store, table))
        extents, limits = self.expressions.extents(store.extents)
        if store.extents == (ANY_KEY,):
            extents, limits = (index(BEYOND),), (BEYOND,)
        row = HashRow(table, index(0), extents, limits, (index(0), table.count))
        self.run(action.value, HashTarget(self.emitter, row), scope)
        if is_scanned(action.body):
            sort_slots(self.emitter, table)
        self.run(action.body, target, scope.bind(row, ANY))
        if self.emitter.depth > 0:
            clear(self.emitter, table)

    def _rows(self, store: RowsStore, value: Action, scope: Scope) -> Rows:
        rows = Rows(*row_buffers(len(self.tables), store.type), *self.expressions.extents(store.extents))
        self.tables.append((store, rows))
        if not fills_rows(value, store.extents[0]):
            fill_counted(self.emitter, rows, store, lambda target: self.run(value, target, scope))
            return rows
        workspace = self._list(ListStore(store.type, store.operator, store.zero, store.extents[1]))
        self.run(value, RowsTarget(self.emitter, rows, workspace), scope)
        return rows


def given(stores: tuple[Store, ...], expressions: ExpressionLowering) -> Scope:
    """Return the scope of what is bound by ``stores``, the last one first, that other kernels filled."""
    scope = Scope()
    for number, store in enumerate(reversed(stores)):
        buffer = store_buffer(number, store)
        if isinstance(store, ScalarStore):
            scope = scope.bind(Value(Load(buffer, index(0))), ANY)
            continue
        assert isinstance(store, TableStore)
        view = View(buffer, index(0), *expressions.extents(store_terms(store)), store.zero, store.operator)
        scope = scope.bind(view, ANY)
    return scope


def store_buffer(number: int, store: Store) -> Buffer:
    """Return the input that holds what the store with this number, in order of filling, was filled with."""
    return Buffer(store_name(number), store.type)
