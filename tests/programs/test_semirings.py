"""What values mean over each semiring, and what nothing is there: on every backend."""

from __future__ import annotations

import itertools
import math
from typing import Any, Literal

import numpy as np
import pytest

import storel

INF = math.inf
LARGE = 2**60

# row 1 is all zeros, stored as such; 2.0 and 0.5 are in different columns
ENTRIES = np.array([[0, 0, 1, 2, 2], [1, 3, 0, 0, 2]])
VALUES = {
    "plus_times": [1.0, 2.0, 0.0, 0.5, 3.0],
    "min_plus": [1.0, 2.0, INF, 0.5, 3.0],
    "max_plus": [1.0, 2.0, -INF, 0.5, 3.0],
    "max_times": [1.0, 2.0, 0.0, 0.5, 3.0],
}

COMPREHENSIONS = [
    ("plus_times", "max(<i, row> in A) (sum(<j, v> in row) if (v > 1) then v)", 3.0),
    ("min_plus", "min(<i, row> in A) (sum(<j, v> in row) v * v)", 1.0),
    ("min_plus", "max(<i, row> in A) (sum(<j, v> in row) if (v < 1) then v)", INF),
    ("max_plus", "max(<i, row> in A) (sum(<j, v> in row) if (v > 5) then v)", -INF),
    ("max_plus", "min(<i, row> in A) (row(1))", -INF),
    ("max_plus", "max(<i, _> in 0:3) (if (i == 2) then 1)", 1.0),
    ("max_times", "max(<i, row> in A) (sum(<j, v> in row) v * 2)", 6.0),
    ("min_plus", "prod(<(i, j), v> in A) v", 3.0),
    ("min_plus", "max(<(i, j), w> in A + A) w", 3.0),
    ("plus_times", "max(<(i, j), w> in A + A) w", 6.0),
    ("min_plus", "count(<(i, j), v> in A)", 4),
    ("max_plus", "all(<i, row> in A) (row(0) == 0 or row(0) == 0.5)", True),
    ("min_plus", "any(<(i, j), v> in A) (v + 1 == 4)", True),
    ("plus_times", "min(<i, _> in 0:3, <j, _> in i:3) (i * j)", 0),
    ("plus_times", f"max(<i, _> in 0:2, <j, _> in 0:2) ({LARGE + 1} + i * j)", LARGE + 2),
    ("plus_times", "sum(<k, _> in 0:2) { max(<i, _> in 0:3, <j, _> in 0:i) (i - j) -> 1 }", [0, 0, 2]),
    ("plus_times", "min(<(i, j), v> in A, <(j, k), w> in A) (v + w)", 1.5),
    ("plus_times", "min(<(i, i), v> in A) v", 3.0),
    ("plus_times", "min(<i, _> in 0:2, <j, _> in 0:2) (1.0 / 0)", INF),
    ("plus_times", "prod(<(i, j), v> in A, <j, _> in 1:3) v", 3.0),
    ("plus_times", "prod(<(i, j), v> in {}) v", 1),
    ("min_plus", "exp({})", INF),
    ("plus_times", "exp({})", 1.0),
    ("max_plus", "min(<(i, j), v> in A) {}", -INF),
    ("plus_times", "min(<i, _> in 0:2) {}", False),
]


def value_of(text: str, semiring: str, backend: str) -> Any:
    values = np.array(VALUES[semiring])
    matrix = storel.tensor((ENTRIES, values), "csr", shape=(4, 4), semiring=semiring)
    script = f"CREATE TENSOR R OVER {semiring} AS {text}"
    bound = {"A": matrix} if " A" in text else {}
    result = storel.run(script, backend=backend, **bound)
    assert isinstance(result, storel.Tensor)
    return result.to_numpy().tolist()


@pytest.mark.parametrize("backend", ["interpret", "c"])
@pytest.mark.parametrize(("semiring", "text", "expected"), COMPREHENSIONS)
def test_comprehensions(semiring: str, text: str, expected: Any, backend: str) -> None:
    found = value_of(text, semiring, backend)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(("semiring", "text", "expected"), COMPREHENSIONS[3::6])
def test_comprehensions_in_numba(semiring: str, text: str, expected: Any) -> None:
    assert value_of(text, semiring, "numba") == expected


@pytest.mark.parametrize("backend", ["interpret", "c"])
@pytest.mark.parametrize(
    "text",
    [
        "min(<(i, j), v> in A, <(j, k), w> in A) (k // (j - j))",
        "max(<i, _> in 0:0, <j, _> in 0:3) i",
        "max(<i, _> in 0:3, <j, _> in 0:0) i",
        "min(<(i, i), v> in A, <(i, j), w> in A, <j, _> in 3:4) v",
        "min(<i, _> in 0:0) {}",
    ],
)
def test_failures(text: str, backend: str) -> None:
    with pytest.raises(storel.StorelError, match=r"division by zero|of no entries"):
        value_of(text, "plus_times", backend)


@pytest.mark.parametrize("backend", ["interpret", "c"])
@pytest.mark.parametrize(
    "text",
    [
        "sum(<i, _> in 3:2, <j, _> in 0:4) { j -> min(<p, _> in 0:i) (p + j) }",
        "sum(<j, _> in 0:4) if (j > 5) then { j -> max(<(i, k), v> in A) if (v > 9) then 1 // 0 else v }",
        "sum(<i, _> in 0:4) if (i > 4) then { i -> min(<k, _> in 0:0) 1.0 }",
        "sum(<i, _> in 0:4, <q, _> in 4:i) { i -> (sum(<(i, j), v> in A) v) * (1 // (i // 9)) }",
    ],
)
def test_what_is_not_reached_does_not_fail(text: str, backend: str) -> None:
    assert not any(value_of(text, "plus_times", backend))


@pytest.mark.parametrize("backend", ["interpret", "c"])
@pytest.mark.parametrize(("number", "expected"), [(INF, 4.0), (3.0, 3.0), (9, 4.0)])
def test_a_scalar_that_is_missing(number: float, expected: float, backend: str) -> None:
    bound = storel.tensor(np.array(number), semiring="min_plus")
    result = storel.run("CREATE TENSOR R OVER min_plus AS s + 4", s=bound, backend=backend)
    assert isinstance(result, storel.Tensor)
    assert float(result) == expected


@pytest.mark.parametrize("backend", ["interpret", "c"])
@pytest.mark.parametrize(("number", "expected"), [(0, 0), (0.0, 0.0), (2.0, 1.0)])
def test_a_scalar_is_the_same_over_every_semiring(number: float, expected: float, backend: str) -> None:
    result = storel.run("CREATE TENSOR R OVER min_plus AS s + 1", s=np.array(number), backend=backend)
    assert isinstance(result, storel.Tensor)
    assert result.item() == expected


NEGATIVE = np.array([1.0, -2.0, math.nan])


@pytest.mark.parametrize("backend", ["interpret", "c"])
@pytest.mark.parametrize(
    ("text", "data", "message"),
    [
        ("sum(<i, v> in x) v * 2", NEGATIVE, r"x\(1\) is -2.0"),
        ("sum(<i, v> in x) v * 2", np.array([0, math.nan]), r"x\(1\) is nan"),
        ("sum(<i, v> in x) (v * -2)", np.ones(3), "max_times has no negative numbers"),
        ("sum(<i, v> in x) (v * nan)", np.ones(3), "max_times has no NaN"),
        ("sum(<i, v> in x) (v * -nan)", np.ones(3), "max_times has no NaN"),
        ("sum(<i, v> in x) if (v != nan) then nan", np.ones(3), "max_times has no NaN"),
    ],
)
def test_max_times_is_of_no_negative_numbers(text: str, data: Any, message: str, backend: str) -> None:
    with pytest.raises(storel.StorelError, match=message):
        storel.run(f"CREATE TENSOR R OVER max_times AS {text}", x=data, backend=backend)


@pytest.mark.parametrize("backend", ["interpret", "c"])
def test_negative_numbers_decide_and_are_left_out(backend: str) -> None:
    left_out = "CREATE TENSOR P OVER plus_times AS sum(<i, v> in x) if (v > -1) then { i -> v } "
    script = left_out + "CREATE TENSOR R OVER max_times AS sum(<i, v> in P) if (v > -3) then v * 2"
    result = storel.run(script, x=np.array([1.0, -2.0]), backend=backend)
    assert isinstance(result, storel.Tensor)
    assert float(result) == 2.0


NOTHING = [
    ("A - {}", [[0, 1], [2, 3]]),
    ("{} - A", [[0, -1], [-2, -3]]),
    ("let x = {} in A + x", [[0, 1], [2, 3]]),
    ("sum(<i, _> in {}, <j, v> in A(0)) { j -> v }", [0, 0]),
    ("let x = {} in sum(<(i, j), v> in x) { j -> 1.0 }", []),
    ("{} - 2", -2),
]


@pytest.mark.parametrize("backend", ["interpret", "c"])
@pytest.mark.parametrize(("text", "expected"), NOTHING)
def test_nothing_is_the_zero_of_every_rank(text: str, expected: Any, backend: str) -> None:
    bound = {"A": np.array([[0.0, 1.0], [2.0, 3.0]])} if "A" in text else {}
    result = storel.run(f"CREATE TENSOR R AS {text}", backend=backend, **bound)
    assert isinstance(result, storel.Tensor)
    assert result.to_numpy().tolist() == expected


@pytest.mark.parametrize("backend", ["interpret", "c"])
@pytest.mark.parametrize("text", ["A / 2", "A // 2", "2 % A"])
def test_a_quotient_is_of_scalars(text: str, backend: str) -> None:
    with pytest.raises(storel.StorelError, match="ranks do not fit"):
        storel.run(f"CREATE TENSOR R AS {text}", A=np.ones((2, 2)), backend=backend)


@pytest.mark.parametrize("backend", ["c", "interpret"])
def test_max_times_is_of_no_negative_numbers_in_what_is_inlined(backend: str) -> None:
    script = "CREATE TENSOR R OVER max_times AS x + x\nCREATE TENSOR S OVER max_times AS R * y"
    y = np.ones(3)
    with pytest.raises(storel.StorelError, match=r"x\(1\) is -2"):
        storel.run(script, x=np.array([1.0, -2.0, 3.0]), y=y, backend=backend)
    kernel = storel.compile(script, x=np.ones(3), y=y, backend=backend)
    with pytest.raises(storel.StorelError, match=r"x\(2\) is -1"):
        kernel(x=np.array([1.0, 1.0, -1.0]), y=y)


@pytest.mark.parametrize("stored", ["dense", "coo"])
@pytest.mark.parametrize("backend", ["c", "interpret"])
def test_missing_integers_are_infinite(stored: str, backend: str) -> None:
    given = storel.tensor((np.array([[0]]), np.array([5])), "coo", shape=(3,), semiring="min_plus")
    result = storel.run("CREATE TENSOR R OVER min_plus AS T", T=given, backend=backend, format=stored)
    assert isinstance(result, storel.Tensor)
    assert result.to_numpy().tolist() == [5, np.inf, np.inf]


KEYS = np.array([2, 0, 1])
ADDRESSED = [
    ("sum(<i, v> in V) { K(i) -> v }", [2.0, 4.0, 1.0]),
    ("sum(<i, _> in V) { i -> V(K(i)) }", [4.0, 1.0, 2.0]),
    ("sum(<i, v> in V, <_, _> in 0:K(i)) { i -> v }", [1.0, INF, 4.0]),
    ("sum(<i, v> in V) { i -> K(i) * v }", [3.0, INF, 5.0]),
]


@pytest.mark.parametrize("stored", ["dense", "coo", "hash"])
@pytest.mark.parametrize(("text", "expected"), ADDRESSED, ids=[text for text, _ in ADDRESSED])
@pytest.mark.parametrize("backend", ["c", "interpret"])
def test_keys_that_are_looked_up_are_ordinary_numbers(
    backend: str, text: str, expected: list[float], stored: str
) -> None:
    values = storel.tensor(np.array([1.0, 2.0, 4.0]), semiring="min_plus")
    script = f"CREATE TENSOR R: real[3] OVER min_plus AS {text}"
    result = storel.run(script, V=values, K=storel.tensor(KEYS, stored), backend=backend)
    assert isinstance(result, storel.Tensor)
    assert result.to_numpy().tolist() == expected


FACTORS = ["3", "A(0, 1)", "(sum(<j, v> in A(2)) A(j, 2 - j))"]
SUMS = [
    "count(<j, v> in row)",
    "(sum(<j, v> in row) j)",
    "max(<j, v> in row) v",
    "{ i -> count(<j, v> in row) }",
]


@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize("floating_point", ["strict", "reassociate"])
@pytest.mark.parametrize("semiring", list(VALUES))
def test_a_product_does_not_distribute_over_another_sum(
    semiring: str, floating_point: Literal["strict", "reassociate"], backend: Literal["c", "numba"]
) -> None:
    entries = np.array(VALUES[semiring])
    matrix = storel.tensor((ENTRIES, entries), "csr", shape=(4, 4), semiring=semiring)
    for number, (factor, value) in enumerate(itertools.product(FACTORS, SUMS)):
        rows = f"sum(<i, row> in A) {{ i -> {value} }}"
        script = f"CREATE TENSOR R OVER {semiring} AS {factor} * {rows}"
        if backend == "numba" and number % 4:
            continue
        wanted = storel.run(script, A=matrix, backend="interpret")
        found = storel.run(script, A=matrix, backend=backend, floating_point=floating_point)
        assert isinstance(wanted, storel.Tensor) and isinstance(found, storel.Tensor)
        np.testing.assert_allclose(found.to_numpy(), wanted.to_numpy(), err_msg=script)


@pytest.mark.parametrize("storage", ["", "STORED AS coo", "STORED AS csf"])
@pytest.mark.parametrize("semiring", ["min_plus", "max_plus"])
def test_integers_that_may_be_missing_are_reals(semiring: str, storage: str) -> None:
    tensor = storel.tensor({(0,): 2**63 - 1, (2,): 5}, "coo", shape=(3,), semiring=semiring)
    for backend in ("interpret", "c", "numba"):
        result = storel.run(f"CREATE TENSOR d OVER {semiring} {storage} AS A", backend=backend, A=tensor)
        assert isinstance(result, storel.Tensor) and result.dtype == np.float64
        np.testing.assert_array_equal(result.to_coo()[1], [2.0**63, 5])
