"""Short sums that are made anew in each iteration are added up lane by lane, and together only at the end.

    for p in l:h { k = idx[p]; for i in 0:4 { s = 0; for j in 0:4 { s = s + e(k, i, j) }; b[c + i] += s } }

    =  for j in 0:4 { u0[j] = 0 }; …
       for p in l:h { k = idx[p]; for j in 0:4 { u0[j] += e(k, 0, j) }; … }
       if l < h { b[c] += u0[0] + u0[1] + u0[2] + u0[3]; … }

where c does not change in the loop. So it is with blocks of a sparse matrix: to add the lanes of a vector to
each other takes longer than to multiply them, and is done once for a row of blocks, which registers hold
(Im, Yelick, Vuduc, "Sparsity: Optimization Framework for Sparse Matrix Kernels", IJHPCA 18(1), 2004). This
adds real numbers in another order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import count

from storel.loops.dependence import assigned, changing, declared, is_fixed
from storel.loops.nodes import (
    Assign,
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
    Role,
    Statement,
    Store,
    Update,
    While,
)
from storel.loops.passes.ahead import lengths, mean_iterations
from storel.loops.passes.reorder import is_only_updated
from storel.loops.passes.tiles import is_contiguous
from storel.loops.walk import all_parts, evaluated, loads_of, note, parts, substituted, walk
from storel.loops.workspaces import Workspaces
from storel.scalars import ScalarType
from storel.symbols import Symbols

LEAST_BYTES, MOST_BYTES = 32, 512
"""How many bytes a row of partial sums has at least, a vector of AVX, and all rows at most: half of the
registers of AVX-512."""

LEAST_ITERATIONS = 2
"""Iterations from which on it pays to have sums cleared before and added up behind them."""

INDEX = ScalarType.INT64


def spread(kernel: Kernel, symbols: Symbols) -> Kernel:
    """Return a kernel that means the same, but for the rounding of real sums."""
    workspaces = Workspaces(kernel)
    spreading = _Spreading(frozenset(kernel.inputs), lengths(kernel, symbols), workspaces)
    return workspaces.kernel(spreading.block(kernel.compute.body))


@dataclass(frozen=True, slots=True)
class _Sums:
    """Sums of ``value`` over ``lane`` in 0:width for each ``row`` in 0:height, and what ``adds`` them."""

    adds: Update | Assign
    value: Expression
    lane: Local
    width: int
    role: Role
    row: Local | None = None
    height: int = 1

    def value_at(self, number: int) -> Expression:
        """Return what is summed up in a row."""
        return substituted(self.value, self._chosen(number))

    def adds_at(self, number: int, total: Expression) -> Statement:
        """Return what adds the sum of a row, which is ``total``."""
        match self.adds:
            case Update(buffer, place, operator):
                return Update(buffer, substituted(place, self._chosen(number)), operator, total)
            case Assign(local):
                return Assign(local, Binary("add", local, total, Role.VALUE))

    def _chosen(self, number: int) -> dict[Local, Expression]:
        return {} if self.row is None else {self.row: Constant(number, self.row.type)}

    @property
    def type(self) -> ScalarType:
        """The type of the sums."""
        return self.adds.buffer.type if isinstance(self.adds, Update) else self.adds.local.type


class _Spreading:
    """Rewrites blocks from the inside out, and reserves the rows of partial sums that they need."""

    def __init__(
        self, constant: frozenset[Buffer], lengths: Mapping[Buffer, int], workspaces: Workspaces
    ) -> None:
        self.constant = constant
        self.sizes = lengths
        self._workspaces = workspaces
        self._loops = count()

    def block(self, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(made for statement in body for made in self._statement(statement))

    def _statement(self, statement: Statement) -> Iterator[Statement]:
        match statement:
            case For(body=body):
                yield from self._loop(replace(statement, body=self.block(body)))
            case While(body=body):
                yield replace(statement, body=self.block(body))
            case If(_, body, otherwise):
                yield replace(statement, body=self.block(body), otherwise=self.block(otherwise))
            case _:
                yield statement

    def _loop(self, loop: For) -> Iterator[Statement]:
        """Yield the loop, and before and behind it what becomes of the sums that its iterations make."""
        moving = changing(loop)
        ends = loop.low, loop.high
        is_steady = all(is_fixed(end, moving, self.constant) for end in ends)
        if not is_steady or _may_fail(loop) or self._is_short(loop):
            yield loop
            return
        after: list[Statement] = []
        body: list[Statement] = []
        for statement in loop.body:
            sums = _sums(statement)
            if sums is None or not self._is_spread(sums, loop, moving):
                body.append(statement)
                continue
            for number in range(sums.height):
                row = self._workspaces.reserve("lanes", sums.type, sums.width)
                yield self._for_each(sums, Store(row, sums.lane, Constant(0.0, row.type)), Role.INDEX)
                body.append(
                    self._for_each(sums, Update(row, sums.lane, "add", sums.value_at(number)), sums.role)
                )
                after.append(sums.adds_at(number, _total(row, sums.width)))
        yield replace(loop, body=tuple(body))
        if after:
            yield If(Binary("less", *ends), tuple(after))

    def _is_short(self, loop: For) -> bool:
        """Return whether there are so few iterations on the average that nothing is saved."""
        reads = (load for each in walk(loop.body) for part in evaluated(each) for load in loads_of(part))
        return 0 < mean_iterations(loop, reads, self.sizes) < LEAST_ITERATIONS

    def _is_spread(self, sums: _Sums, loop: For, moving: frozenset[Local]) -> bool:
        """Return whether the sums fill vectors, and are asked for behind the loop only."""
        size = sums.width * sums.type.itemsize
        if not sums.type.is_real or size < LEAST_BYTES or size * sums.height > MOST_BYTES:
            return False
        match sums.adds:
            case Update(buffer, place):
                fixed = is_fixed(place, moving - {sums.row}, self.constant)
                is_asked = not (fixed and is_only_updated(buffer, "add", loop.body))
            case Assign(local):
                is_set = local in declared(loop.body) or [*assigned(loop.body)].count(local) > 1
                is_asked = is_set or _uses(loop.body, local) > 1
        row = Buffer("row", sums.type)
        updates = (Update(row, sums.lane, "add", sums.value_at(number)) for number in range(sums.height))
        return not is_asked and all(
            is_contiguous(_loop(sums.lane, sums.width, update, sums.role)) for update in updates
        )

    def _for_each(self, sums: _Sums, statement: Store | Update, role: Role) -> For:
        """Return a loop of its own variable, which no other one has."""
        lane = Local(f"{sums.lane.name} {next(self._loops)}", sums.lane.type)
        place, value = (substituted(each, {sums.lane: lane}) for each in (statement.index, statement.value))
        return _loop(lane, sums.width, replace(statement, index=place, value=value), role)


def _sums(statement: Statement) -> _Sums | None:
    """Return the sums that a statement makes and adds to one place, or to places next to each other."""
    match statement:
        case For(lane, Constant(0), Constant(int() as width), body, role):
            if (found := _summand(body)) is not None:
                return _Sums(*found, lane, width, role)
            match body:
                case (
                    Declare(total, Constant(0)),
                    For(inner, Constant(0), Constant(int() as own), summands, role),
                    Update(buffer, _, "add", made) as adds,
                ) if made == total and total.type is buffer.type:
                    found = _summand(summands)
                    if found is not None and found[0].local == total:
                        return _Sums(adds, found[1], inner, own, role, lane, width)
                case _:
                    pass
        case _:
            pass
    return None


def _summand(body: Sequence[Statement]) -> tuple[Assign, Expression] | None:
    """Return what adds to a local, and what it adds, if that is all that the statements do."""
    known: dict[Local, Expression] = {}
    for each in body[:-1]:
        if not (isinstance(each, Declare) and note(each, known)):
            return None
    match body[-1:]:
        case (Assign(total, Binary("add", before, value)) as adds,) if before == total:
            summand = substituted(value, known)
            return None if total in parts(summand) else (adds, summand)
        case _:
            return None


def _uses(body: tuple[Statement, ...], local: Local) -> int:
    """Return how often statements ask for the value of ``local``."""
    return sum(part == local for each in walk(body) for part in all_parts(evaluated(each)))


def _loop(lane: Local, width: int, statement: Statement, role: Role) -> For:
    return For(lane, Constant(0, INDEX), Constant(width, INDEX), (statement,), role)


def _total(row: Buffer, width: int) -> Expression:
    """Return the sum of a row's elements, in pairs first."""
    parts: list[Expression] = [Load(row, Constant(number, INDEX)) for number in range(width)]
    while len(parts) > 1:
        pairs = [parts[n : n + 2] for n in range(0, len(parts), 2)]
        parts = [reduce(lambda one, other: Binary("add", one, other, Role.VALUE), pair) for pair in pairs]
    return parts[0]


def _may_fail(loop: For) -> bool:
    return any(isinstance(statement, Fail) for statement in walk(loop.body))
