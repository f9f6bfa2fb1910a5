"""Matrices put together, turned over and moved round: their rows arrive in the order of the result's."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import storel
from storel.execution.run import measure

Array = Any
A, B = "sum(<(i, j), a> in A)", "sum(<(i, j), b> in B)"


def every_other_row(matrix: Array) -> Array:
    spread = np.zeros((2 * matrix.shape[0], matrix.shape[1]))
    spread[::2] = matrix
    return spread


REARRANGED: dict[str, tuple[str, str, Callable[[Array, Array], Array]]] = {
    "stacked": (
        "2 * m, n",
        f"{A} {{ (i, j) -> a }} + {B} {{ (i + m, j) -> b }}",
        lambda a, b: np.vstack([a, b]),
    ),
    "stacked, the last first": (
        "2 * m, n",
        f"{B} {{ (m + i, j) -> b }} + {A} {{ (i, j) -> a }}",
        lambda a, b: np.vstack([a, b]),
    ),
    "side by side": (
        "m, 2 * n",
        f"{B} {{ (i, j + n) -> b }} + {A} {{ (i, j) -> a }}",
        lambda a, b: np.hstack([a, b]),
    ),
    "with gaps": (
        "2 * m + 3, n",
        f"{B} {{ (i + m + 2, j) -> b }} + {A} {{ (i + 1, j) -> a }}",
        lambda a, b: np.pad(np.vstack([np.pad(a, ((1, 1), (0, 0))), b]), ((0, 1), (0, 0))),
    ),
    "turned over": ("m, n", f"{A} {{ (m - 1 - i, j) -> a }}", lambda a, _: a[::-1]),
    "turned over, written otherwise": ("m, n", f"{A} {{ (m - i - 1, j) -> a }}", lambda a, _: a[::-1]),
    "moved down": ("m, n", f"{A} {{ ((i + 1) % m, j) -> a }}", lambda a, _: np.roll(a, 1, axis=0)),
    "moved down, written otherwise": (
        "m, n",
        f"{A} {{ ((1 + i) % m, j) -> a }}",
        lambda a, _: np.roll(a, 1, axis=0),
    ),
    "moved up": ("m, n", f"{A} {{ ((i + m - 1) % m, j) -> a }}", lambda a, _: np.roll(a, -1, axis=0)),
    "moved up, below zero": ("m, n", f"{A} {{ ((i - 1) % m, j) -> a }}", lambda a, _: np.roll(a, -1, axis=0)),
}
MIXED: dict[str, tuple[str, str, Callable[[Array, Array], Array]]] = {
    "blocks": (
        "2 * m, 2 * n",
        f"{A} {{ (i, j) -> a }} + {B} {{ (i, j + n) -> b }} + "
        f"{B} {{ (i + m, j) -> -b }} + {A} {{ (i + m, j + n) -> a }}",
        lambda a, b: np.block([[a, b], [-b, a]]),
    ),
    "overlapping": (
        "2 * m, n",
        f"{A} {{ (i, j) -> a }} + {B} {{ (i + m - 1, j) -> b }}",
        lambda a, b: np.pad(a, ((0, len(a)), (0, 0))) + np.pad(b, ((len(a) - 1, 1), (0, 0))),
    ),
    "turned over and added": (
        "m, n",
        f"{A} {{ (m - 1 - i, j) -> a }} + {B} {{ (i, j) -> b }}",
        lambda a, b: a[::-1] + b,
    ),
    "every other row": ("2 * m, n", f"{A} {{ (2 * i, j) -> a }}", lambda a, _: every_other_row(a)),
    "both turned over": ("m, n", f"{A} {{ (m - 1 - i, n - 1 - j) -> a }}", lambda a, _: a[::-1, ::-1]),
}
ALL = REARRANGED | MIXED


def compiled(
    name: str, left: Array, right: Array, stored: str, result: str, backend: Any = "c"
) -> tuple[storel.Kernel, dict[str, Any]]:
    """Return the kernel of a program, whose operands and result are stored in some way, and the operands."""
    extents, text, _ = ALL[name]
    program = f"CREATE TENSOR C: real[{extents}] STORED AS {result} AS {text}"
    for size, value in zip("mn", left.shape, strict=True):
        program = re.sub(rf"\b{size}\b", str(value), program)
    given = {"A": left, "B": right}
    operands = {each: storel.tensor(given[each], stored) for each in given if f"in {each})" in text}
    return storel.compile(program, backend=backend, **operands), operands


def sparse(shape: tuple[int, int], seed: int) -> Array:
    random = np.random.default_rng(seed)
    return np.where(random.random(shape) < 0.4, random.random(shape), 0.0)


@pytest.mark.parametrize("shape", [(7, 5), (1, 3), (2, 1), (3, 0)])
@pytest.mark.parametrize("name", ALL)
def test_rows_are_where_they_belong(name: str, shape: tuple[int, int]) -> None:
    left, right = sparse(shape, 1), sparse(shape, 2)
    for stored, result in [("csr", "csr"), ("dense", "dense"), ("coo", "csr"), ("csc", "dcsr")]:
        kernel, _ = compiled(name, left, right, stored, result, "numba")
        found, _ = measure(kernel.compilation, kernel.environment)
        np.testing.assert_array_equal(found.to_numpy(), ALL[name][2](left, right))


@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize("name", ALL)
def test_rows_are_where_they_belong_on_every_backend(name: str, backend: str) -> None:
    left, right = sparse((7, 5), 3), sparse((7, 5), 4)
    kernel, operands = compiled(name, left, right, "csr", "csr", backend)
    found = kernel(**operands)
    assert isinstance(found, storel.Tensor)
    np.testing.assert_array_equal(found.to_numpy(), ALL[name][2](left, right))


@pytest.mark.parametrize("name", REARRANGED)
def test_rows_are_appended(name: str) -> None:
    kernel, _ = compiled(name, sparse((40, 30), 1), sparse((40, 30), 2), "csr", "csr")
    plan = kernel.explain("plan")
    assert plan.split("\n")[0].endswith("append (add)"), plan
    assert not kernel.compilation.converted
