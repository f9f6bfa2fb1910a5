"""Entries of a list in the order of a key are worked on key by key.

    for p in l:h { k = row[p]; … b[k] += e(p) … }

    =  end = l
       while end < h {
           begin = end; k = row[begin]
           while end + 7 < h and row[end + 7] == k { end = end + 8 }
           while end < h and row[end] == k { end = end + 1 }
           for p in begin:end { … b[k] += e(p) … }
       }

As the keys are in order, where two are the same all between them are. What is at k can then stay in registers
(``reorder.py``, ``tiles.py``); else each sum waits until the one before it is in memory and read again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace

from storel.loops.dependence import changing, declared, is_fixed, start_of
from storel.loops.emitter import Emitter, compare, index, plus
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
    Role,
    Statement,
    Update,
    While,
)
from storel.loops.walk import parts, substituted, walk
from storel.symbols import ArraySymbol, Symbols

FEWEST = 4
"""How many entries have a key in common on the average, at least, where they are worked on together."""

BLOCK = 8
"""How many entries the search for the end of a run passes over at once."""


def group(kernel: Kernel, symbols: Symbols) -> Kernel:
    """Return the same kernel, with loops over runs of entries that add to the same place."""
    repeating = {buffer for buffer in kernel.inputs if _repeats(buffer, symbols)}
    if not repeating:
        return kernel
    compute = kernel.compute
    emitter = Emitter([local.name for local in (*compute.scalars, *declared(compute.body))])
    _Grouping(frozenset(kernel.inputs), repeating, emitter).block(compute.body)
    return replace(kernel, compute=replace(compute, body=emitter.statements))


def _repeats(buffer: Buffer, symbols: Symbols) -> bool:
    """Return whether equal elements of an array follow each other, several times on the average."""
    match symbols.get(buffer.name):
        case ArraySymbol(length=length, distinct=int(distinct)) as fact:
            return fact.never_descends and length >= FEWEST * max(1, distinct)
        case _:
            return False


@dataclass(frozen=True, slots=True)
class _Grouping:
    """Emits blocks again; ``constant`` buffers are only read, ``repeating`` ones hold runs of equal keys."""

    constant: Set[Buffer]
    repeating: Set[Buffer]
    emitter: Emitter

    def block(self, body: tuple[Statement, ...]) -> None:
        for statement in body:
            match statement:
                case For():
                    self._loop(statement)
                case While(body=inner):
                    self.emitter.emit(replace(statement, body=self._inside(inner)))
                case If(_, inner, otherwise):
                    branches = self._inside(inner), self._inside(otherwise)
                    self.emitter.emit(replace(statement, body=branches[0], otherwise=branches[1]))
                case _:
                    self.emitter.emit(statement)

    def _inside(self, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        with self.emitter.block() as statements:
            self.block(body)
        return tuple(statements)

    def _loop(self, loop: For) -> None:
        key = next((each for each in self._keys(loop) if self._is_worth_it(loop, each.local)), None)
        if key is None or loop.role is not Role.LOOP:
            self.emitter.emit(replace(loop, body=self._inside(loop.body)))
            return
        emitter = self.emitter
        high = emitter.declare("stop", loop.high)
        end = emitter.declare("end", loop.low)
        with emitter.block() as run:
            begin = emitter.declare("begin", end)
            emitter.emit(Declare(key.local, substituted(key.value, {loop.local: begin})))
            for step in (BLOCK, 1):
                last = plus(end, index(step - 1))
                is_same = compare("equal", substituted(key.value, {loop.local: last}), key.local)
                goes_on = Binary("and", compare("less", last, high), is_same)
                emitter.emit(While(goes_on, (Assign(end, plus(end, index(step))),), Role.INDEX))
            fixed = [each for each in loop.body if each is not key and self._is_fixed(each, loop, key.local)]
            body = self._inside(tuple(each for each in loop.body if each not in (key, *fixed)))
            until = high if loop.until is None else loop.until
            emitter.emit(*fixed, replace(loop, low=begin, high=end, body=body, until=until))
        emitter.emit(While(compare("less", end, high), tuple(run), Role.INDEX))

    def _keys(self, loop: For) -> Iterator[Declare]:
        """Yield what a loop looks up at its variable in the arrays that repeat, before all else."""
        for statement in loop.body:
            match statement:
                case Declare(_, Load(buffer, place) | Cast(_, Load(buffer, place))):
                    if buffer in self.repeating and place == loop.local:
                        yield statement
                case Declare():
                    pass
                case _:
                    return

    def _is_fixed(self, statement: Statement, loop: For, key: Local) -> bool:
        """Return whether a statement of a loop's body introduces what ``key`` tells alone."""
        if not isinstance(statement, Declare):
            return False
        known = _definitions(loop.body, key)
        return is_fixed(substituted(statement.value, known), changing(loop) - {key}, self.constant)

    def _is_worth_it(self, loop: For, key: Local) -> bool:
        """Return whether a loop adds to a place, or to a row, that only ``key`` tells."""
        if any(isinstance(each, Fail) for each in walk(loop.body)):
            return False
        moving, known = changing(loop) - {key}, _definitions(loop.body, key)

        def is_at_key(place: Expression | None) -> bool:
            found = None if place is None else substituted(place, known)
            return found is not None and key in parts(found) and is_fixed(found, moving, self.constant)

        for statement in walk(loop.body):
            match statement:
                case Update(_, place) if is_at_key(place):
                    return True
                case For(lane, Constant(), Constant(), body):
                    starts = [start_of(each.index, lane) for each in body if isinstance(each, Update)]
                    if any(map(is_at_key, starts)):
                        return True
                case _:
                    pass
        return False


def _definitions(body: tuple[Statement, ...], key: Local) -> Mapping[Local, Expression]:
    """Return the values of what the statements of a body declare themselves, but for ``key``."""
    found: dict[Local, Expression] = {}
    for statement in body:
        if isinstance(statement, Declare) and statement.local != key:
            found[statement.local] = substituted(statement.value, found)
    return found
