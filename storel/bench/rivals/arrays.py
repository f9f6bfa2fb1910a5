"""Libraries of dense arrays: one call of their ``einsum``, for problems whose operands are all dense.

The result is to lie in memory as it was asked for, not as a view of another order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from storel.bench.problem import Formulation, Problem
from storel.bench.rivals.rival import Formulate, load


def _by_einsum(einsum: Callable[[str, Sequence[Any]], Callable[[], Any]]) -> Formulate:
    """Return formulations of what a library's einsum does; it is told the operands beforehand."""

    def formulate(_: str, problem: Problem) -> Formulation | None:
        if problem.einsum is None or not problem.is_dense:
            return None
        operands = [problem.operands[name] for name in problem.einsum.names]
        return Formulation(einsum(problem.einsum.subscripts, operands), np.asarray)

    return formulate


def _opt_einsum(subscripts: str, operands: Sequence[Any]) -> Callable[[], Any]:
    expression = load("opt_einsum").contract_expression(subscripts, *map(np.shape, operands))
    return lambda: np.ascontiguousarray(expression(*operands))


def _cotengra(subscripts: str, operands: Sequence[Any]) -> Callable[[], Any]:
    expression = load("cotengra").einsum_expression(subscripts, *map(np.shape, operands))
    return lambda: np.ascontiguousarray(expression(*operands))


def _jax(subscripts: str, operands: Sequence[Any]) -> Callable[[], Any]:
    jax = load("jax")

    jax.config.update("jax_enable_x64", True)
    own = [jax.numpy.asarray(operand) for operand in operands]
    compiled = jax.jit(jax.numpy.einsum, static_argnums=0)
    return lambda: compiled(subscripts, *own).block_until_ready()


opt_einsum = _by_einsum(_opt_einsum)
cotengra = _by_einsum(_cotengra)
jax = _by_einsum(_jax)
