"""Actions of a plan to statements: each is run on a target (destination passing).

The plan has made every choice; here each is carried out.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from storel.calculus.intervals import Interval
from storel.calculus.nodes import Term, Variable
from storel.errors import Cause
from storel.loops.emitter import between, convert, index, times
from storel.loops.lowering.coiteration import Part
from storel.loops.lowering.expressions import ExpressionLowering
from storel.loops.lowering.hashing import HashTarget, clear, open_table, sort_slots
from storel.loops.lowering.iteration import IterationLowering
from storel.loops.lowering.profile import Profile
from storel.loops.lowering.rows import RowsTarget, row_buffers
from storel.loops.lowering.scope import HashRow, HashTable, Occupied, Rows, Scope, Value, View
from storel.loops.lowering.single import adds_one_value, light_value
from storel.loops.lowering.stores import (
    ListTarget,
    TableTarget,
    clear_list,
    clear_table,
    list_buffers,
    sort_list,
)
from storel.loops.lowering.targets import (
    AssignTarget,
    FirstLocalTarget,
    LocalTarget,
    NowhereTarget,
    Target,
    add_where,
)
from storel.loops.nodes import Buffer, Constant, Expression, Failure, Load, Role
from storel.loops.nodes import If as Branch
from storel.loops.protocol import LENGTHS
from storel.plan.arrays import store_name
from storel.plan.binding import is_scanned, store_terms
from storel.plan.nodes import (
    Accumulate,
    Action,
    Bind,
    Enter,
    Guard,
    HashStore,
    ListStore,
    Loop,
    RowsStore,
    ScalarStore,
    Source,
    Store,
    TableStore,
    Together,
    Unite,
)
from storel.scalars import ScalarType
from storel.semiring import Scalar

MOST_IN_REGIONS = 4
"""Branches up to which a union is a loop for each set of them, of which there are 2ⁿ - 1."""


Counted: TypeAlias = tuple[HashStore, HashTable] | tuple[RowsStore, Rows]
"""A store whose entries are counted beforehand, and where it is."""


@dataclass(frozen=True, slots=True)
class Request:
    """A workspace that an action needs: places that hold ``fill`` at first, and where there is no mark."""

    buffer: Buffer
    extents: tuple[Term, ...]
    fill: Scalar | None
    marks: Buffer | None = None


@dataclass
class ActionLowering:
    """Lowers actions at the emitter's cursor; notes the workspaces and counted stores that they need.

    The capacities of the tables are elements of ``LENGTHS``, from the element ``lengths`` on.
    """

    expressions: ExpressionLowering
    role: Role = Role.VALUE
    profile: Profile | None = None
    requests: list[Request] = field(default_factory=list[Request])
    tables: list[Counted] = field(default_factory=list["Counted"])
    lengths: int = 0

    def __post_init__(self) -> None:
        self.emitter = self.expressions.emitter
        self.iteration = IterationLowering(self.expressions)

    def given(self, stores: tuple[Store, ...]) -> Scope:
        """Return the scope of what is bound by ``stores``, the last one first, that other kernels filled."""
        scope = Scope()
        for number, store in enumerate(reversed(stores)):
            buffer = store_buffer(number, store)
            extents = store_terms(store)
            if isinstance(store, ScalarStore):
                scope = scope.bind(Value(Load(buffer, index(0))), Interval())
                continue
            assert isinstance(store, TableStore)
            lengths = tuple(self.expressions.key(extent, Scope()) for extent in extents)
            view = View(buffer, index(0), lengths, self.limits(extents), store.zero, store.operator)
            scope = scope.bind(view, Interval())
        return scope

    def run(self, action: Action, target: Target, scope: Scope) -> None:
        """Emit ``action`` on ``target``."""
        count = self._counter()
        if not isinstance(action, Loop | Guard | Unite):
            count()
        match action:
            case Accumulate(value):
                target.add(self.expressions.lower(value, scope, self.role))
            case Enter(key, body):
                child = self.expressions.key(key, scope)

                def fill(child: Target) -> None:
                    self.run(body, child, scope)

                self._enter(target, child, fill, ((key, scope),), is_simple=adds_one_value(body))
            case Loop(source, body):

                def iterate(inner: Scope) -> None:
                    count()
                    self.run(body, target, inner)

                self.iteration.loop(source, scope, iterate)
            case Guard(condition, body) if self.expressions.holds(condition, scope):
                count()
                self.run(body, target, scope)
            case Guard(condition, body):
                test = self.expressions.condition(condition, scope)
                inner = scope.narrowed(condition, self.expressions.symbols)
                with self.emitter.block() as statements:
                    count()
                    self.run(body, target, inner)
                self.emitter.emit(Branch(test, tuple(statements)))
            case Bind():
                self._bind(action, target, scope)
            case Together(actions):
                for part in actions:
                    self.run(part, target, scope)
            case Unite(branches):
                self._unite(branches, target, scope, count)

    def _enter(
        self,
        target: Target,
        key: Expression,
        fill: Callable[[Target], None],
        terms: Iterable[tuple[Term, Scope]],
        *,
        is_simple: bool,
    ) -> None:
        """Emit ``fill`` of the child at ``key``, which is one of ``terms``, each in its scope.

        Unless all are proved to be within the target's limit, the kernel decides. What would arrive outside
        is computed even so, since it may be zero.
        """
        limit = target.limit
        is_within = self.expressions.is_within
        if limit is None or all(is_within(term, limit.extent, inner) for term, inner in terms):
            target.enter(key, fill, is_simple=is_simple)
            return
        key = self.emitter.declare("key", key)
        message = f"a key of the result is {{}}, {self._why_refused(limit.extent, terms)}"
        failure = Failure(Cause.KEY, message)

        def require(is_zero: Expression) -> None:
            self.expressions.fail_unless(is_zero, failure, key)

        with self._again(), self.emitter.block() as outside:
            fill(NowhereTarget(self.emitter, limit.zero, require))
        with self.emitter.block() as inside:
            target.enter(key, fill, is_simple=is_simple)
        self.emitter.emit(Branch(between(key, index(limit.extent)), tuple(inside), tuple(outside)))

    def _why_refused(self, extent: int, terms: Iterable[tuple[Term, Scope]]) -> str:
        highs = [self.expressions.interval(term, inner).high for term, inner in terms]
        is_negative = all(high is not None and high < 0 for high in highs)
        return "but keys are not negative" if is_negative else f"outside 0:{extent}"

    @contextmanager
    def _again(self) -> Generator[None]:
        """Emit what is emitted again afterwards: both use the same workspaces, stores and counters."""
        requests, tables, profile = len(self.requests), len(self.tables), self.profile
        counters = 0 if profile is None else profile.length
        yield
        del self.requests[requests:]
        del self.tables[tables:]
        if profile is not None:
            profile.length = counters

    def _counter(self) -> Callable[[], None]:
        """Return what emits the count of the next action, in preorder; it emits nothing without a profile."""
        return _uncounted if self.profile is None else self.profile.counter(self.emitter)

    def _unite(
        self, branches: tuple[Loop, ...], target: Target, scope: Scope, count: Callable[[], None]
    ) -> None:
        sources = [branch.source for branch in branches]
        values = [light_value(branch) for branch in branches]
        if self.profile is None and len(branches) <= MOST_IN_REGIONS and None not in values:
            self._unite_values(sources, [value for value in values if value is not None], target, scope)
            return

        def step(key: Expression, present: list[tuple[Expression, Scope]]) -> None:
            def fill(child: Target) -> None:
                for branch, (is_here, inner) in zip(branches, present, strict=True):
                    assert isinstance(branch.body, Enter)
                    with self.emitter.block() as statements:
                        self._counter()()
                        self._counter()()
                        self.run(branch.body.body, child, inner)
                    self.emitter.emit(Branch(is_here, tuple(statements)))

            count()
            terms = [(Variable(0), inner) for _, inner in present]
            self._enter(target, key, fill, terms, is_simple=False)

        self.iteration.coiteration.union(sources, scope, step)

    def _unite_values(
        self, sources: Sequence[Source], values: Sequence[Term], target: Target, scope: Scope
    ) -> None:
        """Emit a union whose branches each add a value that is as well computed where it is not needed."""

        def step(key: Expression, parts: Sequence[Part]) -> None:
            def fill(child: Target) -> None:
                for part in parts:
                    value = self.expressions.lower(values[part.number], part.scope, self.role)
                    if part.is_here is None:
                        child.add(value)
                    else:
                        add_where(self.emitter, child, part.is_here, value)

            terms = [(Variable(0), part.scope) for part in parts]
            self._enter(target, key, fill, terms, is_simple=len(parts) == 1)

        self.iteration.coiteration.regions(sources, scope, step)

    def _bind(self, action: Bind, target: Target, scope: Scope) -> None:
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
                self.run(action.body, target, scope.bind(view, Interval()))
            case ListStore():
                view = self._list(store)
                self.run(action.value, ListTarget(self.emitter, view), scope)
                if is_scanned(action.body):
                    sort_list(self.emitter, view)
                self.run(action.body, target, scope.bind(view, Interval()))
                clear_list(self.emitter, view)
            case HashStore():
                self._hash(action, store, target, scope)
            case RowsStore():
                rows = self._rows(store, action.value, scope)
                self.run(action.body, target, scope.bind(rows, Interval()))

    def _scalar(self, store: ScalarStore, value: Action, scope: Scope) -> tuple[Expression, Interval]:
        if adds_one_value(value):
            target = AssignTarget(self.emitter, "t", store.type)
            self.run(value, target, scope)
            assert target.local is not None
            interval = (
                self.expressions.interval(value.value, scope) if isinstance(value, Accumulate) else Interval()
            )
            return target.local, interval
        zero = convert(Constant(store.zero or 0, store.type), store.type)
        local = self.emitter.declare("t", zero)
        if store.zero is not None:
            self.run(value, LocalTarget(self.emitter, local, store.operator), scope)
        else:
            seen = self.emitter.declare("seen", Constant(False, ScalarType.BOOL))
            self.run(value, FirstLocalTarget(self.emitter, local, seen, store.operator), scope)
            failure = Failure(Cause.NOTHING, f"the {store.operator} of no entries", store.operator)
            self.expressions.fail_unless(seen, failure, index(0))
        return local, Interval()

    def _table(self, store: TableStore) -> tuple[View, Expression]:
        buffer = Buffer(f"table.{len(self.requests)}", store.type)
        self.requests.append(Request(buffer, store.extents, store.zero))
        extents = tuple(self.expressions.key(extent, Scope()) for extent in store.extents)
        length: Expression = index(1)
        for extent in extents:
            length = times(length, extent)
        return View(buffer, index(0), extents, self.limits(store.extents), store.zero, store.operator), length

    def _list(self, store: ListStore) -> View:
        number = len(self.requests)
        buffer = Buffer(f"list.{number}", store.type)
        places, marks = list_buffers(number)
        self.requests.append(Request(buffer, (store.extent,), store.zero, marks))
        self.requests.append(Request(places, (store.extent,), None))
        self.requests.append(Request(marks, (store.extent,), False))
        count = self.emitter.declare("count", index(0))
        extent = self.expressions.key(store.extent, Scope())
        occupied = Occupied(places, marks, count)
        limits = self.limits((store.extent,))
        return View(buffer, index(0), (extent,), limits, store.zero, store.operator, occupied)

    def _hash(self, action: Bind, store: HashStore, target: Target, scope: Scope) -> None:
        number = len(self.tables)
        capacity = Load(LENGTHS, index(self.lengths + number))
        table = open_table(self.emitter, number, store, capacity)
        self.tables.append((store, table))
        extents = tuple(self.expressions.key(extent, Scope()) for extent in store.extents)
        row = HashRow(table, index(0), extents, self.limits(store.extents), (index(0), table.count))
        self.run(action.value, HashTarget(self.emitter, row), scope)
        if is_scanned(action.body):
            sort_slots(self.emitter, table)
        self.run(action.body, target, scope.bind(row, Interval()))
        if self.emitter.depth > 0:
            clear(self.emitter, table)

    def _rows(self, store: RowsStore, value: Action, scope: Scope) -> Rows:
        extents = tuple(self.expressions.key(extent, Scope()) for extent in store.extents)
        buffers = row_buffers(len(self.tables), store.type)
        rows = Rows(*buffers, extents, self.limits(store.extents))
        self.tables.append((store, rows))
        workspace = self._list(ListStore(store.type, store.operator, store.zero, store.extents[1]))
        self.run(value, RowsTarget(self.emitter, rows, workspace), scope)
        return rows

    def limits(self, extents: tuple[Term, ...]) -> tuple[int, ...]:
        """Return what the extents are for the data at hand."""
        found: list[int] = []
        for extent in extents:
            interval = self.expressions.interval(extent, Scope())
            assert interval.low is not None and interval.low == interval.high
            found.append(interval.low)
        return tuple(found)


def store_buffer(number: int, store: Store) -> Buffer:
    """Return the input that holds what the store with this number, in order of filling, was filled with."""
    return Buffer(store_name(number), store.type)


def _uncounted() -> None:
    """Emit no count."""
