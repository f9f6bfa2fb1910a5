"""The phases of a plan that several threads share, and those that are matrix products."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from storel.compilation.compiled import Compilation
from storel.plan.printer import source_text


@dataclass(frozen=True, slots=True)
class MatrixProduct:
    """A phase that multiplies dense operands: ``rows`` x ``summed`` by ``summed`` x ``columns``."""

    rows: int
    summed: int
    columns: int
    fills: str


@dataclass(frozen=True, slots=True)
class DividedLoop:
    """A phase whose loop over ``source`` several threads run; ``parts`` says where their results go."""

    source: str
    parts: str
    fills: str


Shared: TypeAlias = MatrixProduct | DividedLoop


def shared_phases(compilation: Compilation) -> Iterator[Shared]:
    """Yield the phases that are no single loop of one thread, in the order in which they run."""
    for phase in compilation.phases:
        filled = "the result" if phase.filled is None else "a store"
        if phase.contraction is not None:
            product = phase.contraction
            yield MatrixProduct(
                product.extent(product.rows),
                product.extent(product.summed),
                product.extent(product.columns),
                filled,
            )
        elif phase.split is not None and compilation.used_threads > 1:
            yield DividedLoop(source_text(phase.split.source), phase.split.parts.value, filled)
