"""Dictionaries with few keys in a huge domain: every backend gives what the reference does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from strategies.plans import planned
from strategies.reading import read_by

import storel
from storel.plan.printer import render

pytestmark = pytest.mark.filterwarnings("ignore:the value .* of a tensor is used as a key")

Operands = dict[str, NDArray[Any]]

GENERATOR = np.random.default_rng(3)
HUGE = GENERATOR.integers(1, 10**12, 12)
OPERANDS: Operands = {
    "keys": np.concatenate([HUGE, HUGE[:7], [10**12]]),
    "rows": GENERATOR.integers(1, 4, 20) * 333_333,
    "columns": GENERATOR.integers(1, 4, 20) * 250_000,
    "x": np.round(GENERATOR.random(20) - 0.5, 2),
    "A": np.where(GENERATOR.random((4, 20)) < 0.5, GENERATOR.random((4, 20)), 0),
}
EMPTY = {name: each[..., :0] for name, each in OPERANDS.items()}
CANCELLING = {**OPERANDS, "keys": np.repeat(HUGE[:10], 2), "x": np.tile([1.5, -1.5, 0.0, -0.0], 5)}

PAIRS = "let t = sum(<p, i> in rows, <p, j> in columns) { (i % 1000000, j % 1000000) -> x(p) } in "
COUNTS = "let t = sum(<_, k> in keys) { k -> 1.0 } in "
PROGRAMS = {
    "histogram": COUNTS + "sum(<k, c> in t) c * c",
    "lookups": COUNTS + "sum(<p, k> in keys) { p -> t(k) + t(k + 1) }",
    "keys in order": "let t = sum(<p, k> in keys) { k -> x(p) } in sum(<k, c> in t) { k % 7 -> c * c * k }",
    "counted by the counts": COUNTS
    + "let u = sum(<k, c> in t) { k // 2 -> c * c } in sum(<k, c> in u) c * c",
    "flat pairs": "let t = sum(<p, i> in rows, <p, j> in columns) { i * 10000000 + j -> x(p) } in "
    "sum(<k, c> in t) { k % 10 -> c * c }",
    "pairs": PAIRS + "sum(<(i, j), c> in t) { (i % 2, j % 3) -> c * c }",
    "pairs looked up": PAIRS + "sum(<p, i> in rows) { p -> t(i, columns(p)) }",
    "rows of pairs": PAIRS + "sum(<i, row> in t) { i % 7 -> max(<j, c> in row) c }",
    "in a loop": "sum(<i, row> in A) { i -> let t = sum(<p, a> in row) { keys(p) // 3 -> a } "
    "in sum(<k, c> in t) c * c }",
}


def plan_of(program: str, operands: Operands) -> str:
    used = {name: storel.tensor(each) for name, each in read_by(program, operands).items()}
    return render(planned(f"CREATE TENSOR r AS {program}", **used).compilation.plan)


def answer(script: str, operands: Operands, backend: str) -> NDArray[Any]:
    result = storel.run(script, backend=backend, **read_by(script, operands))
    assert isinstance(result, storel.Tensor)
    return result.to_numpy()


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_few_keys_in_a_huge_domain_are_hashed(name: str) -> None:
    assert ": hash of" in plan_of(PROGRAMS[name], OPERANDS)


@pytest.mark.parametrize("name", sorted(PROGRAMS))
@pytest.mark.parametrize("operands", [OPERANDS, EMPTY, CANCELLING], ids=["full", "empty", "cancelling"])
def test_the_answer_is_that_of_the_reference(name: str, operands: Operands) -> None:
    script = f"CREATE TENSOR r AS {PROGRAMS[name]}"
    expected = answer(script, operands, "interpret")
    np.testing.assert_allclose(answer(script, operands, "c"), expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["pairs", "in a loop"])
def test_numba(name: str) -> None:
    script = f"CREATE TENSOR r AS {PROGRAMS[name]}"
    expected = answer(script, OPERANDS, "interpret")
    np.testing.assert_allclose(answer(script, OPERANDS, "numba"), expected, rtol=1e-12)


def test_over_another_semiring_what_is_missing_is_its_zero() -> None:
    program = "let t = sum(<p, k> in keys) { k * 3 -> k } in sum(<k, c> in t) { k % 5 -> c * c }"
    script = f"CREATE TENSOR r OVER min_plus AS {program}"
    keys = {"keys": HUGE[HUGE % 5 != 1]}
    expected = answer(script, keys, "interpret")
    assert np.isinf(expected).any()
    np.testing.assert_array_equal(answer(script, keys, "c"), expected)


def test_several_keys_that_are_no_integer_together_are_refused() -> None:
    script = "CREATE TENSOR r AS let t = sum(<p, k> in keys) { (k, k) -> 1.0 } in sum(<(i, j), c> in t) c * c"
    with pytest.raises(storel.StorelError, match="exceed 64 bits"):
        answer(script, OPERANDS, "c")
    wide = script.replace("(k, k)", "(k % 9000000000, k % 8000000000)")
    with pytest.raises(storel.StorelError, match="9000000000 x 8000000000 exceed 64 bits"):
        answer(wide, OPERANDS, "c")


def test_what_does_not_fit_into_memory_is_refused_before_it_runs() -> None:
    script = f"CREATE TENSOR r AS {PROGRAMS['histogram']}"
    with pytest.raises(storel.StorelError, match="more memory than the limit"):
        storel.run(script, keys=OPERANDS["keys"], memory_limit=1000)


def test_a_table_that_exceeds_the_memory_limit_is_not_chosen() -> None:
    program = f"CREATE TENSOR r AS {PROGRAMS['lookups']}"
    used = {"keys": OPERANDS["keys"]}
    limited = storel.compile(program, memory_limit=16 * len(used["keys"]), **used)
    assert ": hash of" in storel.compile(program, **used).plan
    assert ": hash of" not in limited.plan
    result = limited(**used)
    assert isinstance(result, storel.Tensor)
    np.testing.assert_array_equal(result.to_numpy(), answer(program, used, "interpret"))


@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
@pytest.mark.parametrize("storage", [" STORED AS coo", " STORED AS csf", ""])
def test_few_results_in_a_huge_domain_are_listed(storage: str, backend: str) -> None:
    entries = storel.tensor((np.array([[5, 2**40, 0, 5], [1, 2**40, 3, 9]]), np.arange(1.0, 5)), "coo")
    vector = f"CREATE TENSOR s{storage} AS sum(<(i, _), v> in A) {{ 2 * i -> v }}"
    matrix = f"CREATE TENSOR s{storage} AS sum(<(i, _), v> in A) {{ (0, i) -> v }}"
    for program, places in ((vector, [[0, 10, 2**41]]), (matrix, [[0] * 3, [0, 5, 2**40]])):
        result = storel.run(program, A=entries, backend=backend)
        assert isinstance(result, storel.Tensor)
        coordinates, values = result.to_coo()
        np.testing.assert_array_equal(coordinates, places)
        np.testing.assert_array_equal(values, [3, 5, 2])


@pytest.mark.parametrize("backend", ["c", "numba"])
def test_the_largest_integer_is_a_key_of_what_is_grouped(backend: str) -> None:
    """Columns say so of what is missing, or hold hashes."""
    script = "CREATE TENSOR R AS sum(<i, _> in 0:20, <j, _> in 0:20) if (keys(i) == keys(j)) then {i -> x(j)}"
    operands = {"keys": 2**63 - 1 - np.arange(20) % 3, "x": OPERANDS["x"]}
    groups = [OPERANDS["x"][number::3].sum() for number in range(3)]
    np.testing.assert_allclose(answer(script, operands, backend), [groups[i % 3] for i in range(20)])
    kernel = storel.compile(script, **operands)
    assert "hash of float64[any]" in kernel.plan


@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize("read", ["count(<k, z> in Z)", "max(<k, z> in Z) z"])
@pytest.mark.parametrize("key", ["y(j)", "max(0, y(i) + y(j))"])
def test_conditions_that_take_loops_of_their_own_leave_a_bound(key: str, read: str, backend: str) -> None:
    """Without one a table that is not stored was refused for want of petabytes."""
    operands: dict[str, Any] = {
        "B": storel.tensor(np.array([[0, 2, 0], [1, 0, 3], [0, 1, 0]]), "csr"),
        "y": storel.tensor(np.array([1, 0, 2]), "coo"),
    }
    table = f"CREATE TENSOR Z: int[9] AS sum(<(i, j), b> in B) if (y(i) != 2) then {{ {key} -> b }}"
    script = f"{table}; CREATE TENSOR n AS {read}"
    found, expected = (storel.run(script, backend=each, **operands) for each in (backend, "interpret"))
    assert isinstance(found, storel.Tensor) and isinstance(expected, storel.Tensor)
    assert int(found) == int(expected)
