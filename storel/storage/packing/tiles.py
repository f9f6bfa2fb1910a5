"""Entries that come in runs of consecutive keys, as long as a loop: each run is placed by its first one.

    for bj in …: for jj in 0:min(c, n - bj * c): key bj * c + jj, leaf val(p * c + jj)

If ``jj`` only counts a key and the address, then what is found for an entry with jj = 0 holds for the next
c - 1 ones, too, if their keys follow. This is so where all blocks that are stored are full.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from storel.arrays import Array
from storel.storage.blocks import small_blocks
from storel.storage.formats.chain import ChainGuard, ChainLoop
from storel.storage.packing.placement import Placement
from storel.storage.packing.turned import TurnedChain, key_name
from storel.storage.unpacking.affine import affine
from storel.syntax.free_names import free_names
from storel.syntax.nodes.expressions import Call, Expression, Name, Number


@dataclass(frozen=True, slots=True)
class Tile:
    """A loop whose variable counts the last key and the address, and how many iterations it has at most."""

    loop: ChainLoop
    width: int

    def divides(self, coordinates: Array) -> bool:
        """Return whether sorted entries come in runs of this width, in which only the last key rises."""
        if coordinates.shape[1] % self.width:
            return False
        *leading, last = (axis.reshape(-1, self.width) for axis in coordinates)
        for piece in small_blocks(len(last)):
            if any((last[piece, step] - last[piece, 0] != step).any() for step in range(1, self.width)):
                return False
        return not any((axis[:, 0] != axis[:, -1]).any() for axis in leading)

    def fits(self, placement: Placement) -> bool:
        """Return whether the run of each placed entry begins with the loop, and the loop is long enough."""
        begins = not placement.vectors[self.loop.position].any()
        return begins and placement.extreme(self.loop.high, np.min) >= self.width


def tile_of(chain: TurnedChain, rank: int, sizes: Mapping[str, int]) -> Tile | None:
    """Return the loop of a chain that makes runs of the last key, if there is one."""
    variables = frozenset(chain.written)
    for loop in reversed(chain.loops):
        width = max(_numbers(loop.high, sizes), default=0)
        if loop.array is None and loop.low == Number(0) and width > 1 and _is_free(loop, chain):
            last = [each.unknown for each in chain.equations if each.known == Name(key_name(rank - 1))]
            counted = [_factor(loop.position, each, sizes, variables) for each in (*last, chain.leaf.address)]
            return Tile(loop, width) if counted == [1, 1] else None
    return None


def _is_free(loop: ChainLoop, chain: TurnedChain) -> bool:
    """Return whether a loop's variable occurs in one key and in the address only."""
    others: list[Expression] = []
    for step in chain.steps:
        others += [step.condition] if isinstance(step, ChainGuard) else [step.low, step.high]
    others += [each.address for each in (*chain.required, *chain.bits)]
    others += [each.position for each in chain.bits]
    others += [part for each in chain.segments for part in (each.index, each.offset)]
    keys = [each.unknown for each in chain.equations if loop.position in free_names(each.unknown)]
    return not chain.runs and len(keys) == 1 and not any(loop.position in free_names(e) for e in others)


def _factor(position: str, expression: Expression, sizes: Mapping[str, int], unknown: frozenset[str]) -> Any:
    """Return the factor of a variable in an affine expression; 0 where it is none."""
    named = free_names(expression)
    if not named <= unknown | sizes.keys():
        return 0
    found = affine(expression, sizes, {}, unknown)
    return found.factors.get(position, 0) if found is not None else 0


def _numbers(high: Expression, sizes: Mapping[str, int]) -> list[int]:
    """Return the numbers that a bound is not above."""
    match high:
        case Number(int(value)):
            return [value]
        case Name(name) if name in sizes:
            return [sizes[name]]
        case Call(Name("min"), arguments):
            least = [number for each in arguments for number in _numbers(each, sizes)]
            return [min(least)] if least else []
        case _:
            return []
