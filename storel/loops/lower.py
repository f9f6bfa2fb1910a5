"""Physical plan → kernel.

``compute`` runs the plan's action on its destination; ``bound`` says how many elements every buffer
of ``compute`` needs, from sizes and from what ``plan.count`` counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from storel.calculus.nodes import Symbol, Term
from storel.loops.actions import ActionLowering, adds_one_value
from storel.loops.assembly import CAPACITY_MESSAGE, Assembly
from storel.loops.coordinates import CoordinatesTarget
from storel.loops.emitter import INDEX, Emitter, convert, index, plus, times
from storel.loops.expressions import SMALL_SIZE, ExpressionLowering
from storel.loops.hashing import capacity_for
from storel.loops.nodes import (
    Allocation,
    Binary,
    Buffer,
    Expression,
    Kernel,
    Load,
    Local,
    Procedure,
    Role,
    Store,
)
from storel.loops.profile import COUNTS, Profile
from storel.loops.protocol import LENGTHS
from storel.loops.scope import HashTable, Scope
from storel.loops.targets import LocalTarget, reduced
from storel.plan.binding import free_symbols
from storel.plan.count import insertions, total
from storel.plan.nodes import Action, Coordinates, Gather, HashStore, Levels, Place, Plan
from storel.semiring import Scalar
from storel.symbols import ArraySymbol, ParameterSymbol, SizeSymbol, Symbols

SIZES = Buffer("buffers.sizes", INDEX, Role.INDEX)

UNBOUNDED = 2**48
"""What stands for a bound that is not known; the memory limit caps the reservation."""

Length = Callable[["_Frame"], Expression]


def lower(
    plan: Plan,
    extents: tuple[Term, ...],
    symbols: Symbols,
    *,
    is_finite: bool,
    profile: Profile | None = None,
) -> Kernel:
    """Return the kernel of ``plan``.

    ``extents`` are the closed terms of the result's dimensions, in the order in which the plan enters
    them. ``is_finite`` promises that no value in any array or parameter is inf or NaN. With a ``profile`` the
    kernel has one more output, which counts what each action does.
    """
    compute = _Frame(symbols, is_finite)
    compute.actions.profile = profile
    match plan.destination:
        case Levels():
            needs = compute.assemble(plan, plan.destination, extents)
        case Coordinates():
            needs = compute.list_entries(plan, plan.destination, extents)
    needs += compute.workspaces()
    needs += compute.tables(plan.action)
    if profile is not None:
        counters = index(profile.length)
        needs.append(_Need(COUNTS, lambda _: counters, 0, True))
    bound = _Frame(symbols, is_finite=True)
    bound.expressions.failures = compute.expressions.failures
    for slot, need in enumerate(needs):
        bound.emitter.emit(Store(SIZES, index(slot), convert(need.length(bound), INDEX)))
    scalars, inputs = _parameters(plan, extents, symbols)
    failures = compute.expressions.failures
    overflow = failures.index(CAPACITY_MESSAGE) if CAPACITY_MESSAGE in failures else None
    allocations = tuple(
        Allocation(
            need.buffer,
            slot,
            need.fill,
            need.is_output,
            need.used,
            overflow if need.is_output and need.used is not None else None,
        )
        for slot, need in enumerate(needs)
    )
    buffers = (*inputs, *(need.buffer for need in needs), LENGTHS)
    return Kernel(
        Procedure("bound", scalars, (*inputs, SIZES), bound.emitter.statements),
        Procedure("compute", scalars, buffers, compute.emitter.statements),
        allocations,
        tuple(failures),
    )


@dataclass(frozen=True, slots=True)
class _Need:
    """A buffer of ``compute`` before it has a slot."""

    buffer: Buffer
    length: Length
    fill: Scalar | None = None
    is_output: bool = False
    used: int | None = None


class _Frame:
    """One procedure under construction."""

    def __init__(self, symbols: Symbols, is_finite: bool) -> None:
        self.emitter = Emitter(symbols)
        self._counts: dict[tuple[int, bool], Expression] = {}
        self._inserted: dict[int, tuple[Expression, Expression]] = {}
        self.expressions = ExpressionLowering(self.emitter, symbols, is_finite)
        self.actions = ActionLowering(self.expressions)

    def extent(self, term: Term) -> Expression:
        return self.expressions.key(term, Scope())

    def product(self, terms: Sequence[Term]) -> Expression:
        result: Expression = index(1)
        for term in terms:
            result = times(result, self.extent(term))
        return result

    def count(self, action: Action, level: int, extents: tuple[Term, ...] | None) -> Expression:
        """Emit a bound on the entries at ``level``, or on all arrivals there if ``extents`` is None."""
        known = self._counts.get((level, extents is None))
        if known is not None:
            return known
        counted = total(action, level, extents)
        if counted is None:
            return index(UNBOUNDED) if extents is None else self.product(extents[: level + 1])
        self.actions.role = Role.INDEX
        local = self.emitter.declare("count", index(0))
        self.actions.run(counted, LocalTarget(self.emitter, local, "add"), Scope())
        self._counts[level, extents is None] = local
        return local

    def inserted(
        self, number: int, store: HashStore, counted: Action | None
    ) -> tuple[Expression, Expression]:
        """Emit a bound on the keys in the hash store of this number; return it, and the capacity it needs."""
        if number not in self._inserted:
            keys: Expression = index(UNBOUNDED)
            if counted is not None:
                self.actions.role = Role.INDEX
                arrivals = self.emitter.declare("arrivals", index(0))
                self.actions.run(counted, LocalTarget(self.emitter, arrivals, "maximum"), Scope())
                keys = Binary("minimum", arrivals, keys)
            keys = self.emitter.declare("keys", Binary("minimum", keys, self.product(store.extents)))
            self._inserted[number] = keys, capacity_for(self.emitter, keys)
        return self._inserted[number]

    def assemble(self, plan: Plan, levels: Levels, extents: tuple[Term, ...]) -> list[_Need]:
        """Emit the assembly of the result level by level; return its buffers."""
        sized = tuple(self.extent(extent) for extent in extents)
        limits = self.actions.limits(extents)
        assembly = Assembly(
            self.emitter, levels, sized, limits, levels.index_type, self.expressions.fail_unless
        )
        appending = [number for number, level in enumerate(levels.levels) if not isinstance(level, Place)]
        used = {number: slot for slot, number in enumerate(appending)}
        self.actions.lengths = len(used)
        capacities: dict[int, Expression] = {n: Load(LENGTHS, index(slot)) for n, slot in used.items()}
        if levels.levels:
            self.actions.run(plan.action, assembly.begin(capacities), Scope())
            assembly.finish(LENGTHS, used)
        else:
            self._store_scalar(plan.action, assembly)
        needs = list(_level_needs(plan.action, assembly, used, extents))
        if assembly.workspace is not None:
            gather = levels.levels[-1]
            assert isinstance(gather, Gather)
            for position, (buffer, _, fill) in enumerate(assembly.workspace.lengths(index(0))):
                needs.append(_Need(buffer, _workspace_length(assembly, position, gather.extent), fill))
        return needs

    def _store_scalar(self, action: Action, assembly: Assembly) -> None:
        leaf = assembly.plan.leaf
        is_simple = adds_one_value(action)
        value = reduced(
            self.emitter,
            lambda target: self.actions.run(action, target, Scope()),
            leaf.type,
            leaf.operator,
            assembly.zero,
            is_simple=is_simple,
        )
        self.emitter.emit(Store(assembly.val, index(0), value))

    def list_entries(self, plan: Plan, destination: Coordinates, extents: tuple[Term, ...]) -> list[_Need]:
        """Emit the result as coordinates with values; return its buffers."""
        self.actions.lengths = 1
        cursor = self.emitter.declare("cursor", index(0))
        capacity = self.emitter.declare("capacity", Load(LENGTHS, index(0)))
        limits = self.actions.limits(extents)
        target = CoordinatesTarget(self.expressions, destination, limits, cursor, capacity)
        self.actions.run(plan.action, target, Scope())
        self.emitter.emit(Store(LENGTHS, index(0), cursor))

        def length(bound: _Frame) -> Expression:
            return bound.count(plan.action, destination.rank - 1, None)

        buffers = [*target.coordinates, target.val]
        return [_Need(buffer, length, None, True, 0) for buffer in buffers]

    def workspaces(self) -> list[_Need]:
        """Return the buffers of the stores that the actions bind."""

        def length_of(terms: tuple[Term, ...]) -> Length:
            return lambda bound: bound.product(terms)

        return [_Need(r.buffer, length_of(r.extents), r.fill) for r in self.actions.requests]

    def tables(self, action: Action) -> list[_Need]:
        """Return the buffers of the hash stores that ``action`` binds."""
        counts = zip(self.actions.tables, insertions(action), strict=True)
        return [
            need
            for number, ((store, table), counted) in enumerate(counts)
            for need in _table_needs(number, store, table, counted, self.actions.lengths + number)
        ]


def _table_needs(
    number: int, store: HashStore, table: HashTable, counted: Action | None, used: int
) -> list[_Need]:
    """Return the buffers of a hash store; its capacity is the element ``used`` of ``LENGTHS``."""

    def keys(bound: _Frame) -> Expression:
        return bound.inserted(number, store, counted)[0]

    def capacity(bound: _Frame) -> Expression:
        return bound.inserted(number, store, counted)[1]

    return [
        _Need(table.keys, capacity, 0, used=used),
        _Need(table.values, capacity),
        _Need(table.slots, keys),
    ]


def _level_needs(
    action: Action, assembly: Assembly, used: dict[int, int], extents: tuple[Term, ...]
) -> list[_Need]:
    """Return the output buffers of a result that is assembled level by level."""
    needs: list[_Need] = []
    positions: Length = _one
    for number, level in enumerate(assembly.levels):
        above = positions
        if isinstance(level, Place):
            positions = _scaled(above, level.extent)
            continue
        positions = _counted(action, number, extents)
        needs.append(_Need(assembly.idx(number), positions, None, True, used[number]))
        if number > 0:
            needs.append(_Need(assembly.pos(number), _next(above), None, True))
    is_dense = not used
    last = None if is_dense or isinstance(assembly.levels[-1], Place) else used[len(assembly.levels) - 1]
    fill = assembly.plan.leaf.zero if last is None else None
    needs.append(_Need(assembly.val, positions, fill, True, last))
    return needs


def _one(bound: _Frame) -> Expression:
    return index(1)


def _scaled(length: Length, extent: Term) -> Length:
    return lambda bound: times(length(bound), bound.extent(extent))


def _next(length: Length) -> Length:
    return lambda bound: plus(length(bound), index(1))


def _counted(action: Action, level: int, extents: tuple[Term, ...]) -> Length:
    return lambda bound: bound.count(action, level, extents)


def _workspace_length(assembly: Assembly, position: int, extent: Term) -> Length:
    def length(bound: _Frame) -> Expression:
        assert assembly.workspace is not None
        return assembly.workspace.lengths(bound.extent(extent))[position][1]

    return length


def _parameters(
    plan: Plan, extents: tuple[Term, ...], symbols: Symbols
) -> tuple[tuple[Local, ...], tuple[Buffer, ...]]:
    """Return the scalar and array parameters of both procedures, by name."""
    scalars: list[Local] = []
    inputs: list[Buffer] = []
    sizes = {extent.name for extent in extents if isinstance(extent, Symbol)}
    for name in sorted(sizes.union(free_symbols(plan))):
        match symbols[name]:
            case SizeSymbol(_, value):
                if value > SMALL_SIZE:
                    scalars.append(Local(name, INDEX))
            case ParameterSymbol(_, scalar_type):
                scalars.append(Local(name, scalar_type))
            case ArraySymbol(_, scalar_type):
                inputs.append(Buffer(name, scalar_type, Role.VALUE if scalar_type.is_real else Role.INDEX))
    return tuple(scalars), tuple(inputs)
