"""Over ``or_and`` numbers are truths: where they are stored, where they are defined, and for what follows."""

from __future__ import annotations

import numpy as np
import pytest

import storel

NUMBERS = np.array([3.0, 0.0, np.nan, -1.0])
BACKENDS = ["interpret", "c", "numba"]


def values(program: str, backend: str, **operands: object) -> np.ndarray:
    result = storel.run(program, backend=backend, **operands)
    assert isinstance(result, storel.Tensor) and result.dtype == bool
    return result.to_numpy()


@pytest.mark.parametrize("storage", ["dense", "coo", "hash", "csf", "levels(hashed)"])
def test_a_tensor_over_truths_holds_truths(storage: str) -> None:
    tensor = storel.tensor(NUMBERS, storage, semiring="or_and")
    assert tensor.dtype == bool
    np.testing.assert_array_equal(tensor.to_numpy(), [True, False, True, True])
    for backend in BACKENDS:
        program = "CREATE TENSOR s OVER plus_times AS sum(<i, v> in C) v"
        total = storel.run(program, backend=backend, C=tensor)
        assert isinstance(total, storel.Tensor) and int(total) == 3


def test_given_arrays_are_made_truths() -> None:
    arrays = {"idx1": np.array([0, 2], np.int32), "val": np.array([2.5, 0.0])}
    tensor = storel.tensor(arrays, "levels(compressed)", shape=(4,), semiring="or_and")
    np.testing.assert_array_equal(tensor.arrays["val"], [True, False])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("storage", ["", "STORED AS coo"])
def test_a_definition_over_truths_is_of_truths(storage: str, backend: str) -> None:
    np.testing.assert_array_equal(
        values(f"CREATE TENSOR S OVER or_and {storage} AS X", backend, X=NUMBERS), [True, False, True, True]
    )
    script = f"""CREATE TENSOR S OVER or_and {storage} AS X
CREATE TENSOR T OVER or_and AS sum(<i, v> in S) if (v == 1) then {{i -> v}}"""
    np.testing.assert_array_equal(values(script, backend, X=NUMBERS), [True, False, True, True])
    assert values("CREATE TENSOR s OVER or_and AS X(3)", backend, X=NUMBERS)


def test_a_declared_type_that_is_none_of_truths_is_refused() -> None:
    with pytest.raises(storel.StorelError, match="truths") as raised:
        storel.run("CREATE TENSOR S: real[4] OVER or_and AS X", X=NUMBERS)
    assert "bool" in str(raised.value) and "real[4]" in str(raised.value)


@pytest.mark.parametrize("floating_point", ["strict", "reassociate"])
def test_nothing_is_false_everywhere(floating_point: str) -> None:
    nothing = storel.tensor(np.zeros(2, bool), "levels(fixed)", semiring="or_and")
    kernel = storel.compile(
        "CREATE TENSOR S: bool[2] OVER or_and AS X", X=nothing, format="dense", floating_point=floating_point
    )
    assert "filled with False" in kernel.explain("loops")
    result = kernel(X=nothing)
    assert isinstance(result, storel.Tensor)
    np.testing.assert_array_equal(result.to_numpy(), [False, False])


OPERATIONS = {
    "v and true": [True, False, True, True],
    "true and v": [True, False, True, True],
    "v or false": [True, False, True, True],
    "not not v": [True, False, True, True],
    "not (v and true)": [False, True, False, False],
}


@pytest.mark.parametrize("semiring", ["plus_times", "min_plus", "max_plus"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_number_is_a_truth_where_one_is_asked_for(operation: str, backend: str, semiring: str) -> None:
    body = f"let v = X(i) in {{ i -> {operation} }}"
    program = f"CREATE TENSOR y OVER {semiring} AS sum(<i, _> in 0:4) {body}"
    data = storel.tensor((np.arange(4)[None], NUMBERS), "coo", semiring=semiring)
    result = storel.run(program, backend=backend, X=data)
    assert isinstance(result, storel.Tensor)
    np.testing.assert_array_equal(result.to_numpy(), OPERATIONS[operation])


@pytest.mark.parametrize("backend", BACKENDS)
def test_rows_have_truths_where_they_are_looked_up_and_numbers_where_they_are_bound(backend: str) -> None:
    matrix = np.array([[0.5, 2.0], [0.0, 3.0]])
    program = "CREATE TENSOR y OVER or_and AS sum({}) {{ i -> v > 1 }}"
    bound = values(program.format("<i, r> in A, <_, v> in r"), backend, A=matrix)
    np.testing.assert_array_equal(bound, [True, True])
    looked_up = values(program.format("<i, _> in A, <_, v> in A(i)"), backend, A=matrix)
    np.testing.assert_array_equal(looked_up, [False, False])


@pytest.mark.parametrize("source", ["A + A", "A + {}", "{} + A"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_sums_have_truths_also_where_nothing_is_added(backend: str, source: str) -> None:
    matrix = np.array([[0.5, 2.0], [0.0, 3.0]])
    program = f"CREATE TENSOR y OVER or_and AS sum(<i, r> in {source}, <_, v> in r)"
    np.testing.assert_array_equal(values(program + " { i -> v > 1 }", backend, A=matrix), [False, False])
    np.testing.assert_array_equal(values(program + " { i -> v == 1 }", backend, A=matrix), [True, True])
