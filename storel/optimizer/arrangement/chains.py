"""Chains of products: nests of sums in which every loop needs but one symbol of those before.

    sum(A(i)) sum(B(j)) sum(C(k)) {l -> a * b * c}       j is bound by the loops over A(i), k by those of B(j)

is row i of a product of matrices. They may be associated in any way (association.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from storel.calculus.bounds import binder_bounds
from storel.calculus.intervals import Interval
from storel.calculus.nodes import Range, Sum, Symbol, Term
from storel.calculus.safety import is_safe
from storel.calculus.verify import KEY
from storel.optimizer.arrangement.elimination import loops
from storel.optimizer.arrangement.nests import Loop, Nest, Part, binders_in, bound, closed, keyed
from storel.optimizer.physical.facts import ZERO, size_term
from storel.symbols import ParameterSymbol, Symbols


@dataclass(frozen=True, slots=True)
class Operand:
    """The loops and factors that make row ``row`` of a matrix (None: there is only one), and its keys.

    Those of all but the last are the symbol that the rows of the next one go by.
    """

    loops: tuple[Loop, ...]
    parts: tuple[Part, ...]
    keys: tuple[Term, ...]
    row: str | None

    def through(self, inner: Term, nest: Nest) -> Term:
        """Return the sum over the loops of the factors times ``inner``, which may mention what they bind."""
        return self._around(nest.product(self.parts, (inner,)), nest)

    def made(self, nest: Nest) -> Term:
        """Return the row."""
        factors = nest.product([part for part in self.parts if not part.is_condition], ())
        conditions = [part for part in self.parts if part.is_condition]
        return self._around(nest.product(conditions, (keyed(self.keys, factors, nest),)), nest)

    def _around(self, body: Term, nest: Nest) -> Term:
        for loop in reversed(self.loops):
            body = loop.around(body, nest.semiring)
        return body


@dataclass(frozen=True, slots=True)
class Chain:
    """The operands of a product; ``outer`` makes the rows, if there is more than one.

    ``ranges`` are the keys of the operands' rows, where they are known and each of them may be read.
    """

    nest: Nest
    outer: Operand | None
    operands: tuple[Operand, ...]
    ranges: tuple[Range | None, ...]


def chain(term: Term, symbols: Symbols, shortest: int = 1) -> Chain | None:
    """Return a sum as a chain of products of so many operands or more, None if it is no such."""
    if not isinstance(term, Sum) or loops(term) < shortest:
        return None
    nest = Nest(term)
    operands = [*_operands(nest)]
    keys = [key for operand in operands for key in operand.keys]
    outer = operands.pop(0) if operands[0].keys and len(operands) > 1 else None
    if len(operands) < shortest or keys != nest.keys or any(operand.keys for operand in operands[:-1]):
        return None
    columns = [
        Symbol(operand.row) for operand in operands if operand.row is not None and operand != operands[0]
    ]
    intervals = _intervals(nest.loops, symbols)
    lows = [intervals[column.name].low for column in columns]
    if any(low is None or low < 0 for low in lows):
        return None  # not a key: a value that loops share is no column of a matrix
    linked = [replace(each, keys=(column,)) for each, column in zip(operands, columns, strict=False)]
    whole = (*linked, operands[-1])
    ranges = tuple(_range(operand, nest, symbols, intervals) for operand in whole)
    return Chain(nest, outer, whole, ranges)


def _operands(nest: Nest) -> Iterator[Operand]:
    """Yield the parts of a nest that only meet in one symbol, which is bound by the part before."""
    begin, row = 0, None
    for position in range(1, len(nest.loops)):
        shared = _shared(nest, position)
        if len(shared) == 1 and shared <= bound(nest.loops[begin:position]):
            yield _operand(nest, begin, position, row)
            begin, (row,) = position, shared
    yield _operand(nest, begin, len(nest.loops), row)


def _operand(nest: Nest, begin: int, end: int, row: str | None) -> Operand:
    own, deeper = bound(nest.loops[begin:end]), bound(nest.loops[end:])

    def belongs(needs: frozenset[str]) -> bool:
        return not needs & deeper and (bool(needs & own) or begin == 0)

    parts = tuple(part for part in nest.parts if belongs(part.needs))
    keys = tuple(key for key in nest.keys if belongs(binders_in(key)))
    return Operand(tuple(nest.loops[begin:end]), parts, keys, row)


def _shared(nest: Nest, position: int) -> frozenset[str]:
    """Return what the loops from ``position`` on, and all that needs them, need of those before."""
    deeper = nest.loops[position:]
    inner = bound(deeper)
    others = (*(part.needs for part in nest.parts), *map(binders_in, nest.keys))
    needs = (*(loop.needs for loop in deeper), *(each for each in others if each & inner))
    return frozenset[str]().union(*needs) - inner


def _intervals(loops: Sequence[Loop], symbols: Symbols) -> dict[str, Interval]:
    """Return what the binders of loops range over, as far as it does not depend on other binders."""
    return {
        name: interval
        for loop in loops
        for name, interval in zip((loop.key, loop.value), binder_bounds(loop.source, symbols), strict=True)
    }


def _range(operand: Operand, nest: Nest, symbols: Symbols, intervals: dict[str, Interval]) -> Range | None:
    if operand.row is None:
        return None
    interval = intervals[operand.row]
    if interval.low is None or interval.high is None or interval.low < 0:
        return None
    local = {**symbols, operand.row: ParameterSymbol(operand.row, KEY.scalar)}
    is_readable = is_safe(closed(operand.made(nest), operand.row), local, (KEY,), (interval,))
    return Range(ZERO, size_term(symbols, interval.high + 1)) if is_readable else None
