"""Words of which a chain asks for bits: where there is none, nothing need be asked of each.

for w: for b in 0:32: if bit(word(w), b) == 1: …
  =  for w: if word(w) != 0: for b in 0:32: if bit(word(w), b) == 1: …
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from storel.storage.formats.chain import ChainGuard, ChainLoop
from storel.syntax.free_names import free_names
from storel.syntax.nodes.expressions import Binary, Call, Expression, Name, Number


def words_around(loop: ChainLoop, inner: Sequence[ChainLoop | ChainGuard]) -> Iterator[Expression]:
    """Yield the words that a loop does not change, and of which its own guards ask that some bit is set.

    ``inner`` are the steps inside the loop.
    """
    for step in takewhile(lambda each: isinstance(each, ChainGuard), inner):
        for word in _tested(step):
            if free_names(word).isdisjoint((loop.position, loop.element)):
                yield word


def _tested(step: ChainLoop | ChainGuard) -> Iterator[Expression]:
    """Yield the words of which a guard asks that a bit is set."""
    match step:
        case ChainGuard(Binary("and", left, right)):
            yield from _tested(ChainGuard(left))
            yield from _tested(ChainGuard(right))
        case ChainGuard(Binary("==", Call(Name("bit"), (word, _)), Number(1))):
            yield word
        case _:
            pass
