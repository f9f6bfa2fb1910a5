"""A condition on what a loop counts is a bound of the loop, however it is written."""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import storel
from storel.arrays import Array
from storel.execution.run import measure
from storel.loops.interpret import Work
from storel.loops.nodes import Fail, If
from storel.loops.walk import walk

N = 40
GENERATOR = np.random.default_rng(0)
X, V = GENERATOR.random((N, N)) + 0.5, GENERATOR.random(N) + 0.5
ROWS, COLUMNS = np.indices((N, N))

LOWER = (
    "j < i",
    "i > j",
    "j + 1 <= i",
    "i - j >= 1",
    "0 < i - j",
    "j - i < 0",
    "1 + j - i <= 0",
    "j <= i - 1",
)
DOUBLE = (
    "2 * j < i",
    "j * 2 < i",
    "i > j + j * 1",
    "not (2 * j >= i)",
    "2 * j + 1 <= i",
    "i - 2 * j > 0",
    "not (i < 2 * j or i <= 2 * j)",
)
HALF = ("2 * i <= j", "j >= i * 2", "not (j < 2 * i)", "not (i > j or j - 2 * i < 0)")
UPPER = (
    "i <= j",
    "j >= i",
    "i - 1 < j",
    "j - i > -1",
    "0 <= j - i",
    "j + 3 >= i + 3",
    "not (j < i)",
    "not (i > j or j < 0)",
)
CLOSE = ("abs(i - j) <= 2", "abs(j - i) < 3", "not (abs(i - j) > 2)", "3 > abs(i - j)")
BAND = ("i - j <= 1 and j - i <= 2", "j < i + 3 and j >= i - 1", "j - 2 <= i and i < j + 2")

COMPARISONS: dict[str, Callable[[Array, Array], Array]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip

HUGE = 2**63 - 1


def computed(script: str, **operands: Array | storel.Tensor) -> tuple[Array, Work]:
    kernel = storel.compile(script, **operands)
    result, work = measure(kernel.compilation, kernel.environment)
    return result.to_numpy(), work


@pytest.mark.parametrize(
    ("condition", "kept"),
    [(each, ROWS > COLUMNS) for each in LOWER]
    + [(each, ROWS <= COLUMNS) for each in UPPER]
    + [(each, 2 * COLUMNS < ROWS) for each in DOUBLE]
    + [(each, 2 * ROWS <= COLUMNS) for each in HALF]
    + [(each, abs(ROWS - COLUMNS) <= 2) for each in CLOSE]
    + [(each, (ROWS - COLUMNS <= 1) & (COLUMNS - ROWS <= 2)) for each in BAND],
)
def test_no_iteration_is_left_out_by_its_condition(condition: str, kept: Array) -> None:
    script = f"CREATE TENSOR y AS sum(<(i, j), x> in X) if ({condition}) then {{ i -> x * v(j) }}"
    result, work = computed(script, X=X, v=V)
    np.testing.assert_allclose(result, (X * kept) @ V)
    assert work.iterations <= kept.sum() + N
    assert work.multiplications == kept.sum()


BESIDE = (
    "CREATE TENSOR y AS sum(<(i, j), x> in X) if ({}) then {{ i -> x * v(j) }}",
    """CREATE TENSOR y AS sum(<i, _> in 0:extent(X, 0), <j, x> in v)
         {{ i -> (if (i == j) then 2 else if ({}) then 1) * x }}""",
    """CREATE TENSOR D AS sum(<i, _> in 0:extent(X, 0), <j, _> in 0:extent(X, 1))
         (if (i == j) then {{ (i, j) -> 2 }} else if ({}) then {{ (i, j) -> 1 }})
       CREATE TENSOR y AS sum(<(i, j), d> in D) {{ i -> d * v(j) }}""",
)


@pytest.mark.parametrize(
    "condition", ["abs(i - j) == 1", "j == i - 1 or j == i + 1", "i == j + 1 or 1 + i == j"]
)
@pytest.mark.parametrize("script", BESIDE)
def test_what_equalities_select_takes_no_loop(script: str, condition: str) -> None:
    beside = 1 * (abs(ROWS - COLUMNS) == 1)
    result, work = computed(script.format(condition), X=X, v=V)
    expected = X * beside if "x> in X" in script else 2 * np.eye(N) + beside
    np.testing.assert_allclose(result, expected @ V)
    assert work.iterations <= 4 * N


def test_a_condition_on_values_in_front_is_no_obstacle() -> None:
    script = "CREATE TENSOR y AS sum(<(i, j), x> in X) if (x > 1 and j < i) then { i -> x * v(j) }"
    kept = (X > 1) & (ROWS > COLUMNS)
    result, work = computed(script, X=X, v=V)
    np.testing.assert_allclose(result, (X * kept) @ V)
    assert work.iterations <= (ROWS > COLUMNS).sum() + N


def test_loops_that_do_not_depend_on_each_other_are_factors() -> None:
    """All i < j < k: for each j, the sum of what is before it times the sum of what is behind."""
    script = (
        "CREATE TENSOR s AS sum(<i, u> in v, <j, x> in w, <k, z> in v) if (i < j and j < k) then u * x * z"
    )
    w = GENERATOR.random(N)
    result, work = computed(script, v=V, w=w)
    before = np.concatenate(([0], np.cumsum(V)[:-1]))
    np.testing.assert_allclose(result, w @ (before * (V.sum() - before - V)))
    assert work.multiplications <= 2 * N
    assert work.iterations <= N * N


@pytest.mark.parametrize("layout", ["ragged", "skyline", "lower_triangular"])
def test_rows_of_any_length_are_read_without_a_test(layout: str) -> None:
    lower = np.where(ROWS >= COLUMNS, X, 0)
    script = "CREATE TENSOR y AS sum(<(i, j), x> in A) { i -> x * v(j) }"
    kernel = storel.compile(script, A=storel.tensor(lower, layout), v=V)
    result, work = measure(kernel.compilation, kernel.environment)
    np.testing.assert_allclose(result.to_numpy(), lower @ V)
    assert work.iterations == N + np.count_nonzero(lower)
    assert not any(isinstance(each, Fail | If) for each in walk(kernel.compilation.kernel.compute.body))


@pytest.mark.parametrize("layout", ["csr", "coo", "dense"])
def test_ranges_that_end_before_they_begin_hold_nothing(layout: str) -> None:
    """Rows of 30 - i entries for i < 40: the last ten take none from the others."""
    script = f"""CREATE TENSOR y STORED AS {layout} AS
      sum(<i, _> in 0:{N}, <j, _> in 0:30 - i) {{ (i, j) -> X(i, j) }}"""
    result = storel.run(script, X=X)
    assert isinstance(result, storel.Tensor)
    kept = np.where(ROWS + COLUMNS < 30, X, 0)
    np.testing.assert_array_equal(result.to_numpy(), kept[:, : result.shape[1]])


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        (f"j < {HUGE}", N * N),
        (f"j <= {HUGE}", N * N),
        (f"j > {HUGE}", 0),
        (f"j - {HUGE} <= i", N * N),
        (f"j - {HUGE} < -{HUGE} + 3", 3 * N),
        (f"{HUGE} - j <= i", 0),
        (f"-{HUGE} + j >= i", 0),
        ("j < -1", 0),
        ("j >= 0 - 5", N * N),
        (f"{2**62} * j < 1", N * N * 3 // 4),  # it does wrap, as written: of four j one has 2 ** 62
        ("2 * j < 0 - 3", 0),
        ("2 * j > 0 - 3", N * N),
        ("not (3 * j < 0 - 1)", N * N),
    ],
)
def test_numbers_near_the_ends_of_64_bits_do_not_wrap(condition: str, count: int) -> None:
    ones = np.ones((N, N))
    result, _ = computed(f"CREATE TENSOR s AS sum(<(i, j), x> in X) if ({condition}) then x", X=ones)
    assert result == count


@st.composite
def conditions(draw: st.DrawFn) -> tuple[str, Array]:
    """Return a comparison of sums and differences of multiples of i and j with a constant; where it holds."""
    constant = draw(st.integers(-N, N))
    left, right = draw(st.permutations(["i", "j"]))
    values = {"i": ROWS, "j": COLUMNS}
    factor = draw(st.sampled_from([1, 1, 2, 3]))
    sign, way = draw(st.sampled_from("+-")), draw(st.sampled_from([*COMPARISONS]))
    scaled, multiple = (f"{factor} * {left}", factor * values[left]) if factor > 1 else (left, values[left])
    sides = [(f"{scaled} {sign} {right}", multiple + (1 if sign == "+" else -1) * values[right])]
    sides.append((f"{constant}" if constant >= 0 else f"0 - {-constant}", np.full((N, N), constant)))
    if draw(st.booleans()):
        sides.reverse()
    (one, first), (other, second) = sides
    holds = COMPARISONS[way](first, second)
    return (f"not ({one} {way} {other})", ~holds) if draw(st.booleans()) else (f"{one} {way} {other}", holds)


@given(
    st.lists(conditions(), min_size=1, max_size=3),
    st.booleans(),
    st.sampled_from(["dense", "csr", "csc", "tiled"]),
)
def test_any_conditions_leave_what_they_say(
    found: list[tuple[str, Array]], by_rows: bool, layout: str
) -> None:
    kept = np.logical_and.reduce([holds for _, holds in found])
    condition = " and ".join(text for text, _ in found)
    key = "i" if by_rows else "j"
    script = f"CREATE TENSOR y AS sum(<(i, j), x> in X) if ({condition}) then {{ {key} -> x }}"
    result, work = computed(script, X=storel.tensor(X, layout))
    np.testing.assert_allclose(result, np.where(kept, X, 0).sum(axis=1 if by_rows else 0))
    if layout == "dense":
        assert work.iterations <= kept.sum() + 3 * N
