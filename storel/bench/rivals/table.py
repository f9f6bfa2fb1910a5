"""All rivals by name. SciPy and NumPy, which storel needs itself, are formulated with the kernels."""

from __future__ import annotations

from collections.abc import Sequence

from storel.bench.rivals import arrays, assignments, coordinates, graphs, mkl, pytorch, relations
from storel.bench.rivals.rival import Rival
from storel.errors import DataError, UnknownNameError, nearest

RIVALS: dict[str, Rival] = {
    rival.name: rival
    for rival in (
        Rival("scipy", "scipy", "scipy", lambda _, problem: problem.scipy),
        Rival("numpy", "numpy", "numpy", lambda _, problem: problem.numpy),
        Rival("mkl", "sparse_dot_mkl", "sparse-dot-mkl", mkl.formulate),
        Rival("torch", "torch", "torch", pytorch.formulate),
        Rival("graphblas", "graphblas", "python-graphblas", graphs.formulate),
        Rival("tensora", "tensora", "tensora", assignments.formulate),
        Rival("sparse", "sparse", "sparse", coordinates.formulate),
        Rival("jax", "jax", "jax", arrays.jax),
        Rival("duckdb", "duckdb", "duckdb", relations.duckdb),
        Rival("polars", "polars", "polars", relations.polars),
        Rival("opt_einsum", "opt_einsum", "opt_einsum", arrays.opt_einsum),
        Rival("cotengra", "cotengra", "cotengra", arrays.cotengra),
    )
}


def chosen(names: Sequence[str] | None) -> list[str]:
    """Return the rivals that are asked for, or all that are installed.

    Raises UnknownNameError for a name that is none, DataError for one that is not installed.
    """
    if names is None:
        return [name for name, rival in RIVALS.items() if rival.is_installed]
    for name in names:
        if name not in RIVALS:
            raise UnknownNameError(
                f"there is no rival '{name}'", expected=", ".join(RIVALS), hint=nearest(name, RIVALS)
            )
        if not RIVALS[name].is_installed:
            raise DataError(f"rival {name} is not installed", hint=f"pip install {RIVALS[name].distribution}")
    return list(names)
