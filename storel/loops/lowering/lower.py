"""A phase of a physical plan → kernel.

``compute`` runs the plan's action on its destination; ``bound`` says how many elements every buffer
of ``compute`` needs, from sizes and from what ``plan.count`` counts; ``divide`` cuts the outermost loop into
parts, where the kernel computes one.
"""

from __future__ import annotations

from dataclasses import replace

from storel.calculus.nodes import Symbol, Term
from storel.loops.emitter import INDEX, convert, index, plus, times
from storel.loops.lowering.assembly import NO_ROOM, Assembly
from storel.loops.lowering.bindings import store_buffer
from storel.loops.lowering.coordinates import CoordinatesTarget
from storel.loops.lowering.division import COUNT, CUTS, PART_HIGH, PART_LOW, divide, end_of, find
from storel.loops.lowering.expressions import SMALL_SIZE
from storel.loops.lowering.frame import Frame
from storel.loops.lowering.needs import (
    Need,
    Slots,
    entry_needs,
    level_needs,
    row_needs,
    slots_of,
    store_needs,
)
from storel.loops.lowering.profile import COUNTS, Profile
from storel.loops.lowering.targets import Target, reduced
from storel.loops.nodes import (
    Allocation,
    Binary,
    Buffer,
    Expression,
    Failure,
    For,
    Join,
    Kernel,
    Load,
    Local,
    Procedure,
    Role,
    Store,
    Update,
)
from storel.loops.protocol import LENGTHS
from storel.plan.binding import free_symbols, occurs, store_terms
from storel.plan.nodes import Accumulate, Action, Coordinates, Levels, Loop, Plan, Together
from storel.plan.partition import Parts, Split
from storel.plan.phases import Phase
from storel.plan.single import adds_one_value
from storel.symbols import ArraySymbol, EndSymbol, MappingSymbol, ParameterSymbol, SizeSymbol, Symbols

SIZES = Buffer("buffers.sizes", INDEX, Role.INDEX)


def lower(
    phase: Phase,
    extents: tuple[Term, ...],
    symbols: Symbols,
    *,
    is_unguarded: bool,
    profile: Profile | None = None,
) -> Kernel:
    """Return the kernel of ``phase``; a plan that is run as a whole is its only phase.

    ``extents`` are the closed terms of the dimensions of what the phase fills, in the order in which its plan
    enters them. ``is_unguarded`` promises that where a factor is zero the other is neither inf nor NaN. With
    a ``profile`` the kernel has one more output, which counts what each action does.

    The stores that other kernels filled are further inputs. With a split the kernel computes one part.
    """
    plan, split, stores = phase.part, phase.split, phase.stores
    if split is not None:
        symbols = {**symbols, **split.symbols}
    compute = Frame(symbols, is_unguarded, stores)
    compute.actions.profile = profile
    stretches = () if split is None else split.stretches
    if not phase.block:
        _find(compute, phase, (PART_LOW, PART_HIGH))
    match plan.destination:
        case Levels():
            needs = _assemble(compute, phase, plan.destination, extents)
        case Coordinates():
            needs = _list_entries(compute, plan.action, plan.destination, extents)
    # A part needs no more than the whole, which is counted where a part ends at positions that are not known.
    needs += store_needs(compute, phase.plan.action if stretches else plan.action)
    if profile is not None:
        counters = index(profile.length)
        needs.append(Need(COUNTS, lambda _: counters, 0, True, None, Join.COMBINED))
    failures = compute.emitter.failures
    scalars, inputs = _parameters(phase, extents, symbols)
    bound = Frame(symbols, True, stores, failures)
    for slot, need in enumerate(needs):
        bound.emitter.emit(Store(SIZES, index(slot), convert(need.length(bound), INDEX)))
    dividing = (
        None if split is None else _dividing(split, scalars, inputs, Frame(symbols, True, stores, failures))
    )
    buffers = (*inputs, *(need.buffer for need in needs), LENGTHS)
    return Kernel(
        Procedure("bound", scalars, (*inputs, SIZES), bound.emitter.statements),
        Procedure("compute", scalars, buffers, compute.emitter.statements),
        tuple(_allocation(slot, need, failures) for slot, need in enumerate(needs)),
        tuple(failures),
        dividing,
        plan.destination.leaf.operator,
    )


def _allocation(slot: int, need: Need, failures: list[Failure]) -> Allocation:
    overflow = failures.index(NO_ROOM) if need.is_checked and NO_ROOM in failures else None
    return Allocation(
        need.buffer, slot, need.fill, need.is_output, need.used, overflow, need.join, need.into, need.marks
    )


def _dividing(
    split: Split, scalars: tuple[Local, ...], inputs: tuple[Buffer, ...], frame: Frame
) -> Procedure:
    """Return the procedure that cuts the outermost loop."""
    divide(split, frame.actions, frame.scope)
    others = tuple(scalar for scalar in scalars if scalar not in (PART_LOW, PART_HIGH))
    return Procedure("divide", (*others, COUNT), (*inputs, CUTS), frame.emitter.statements)


def _assemble(compute: Frame, phase: Phase, levels: Levels, extents: tuple[Term, ...]) -> list[Need]:
    """Emit the assembly of the result level by level; return its buffers."""
    action = phase.part.action
    lengths, limits = compute.expressions.extents(extents)
    assembly = Assembly(compute.emitter, levels, lengths, limits, levels.index_type, phase.swept)
    slots = slots_of(levels.levels)
    compute.actions.bindings.lengths = slots.count
    if levels.levels:
        capacities: dict[int, Expression] = {n: Load(LENGTHS, index(slot)) for n, slot in slots.idx.items()}
        target = assembly.begin(capacities)
        if phase.block:
            _run_in_blocks(compute, phase, assembly, target)
        else:
            compute.actions.run(action, target, compute.scope)
        assembly.finish()
        _store_lengths(compute, assembly, slots)
    else:
        _store_scalar(compute, phase, assembly)
    is_combined = phase.split is not None and phase.split.parts is Parts.COMBINED
    dense = Join.COMBINED if is_combined else Join.SHARED
    is_cleared = phase.swept > 0 or phase.block > 0
    needs = level_needs(action, assembly, slots, extents, dense, is_cleared=is_cleared)
    return needs + row_needs(assembly)


def _find(compute: Frame, phase: Phase, between: tuple[Expression, Expression]) -> None:
    """Emit the search for the stretches of lists that lie between two keys, as far as the plan uses them."""
    used = free_symbols(phase.part)
    for stretch in () if phase.split is None else phase.split.stretches:
        if any(end.name in used for end in stretch.ends):
            find(stretch, between, compute.actions.iteration.scans, compute.scope)


def _run_in_blocks(compute: Frame, phase: Phase, assembly: Assembly, target: Target) -> None:
    """Emit the action for one block of a part's keys after the other, whose rows are cleared before."""
    emitter, scans, size = compute.emitter, compute.actions.iteration.scans, index(phase.block)
    stretches = () if phase.split is None else phase.split.stretches
    stops = {end_of(each): scans.segment(each.source, compute.scope)[1] for each in stretches}
    keys = Binary("subtract", PART_HIGH, PART_LOW)
    count = emitter.declare("blocks", Binary("floor_divide", plus(keys, index(phase.block - 1)), size))
    block = emitter.fresh("block")
    with emitter.block() as body:
        low = emitter.declare("low", plus(PART_LOW, times(block, size)))
        high = emitter.declare("high", Binary("minimum", plus(low, size), PART_HIGH))
        assembly.clear(low, high)
        _find(compute, phase, (low, high))
        compute.actions.run(phase.part.action, target, compute.scope)
    going_on = (
        replace(each, until=stops[each.high]) if isinstance(each, For) and each.high in stops else each
        for each in body
    )
    emitter.emit(For(block, index(0), count, tuple(going_on), Role.WORKSPACE))


def _store_lengths(compute: Frame, assembly: Assembly, slots: Slots) -> None:
    emit = compute.emitter.emit
    for number, slot in slots.idx.items():
        emit(Store(LENGTHS, index(slot), assembly.appending[number].cursor))
    for number, slot in slots.pos.items():
        emit(Store(LENGTHS, index(slot), plus(assembly.parents(number), index(1))))
    if slots.val is not None and slots.val not in slots.idx.values():
        emit(Store(LENGTHS, index(slots.val), assembly.parents(len(assembly.levels))))


def _store_scalar(compute: Frame, phase: Phase, assembly: Assembly) -> None:
    action, leaf = phase.part.action, assembly.plan.leaf
    value = reduced(
        compute.emitter,
        lambda target: compute.actions.run(action, target, compute.scope),
        leaf.type,
        leaf.operator,
        assembly.zero,
        is_simple=adds_one_value(action),
        is_unguarded=compute.expressions.is_unguarded,
    )
    if phase.continues:
        compute.emitter.emit(Update(assembly.val, index(0), leaf.operator, value))
    else:
        compute.emitter.emit(Store(assembly.val, index(0), value))


def _list_entries(
    compute: Frame, action: Action, destination: Coordinates, extents: tuple[Term, ...]
) -> list[Need]:
    """Emit the result as coordinates with values; return its buffers."""
    compute.actions.bindings.lengths = 1
    cursor = compute.emitter.declare("cursor", index(0))
    capacity = compute.emitter.declare("capacity", Load(LENGTHS, index(0)))
    _, limits = compute.expressions.extents(extents)
    target = CoordinatesTarget(compute.emitter, destination, limits, cursor, capacity)
    compute.actions.run(action, target, compute.scope)
    compute.emitter.emit(Store(LENGTHS, index(0), cursor))
    return entry_needs(action, destination, target)


def _parameters(
    phase: Phase, extents: tuple[Term, ...], symbols: Symbols
) -> tuple[tuple[Local, ...], tuple[Buffer, ...]]:
    """Return the scalar and array parameters of the procedures, by name, stores of other kernels last."""
    plan, split, stores = phase.part, phase.split, phase.stores
    scalars: list[Local] = []
    inputs: list[Buffer] = []
    lengths = (*extents, *(extent for store in stores for extent in store_terms(store)))
    sizes = {extent.name for extent in lengths if isinstance(extent, Symbol)}
    found: set[str] = set()
    if split is not None:
        lists = (Loop(each.source, Accumulate(each.work)) for each in split.stretches)
        counting = Together((Loop(split.source, split.work), *lists))
        sizes.update(end.name for end in split.ends)
        sizes.update(free_symbols(Plan(plan.destination, counting)))
        found = {end.name for each in split.stretches for end in each.ends}
    for name in sorted(sizes.union(free_symbols(plan)) - found):
        match symbols[name]:
            case EndSymbol():
                scalars.append(Local(name, INDEX))
            case SizeSymbol(_, value):
                if value > SMALL_SIZE:
                    scalars.append(Local(name, INDEX))
            case ParameterSymbol(_, scalar_type):
                scalars.append(Local(name, scalar_type))
            case ArraySymbol(_, scalar_type):
                inputs.append(Buffer(name, scalar_type, Role.VALUE if scalar_type.is_real else Role.INDEX))
            case MappingSymbol():
                raise AssertionError(f"{name} is a mapping, which no plan names")
    inputs += [
        store_buffer(number, store)
        for number, store in enumerate(reversed(stores))
        if occurs(plan.action, len(stores) - 1 - number)
    ]
    return tuple(scalars), tuple(inputs)
