"""Physical plan → kernel.

``compute`` runs the plan's action on its destination; ``bound`` says how many elements every buffer
of ``compute`` needs, from sizes and from what ``plan.count`` counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from storel.calculus.nodes import Symbol, Term
from storel.loops.actions import ActionLowering, adds_one_value
from storel.loops.assembly import CAPACITY_MESSAGE, Assembly
from storel.loops.emitter import INDEX, Emitter, compare, convert, index, plus, times
from storel.loops.expressions import SMALL_SIZE, ExpressionLowering
from storel.loops.nodes import (
    Allocation,
    Buffer,
    Cast,
    Constant,
    Expression,
    Kernel,
    Load,
    Local,
    Procedure,
    Role,
    Store,
)
from storel.loops.profile import COUNTS, Profile
from storel.loops.scope import Scope
from storel.loops.targets import LocalTarget, Target, reduced
from storel.plan.binding import free_symbols
from storel.plan.count import total
from storel.plan.nodes import Action, Coordinates, Gather, Levels, Place, Plan
from storel.semiring import Scalar
from storel.symbols import ArraySymbol, ParameterSymbol, SizeSymbol, Symbols

LENGTHS = Buffer("buffers.lengths", INDEX, Role.INDEX)
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
    if profile is not None:
        counters = index(profile.length)
        needs.append(_Need(COUNTS, lambda _: counters, 0, True))
    bound = _Frame(symbols, is_finite=True)
    bound.expressions.failures = compute.expressions.failures
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
            None if need.used is None else overflow,
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

    def assemble(self, plan: Plan, levels: Levels, extents: tuple[Term, ...]) -> list[_Need]:
        """Emit the assembly of the result level by level; return its buffers."""
        sized = tuple(self.extent(extent) for extent in extents)
        limits = self.actions.limits(extents)
        assembly = Assembly(
            self.emitter, levels, sized, limits, levels.index_type, self.expressions.fail_unless
        )
        appending = [number for number, level in enumerate(levels.levels) if not isinstance(level, Place)]
        used = {number: slot for slot, number in enumerate(appending)}
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
        cursor = self.emitter.declare("cursor", index(0))
        capacity = self.emitter.declare("capacity", Load(LENGTHS, index(0)))
        limits = self.actions.limits(extents)
        target = _CoordinatesTarget(self, destination, limits, cursor, capacity)
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


@dataclass
class _CoordinatesTarget:
    """A dictionary of a result that is only listed: keys of the outer levels are kept in locals."""

    frame: _Frame
    destination: Coordinates
    limits: tuple[int, ...]
    cursor: Local
    capacity: Local
    keys: tuple[Expression, ...] = ()

    @property
    def limit(self) -> int | None:
        return self.limits[len(self.keys)]

    @property
    def coordinates(self) -> list[Buffer]:
        index_type = self.destination.index_type
        return [
            Buffer(f"result.coordinate_{n}", index_type, Role.INDEX) for n in range(self.destination.rank)
        ]

    @property
    def val(self) -> Buffer:
        return Buffer("result.val", self.destination.leaf.type)

    def add(self, value: Expression) -> None:
        raise AssertionError("a dictionary takes entries, not values")

    def enter(self, key: Expression, fill: Callable[[Target], None], *, is_simple: bool) -> None:
        emitter, leaf = self.frame.emitter, self.destination.leaf
        keys = (*self.keys, emitter.declare("key", key))
        if len(keys) < self.destination.rank:
            inner = replace(self, keys=keys)
            fill(inner)
            return
        zero = convert(Constant(leaf.zero or 0, leaf.type), leaf.type)
        assert isinstance(zero, Constant)
        value = reduced(emitter, fill, leaf.type, leaf.operator, zero, is_simple=is_simple)
        fits = compare("less", self.cursor, self.capacity)
        self.frame.expressions.fail_unless(fits, CAPACITY_MESSAGE, self.capacity)
        for buffer, each in zip(self.coordinates, keys, strict=True):
            emitter.emit(Store(buffer, self.cursor, convert(each, buffer.type)))
        emitter.emit(Store(self.val, self.cursor, value))
        emitter.advance(self.cursor, Cast(INDEX, compare("not_equal", value, zero)))


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
