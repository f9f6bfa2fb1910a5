"""The procedure that divides a loop into parts of equal work.

Where the work of the first iterations is a formula (``plan.work``), each cut is found by binary search, and
what comes before it in ascending lists by another one; else all iterations are gone through, twice: for all
of the work, then for the cuts. Where no run of equal keys may be cut, cuts are then moved to the end of one.
"""

from __future__ import annotations

from dataclasses import dataclass

from storel.calculus.nodes import Term
from storel.loops.emitter import INDEX, Emitter, index, plus, times
from storel.loops.lowering.actions import ActionLowering
from storel.loops.lowering.scans import Scans
from storel.loops.lowering.scope import Scope, Value
from storel.loops.lowering.targets import LocalTarget
from storel.loops.nodes import (
    Assign,
    Binary,
    Buffer,
    Constant,
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
from storel.plan.nodes import Elements, Loop
from storel.plan.partition import HIGH, LOW, Parts, Split
from storel.plan.work import work_until
from storel.scalars import ScalarType

PART_LOW = Local(LOW.name, INDEX)
PART_HIGH = Local(HIGH.name, INDEX)
"""The scalars that say which part a kernel computes."""

COUNT = Local("parts.count", INDEX)
"""The scalar that says into how many parts a loop is divided."""

CUTS = Buffer("buffers.cuts", INDEX, Role.INDEX)
"""The parameter of ``divide`` that takes the ends of the parts, and then all of the work."""


def divide(split: Split, actions: ActionLowering, scope: Scope) -> None:
    """Emit the body of the procedure ``divide``."""
    actions.role = Role.INDEX
    emitter, expressions = actions.emitter, actions.expressions
    low = emitter.declare("low", expressions.key(split.source.low, scope))
    high = emitter.declare("high", expressions.key(split.source.high, scope))
    emitter.emit(Store(CUTS, index(0), low))
    until = work_until(split.source, split.work, HIGH)
    if until is None:
        total = _counted(split, actions, scope)
    else:
        before = _Before(until, split.lists, actions.iteration.scans, scope)
        total = _searched(before, emitter, high)
    emitter.emit(Store(CUTS, COUNT, high), Store(CUTS, plus(COUNT, index(1)), total))
    if split.parts is Parts.RUNS and isinstance(split.source, Elements):
        _between_runs(split.source.array, actions.iteration.scans, low, high)


@dataclass(frozen=True, slots=True)
class _Before:
    """The work of the iterations before ``HIGH``: ``until``, and that on what is less in the ``lists``."""

    until: Term
    lists: tuple[tuple[Elements, Term], ...]
    scans: Scans
    scope: Scope

    def emitted(self) -> Expression:
        found = self.scans.expressions.key(self.until, self.scope)
        for each, steps in self.lists:
            first, last = self.scans.segment(each, self.scope)
            position = self.scans.emitter.declare("position", first)
            self.scans.search(each.array, position, last, PART_HIGH)
            weight = self.scans.expressions.key(steps, self.scope)
            found = plus(found, times(Binary("subtract", position, first), weight))
        return found


def _searched(before: _Before, emitter: Emitter, high: Local) -> Local:
    """Emit a binary search for each cut: the first end before which there is enough work."""
    emitter.emit(Declare(PART_HIGH, high))
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


def _counted(split: Split, actions: ActionLowering, scope: Scope) -> Local:
    """Emit a pass over all iterations that counts their work, and one that cuts where there is enough."""
    emitter = actions.emitter
    total = emitter.declare("total", index(0))
    actions.run(Loop(split.source, split.work), LocalTarget(emitter, total, "add"), scope)
    part, done = emitter.declare("part", index(1)), emitter.declare("done", index(0))

    def step(inner: Scope) -> None:
        position = inner.bindings[1]
        assert isinstance(position, Value)
        _cut(emitter, part, Binary("less_equal", _share(total, part), done), position.expression)
        actions.run(split.work, LocalTarget(emitter, done, "add"), inner)

    actions.iteration.loop(split.source, scope, step)
    _cut(emitter, part, Constant(True, ScalarType.BOOL), actions.expressions.key(split.source.high, scope))
    return total


def _cut(emitter: Emitter, part: Local, is_enough: Expression, position: Expression) -> None:
    """Emit: parts end at ``position`` while they have enough."""
    is_cut = Binary("and", Binary("less", part, COUNT), is_enough)
    cut = (Store(CUTS, part, position), Assign(part, plus(part, index(1))))
    emitter.emit(While(is_cut, cut, Role.WORKSPACE))


def _share(total: Expression, part: Expression) -> Expression:
    """Return the work of the parts before ``part``."""
    return Binary("floor_divide", times(total, part), COUNT)
