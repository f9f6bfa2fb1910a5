"""Compressed rows of tiles, all of one shape, told by their mapping.

    for i in 0:ceil(m / r): for p, j in idx(pos(i):pos(i + 1))
      for ii in 0:min(r, m - i * r): for jj in 0:min(c, n - j * c)
        key (i * r + ii, j * c + jj), leaf val((p * r + ii) * c + jj)

The keys are numbers in mixed radix whose first digits are compressed rows, and so is the address.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from storel.storage.formats.chain import Chain, ChainLoop
from storel.storage.formats.format import Format
from storel.storage.packing.turned import segment_boundaries
from storel.storage.unpacking.affine import Affine, affine
from storel.syntax.free_names import free_names
from storel.syntax.nodes.expressions import Call, Expression, Name, Number


@dataclass(frozen=True, slots=True)
class TilesInRows:
    """The names of the arrays, and the sides of a tile; rows are columns where ``order`` is (1, 0)."""

    order: tuple[int, int]
    pos: str
    idx: str
    values: str
    sides: tuple[int, int]


def tiles_in_rows(storage: Format, shape: tuple[int, int]) -> TilesInRows | None:
    """Return how a format whose parameters have values makes a matrix of tiles in rows, if it does."""
    match storage.chains:
        case (
            Chain(
                steps=(ChainLoop(array=None) as rows, ChainLoop(array=str(idx)) as tiles, *_),
                leaf=Call(Name(values), (address,)),
            ) as chain,
        ):
            segment = segment_boundaries(tiles)
        case _:
            return None
    is_all_loops = len(chain.loops) == len(chain.steps)
    if not is_all_loops or segment is None or segment[1] != Name(rows.position):
        return None
    reading = _Reading(chain, storage.sizes(shape))
    for order in ((0, 1), (1, 0)):
        extents = shape[order[0]], shape[order[1]]
        down = reading.side(order[0], rows.position, extents[0])
        along = reading.side(order[1], str(tiles.element), extents[1])
        if down is None or along is None:
            continue
        steps = {tiles.position: down.length * along.length, down.loop: along.length, along.loop: 1}
        factors = {name: step for name, step in steps.items() if name is not None}
        is_address = len(factors) == len(chain.loops) - 1 and reading.form(address) == Affine(factors, 0)
        if is_address and reading.is_from_zero_to(rows, -(-extents[0] // down.length)):
            return TilesInRows(order, segment[0], idx, values, (down.length, along.length))
    return None


@dataclass(frozen=True, slots=True)
class _Side:
    """How many keys of a dimension a tile has, and the variable that counts them, if one does."""

    length: int
    loop: str | None = None


@dataclass(frozen=True, slots=True)
class _Reading:
    """The expressions of a chain, where they are affine ones of its variables."""

    chain: Chain
    sizes: Mapping[str, int]

    def form(self, expression: Expression) -> Affine | None:
        variables = {name for loop in self.chain.loops for name in (loop.position, loop.element) if name}
        if not free_names(expression) <= variables | self.sizes.keys():
            return None
        return affine(expression, self.sizes, {}, frozenset(variables))

    def is_from_zero_to(self, loop: ChainLoop, count: int) -> bool:
        return loop.low == Number(0) and self.form(loop.high) == Affine({}, count)

    def side(self, dimension: int, outer: str, extent: int) -> _Side | None:
        """Return a tile's side, if the key is ``outer`` times its length and what a loop counts within."""
        form = self.form(self.chain.keys[dimension])
        if form is None or form.constant or outer not in form.factors:
            return None
        length, within = int(form.factors[outer]), {n: f for n, f in form.factors.items() if n != outer}
        match [loop for loop in self.chain.loops if loop.position in within]:
            case [] if not within and length == 1:
                return _Side(1)
            case [loop] if within == {loop.position: 1} and self._goes_through(loop, length, outer, extent):
                return _Side(length, loop.position)
            case _:
                return None

    def _goes_through(self, loop: ChainLoop, length: int, outer: str, extent: int) -> bool:
        """Return whether a loop goes through all keys of a tile that are within the extent."""
        match loop.high:
            case Call(Name("min"), arguments):
                bounds = [self.form(each) for each in arguments]
            case _:
                bounds = [self.form(loop.high)]
        whole, rest = Affine({}, length), Affine({outer: -length}, extent)
        is_enough = whole in bounds and (rest in bounds or extent % length == 0)
        starts = loop.array is None and loop.low == Number(0)
        return length > 0 and starts and is_enough and all(each in (whole, rest) for each in bounds)
