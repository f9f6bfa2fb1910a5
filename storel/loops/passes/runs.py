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

from storel.loops.dependence import assigned, changing, declared, is_fixed, start_of
from storel.loops.emitter import Emitter, compare
from storel.loops.nodes import (
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
from storel.loops.walk import note, parts, substituted, walk
from storel.symbols import ArraySymbol, Symbols

FEWEST = 4
"""How many entries have a key in common on the average, at least, where they are worked on together."""


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
        found = next((each for each in self._keys(loop) if _adds_there(loop, each)), None)
        if found is None or loop.role is not Role.LOOP:
            self.emitter.emit(replace(loop, body=self._inside(loop.body)))
            return
        emitter, (local, value) = self.emitter, (found.key.local, found.key.value)

        def is_key(place: Expression) -> Expression:
            return compare("equal", substituted(value, {loop.local: place}), local)

        high = emitter.declare("stop", loop.high)
        end = emitter.declare("end", loop.low)
        with emitter.block() as run:
            begin = emitter.declare("begin", end)
            emitter.emit(Declare(local, substituted(value, {loop.local: begin})))
            emitter.pass_over(end, high, is_key)
            told = [each for each in loop.body if found.introduces(each)]
            body = self._inside(tuple(each for each in loop.body if each not in (found.key, *told)))
            until = high if loop.until is None else loop.until
            emitter.emit(*told, replace(loop, low=begin, high=end, body=body, until=until))
        emitter.emit(While(compare("less", end, high), tuple(run), Role.INDEX))

    def _keys(self, loop: For) -> Iterator[_Key]:
        """Yield what a loop looks up at its variable in the arrays that repeat, before all else."""
        reassigned = frozenset(assigned(loop.body))
        for statement in loop.body:
            match statement:
                case Declare(local, Load(buffer, place) | Cast(_, Load(buffer, place))):
                    if buffer in self.repeating and place == loop.local and local not in reassigned:
                        yield _Key(statement, changing(loop) - {local}, reassigned, self.constant)
                case Declare():
                    pass
                case _:
                    return


@dataclass(frozen=True, slots=True)
class _Key:
    """The ``key`` of each iteration of a loop, in which some locals are ``moving``, or ``reassigned``."""

    key: Declare
    moving: Set[Local]
    reassigned: Set[Local]
    constant: Set[Buffer]

    def tells(self, expression: Expression, known: Mapping[Local, Expression]) -> bool:
        """Return whether the key alone tells a value, by what is ``known`` of other locals."""
        return is_fixed(substituted(expression, known), self.moving, self.constant)

    def introduces(self, statement: Statement) -> bool:
        """Return whether a statement declares what depends on the key and on no other local of the loop."""
        if not isinstance(statement, Declare) or statement.local in self.reassigned:
            return False
        return self.tells(statement.value, {})

    def definitions(self, body: tuple[Statement, ...]) -> Mapping[Local, Expression]:
        """Return the values of what a body declares once and for all, but for the key."""
        found: dict[Local, Expression] = {}
        for statement in body:
            if isinstance(statement, Declare) and statement.local not in {self.key.local, *self.reassigned}:
                note(statement, found)
        return found


def _adds_there(loop: For, found: _Key) -> bool:
    """Return whether a loop adds to a place, or to a row, that its key tells."""
    if any(isinstance(each, Fail) for each in walk(loop.body)):
        return False
    known = found.definitions(loop.body)

    def is_told(place: Expression | None) -> bool:
        if place is None or not found.tells(place, known):
            return False
        return found.key.local in parts(substituted(place, known))

    for statement in walk(loop.body):
        match statement:
            case Update(_, place) if is_told(place):
                return True
            case For(lane, Constant(), Constant(), body):
                if any(is_told(start_of(each.index, lane)) for each in body if isinstance(each, Update)):
                    return True
            case _:
                pass
    return False
