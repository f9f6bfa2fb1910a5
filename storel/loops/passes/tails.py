"""Short sums are added up in lanes, which may go past their ends.

    for i in 0:n { for p in pos[i]:pos[i + 1] { t = t + val[p] * x[idx[p]] } }

Most rows of a sparse matrix are short, and where each of them ends is a surprise to the processor. Where one
segment follows another, whatever is evaluated beyond the end is what the next one evaluates: it exists. So a
few iterations are evaluated at once, and of those beyond the end nothing is added, which vector code does
without a branch (predicated tails; Allen, Kennedy, "Optimizing Compilers for Modern Architectures", 2001,
chapter 7: control dependence becomes data dependence). It is no surprise where most rows are as long as the
ones before, as those of grids are.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace

from storel.degrees import DegreeVector
from storel.loops.dependence import added, changing, is_fixed, looked_up, step
from storel.loops.nodes import (
    Binary,
    Buffer,
    Cast,
    Constant,
    Expression,
    Fail,
    For,
    If,
    Kernel,
    Load,
    Local,
    Select,
    Statement,
    Unary,
    While,
)
from storel.loops.passes.ahead import last_boundary, lengths, mean_iterations
from storel.loops.walk import loads_of, parts, walk
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, Fact, Symbols

CHEAP = frozenset({"add", "subtract", "multiply"})
"""Operators that cannot fail, and take no longer than it takes to find out whether they are needed."""


REGULAR = 0.7
"""The share of segments as long as the one before from which on enough of their ends are foreseen."""

FEW = 8
"""Iterations up to which lookups take less time one by one than in lanes, if the ends are foreseen."""

LONG = 32
"""Iterations from which on the compiler's own vector code is as fast, where all is read in order."""


def fold_tails(kernel: Kernel, symbols: Symbols) -> Kernel:
    """Return the same kernel, with the tails of its short sums."""
    regular = frozenset(buffer for buffer in kernel.inputs if _is_regular(symbols.get(buffer.name)))
    folding = _Folding(frozenset(kernel.inputs), regular, lengths(kernel, symbols))
    body = folding.block(kernel.compute.body, None)
    return replace(kernel, compute=replace(kernel.compute, body=body))


def _is_regular(fact: Fact | None) -> bool:
    """Return whether what is known of an array of boundaries says that ends of segments are foreseen."""
    segments = fact.segments if isinstance(fact, ArraySymbol) else None
    return isinstance(segments, DegreeVector) and segments.repetition >= REGULAR


def _is_vector(expression: Expression, local: Local) -> bool:
    """Return whether the values of several iterations are neighbours, what is found where neighbours say, or
    made of such by arithmetic.
    """
    if local not in parts(expression):
        return True
    match expression:
        case Load(buffer, index) if buffer.type is not ScalarType.BOOL:
            places = index if step(index, {local: 1}) == 1 else looked_up(index)
            return places is index or (isinstance(places, Load) and step(places.index, {local: 1}) == 1)
        case Binary(_, left, right):
            return _is_vector(left, local) and _is_vector(right, local)
        case Cast(to, operand):
            return to is not ScalarType.BOOL and _is_vector(operand, local)
        case _:
            return False


@dataclass(frozen=True, slots=True)
class _Folding:
    """Marks loops; ``constant`` buffers are only read, ``lengths`` are those of buffers as far as known.

    The segments whose boundaries are in ``regular`` buffers are mostly as long as the one before.
    """

    constant: Set[Buffer]
    regular: Set[Buffer]
    lengths: Mapping[Buffer, int]

    def block(self, body: tuple[Statement, ...], outer: For | None) -> tuple[Statement, ...]:
        """Return the statements, which are the body of ``outer`` if it is given."""
        return tuple(self._statement(each, outer) for each in body)

    def _statement(self, statement: Statement, outer: For | None) -> Statement:
        match statement:
            case For(body=body):
                tail = None if outer is None else self._tail(statement, outer)
                return replace(statement, body=self.block(body, statement), tail=tail)
            case While(body=body):
                return replace(statement, body=self.block(body, None))
            case If(_, body, otherwise):
                return replace(statement, body=self.block(body, None), otherwise=self.block(otherwise, None))
            case _:
                return statement

    def _tail(self, loop: For, outer: For) -> Expression | None:
        """Return up to where ``loop`` may be evaluated beyond its end, None if it may not, or need not.

        What follows a failure may only exist where nothing failed. Segments whose bounds are computed are all
        of one length, which is no surprise.
        """
        found = added(loop)
        fails = any(isinstance(each, Fail) for each in walk(outer.body))
        if found is None or fails or not is_fixed(outer.high, changing(outer), self.constant):
            return None
        boundaries, value = {load.buffer for load in loads_of(loop.low)}, found[1]
        exists = all(self._exists(part, loop, outer) for part in parts(value))
        if not (boundaries and exists and _is_vector(value, loop.local)):
            return None
        mean = mean_iterations(loop, loads_of(value), self.lengths)
        is_in_order = bool(loop.reductions)
        is_foreseen = not is_in_order and mean <= FEW and boundaries <= self.regular
        if is_foreseen or (is_in_order and mean >= LONG):
            return None
        return last_boundary(loop.low, loop.high, outer, self.constant)

    def _exists(self, part: Expression, loop: For, outer: For) -> bool:
        """Return whether a part of what ``loop`` adds can be evaluated for its next segments, too.

        An element is either the same in all iterations of ``loop``, or what is read in a next segment.
        """
        match part:
            case Constant() | Local() | Cast():
                return True
            case Binary(operator):
                return operator in CHEAP
            case Load(_, index):
                moving = changing(outer) - {loop.local}
                return any(is_fixed(index, each, self.constant) for each in (changing(loop), moving))
            case Unary() | Select():
                return False
