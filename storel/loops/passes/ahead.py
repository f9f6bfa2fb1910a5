"""Rows of a large table that a loop looks up, or goes through, are asked for before they are needed.

    for i in 0:n { for p in pos[i]:pos[i + 1] { k = idx[p]; for j in 0:64 { … d[k * 64 + j] … } } }
    for i in 0:n { for p in 4 * i:4 * (i + 1) { k = idx[p]; if k >= 0 { … d[k * 64 + j] … } } }
    for i in 0:n { for p in pos[i]:pos[i + 1] { k = idx[p]; for q in pos[k]:pos[k + 1] { … val[q] … } } }
    for p in 0:n { k = row[p]; for q in … { for j in 0:64 { result[k * 64 + j] += … } } }
    for i in 0:n { for p in pos[i]:pos[i + 1] { for j in 0:16 { … val[p * 16 + j] … } } }
    for i in 0:n { for j in 0:16 { … val[i * 16 + j] … } }

The processor cannot foresee where the next row is, but the program can look it up: the row of idx[p + 16]
may be fetched while this one is worked on. Segments follow each other, so all positions up to the last one's
end are those of this loop or of its next ones, and idx may be read there (Mowry, Lam, Gupta, "Design and
Evaluation of a Compiler Algorithm for Prefetching", ASPLOS 1992; Ainsworth, Jones, "Software Prefetching for
Indirect Memory Accesses", CGO 2017). Rows that lie one after the other it could foresee, but segments are
short, and it comes to the next one late, as it does to the next page of an array.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from itertools import chain

from storel.loops.dependence import assigned, changing, is_fixed, start_of
from storel.loops.nodes import (
    Ahead,
    Binary,
    Buffer,
    Constant,
    Declare,
    Expression,
    Fail,
    For,
    If,
    Kernel,
    Load,
    Local,
    Row,
    Statement,
    Store,
    While,
)
from storel.loops.passes.interiors import whole
from storel.loops.passes.polynomials import coefficient, expression_of, polynomial
from storel.loops.passes.simplify import expression as simplified
from storel.loops.walk import evaluated, loads_of, note, substituted, walk
from storel.symbols import ArraySymbol, Fact, SizeSymbol, Symbols

NEAR = 1 << 20
"""Bytes of a table that stays in the cache next to the core: nothing is gained by asking for it."""

FETCHED = 8192
"""How many bytes of rows are asked for ahead: about what comes from memory while one waits for a row."""

SCANNED = 128
"""How many bytes of a row vector code reads while a scan reads one element of a segment."""

NEAREST, FARTHEST = 8, 32
"""How many iterations ahead rows are asked for at least and at most."""

CACHE_LINE = 64
"""Bytes that memory gives at once."""

LONGEST = 128
"""The most elements of a row: longer ones the processor foresees."""


def look_ahead(kernel: Kernel, symbols: Symbols) -> Kernel:
    """Return the same kernel, with the rows that its loops look up in large buffers."""
    constant = frozenset(kernel.inputs)
    body = _Looking(constant, lengths(kernel, symbols)).block(kernel.compute.body, None)
    return replace(kernel, compute=replace(kernel.compute, body=body))


def lengths(kernel: Kernel, symbols: Symbols) -> dict[Buffer, int]:
    """Return how many elements the buffers of a kernel have, as far as that is known, else 0."""
    inputs = {buffer: _length(symbols.get(buffer.name)) for buffer in kernel.inputs}
    return inputs | dict(_allocated(kernel, symbols))


def mean_iterations(loop: For, reads: Iterable[Load], lengths: Mapping[Buffer, int]) -> float:
    """Return how many iterations a loop over a segment has on the average, 0 if that is not known.

    ``reads`` are its loads; a buffer that is read at the loop's own variable holds all segments.
    """
    read = [load.buffer for load in reads if load.index == loop.local]
    boundaries = [load.buffer for load in loads_of(loop.low)]
    longest = max((lengths.get(buffer, 0) for buffer in read), default=0)
    return longest / max([1, *(lengths.get(buffer, 0) for buffer in boundaries)])


def _allocated(kernel: Kernel, symbols: Symbols) -> Iterator[tuple[Buffer, int]]:
    """Yield the buffers of ``compute`` whose length is a product of known sizes, which comes with each."""
    scalars = [(local, symbols.get(local.name)) for local in kernel.bound.scalars]
    known = {
        local: Constant(fact.value, local.type) for local, fact in scalars if isinstance(fact, SizeSymbol)
    }
    for statement in kernel.bound.body:
        match statement:
            case Store(_, Constant(slot), value):
                length = simplified(substituted(value, known))
                if isinstance(length, Constant):
                    yield kernel.allocations[int(slot)].buffer, int(length.value)
            case _:
                pass


def _length(fact: Fact | None) -> int:
    """Return the length of an input that is an array; of the stores of other kernels nothing is known."""
    return fact.length if isinstance(fact, ArraySymbol) else 0


def _may_fail(statement: Statement) -> bool:
    return any(isinstance(inner, Fail) for inner in walk((statement,)))


class _Looking:
    """Rewrites blocks from the outside in; ``constant`` buffers are only read, ``large`` ones far away."""

    def __init__(self, constant: Set[Buffer], lengths: Mapping[Buffer, int]) -> None:
        self.constant = constant
        self.lengths = lengths
        self.large = {buffer for buffer, length in lengths.items() if length * buffer.type.itemsize > NEAR}

    def mean(self, buffer: Buffer, boundaries: Buffer) -> int:
        """Return how many elements of a buffer lie between two boundaries on the average, at least one."""
        return max(1, round(self.lengths[buffer] / max(1, self.lengths[boundaries])))

    def block(self, body: tuple[Statement, ...], outer: For | None) -> tuple[Statement, ...]:
        """Return the statements, which are the body of ``outer`` if it is given.

        What comes after a failure may only exist where nothing failed, so the last iteration tells nothing.
        """
        made: list[Statement] = []
        for statement in body:
            made.append(self._statement(statement, outer))
            outer = None if _may_fail(statement) else outer
        return tuple(made)

    def _statement(self, statement: Statement, outer: For | None) -> Statement:
        match statement:
            case For(body=body):
                ahead = self._ahead(statement, outer)
                return replace(statement, body=self.block(body, statement), ahead=ahead)
            case While(body=body):
                return replace(statement, body=self.block(body, None))
            case If(_, body, otherwise):
                return replace(statement, body=self.block(body, None), otherwise=self.block(otherwise, None))
            case _:
                return statement

    def _ahead(self, loop: For, outer: For | None) -> Ahead | None:
        """Return the row of each buffer that loops inside of ``loop`` read for it."""
        found: dict[Buffer, _Found] = {}
        for each in chain(_Reading(self, loop).rows(loop.body, {}), self._in_succession(loop, outer)):
            found.setdefault(each.row.buffer, each)
        if not found:
            return None
        distance = FETCHED // sum(each.effort for each in found.values())
        rows = tuple(each.row for each in found.values())
        return Ahead(rows, _end(loop, outer, self.constant), max(NEAREST, min(distance, FARTHEST)))

    def _in_succession(self, loop: For, outer: For | None) -> Iterator[_Found]:
        """Yield the rows that a loop goes through one after the other, where all of each is read.

        They are blocks of a segment, or rows of a band or of a narrow array. A loop of constant length has
        none: it goes through a row of the loop around it. Nor do rows shorter than a cache line pay.
        """
        is_segment = (
            outer is not None and last_boundary(loop.low, loop.high, outer, self.constant) is not None
        )
        if not is_segment and whole(loop) is not None:
            return
        moving = changing(loop) - {loop.local}
        read: dict[tuple[Buffer, int], dict[Expression, int]] = {}
        for load, elements in _in_short_loops(loop.body, {}, 1):
            if loads_of(load.index) or not is_fixed(load.index, moving, self.constant):
                continue
            grows = coefficient(polynomial(load.index), loop.local) or {}
            if load.buffer in self.large and len(grows) == 1:
                starts = read.setdefault((load.buffer, grows.get((), 0)), {})
                starts[load.index] = max(elements, starts.get(load.index, 0))
        for (buffer, length), starts in read.items():
            least = 2 if is_segment else CACHE_LINE // buffer.type.itemsize
            if least <= length <= LONGEST and sum(starts.values()) >= length:
                first = min(map(polynomial, starts), key=lambda start: start.get((), 0))
                yield _at_once(Row(buffer, expression_of(first), length))


@dataclass(frozen=True, slots=True)
class _Found:
    """A row, and as how many bytes in vector code it takes to be worked on."""

    row: Row
    effort: int


def _at_once(row: Row) -> _Found:
    return _Found(row, row.length * row.buffer.type.itemsize)


class _Reading:
    """What loops inside of ``loop`` read, and where each of them begins to.

    A place is evaluated ahead only if it is evaluated in every iteration of ``loop``, so that it exists.
    """

    def __init__(self, looking: _Looking, loop: For) -> None:
        self.looking = looking
        self.loop, self.local = loop, loop.local
        self.moving = changing(loop) - {loop.local}
        self.reassigned = frozenset(assigned(loop.body))

    def rows(self, body: tuple[Statement, ...], known: dict[Local, Expression]) -> Iterator[_Found]:
        """Yield the rows that loops in a body read; ``known`` are the values of its locals.

        Rows after a failure are left out: it may be what keeps their places in bounds. So are rows under a
        condition, unless all that tells their places is read in any case: any address may be asked for.
        Segments that follow each other are foreseen.
        """
        for statement in body:
            match statement:
                case Declare(local) if local not in self.reassigned:
                    note(statement, known)
                case _ if _may_fail(statement):
                    return
                case For(local, Constant(0), Constant(high), inner):
                    if 1 < high <= LONGEST:
                        yield from self._short(inner, local, int(high), known)
                case For(local, low, high, inner):
                    yield from self._tiles(statement, known)
                    follows = last_boundary(low, high, self.loop, self.looking.constant) is not None
                    if not follows:
                        yield from self._segments(inner, {**known, local: substituted(low, known)})
                case If(condition, one, other):
                    read = {load for value in (condition, *known.values()) for load in loads_of(value)}
                    branches = [list(self.rows(branch, dict(known))) for branch in (one, other)]
                    for found, others in ((each, branches[1 - n]) for n in (0, 1) for each in branches[n]):
                        if found in others or read.issuperset(loads_of(found.row.start)):
                            yield found
                case _:
                    pass

    def _short(
        self, body: tuple[Statement, ...], local: Local, length: int, known: Mapping[Local, Expression]
    ) -> Iterator[_Found]:
        """Yield the rows that a loop of constant length reads."""
        for load in _loads(body):
            start = start_of(load.index, local)
            if start is None:
                continue
            place = substituted(start, known)
            if self._is_at_local(place) and self._is_looked_up(place, load.buffer):
                yield _at_once(Row(load.buffer, place, length))

    def _segments(self, body: tuple[Statement, ...], known: dict[Local, Expression]) -> Iterator[_Found]:
        """Yield the segments that the body of a loop reads one element after the other, from their starts.

        They are known only where nothing else has to be read in the loop. Their length is the average.
        """
        for statement in body:
            match statement:
                case Declare(_, value) if not loads_of(value):
                    note(statement, known)
                case For(local, low, _, inner):
                    first = {} if loads_of(low) else {local: substituted(low, known)}
                    yield from self._segments(inner, {**known, **first})
                case _:
                    pass
            for load in _loads((statement,)):
                place = simplified(substituted(load.index, known))
                if loads_of(load.index) or not self._is_looked_up(place, load.buffer):
                    continue
                for boundary in loads_of(place):
                    if any(inner.index == self.local for inner in loads_of(boundary.index)):
                        length = self.looking.mean(load.buffer, boundary.buffer)
                        if length <= LONGEST:
                            yield self._segment(load.buffer, place, length)

    def _segment(self, buffer: Buffer, start: Expression, length: int) -> _Found:
        """Return a segment of so many elements: as it begins anywhere, it may end in one more cache line."""
        spilt = CACHE_LINE // buffer.type.itemsize - 1
        return _Found(Row(buffer, start, length + spilt), length * SCANNED)

    def _tiles(self, loop: For, known: Mapping[Local, Expression]) -> Iterator[_Found]:
        """Yield the rows that a loop keeps in registers, and reads and writes at its ends."""
        for tile in loop.tiles:
            place = substituted(tile.start, known)
            if self._is_at_local(place) and self._is_looked_up(place, tile.buffer):
                yield _at_once(replace(tile, start=place))

    def _is_at_local(self, place: Expression) -> bool:
        """Return whether a place is looked up at the loop's variable."""
        return any(load.index == self.local for load in loads_of(place))

    def _is_looked_up(self, place: Expression, buffer: Buffer) -> bool:
        """Return whether a place in a large buffer changes with the loop's variable alone."""
        constant = self.looking.constant
        return buffer in self.looking.large and is_fixed(place, self.moving, constant)


def _in_short_loops(
    body: tuple[Statement, ...], known: dict[Local, Expression], times: int
) -> Iterator[tuple[Load, int]]:
    """Yield what is read first in loops of constant length, whole ones, and how often they read something."""
    for statement in body:
        for load in _loads((statement,)):
            yield replace(load, index=substituted(load.index, known)), times
        match statement:
            case Declare():
                note(statement, known)
            case For(local, body=inner) if (found := whole(statement)) is not None:
                low, length = found
                yield from _in_short_loops(inner, {**known, local: substituted(low, known)}, times * length)
            case If(_, one, other):
                yield from _in_short_loops((*one, *other), dict(known), times)
            case _:
                pass


def _loads(body: tuple[Statement, ...]) -> list[Load]:
    return [load for statement in body for value in evaluated(statement) for load in loads_of(value)]


def _end(loop: For, outer: For | None, constant: Set[Buffer]) -> Expression:
    """Return where the last of consecutive segments ends, if the loop goes over one, else where it ends.

    Either goes on from there where the loop says so.
    """
    if outer is not None and outer.until is not None:
        outer = replace(outer, high=outer.until)
    if outer is not None and is_fixed(outer.high, changing(outer), constant):
        last = last_boundary(loop.low, loop.high, outer, constant)
        if last is not None:
            return last
    return loop.high if loop.until is None else loop.until


def last_boundary(low: Expression, high: Expression, outer: For, constant: Set[Buffer]) -> Expression | None:
    """Return f(n) for f(i) and f(i + 1), such as boundaries, where i is the variable of a loop up to n."""
    following = Binary("add", outer.local, Constant(1, outer.local.type))
    follows = simplified(substituted(low, {outer.local: following})) == simplified(high)
    if not follows or not is_fixed(low, changing(outer) - {outer.local}, constant):
        return None
    return substituted(low, {outer.local: outer.high})
