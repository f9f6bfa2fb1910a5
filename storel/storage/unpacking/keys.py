"""Whether the keys that a mapping makes lie inside of the extents: proved, or else gone through.

    for j in 0:min(n, e)                         key j           j <= n - 1
    for ii in 0:min(r, m - bi * r)               key bi * r + ii  bi * r + (m - bi * r - 1) = m - 1
    for i in max(0, -o):min(m, n - o)            key i + o       -o + o = 0, n - o - 1 + o = n - 1
    for p, j in idx(low:high): if (j >= 0)       key j           by the condition, and the greatest in idx

What is zero is no entry, whatever its keys are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np

from storel.errors import DataError
from storel.semiring import Semiring
from storel.storage.formats.chain import Chain, ChainGuard, ChainLoop
from storel.storage.formats.sizes import is_same_size
from storel.storage.unpacking.extremes import Interval
from storel.storage.unpacking.iterations import Iterations
from storel.syntax.nodes.expressions import Binary, Call, Expression, Name, Number
from storel.syntax.substitution import substitute

Known: TypeAlias = Callable[[Expression], "Interval | None"]
"""Between which numbers an expression of a chain's variables lies."""


def are_inside(chain: Chain, extents: tuple[str, ...], known: Known) -> bool:
    """Return whether it is proved that no key of a chain is negative or beyond its extent."""
    return are_natural(chain, known) and all(
        _is_never_negative(Binary("-", Binary("-", Name(extent), Number(1)), key), chain, known)
        for key, extent in zip(chain.keys, extents, strict=True)
    )


def are_natural(chain: Chain, known: Known) -> bool:
    """Return whether it is proved that no key of a chain is negative."""
    return all(_is_never_negative(key, chain, known) for key in chain.keys)


def require_keys_inside(chain: Chain, made: Iterations, shape: tuple[int, ...], ring: Semiring) -> None:
    """Raise DataError naming the first entry that iterations make outside of a shape."""
    found = [np.asarray(made.value(key)) for key in chain.keys]
    if not made.count or all(
        key.min() >= 0 and key.max() < extent for key, extent in zip(found, shape, strict=True)
    ):
        return
    keys = made.keys(chain, np.dtype(np.int64))
    is_outside = ((keys < 0) | (keys >= np.array(shape).reshape(-1, 1))).any(axis=0)
    values = np.broadcast_to(made.entry(chain.leaf, ring), made.shape).reshape(-1)
    for first in np.flatnonzero(is_outside & (values != ring.zero)):
        place = ", ".join(str(key) for key in keys[:, first])
        raise entry_outside(place, values[first], shape)


def entry_outside(place: str, value: Any, shape: tuple[int, ...]) -> DataError:
    """Return the error for an entry that a mapping makes outside of a shape."""
    return DataError(
        f"the mapping makes the entry ({place}) = {value}",
        expected=f"keys inside of the shape {shape}",
        hint="the arrays do not fit together",
    )


def _is_never_negative(number: Expression, chain: Chain, known: Known) -> bool:
    if _is_at_least_zero(number, known) or ChainGuard(Binary(">=", number, Number(0))) in chain.steps:
        return True
    return any(_is_at_least_zero(least, known) for loop in chain.loops for least in _least(number, loop))


def _is_at_least_zero(number: Expression, known: Known) -> bool:
    bounds = known(number)
    return (bounds is not None and bounds[0] >= 0) or is_same_size(number, Number(0))


def _least(number: Expression, loop: ChainLoop) -> Iterator[Expression]:
    """Yield what a number is at least, where it grows or falls by one with each iteration of a loop."""
    step = Binary("-", substitute(number, loop.position, _next(Name(loop.position))), number)
    if is_same_size(step, Number(1)):
        ends = _arguments("max", loop.low)
    elif is_same_size(step, Number(-1)):
        ends = tuple(Binary("-", end, Number(1)) for end in _arguments("min", loop.high))
    else:
        return
    for end in ends:
        yield substitute(number, loop.position, end)


def _next(number: Expression) -> Expression:
    return Binary("+", number, Number(1))


def _arguments(function: str, bound: Expression) -> tuple[Expression, ...]:
    """Return the numbers of which a bound is the greatest, or the least."""
    match bound:
        case Call(Name(name), arguments) if name == function:
            return arguments
        case _:
            return (bound,)
