"""Tensora, a compiler of tensor algebra: a sum of products as an assignment."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from storel.bench.problem import Answer, Einsum, Entries, Formulation, Operand, Problem, entries_of
from storel.bench.rivals.rival import load

LARGEST = 2**24
"""The most places of a result that is dense."""

ROWS, COMPRESSED = "d", "s"


def formulate(_: str, problem: Problem) -> Formulation | None:
    """Formulate as one assignment, which is compiled when it is first evaluated."""
    evaluate = load("tensora").evaluate

    einsum = problem.einsum
    if einsum is None or "" in einsum.terms or len(set(einsum.names)) < len(einsum.names):
        return None
    operands = {name: _own(operand) for name, operand in problem.operands.items()}
    factors = (f"{name}({','.join(term)})" for name, term in zip(einsum.names, einsum.terms, strict=True))
    assignment = f"result({','.join(einsum.output)}) = {' * '.join(factors)}"
    storage = _storage(einsum, problem)
    return Formulation(lambda: evaluate(assignment, storage, **operands), _answer)


def _own(operand: Operand) -> Any:
    entries = entries_of(operand)
    rank = len(entries.shape)
    storage = ROWS * rank if isinstance(operand, np.ndarray) else _compressed(rank)
    return load("tensora").Tensor.from_soa(
        tuple(key.tolist() for key in entries.coordinates),
        entries.values.tolist(),
        dimensions=entries.shape,
        format=storage,
    )


def _storage(einsum: Einsum, problem: Problem) -> str:
    """Return the format of the result: dense where that is no waste of memory."""
    extents: dict[str, int] = {}
    for name, term in zip(einsum.names, einsum.terms, strict=True):
        extents |= dict(zip(term, getattr(problem.operands[name], "shape", ()), strict=True))
    rank = len(einsum.output)
    places = math.prod(extents[letter] for letter in einsum.output)
    return ROWS * rank if places <= LARGEST else _compressed(rank)


def _compressed(rank: int) -> str:
    return ROWS + COMPRESSED * (rank - 1)


def _answer(result: Any) -> Answer:
    if result.order == 0:
        return float(result)
    return result.to_numpy() if set(result.format.deparse()) == {ROWS} else _listed(result)


def _listed(result: Any) -> Entries:
    found = sorted(result.to_dok().items())
    keys = np.array([key for key, _ in found], np.int64).reshape(len(found), result.order)
    return Entries(keys.T, np.array([value for _, value in found]), tuple(result.dimensions))
