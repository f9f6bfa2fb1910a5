"""The association of a chain of products that takes the least work.

The tree that multiplies the fewest pairs of entries, by sketches of the operands (estimation/sketches.py), is
found by dynamic programming over the intervals of the chain (Godbole, "On Efficient Computation of Matrix
Chain Products", IEEE Transactions on Computers, 1973). To make row i of X Y, the row of X is gone through if
X is one operand, else it is stored first; Y is gone through if it is one operand, else all of it is stored:

    sum(X(i)) x * Y(j)
    let t = X(i) in sum(<j, x> in t) x * Y(j)
    let T = sum(<j, _> in 0:n) {j -> Y(j)} in … T(j) …

So entries with equal keys are added up before they are multiplied on.
"""

from __future__ import annotations

from typing import TypeAlias

from storel.calculus.nodes import Lookup, Multiply, Range, Singleton, Slice, Symbol, Term
from storel.optimizer.arrangement.chains import Chain, Operand, chain
from storel.optimizer.arrangement.nests import Loop, Nest, keyed, named
from storel.optimizer.estimation.cardinality import appraise
from storel.optimizer.estimation.sketches import Sketch, uniform
from storel.symbols import ArraySymbol, Symbols

SHORTEST = 3
"""Operands of a product that can be associated in more than one way."""

Tree: TypeAlias = "int | tuple[Tree, Tree]"
"""An operand by its number, or a product."""


def associated(term: Term, symbols: Symbols) -> Term | None:
    """Return the chain of products ``term`` in the order of least work, None if it is no such."""
    found = chain(term, symbols, SHORTEST)
    if found is None:
        return None
    sketches = [
        _sketch(operand, keys, found.nest, symbols)
        for operand, keys in zip(found.operands, found.ranges, strict=True)
    ]
    rows = _Rows(found)
    made = rows.of(best(sketches, [keys is not None for keys in found.ranges]))
    if found.outer is not None:
        made = found.outer.through(keyed(found.outer.keys, made, found.nest), found.nest)
    return rows.below_tables(made)


def best(sketches: list[Sketch], storable: list[bool]) -> Tree:
    """Return the association that multiplies the fewest pairs of entries.

    A product is a right factor only where its first operand is ``storable``.
    """
    count = len(sketches)
    known = {(at, at): sketch for at, sketch in enumerate(sketches)}
    least: dict[tuple[int, int], tuple[float, Tree]] = {(at, at): (0.0, at) for at in range(count)}
    for width in range(1, count):
        for first in range(count - width):
            last = first + width
            found: list[tuple[float, int, Tree]] = []
            for middle in range(first, last):
                if middle + 1 < last and not storable[middle + 1]:
                    continue
                (one, left), (other, right) = least[first, middle], least[middle + 1, last]
                pairs = known[first, middle].pairs(known[middle + 1, last])
                found.append((one + other + pairs, middle, (left, right)))
            work, middle, tree = min(found, key=lambda each: each[:2])
            least[first, last] = work, tree
            known[first, last] = known[first, middle].times(known[middle + 1, last])
    return least[0, count - 1][1]


class _Rows:
    """Terms for the rows of products, and the tables in which other products are stored for them."""

    def __init__(self, found: Chain) -> None:
        self.chain = found
        self.nest = found.nest
        self.tables: list[tuple[str, Term]] = []

    def of(self, tree: Tree) -> Term:
        """Return a row of a product, that of the symbol which its first operand's rows go by."""
        if isinstance(tree, int):
            return self.chain.operands[tree].made(self.nest)
        left, right = tree
        inner = self.of(right) if isinstance(right, int) else self._stored(right)
        if isinstance(left, int):
            return self.chain.operands[left].through(inner, self.nest)
        name, value = self.nest.fresh(), self.nest.fresh()
        (column,) = self.chain.operands[_last(left)].keys
        assert isinstance(column, Symbol)
        loop = Loop(Symbol(name), column.name, value, frozenset((name,)))
        scaled = Multiply(Symbol(value), inner, self.nest.semiring)
        return named(name, self.of(left), loop.around(scaled, self.nest.semiring))

    def _stored(self, tree: Tree) -> Term:
        first, name = _first(tree), self.nest.fresh()
        operand, keys = self.chain.operands[first], self.chain.ranges[first]
        assert operand.row is not None and keys is not None
        self.tables.append((name, _table(operand.row, keys, self.of(tree), self.nest)))
        return Lookup(Symbol(name), Symbol(operand.row), self.nest.semiring)

    def below_tables(self, term: Term) -> Term:
        """Return ``term`` with the names of all tables bound."""
        for name, table in reversed(self.tables):
            term = named(name, table, term)
        return term


def _table(name: str, keys: Range, row: Term, nest: Nest) -> Term:
    """Return the rows for all keys, where ``row`` is that for the symbol ``name``."""
    loop = Loop(keys, name, nest.fresh(), frozenset())
    return loop.around(Singleton(Symbol(name), row, nest.semiring), nest.semiring)


def _first(tree: Tree) -> int:
    return tree if isinstance(tree, int) else _first(tree[0])


def _last(tree: Tree) -> int:
    return tree if isinstance(tree, int) else _last(tree[1])


def _sketch(operand: Operand, keys: Range | None, nest: Nest, symbols: Symbols) -> Sketch:
    """Return the sketch of an operand, by degrees where it is a segment of an array for each row."""
    row = operand.made(nest)
    if operand.row is None or keys is None:
        whole = appraise(row, symbols)
        return uniform((1.0, *whole.spans), whole.total)
    whole = appraise(_table(operand.row, keys, row, nest), symbols)
    sketch = uniform(whole.spans, whole.total)
    match operand.loops:
        case (Loop(Slice(Symbol(elements), Lookup(Symbol(bounds), Symbol(name))), _, value),) if (
            name == operand.row and not any(part.is_condition for part in operand.parts)
        ):
            array, segments = symbols[elements], symbols[bounds]
            assert isinstance(array, ArraySymbol) and isinstance(segments, ArraySymbol)
            is_key = operand.keys == (Symbol(value),)
            return sketch.known(segments.segments, array.occurrences if is_key else None)
        case _:
            return sketch
