"""A kernel that counts does what it did, and all ways to run it count the same."""

from __future__ import annotations

import numpy as np
import pytest
from strategies.explained import PROGRAMS, program

from storel.codegen import c_source, numba_source
from storel.execution.run import arguments
from storel.loops.interpret import run
from storel.loops.lowering.profile import COUNTS
from storel.loops.verify import verify
from storel.runtime import toolchain
from storel.runtime.kernel import load

# A: rows of 2, 0 and 2 entries, three of them above 1.5; B: the rows of A from the last to the first.
EXPECTED = {
    "scaled": [3, 3, 3, 4, 4, 3],
    "product": [3, 3, 4, 4, 4, 3, 9, 9, 12, 12],
    "common": [3, 3, 0, 0, 0],
    "union": [3, 3, 8, 4, 4, 4, 4, 4, 4],
    "searched": [4, 4, 4, 4, 3, 3, 3, 3],
    "scalar": [4, 4],
    "normed": [1, 4, 4, 3, 4, 4, 4],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_counts(name: str) -> None:
    this = program(name)
    kernel = this.compilation.counting_kernel
    verify(kernel)
    inputs = arguments(this.compilation, this.environment)
    outputs, _ = run(kernel, *inputs)
    assert outputs[COUNTS.name].tolist() == EXPECTED[name]
    plain, _ = run(this.compilation.kernel, *inputs)
    assert plain.keys() == outputs.keys() - {COUNTS.name}
    for buffer, array in plain.items():
        np.testing.assert_array_equal(array, outputs[buffer])


@pytest.mark.parametrize("name", ["union", "searched"])
def test_machine_code_counts_the_same(name: str) -> None:
    this = program(name)
    kernel = this.compilation.counting_kernel
    inputs = arguments(this.compilation, this.environment)
    found = load(numba_source.render(kernel), kernel, "numba")(*inputs)
    assert found[COUNTS.name].tolist() == EXPECTED[name]
    if toolchain.find() is not None:
        found = load(c_source.render(kernel), kernel, "c")(*inputs)
        assert found[COUNTS.name].tolist() == EXPECTED[name]


def test_counting_is_no_work() -> None:
    """Apart from the increments' addresses, the interpreter reports the same work."""
    this = program("searched")
    inputs = arguments(this.compilation, this.environment)
    _, plain = run(this.compilation.kernel, *inputs)
    _, counted = run(this.compilation.counting_kernel, *inputs)
    for kind in ("iterations", "multiplications", "lookups", "reads", "writes"):
        assert getattr(plain, kind) == getattr(counted, kind), kind
