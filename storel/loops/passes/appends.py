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
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace

from storel.loops.dependence import changing, declared
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
    Statement,
    Store,
    Unary,
    While,
)
from storel.loops.passes.ahead import lengths, mean_iterations
from storel.loops.walk import all_parts, evaluated, loads_of, note, parts, substituted
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
    filled = {buffer for buffer in kernel.inputs if _is_filled(symbols.get(buffer.name))}
    emitter = Emitter(local.name for local in (*compute.scalars, *declared(compute.body)))
    body = _Appending(filled, lengths(kernel, symbols), emitter).block(compute.body)
    return replace(kernel, compute=replace(compute, body=body))


def _is_filled(fact: Fact | None) -> bool:
    """Return whether hardly an element of an array is zero."""
    nonzeros = fact.nonzeros if isinstance(fact, ArraySymbol) else None
    return isinstance(fact, ArraySymbol) and nonzeros is not None and nonzeros >= FILLED * fact.length


@dataclass(frozen=True, slots=True)
class _Entries:
    """What a loop appends at ``cursor``, as long as that is less than ``capacity``.

    The ``statements`` make each entry, and ``is_entry`` says whether it stays.
    """

    cursor: Local
    capacity: Local
    statements: tuple[Declare | Store, ...]
    is_entry: Expression


@dataclass(frozen=True, slots=True)
class _Appending:
    """Rewrites loops; hardly an element of the buffers ``filled`` is zero, ``lengths`` are those known."""

    filled: Set[Buffer]
    lengths: Mapping[Buffer, int]
    emitter: Emitter

    def block(self, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(made for statement in body for made in self._statement(statement))

    def _statement(self, statement: Statement) -> tuple[Statement, ...]:
        match statement:
            case For(body=body):
                entries = _entries(statement)
                if entries is not None and self._pays(statement, entries):
                    return self._at_once(statement, entries)
                return (replace(statement, body=self.block(body)),)
            case While(body=body):
                return (replace(statement, body=self.block(body)),)
            case If(_, body, otherwise):
                return (replace(statement, body=self.block(body), otherwise=self.block(otherwise)),)
            case _:
                return (statement,)

    def _pays(self, loop: For, entries: _Entries) -> bool:
        """Return whether a loop appends many entries, made of numbers of which hardly any is zero."""
        known: dict[Local, Expression] = {}
        for each in entries.statements:
            if isinstance(each, Declare) and not note(each, known):
                return False
        is_entry = substituted(entries.is_entry, known)
        is_long = mean_iterations(loop, loads_of(is_entry), self.lengths) >= MANY
        return is_long and isinstance(is_entry, Binary) and self._is_seldom_zero(is_entry.left)

    def _is_seldom_zero(self, value: Expression) -> bool:
        match value:
            case Load(buffer, _):
                return buffer in self.filled
            case Local() | Constant():
                return True
            case Binary(operator, left, right):
                return operator in SELDOM_ZERO and all(map(self._is_seldom_zero, (left, right)))
            case Unary(operator, operand):
                return operator in SELDOM_ZERO and self._is_seldom_zero(operand)
            case Cast(_, operand):
                return self._is_seldom_zero(operand)
            case _:
                return False

    def _at_once(self, loop: For, entries: _Entries) -> tuple[Statement, ...]:
        emitter, cursor = self.emitter, entries.cursor
        with emitter.block() as made:
            zeros = emitter.declare("zeros", index(1))
            low, high = emitter.declare("low", loop.low), emitter.declare("high", loop.high)
            place = emitter.fresh(loop.local.name, loop.local.type)
            with emitter.block() as whole:
                emitter.emit(Assign(zeros, index(0)))
                at = plus(cursor, Binary("subtract", loop.local, low))
                counted = Cast(INDEX, Unary("not", entries.is_entry))
                body = (
                    *(_moved(each, at) for each in entries.statements),
                    Assign(zeros, plus(zeros, counted)),
                )
                copied = emitter.iteration(replace(loop, body=body), place)
                emitter.emit(replace(loop, local=place, low=low, high=high, body=copied))
                with emitter.block() as done:
                    emitter.advance(cursor, Binary("subtract", high, low))
                emitter.emit(If(compare("equal", zeros, index(0)), tuple(done)))
            room = Binary("subtract", entries.capacity, cursor)
            fits = compare("less_equal", high, plus(low, room))
            emitter.emit(If(Binary("and", compare("less", low, high), fits), tuple(whole)))
            again = replace(loop, low=low, high=high)
            emitter.emit(If(compare("not_equal", zeros, index(0)), (again,)))
        return tuple(made)


def _entries(loop: For) -> _Entries | None:
    """Return what a loop appends, None if it does anything else."""
    match loop.body:
        case (*made, Assign(cursor, Binary("add", before, grown))) if before == cursor:
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
    written = {each.buffer for each in statements if isinstance(each, Store)}
    if capacity is None or not isinstance(grown, Cast) or not _only_appends(statements, cursor, written):
        return None
    stays = capacity not in changing(loop) and cursor not in parts(grown.operand)
    return _Entries(cursor, capacity, tuple(statements), grown.operand) if stays else None


def _only_appends(statements: list[Declare | Store], cursor: Local, written: set[Buffer]) -> bool:
    """Return whether all that is stored is at the cursor, which nothing else reads, nor what is stored."""
    for each in statements:
        needed = (each.value,) if isinstance(each, Store) else evaluated(each)
        if isinstance(each, Store) and each.index != cursor:
            return False
        for part in all_parts(needed):
            if part == cursor or (isinstance(part, Load) and part.buffer in written):
                return False
    return True


def _moved(statement: Declare | Store, place: Expression) -> Declare | Store:
    """Return a statement that stores at another place."""
    return replace(statement, index=place) if isinstance(statement, Store) else statement
