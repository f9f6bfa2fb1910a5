"""Estimates that overlook entries are mended: a program cannot be fast because its data seems to be absent.

How often the loops of a mapping iterate is estimated from their bounds. Where these are read from arrays or
vary from one iteration to the next, the estimate may be far too low, and a plan would be cheap for no other
reason. A mapping has at least an iteration for each entry; where the estimate has fewer, what the program
costs with the cheapest other format is added.
"""

from __future__ import annotations

from collections.abc import Sequence

from storel.calculus.lower import lower
from storel.optimizer.cost import estimate
from storel.storage.compose import View, compose
from storel.storage.tensor import Tensor
from storel.syntax.nodes.expressions import Name

TOLERATED = 0.1
"""The share of the entries that an estimate may lack and still tell."""


def overlooks_entries(tensor: Tensor) -> bool:
    """Return whether estimates for loops over a tensor have clearly fewer iterations than it has entries."""
    view = View(Name("tensor"), tensor.shape, tensor.semiring, {})
    composed = compose(view, {}, {"tensor": tensor}, {})
    term = lower(composed.expression, composed.symbols, tensor.semiring)
    return sum(estimate(term, composed.symbols).iterations) < (1 - TOLERATED) * tensor.nnz


def charged(prices: Sequence[float], are_unsure: Sequence[bool]) -> list[float]:
    """Return the prices, those that overlook entries increased by the least one that does not.

    >>> charged([100.0, 10.0, 60.0], [False, True, False])
    [100.0, 70.0, 60.0]
    """
    whole = min(
        (price for price, is_unsure in zip(prices, are_unsure, strict=True) if not is_unsure), default=0.0
    )
    return [price + is_unsure * whole for price, is_unsure in zip(prices, are_unsure, strict=True)]
