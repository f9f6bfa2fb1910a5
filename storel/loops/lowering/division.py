"""The procedure that divides a loop into parts of equal work.

Where the work of the first iterations is a formula (``plan.work``), each cut is found by binary search, and
what comes before it in ascending lists by another one; else one pass visits all iterations, and a second one
the blocks that contain cuts. Where no run of equal keys may be cut, cuts are then moved to the end of one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from storel.calculus.nodes import Term
from storel.loops.emitter import INDEX, Emitter, compare, index, plus, times
from storel.loops.lowering.actions import ActionLowering
from storel.loops.lowering.scans import Scans
from storel.loops.lowering.scope import Scope, Value
from storel.loops.lowering.targets import LocalTarget
from storel.loops.nodes import (
    Assign,
    Binary,
    Buffer,
    Declare,
    Expression,
    For,
    Load,
    Local,
    Role,
    Store,
    While,
)
from storel.loops.nodes import If as Branch
from storel.plan.nodes import Elements
from storel.plan.partition import HIGH, LOW, Parts, Split, Stretch
from storel.plan.work import work_until

PART_LOW = Local(LOW.name, INDEX)
PART_HIGH = Local(HIGH.name, INDEX)
"""The scalars that say which part a kernel computes."""

COUNT = Local("parts.count", INDEX)
"""The scalar that says into how many parts a loop is divided."""

CUTS = Buffer("buffers.cuts", INDEX, Role.INDEX)
"""The parameter of ``divide`` that takes the ends of the parts, then all of the work.

Behind that it has room for the work before each of ``BLOCKS`` blocks of iterations.
"""

BLOCKS = 1024
"""How many blocks of iterations there are at most."""


def divide(split: Split, actions: ActionLowering, scope: Scope) -> None:
    """Emit the body of the procedure ``divide``."""
    actions.role = Role.INDEX
    emitter, expressions = actions.emitter, actions.expressions
    low = emitter.declare("low", expressions.key(split.source.low, scope))
    high = emitter.declare("high", expressions.key(split.source.high, scope))
    emitter.emit(Store(CUTS, index(0), low))
    until = work_until(split.source, split.work, HIGH)
    if until is None:
        total = _counted(split, actions, scope, low, high)
    else:
        before = _Before(until, split.stretches, actions.iteration.scans, scope)
        total = _searched(before, emitter, high)
    emitter.emit(Store(CUTS, COUNT, high), Store(CUTS, plus(COUNT, index(1)), total))
    if split.parts is Parts.RUNS and isinstance(split.source, Elements):
        _between_runs(split.source.array, actions.iteration.scans, low, high)


def find(stretch: Stretch, between: tuple[Expression, Expression], scans: Scans, scope: Scope) -> None:
    """Emit the search for the ends of a stretch: where the elements between two keys are."""
    first, last = scans.segment(stretch.source, scope)
    for end, key in zip(stretch.ends, between, strict=True):
        position = Local(end.name, INDEX)
        scans.emitter.emit(Declare(position, first))
        scans.search(stretch.source.array, position, last, key)
        first = position


@dataclass(frozen=True, slots=True)
class _Before:
    """The work of the iterations before ``HIGH``: ``until``, and that on lesser elements of lists."""

    until: Term
    stretches: tuple[Stretch, ...]
    scans: Scans
    scope: Scope

    def begin(self) -> None:
        """Emit the declarations of the stretches' ends."""
        self.scans.emitter.emit(*(Declare(end_of(each), index(0)) for each in self.stretches))

    def emitted(self) -> Expression:
        found = self.scans.expressions.key(self.until, self.scope)
        for each in self.stretches:
            first, last = self.scans.segment(each.source, self.scope)
            self.scans.emitter.emit(Assign(end_of(each), first))
            self.scans.search(each.source.array, end_of(each), last, PART_HIGH)
            found = plus(found, self.scans.expressions.key(each.work, self.scope))
        return found


def end_of(stretch: Stretch) -> Local:
    """Return the scalar that says where a stretch ends."""
    return Local(stretch.ends[1].name, INDEX)


def _searched(before: _Before, emitter: Emitter, high: Local) -> Local:
    """Emit a binary search for each cut: the first end before which there is enough work."""
    emitter.emit(Declare(PART_HIGH, high))
    before.begin()
    total = emitter.declare("total", before.emitted())
    part = emitter.fresh("part")
    with emitter.block() as body:
        wanted = emitter.declare("wanted", _share(total, part))
        first = emitter.declare("first", Load(CUTS, plus(part, index(-1))))
        last = emitter.declare("last", Binary("maximum", first, high))
        with emitter.block() as search:
            both = Binary("add", first, last)
            emitter.emit(Assign(PART_HIGH, Binary("shift_right", both, index(1))))
            is_short = Binary("less", before.emitted(), wanted)
            further = Assign(first, plus(PART_HIGH, index(1)))
            emitter.emit(Branch(is_short, (further,), (Assign(last, PART_HIGH),)))
        emitter.emit(While(Binary("less", first, last), tuple(search), Role.SEARCH))
        emitter.emit(Store(CUTS, part, first))
    emitter.emit(For(part, index(1), COUNT, tuple(body), Role.WORKSPACE))
    return total


def _between_runs(array: str, scans: Scans, low: Local, high: Local) -> None:
    """Emit: each cut is moved to where the next run of equal elements begins."""
    emitter = scans.emitter
    part = emitter.fresh("part")
    with emitter.block() as body:
        cut = emitter.declare("cut", Load(CUTS, part))
        with emitter.block() as inside:
            before = scans.element(array, plus(cut, index(-1)))
            scans.search(array, cut, high, plus(before, index(1)))
            emitter.emit(Store(CUTS, part, cut))
        emitter.emit(Branch(Binary("less", low, cut), tuple(inside)))
    emitter.emit(For(part, index(1), COUNT, tuple(body), Role.WORKSPACE))


def _counted(split: Split, actions: ActionLowering, scope: Scope, low: Local, high: Local) -> Local:
    """Emit a pass over all iterations that notes the work before each block, and cuts blocks in two."""
    emitter = actions.emitter
    size = Binary("floor_divide", Binary("subtract", high, low), index(BLOCKS))
    length = emitter.declare("length", plus(size, index(1)))
    total = emitter.declare("total", index(0))
    block, begins = emitter.declare("block", index(0)), emitter.declare("begins", low)
    notes = (
        Store(CUTS, _note(block), total),
        Assign(block, plus(block, index(1))),
        Assign(begins, plus(begins, length)),
    )

    def count(inner: Scope) -> None:
        emitter.emit(Branch(compare("equal", _position(inner), begins), notes))
        actions.run(split.work, LocalTarget(emitter, total, "add"), inner)

    actions.iteration.loop(split.source, scope, count)
    last = emitter.declare("last", plus(block, index(-1)))
    emitter.emit(Assign(block, index(0)))
    part = emitter.fresh("part")
    with emitter.block() as body:
        wanted = emitter.declare("wanted", _share(total, part))
        is_further = compare("less", Load(CUTS, _note(plus(block, index(1)))), wanted)
        goes_on = Binary("and", compare("less", block, last), is_further)
        emitter.emit(While(goes_on, (Assign(block, plus(block, index(1))),), Role.WORKSPACE))
        first = Declare(PART_LOW, plus(low, times(block, length)))
        emitter.emit(first, Declare(PART_HIGH, Binary("minimum", plus(PART_LOW, length), high)))
        cut = emitter.declare("cut", PART_LOW)
        done = emitter.declare("done", Load(CUTS, _note(block)))

        def pass_over(inner: Scope) -> None:
            with emitter.block() as further:
                actions.run(split.work, LocalTarget(emitter, done, "add"), inner)
                emitter.emit(Assign(cut, plus(_position(inner), index(1))))
            emitter.emit(Branch(compare("less", done, wanted), tuple(further)))

        actions.iteration.loop(replace(split.source, low=LOW, high=HIGH), scope, pass_over)
        emitter.emit(Store(CUTS, part, cut))
    emitter.emit(For(part, index(1), COUNT, tuple(body), Role.WORKSPACE))
    return total


def _position(inner: Scope) -> Expression:
    position = inner.bindings[1]
    assert isinstance(position, Value)
    return position.expression


def _note(block: Expression) -> Expression:
    """Return where the work before a block is noted."""
    return plus(plus(COUNT, index(2)), block)


def _share(total: Expression, part: Expression) -> Expression:
    """Return the work of the parts before ``part``."""
    return Binary("floor_divide", times(total, part), COUNT)
