"""Entries that a loop appends one by one are appended at once, where hardly any of them is zero.

    for p in l:h { if not c < n { fail }; idx[c] = k(p); val[c] = v(p); c = c + (v(p) != 0) }

    =  zeros = 1
       if l < h and h <= l + (n - c) {
         zeros = 0
         for p in l:h { idx[c + (p - l)] = k(p); val[c + (p - l)] = v(p); zeros = zeros + (v(p) == 0) }
         if zeros == 0 { c = c + (h - l) }
       }
       if zeros != 0 { the loop as it was }

Where an entry comes to stand then waits for none of those before it, and what is copied is copied by vector
instructions. Should one of them be zero after all, or should there be no room for all, the loop does its work
again, entry by entry.

Where one segment follows another, and no entry asks which one it is in, those of all are appended at once,
however short they are. Then it is said where each of them ends:

    for i in a:b { …; for p in pos[i]:pos[i + 1] { … } }
      =  s = c; … for p in pos[a]:pos[b] { … } …
         for i in a:b { …; if zeros == 0 { c = s + (pos[i + 1] - pos[a]) } else { the loop as it was } }
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace

from storel.loops.dependence import assigned, changing, declared, looked_up
from storel.loops.emitter import INDEX, Emitter, compare, index, plus
from storel.loops.nodes import (
    Assign,
    Binary,
    Buffer,
    Cast,
    Constant,
    Declare,
    Expression,
    Fail,
    For,
    If,
    Kernel,
    Load,
    Local,
    Sort,
    Statement,
    Store,
    Unary,
    Update,
    While,
)
from storel.loops.passes.ahead import last_boundary, lengths, mean_iterations
from storel.loops.walk import all_parts, evaluated, loads_of, note, parts, substituted, walk
from storel.symbols import ArraySymbol, Fact, Symbols

FILLED = 0.999
"""The share of what is read that is not zero from which on a run of entries has hardly any zero."""

MANY = 16
"""Entries of a segment from which on it takes no longer to ask whether there is room for all of them."""

SELDOM_ZERO = frozenset(
    {"add", "subtract", "multiply", "divide", "negate", "abs", "sqrt", "exp", "log", "sin", "tanh", "sigmoid"}
)
"""Operators that make zero of hardly any numbers that are not."""


def append_at_once(kernel: Kernel, symbols: Symbols) -> Kernel:
    """Return the same kernel, in which loops that append nothing but entries append them at once."""
    compute = kernel.compute
    facts = [(buffer, symbols.get(buffer.name)) for buffer in kernel.inputs]
    appending = _Appending(
        {buffer for buffer, fact in facts if _share(fact) >= FILLED},
        {buffer for buffer, fact in facts if _share(fact) >= 1},
        {buffer for buffer, fact in facts if isinstance(fact, ArraySymbol) and fact.never_descends},
        lengths(kernel, symbols),
        Emitter(local.name for local in (*compute.scalars, *declared(compute.body))),
    )
    return replace(kernel, compute=replace(compute, body=appending.block(compute.body)))


def _share(fact: Fact | None) -> float:
    """Return the share of an array's elements that are not zero, 0 if it is not known."""
    nonzeros = fact.nonzeros if isinstance(fact, ArraySymbol) else None
    return nonzeros / max(fact.length, 1) if isinstance(fact, ArraySymbol) and nonzeros is not None else 0


@dataclass(frozen=True, slots=True)
class _Entries:
    """What a loop appends at ``cursor``, as long as that is less than ``capacity``.

    The ``statements`` make each entry, and ``is_entry`` says whether it stays.
    """

    cursor: Local
    capacity: Local
    statements: tuple[Declare | Store, ...]
    is_entry: Expression

    @property
    def value(self) -> Expression | None:
        """What an entry holds, by what is known outside of the loop; None if that is too long to be said."""
        known: dict[Local, Expression] = {}
        is_known = all(note(each, known) for each in self.statements if isinstance(each, Declare))
        match self.is_entry:
            case Binary("not_equal", value, Constant()) if is_known:
                return substituted(value, known)
            case _:
                return None

    def are_apart_from(self, before: list[Statement], outer: For) -> bool:
        """Return whether all entries may be appended ahead of all that a loop does ``before`` each run.

        What may fail there may be a check that they exist.
        """
        statements = list(walk(tuple(before)))
        if any(isinstance(each, Fail | Sort) for each in statements):
            return False
        changed = {each.buffer for each in statements if isinstance(each, Store | Update)}
        around = {outer.local, *declared(tuple(before)), *assigned(tuple(before))}
        needed = set(all_parts(part for each in self.statements for part in evaluated(each)))
        written = {each.buffer for each in self.statements if isinstance(each, Store)}
        touched = written | {part.buffer for part in needed if isinstance(part, Load)}
        asked = {part for each in statements for value in evaluated(each) for part in loads_of(value)}
        is_independent = needed.isdisjoint(around) and self.cursor not in around
        return is_independent and changed.isdisjoint(touched) and written.isdisjoint(p.buffer for p in asked)


@dataclass(frozen=True, slots=True)
class _Appending:
    """Rewrites loops.

    Hardly an element of the buffers ``filled`` is zero, none of ``full`` ones, and in ``ascending`` ones none
    is less than the one before. ``lengths`` are those known.
    """

    filled: Set[Buffer]
    full: Set[Buffer]
    ascending: Set[Buffer]
    lengths: Mapping[Buffer, int]
    emitter: Emitter

    def block(self, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(made for statement in body for made in self._statement(statement))

    def _statement(self, statement: Statement) -> tuple[Statement, ...]:
        match statement:
            case For(body=body):
                found = self._segment(statement) or self._segments(statement)
                return found or (replace(statement, body=self.block(body)),)
            case While(body=body):
                return (replace(statement, body=self.block(body)),)
            case If(_, body, otherwise):
                return (replace(statement, body=self.block(body), otherwise=self.block(otherwise)),)
            case _:
                return (statement,)

    def _segment(self, loop: For) -> tuple[Statement, ...]:
        """Return the statements for a loop that appends many entries, none for any other one."""
        entries = _entries(loop)
        value = None if entries is None else entries.value
        if entries is None or value is None or not _is_seldom_zero(value, self.filled):
            return ()
        if mean_iterations(loop, loads_of(value), self.lengths) < MANY:
            return ()
        emitter, cursor = self.emitter, entries.cursor
        with emitter.block() as made:
            zeros = emitter.declare("zeros", index(1))
            run = replace(loop, low=emitter.declare("low", loop.low), high=emitter.declare("high", loop.high))
            self._append(run, entries, zeros)
            end = plus(cursor, Binary("subtract", run.high, run.low))
            emitter.emit(If(compare("equal", zeros, index(0)), (Assign(cursor, end),), (run,)))
        return tuple(made)

    def _segments(self, outer: For) -> tuple[Statement, ...]:
        """Return the statements for a loop that appends a segment after the other, none for any other one."""
        match outer.body:
            case (*before, For() as loop):
                entries = _entries(loop)
            case _:
                return ()
        value = None if entries is None else entries.value
        if entries is None or value is None or not _is_seldom_zero(value, self.full):
            return ()
        boundary = looked_up(loop.low)
        last = last_boundary(loop.low, loop.high, outer, self.ascending)
        if boundary is None or last is None or not entries.are_apart_from(before, outer):
            return ()
        emitter, cursor = self.emitter, entries.cursor
        with emitter.block() as made:
            zeros, start = emitter.declare("zeros", index(1)), emitter.declare("start", cursor)
            first, stop = emitter.declare("first", outer.low), emitter.declare("stop", outer.high)
            with emitter.block() as inside:
                low = emitter.declare("low", substituted(loop.low, {outer.local: first}))
                high = emitter.declare("high", substituted(loop.low, {outer.local: stop}))
                self._append(replace(loop, low=low, high=high), entries, zeros)
            emitter.emit(If(compare("less", first, stop), tuple(inside)))
            length = Binary("subtract", loop.high, substituted(loop.low, {outer.local: first}))
            end = Assign(cursor, plus(start, length))
            told = If(compare("equal", zeros, index(0)), (end,), (loop,))
            emitter.emit(replace(outer, low=first, high=stop, body=(*before, told)))
        return tuple(made)

    def _append(self, run: For, entries: _Entries, zeros: Local) -> None:
        """Emit a run of entries, after which there are no ``zeros`` if all of them are appended."""
        emitter = self.emitter
        place = emitter.fresh(run.local.name, run.local.type)
        at = plus(entries.cursor, Binary("subtract", run.local, run.low))
        moved = (replace(e, index=at) if isinstance(e, Store) else e for e in entries.statements)
        counts = Assign(zeros, plus(zeros, Cast(INDEX, Unary("not", entries.is_entry))))
        copied = emitter.iteration(replace(run, body=(*moved, counts)), place)
        room = Binary("subtract", entries.capacity, entries.cursor)
        fits = compare("less_equal", run.high, plus(run.low, room))
        is_run = Binary("and", compare("less", run.low, run.high), fits)
        emitter.emit(If(is_run, (Assign(zeros, index(0)), replace(run, local=place, body=copied))))


def _entries(loop: For) -> _Entries | None:
    """Return what a loop appends, None if it does anything else."""
    match loop.body:
        case (*made, Assign(cursor, Binary("add", before, Cast(_, is_entry)))) if before == cursor:
            pass
        case _:
            return None
    statements: list[Declare | Store] = []
    capacity: Local | None = None
    for each in made:
        match each:
            case If(Unary("not", Binary("less", found, Local() as room)), (Fail(),), ()) if found == cursor:
                capacity = room
            case Declare() | Store():
                statements.append(each)
            case _:
                return None
    if capacity is None or capacity in changing(loop) or cursor in parts(is_entry):
        return None
    is_all = _only_appends(statements, cursor)
    return _Entries(cursor, capacity, tuple(statements), is_entry) if is_all else None


def _only_appends(statements: list[Declare | Store], cursor: Local) -> bool:
    """Return whether all that is stored is at the cursor, which nothing else reads, nor what is stored."""
    written = {each.buffer for each in statements if isinstance(each, Store)}
    for each in statements:
        if isinstance(each, Store) and each.index != cursor:
            return False
        needed = (each.value,) if isinstance(each, Store) else evaluated(each)
        for part in all_parts(needed):
            if part == cursor or (isinstance(part, Load) and part.buffer in written):
                return False
    return True


def _is_seldom_zero(value: Expression, filled: Set[Buffer]) -> bool:
    """Return whether a value is made of numbers of which hardly any is zero."""
    match value:
        case Load(buffer, _):
            return buffer in filled
        case Local() | Constant():
            return True
        case Binary(operator, left, right):
            return operator in SELDOM_ZERO and all(_is_seldom_zero(each, filled) for each in (left, right))
        case Unary(operator, operand):
            return operator in SELDOM_ZERO and _is_seldom_zero(operand, filled)
        case Cast(_, operand):
            return _is_seldom_zero(operand, filled)
        case _:
            return False
