"""The plans of the kernels, read as diffs and executed; and what becomes of them without a rule.

``STOREL_UPDATE=1 pytest tests/plans`` writes the golden texts anew.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from strategies.kernels import KERNELS, PaperKernel

import storel

GOLDEN = Path(__file__).parent / "golden"
EXTENTS = {"i": 70, "j": 60, "k": 50, "l": 40}
STORED = {1: "dense", 2: "csr", 3: "csf"}


def operands(kernel: PaperKernel) -> dict[str, Any]:
    """Return random operands: sparse in csr and csf, vectors dense."""
    rng = np.random.default_rng(0)
    found: dict[str, Any] = {}
    for name, letters in kernel.operands.items():
        array = rng.random(tuple(EXTENTS[letter] for letter in letters))
        if len(letters) > 1:
            array[rng.random(array.shape) > 0.08] = 0
        found[name] = array
    return found


def stored(arrays: dict[str, Any]) -> dict[str, Any]:
    return {name: storel.tensor(array, STORED[array.ndim]) for name, array in arrays.items()}


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_plan_is_the_golden_one_and_right(kernel: PaperKernel) -> None:
    arrays = operands(kernel)
    compiled = storel.compile(kernel.script, **stored(arrays))
    golden = GOLDEN / f"{kernel.name}.txt"
    if os.environ.get("STOREL_UPDATE"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(compiled.plan + "\n", encoding="utf-8")
    assert compiled.plan + "\n" == golden.read_text(encoding="utf-8")
    result = compiled(**stored(arrays))
    assert isinstance(result, storel.Tensor)
    np.testing.assert_allclose(result.to_numpy(), kernel.numpy(arrays), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_planning_twice_gives_the_same_plan(kernel: PaperKernel) -> None:
    given = stored(operands(kernel))
    assert storel.compile(kernel.script, **given).plan == storel.compile(kernel.script, **given).plan


def test_the_order_as_written_is_right_too() -> None:
    kernel = next(each for each in KERNELS if each.name == "spmv")
    arrays = {"A": np.eye(4) * 3, "x": np.arange(4.0)}
    result = storel.run(kernel.script, floating_point="strict", **stored(arrays))
    assert isinstance(result, storel.Tensor)
    np.testing.assert_allclose(result.to_numpy(), kernel.numpy(arrays))
