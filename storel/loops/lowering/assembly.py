"""Assembling a result level by level, as its keys arrive.

Level k has a position per entry: ``parent * extent + key`` where it is a ``Place``, the cursor where it
appends. An appending level below another keeps ``pos``: the entries of its parent's position p are
``pos[p] … pos[p + 1] - 1``. ``pos`` is filled up to p when p is opened, and to its end when all is done,
so that parents that never come need no thought. Levels follow Chou, Kjolstad, Amarasinghe, "Format
abstraction for sparse tensor algebra compilers", OOPSLA 2018; the lazily filled ``pos`` is ours.

The buffers are named ``result.pos_k``, ``result.idx_k`` and ``result.val``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce

from storel.errors import Cause
from storel.loops.emitter import INDEX, Emitter, compare, convert, index, plus, times
from storel.loops.lowering.targets import Dictionary, ElementTarget, Limit, Target, reduced
from storel.loops.lowering.workspace import Workspace
from storel.loops.nodes import (
    Assign,
    Binary,
    Buffer,
    Cast,
    Constant,
    Expression,
    Failure,
    For,
    Load,
    Local,
    Role,
    Select,
    Statement,
    Store,
    While,
)
from storel.loops.nodes import If as Branch
from storel.loops.walk import all_parts, evaluated, walk
from storel.plan.nodes import Append, Gather, Level, Levels, Place
from storel.scalars import ScalarType


def result_names(levels: Levels) -> tuple[str, ...]:
    """Return the names of the buffers of a result, level by level, the values last."""
    names: list[str] = []
    for number, level in enumerate(levels.levels):
        if not isinstance(level, Place):
            names += [f"result.pos_{number}"] if number > 0 else []
            names.append(f"result.idx_{number}")
    return (*names, "result.val")


NO_ROOM = Failure(
    Cause.CAPACITY, "the result has more than {} entries: that does not fit into the memory limit"
)


@dataclass(frozen=True, slots=True)
class _Appending:
    """A level that appends: the entry that comes next, and how many there may be.

    Below another level ``pos`` is ``filled`` so far.
    """

    cursor: Local
    capacity: Local
    filled: Local | None


@dataclass(frozen=True, slots=True)
class _Latest:
    """The entry of a level that may come again and again, -1 before the first one, and its position."""

    key: Local
    position: Local


@dataclass
class Assembly:
    """The state of a result under construction; made by ``begin``, ended by ``finish``.

    Each place of the outer ``swept`` levels is entered once, in turn (``plan/sweep.py``); the values hold
    anything before.
    """

    emitter: Emitter
    plan: Levels
    extents: tuple[Expression, ...]
    limits: tuple[int, ...]
    index_type: ScalarType
    swept: int = 0
    appending: dict[int, _Appending] = field(default_factory=dict[int, _Appending])
    latest: dict[int, _Latest] = field(default_factory=dict[int, _Latest])
    workspace: Workspace | None = None

    @property
    def levels(self) -> tuple[Level, ...]:
        return self.plan.levels

    @property
    def val(self) -> Buffer:
        return Buffer("result.val", self.plan.leaf.type)

    @property
    def zero(self) -> Constant:
        zero = convert(Constant(self.plan.leaf.zero or 0, self.plan.leaf.type), self.plan.leaf.type)
        assert isinstance(zero, Constant)
        return zero

    def pos(self, level: int) -> Buffer:
        return Buffer(f"result.pos_{level}", INDEX, Role.INDEX)

    def idx(self, level: int) -> Buffer:
        return Buffer(f"result.idx_{level}", self.index_type, Role.INDEX)

    def begin(self, capacities: dict[int, Expression]) -> Target:
        """Emit the initial state; ``capacities`` say how many entries each appending level may hold."""
        for number, level in enumerate(self.levels):
            if not isinstance(level, Place):
                cursor = self.emitter.declare(f"cursor_{number}", index(0))
                capacity = self.emitter.declare(f"capacity_{number}", capacities[number])
                filled = self.emitter.declare(f"filled_{number}", index(0)) if number > 0 else None
                self.appending[number] = _Appending(cursor, capacity, filled)
            if isinstance(level, Gather):
                self.workspace = Workspace(self.emitter, level, self.plan.leaf, self.extents[number])
                self.workspace.begin()
        self._open_children(-1, index(0))
        return self._target(0, index(0))

    def finish(self) -> None:
        """Emit what completes the arrays."""
        self._close_children(-1)
        for number in self.appending:
            self._fill_pos(number, self.parents(number))

    def parents(self, level: int) -> Expression:
        """Return the number of positions of the level above ``level``: one above the first."""
        if level == 0:
            return index(1)
        if isinstance(self.levels[level - 1], Place):
            return times(self.parents(level - 1), self.extents[level - 1])
        return self.appending[level - 1].cursor

    def _target(self, level: int, parent: Expression) -> Target:
        if level == len(self.levels):
            return ElementTarget(self.emitter, self.val, parent, self.plan.leaf.operator)
        return _LevelTarget(self, level, parent)

    def _fill_pos(self, level: int, up_to: Expression) -> None:
        """Emit the elements of ``pos`` for all parent positions up to one, if the level has a ``pos``."""
        filled = self.appending[level].filled
        if filled is None:
            return
        with self.emitter.block() as body:
            self.emitter.emit(Store(self.pos(level), filled, self.appending[level].cursor))
            self.emitter.advance(filled, index(1))
        self.emitter.emit(While(Binary("less_equal", filled, up_to), tuple(body), Role.WORKSPACE))

    def _open_children(self, level: int, position: Expression) -> None:
        """Emit what must happen when ``position`` of ``level`` is opened, for the level below it."""
        below = level + 1
        if below in self.appending:
            self._fill_pos(below, position)
        if below < len(self.levels) and _repeats(self.levels[below]):
            key = self.emitter.declare(f"current_{below}", index(-1))
            if below in self.appending:
                self.latest[below] = _Latest(key, self.appending[below].cursor)
            else:
                self.latest[below] = _Latest(key, self.emitter.declare(f"position_{below}", index(0)))

    def _clear(self, row: Expression) -> None:
        """Emit that all values of a row of the last level that is swept are zero."""
        length = reduce(times, self.extents[self.swept :])
        place = self.emitter.fresh("place")
        with self.emitter.block() as body:
            self.emitter.emit(Store(self.val, plus(times(row, length), place), self.zero))
        self.emitter.emit(For(place, index(0), length, tuple(body), Role.WORKSPACE))

    def clear(self, low: Expression, high: Expression) -> None:
        """Emit that all values under the outermost keys from ``low`` up to ``high`` are zero."""
        stride = reduce(times, self.extents[1:], index(1))
        place = self.emitter.fresh("place")
        body = (Store(self.val, place, self.zero),)
        self.emitter.emit(For(place, times(low, stride), times(high, stride), body, Role.WORKSPACE))

    def _close_children(self, level: int) -> None:
        """Emit what must happen when an open position of ``level`` is left."""
        below = level + 1
        if below >= len(self.levels):
            return
        if below in self.latest:
            self._close_latest(below)
        if isinstance(self.levels[below], Gather):
            assert self.workspace is not None
            self.workspace.drain(lambda key, value: self._append(below, key, value), self.extents[below])

    def _close_latest(self, level: int) -> None:
        """Emit the end of the entry of ``level`` that came last, if there was one."""
        key = self.latest[level].key
        with self.emitter.block() as body:
            self._close(level, key)
        self.emitter.emit(Branch(Binary("greater_equal", key, index(0)), tuple(body)))

    def _append(self, level: int, key: Expression, value: Expression, *, is_foreseen: bool = False) -> None:
        """Emit an entry of the last level, unless its value is zero.

        Where zeros are so rare that a branch ``is_foreseen``, the next entry's place need not wait for the
        value.
        """
        cursor = self._next(level)
        is_entry = compare("not_equal", value, self.zero)
        with self.emitter.block() as stored:
            self.emitter.emit(Store(self.idx(level), cursor, convert(key, self.index_type)))
            self.emitter.emit(Store(self.val, cursor, value))
            self.emitter.advance(cursor, index(1) if is_foreseen else Cast(INDEX, is_entry))
        self.emitter.emit(*([Branch(is_entry, tuple(stored))] if is_foreseen else stored))

    def _next(self, level: int) -> Local:
        """Return the position of the entry that comes next, below a check that there is room for it."""
        cursor, capacity = self.appending[level].cursor, self.appending[level].capacity
        self.emitter.fail_unless(Binary("less", cursor, capacity), NO_ROOM, capacity)
        return cursor

    def _close(self, level: int, key: Expression) -> None:
        """Emit the end of the entry ``key`` of ``level``: an appended one stays only if it has entries."""
        self._close_children(level)
        if isinstance(self.levels[level], Append):
            cursor, below = self.appending[level].cursor, level + 1
            with self.emitter.block() as body:
                self.emitter.emit(Store(self.idx(level), cursor, convert(key, self.index_type)))
                self.emitter.advance(cursor, index(1))
            if below in self.appending:
                grown = Binary("greater", self.appending[below].cursor, Load(self.pos(below), cursor))
                self.emitter.emit(Branch(grown, tuple(body)))
            else:
                self.emitter.emit(*body)

    def enter(
        self,
        level: int,
        parent: Expression,
        key: Expression,
        fill: Callable[[Target], None],
        *,
        is_simple: bool,
    ) -> None:
        """Run ``fill`` in the child of ``parent`` at ``key``, with all bookkeeping of ``level``."""
        kind = self.levels[level]
        if level == len(self.levels) - 1:
            self._enter_last(level, kind, parent, key, fill, is_simple=is_simple)
        elif level in self.latest:
            self._enter_repeating(level, kind, parent, key, fill)
        else:
            position = self._open(level, kind, parent, key)
            fill(self._target(level + 1, position))
            self._close(level, key)

    def _open(self, level: int, kind: Level, parent: Expression, key: Expression) -> Local:
        if isinstance(kind, Place):
            place = plus(times(parent, self.extents[level]), key)
            position = self.emitter.declare(f"row_{level}", place)
            if level + 1 == self.swept:
                self._clear(position)
        else:
            position = self._next(level)
        self._open_children(level, position)
        return position

    def _enter_repeating(
        self, level: int, kind: Level, parent: Expression, key: Expression, fill: Callable[[Target], None]
    ) -> None:
        latest = self.latest[level]
        key = self.emitter.declare("key", key)
        with self.emitter.block() as changed:
            self._close_latest(level)
            position = self._open(level, kind, parent, key)
            if position != latest.position:
                self.emitter.emit(Assign(latest.position, position))
            self.emitter.emit(Assign(latest.key, key))
        self.emitter.emit(Branch(Binary("not_equal", latest.key, key), tuple(changed)))
        fill(self._target(level + 1, latest.position))

    def _enter_last(
        self,
        level: int,
        kind: Level,
        parent: Expression,
        key: Expression,
        fill: Callable[[Target], None],
        *,
        is_simple: bool,
    ) -> None:
        leaf = self.plan.leaf
        match kind:
            case Place(once=once):
                place = plus(times(parent, self.extents[level]), key)
                once = once or level < self.swept
                element = ElementTarget(self.emitter, self.val, place, leaf.operator, once)
                element.receive(fill, self.zero, is_simple=is_simple)
            case Append():
                with self.emitter.block() as made:
                    value = reduced(
                        self.emitter, fill, leaf.type, leaf.operator, self.zero, is_simple=is_simple
                    )
                self.emitter.emit(*made)
                self._append(level, key, value, is_foreseen=_is_plain_sum(made))
            case Gather():
                assert self.workspace is not None
                value = reduced(self.emitter, fill, leaf.type, leaf.operator, self.zero, is_simple=is_simple)
                self.workspace.insert(key, value)


@dataclass
class _LevelTarget(Dictionary):
    """A position of the level above ``level``, whose children are entries of ``level``."""

    assembly: Assembly
    level: int
    parent: Expression

    @property
    def limit(self) -> Limit:
        return Limit(self.assembly.limits[self.level], self.assembly.zero)

    def enter(self, key: Expression, fill: Callable[[Target], None], *, is_simple: bool) -> None:
        self.assembly.enter(self.level, self.parent, key, fill, is_simple=is_simple)


def _is_plain_sum(made: list[Statement]) -> bool:
    """Return whether what computes a value adds up a loop in which no condition decides."""
    statements = list(walk(tuple(made)))
    chosen = all_parts(value for statement in statements for value in evaluated(statement))
    is_decided = any(isinstance(each, Branch | While) for each in statements)
    is_decided = is_decided or any(isinstance(part, Select) for part in chosen)
    return not is_decided and any(isinstance(each, For) for each in statements)


def _repeats(level: Level) -> bool:
    return isinstance(level, Append | Place) and level.repeats
