"""Which operands are converted before they are searched, and what that costs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import storel
from storel.calculus.nodes import (
    Add,
    Find,
    Let,
    Literal,
    Lookup,
    Multiply,
    Range,
    Singleton,
    Slice,
    Sum,
    Symbol,
    Term,
    Variable,
)
from storel.compilation import scheduling
from storel.compilation.compiler import NOTHING_CONVERTED
from storel.compilation.environment import Environment
from storel.compilation.expectation import expected_time, has_only_products, running_time
from storel.compilation.reformat import (
    CONVERSION,
    TURNING,
    WORTHWHILE,
    conversion_cost,
    conversions,
    convertible_operands,
    forms,
)
from storel.scalars import ScalarType
from storel.storage.compose import operand_of, uses_in

ZERO = Literal(0, ScalarType.INT64)
ONE = Literal(1, ScalarType.INT64)
MATRIX = storel.tensor(np.eye(4, 16), "csr")
SCAN = Sum(Symbol("A_idx"), Lookup(Symbol("A_val"), Variable(1)))
SEARCH = Find(Symbol("A_idx"), Literal(1, ScalarType.INT64), Lookup(Symbol("A_val"), Variable(0)))

ROW = Slice(
    Symbol("A_idx"), Lookup(Symbol("A_pos"), Variable(1)), Lookup(Symbol("A_pos"), Add(Variable(1), ONE))
)
ROWS = Sum(Range(ZERO, Symbol("A_m")), Sum(ROW, Lookup(Symbol("A_val"), Variable(1))))
STORED = Slice(Symbol("A_row"), ZERO, Symbol("A_rows"))
STORED_ROWS = Sum(STORED, Sum(ROW, Lookup(Symbol("A_val"), Variable(1))))
OF_ONE = Slice(Symbol("A_row"), ZERO, Variable(1))
"""Rows that are stored, and the first ones of them, as many as the loop around them has come to."""
LISTED = Sum(Slice(Symbol("A_row"), ZERO, Symbol("A_nnz")), Lookup(Symbol("A_val"), Variable(1)))
BLOCKS = Sum(
    Range(ZERO, Symbol("A_m")),
    Sum(Range(ZERO, Symbol("v_m")), Lookup(Symbol("A_val"), Add(Variable(1), Variable(3)))),
)
"""Values whose places no variable of a loop around chooses."""
NUMBERS = Sum(Range(ZERO, Symbol("A_m")), Singleton(Variable(1), ONE))


def environment() -> Environment:
    made = Environment()
    made.add_tensor("A", MATRIX)
    made.add_tensor("B", MATRIX)
    made.add_tensor("v", storel.tensor(np.ones(4)))
    return made


def test_a_conversion_costs_by_the_longest_array() -> None:
    assert conversion_cost(MATRIX, MATRIX) == CONVERSION * 5


def test_a_conversion_stores_all_parts() -> None:
    near, rest = 1, 3
    stored = storel.tensor(
        np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 4.0], [5.0, 6.0, 0.0]]), f"hyb(width={near})"
    )
    assert len(stored.arrays["rest_val"]) == rest
    assert conversion_cost(MATRIX, stored) == CONVERSION * (3 * near + rest)


@pytest.mark.parametrize(
    ("term", "nanoseconds", "found"),
    [
        (SCAN, 100 * WORTHWHILE, []),
        (ROWS, 100 * WORTHWHILE, []),
        (Sum(Range(ZERO, Symbol("v_m")), ROWS), 100 * WORTHWHILE, ["A"]),
        (STORED_ROWS, 100 * WORTHWHILE, []),
        (Sum(Symbol("v_val"), STORED_ROWS), 100 * WORTHWHILE, ["A"]),
        (Sum(Symbol("v_val"), Sum(OF_ONE, STORED_ROWS.body)), 100 * WORTHWHILE, []),
        (LISTED, 100 * WORTHWHILE, []),
        (Sum(Symbol("v_val"), LISTED), 100 * WORTHWHILE, ["A"]),
        (Sum(Symbol("v_val"), Sum(OF_ONE, LISTED.body)), 100 * WORTHWHILE, []),
        (Sum(Range(ZERO, Symbol("A_m")), BLOCKS), 100 * WORTHWHILE, ["A"]),
        (Sum(Range(ZERO, Symbol("A_m")), BLOCKS.body), 100 * WORTHWHILE, []),
        (Let(NUMBERS, Sum(Variable(0), BLOCKS.body)), 100 * WORTHWHILE, []),
        (Let(NUMBERS, Sum(Symbol("v_val"), Sum(Variable(2), BLOCKS.body))), 100 * WORTHWHILE, ["A"]),
        (Sum(Symbol("v_val"), Let(Variable(0), Sum(Variable(0), BLOCKS.body))), 100 * WORTHWHILE, []),
        (SEARCH, 100 * WORTHWHILE, ["A"]),
        (SEARCH, WORTHWHILE, []),
        (SEARCH, WORTHWHILE + 2 * CONVERSION * 5, []),
        (SEARCH, WORTHWHILE + 2 * CONVERSION * 5 + 1, ["A"]),
    ],
)
def test_only_what_is_searched_or_repeated_for_long_is_converted(
    term: Term, nanoseconds: float, found: list[str]
) -> None:
    assert convertible_operands(term, environment(), lambda: nanoseconds) == found


@pytest.mark.parametrize(
    ("data", "storage", "found"),
    [
        (np.ones((4, 4)), "dense", []),
        (np.eye(4), "dense", ["A"]),
        (np.ones((4, 4)), "csr", ["A"]),
    ],
)
def test_what_is_found_anywhere_is_not_converted(data: Any, storage: str, found: list[str]) -> None:
    made = Environment()
    made.add_tensor("A", storel.tensor(data, storage))
    assert convertible_operands(SEARCH, made, lambda: 100 * WORTHWHILE) == found


def column_of(factor: Term) -> Term:
    """Return the sum of the elements at ``factor`` of each row's number."""
    key = Multiply(factor, Variable(1))
    return Sum(Range(ZERO, Symbol("A_m")), Lookup(Symbol("A_val"), Add(key, ZERO)))


@pytest.mark.parametrize(
    ("data", "term", "found"),
    [
        (np.ones((4, 4)), column_of(Symbol("A_n")), ["A"]),
        (np.eye(4), column_of(Symbol("A_n")), ["A"]),
        (np.ones((4, 4)), Sum(Range(ZERO, Symbol("A_m")), Lookup(Symbol("A_val"), Variable(1))), []),
        (np.ones((4, 4)), Sum(Range(ZERO, Symbol("A_m")), column_of(Symbol("A_n"))), ["A"]),
        (np.ones(4), column_of(Symbol("A_n")), []),
    ],
)
def test_what_is_read_by_columns_is_turned(data: Any, term: Term, found: list[str]) -> None:
    made = Environment()
    made.add_tensor("A", storel.tensor(data))
    assert convertible_operands(term, made, lambda: 100 * WORTHWHILE) == found


def test_turning_is_cheap_and_keeps_the_entries() -> None:
    given = storel.tensor(np.arange(6.0).reshape(2, 3))
    (turned,) = conversions(given, environment())
    assert turned.arrays["val"].tolist() == [0, 3, 1, 4, 2, 5]
    np.testing.assert_array_equal(turned.to_numpy(), given.to_numpy())
    assert conversion_cost(given, turned) == TURNING * 6


def test_a_sampled_product_reads_both_factors_by_rows() -> None:
    rng = np.random.default_rng(0)
    sampled = scipy.sparse.random_array((400, 30_000), density=0.03, format="csr", rng=rng)
    operands = {"S": sampled, "A": rng.random((400, 64)), "B": rng.random((64, 30_000))}
    program = (
        "CREATE TENSOR P AS sum(<(i,j), s> in S, <(i,k), a> in A, <(k,j), b> in B) { (i,j) -> s * a * b }"
    )
    kernel = storel.compile(program, **operands)
    converted = kernel.compilation.converted
    assert {name: tensor.format for name, tensor in converted.items()} == {"B": "column_major"}
    expected = sampled.multiply(operands["A"] @ operands["B"]).toarray()
    result = kernel(**operands)
    assert isinstance(result, storel.Tensor)
    np.testing.assert_allclose(result.to_numpy(), expected)


def test_conversions_keep_the_entries() -> None:
    made = list(conversions(MATRIX, environment()))
    assert "csc" in [tensor.format for tensor in made]
    assert "csr" not in [tensor.format for tensor in made]
    for tensor in made:
        np.testing.assert_array_equal(tensor.to_numpy(), MATRIX.to_numpy())


def test_operands_of_a_result_that_would_be_listed_are_converted() -> None:
    random = np.random.default_rng(0)
    matrices = [np.where(random.random((400, 400)) < 0.1, random.random((400, 400)), 0.0) for _ in range(2)]
    stored = {"A": storel.tensor(matrices[0], "csc"), "B": storel.tensor(matrices[1], "csr")}
    program = "CREATE TENSOR C STORED AS csr AS sum(<(i, k), a> in A, <(k, j), b> in B) { (i, j) -> a * b }"
    kernel = storel.compile(program, **stored)
    assert "coordinates" not in kernel.explain("plan")
    result = kernel(**stored)
    assert isinstance(result, storel.Tensor)
    np.testing.assert_allclose(result.to_numpy(), matrices[0] @ matrices[1])


@pytest.mark.parametrize("value", ["a * b", "1"])
def test_rows_of_one_matrix_that_share_a_column_are_found_by_columns(value: str) -> None:
    """By rows, all of them are gone through for each, or searched for each entry."""
    matrix = scipy.sparse.random_array(
        (2000, 2000), density=0.005, format="csr", rng=np.random.default_rng(0)
    )
    program = (
        f"CREATE TENSOR C STORED AS csr AS sum(<(i, k), a> in A, <(j, k), b> in A) {{ (i, j) -> {value} }}"
    )
    kernel = storel.compile(program, A=matrix)
    assert {name: each.format for name, each in kernel.compilation.converted.items()} == {"A@2": "csc"}
    result = kernel(A=matrix)
    assert isinstance(result, storel.Tensor)
    factor = matrix if value == "a * b" else matrix.astype(np.bool_).astype(np.int64)
    np.testing.assert_allclose(result.to_numpy(), (factor @ factor.T).toarray())


@pytest.mark.parametrize(("entries_per_row", "expected"), [(20, ["B"]), (80, ["B", "A", "C"])])
def test_no_conversion_is_tried_that_takes_longer_than_it_can_save(
    entries_per_row: int, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []

    def counted(tensor: storel.Tensor, environment: Environment) -> Iterator[storel.Tensor]:
        for other in forms(tensor, environment):
            if other is not tensor:
                tried.append(tensor.nnz)
            yield other

    monkeypatch.setattr(scheduling, "forms", counted)
    rng = np.random.default_rng(0)
    operands: dict[str, Any] = {
        name: scipy.sparse.random_array((4000, 4000), density=share * entries_per_row / 4000, rng=rng).tocsr()
        for name, share in (("A", 1.1), ("B", 1.0), ("C", 1.2))
    }
    program = "CREATE TENSOR t AS sum(<(i,j), a> in A, <(j,k), b> in B, <(k,i), c> in C) a * b * c"
    kernel = storel.compile(program, **operands)
    assert tried == [operands[name].nnz for name in expected]
    product = (operands["A"] @ operands["B"]).multiply(operands["C"].T)
    result = kernel(**operands)
    assert isinstance(result, storel.Tensor)
    assert float(result) == pytest.approx(product.sum())


def test_a_chain_of_dense_products_is_neither_copied_nor_turned(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(tensor: storel.Tensor, environment: Environment) -> Iterator[storel.Tensor]:
        raise AssertionError(f"a conversion of {tensor} among {environment} is tried")

    monkeypatch.setattr(scheduling, "forms", refused)
    rng = np.random.default_rng(0)
    extents = [341, 258, 209, 115, 130, 25, 39]
    operands = {f"M{n}": rng.random((extents[n], extents[n + 1])) for n in range(6)}
    keys = "abcdefg"
    loops = ", ".join(f"<({keys[n]}, {keys[n + 1]}), x{n}> in M{n}" for n in range(6))
    kernel = storel.compile(
        f"CREATE TENSOR P AS sum({loops}) {{ (a, g) -> x0 * x1 * x2 * x3 * x4 * x5 }}", **operands
    )
    assert has_only_products(kernel.compilation)
    result = kernel(**operands)
    assert isinstance(result, storel.Tensor)
    np.testing.assert_allclose(result.to_numpy(), np.linalg.multi_dot(list(operands.values())))


SQUARE = scipy.sparse.random_array(
    (700, 700), density=0.02, format="csr", rng=np.random.default_rng(5)
).tocsr()
DENSE = SQUARE.toarray()
WEIGHTS = np.random.default_rng(6).random(700)
SEVERAL_USES = [
    ("sum(<(i, k), a> in A, <(j, k), b> in A) { (i, j) -> a * b }", DENSE @ DENSE.T),
    ("sum(<(p, q), v> in A, <(o, q), w> in A) { (o, p) -> w * v }", DENSE @ DENSE.T),
    ("sum(<i, r> in A, <k, a> in r, <j, s> in A, <k, b> in s) { (i, j) -> a * b }", DENSE @ DENSE.T),
    ("sum(<(k, i), a> in A, <(k, j), b> in A) { (i, j) -> a * b }", DENSE.T @ DENSE),
    ("sum(<(k, j), b> in A, <(k, i), a> in A) { (i, j) -> b * a }", DENSE.T @ DENSE),
    (
        "sum(<(i, k), a> in A, <(j, k), b> in A, <(j, l), c> in A) { (i, l) -> a * b * c }",
        DENSE @ DENSE.T @ DENSE,
    ),
    (
        "sum(<(j, l), c> in A, <(i, k), a> in A, <(j, k), b> in A) { (i, l) -> c * a * b }",
        DENSE @ DENSE.T @ DENSE,
    ),
    ("sum(<(i, k), a> in A, <(j, k), b> in A) x(i) * a * b * x(j)", WEIGHTS @ DENSE @ DENSE.T @ WEIGHTS),
]


@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize("storage", ["csr", "csc", "coo"])
@pytest.mark.parametrize(("expression", "expected"), SEVERAL_USES)
def test_an_operand_is_read_in_several_ways(
    expression: str, expected: Any, storage: str, backend: Any
) -> None:
    operands: dict[str, Any] = {"A": storel.tensor(SQUARE, storage)}
    if "x(" in expression:
        operands["x"] = WEIGHTS
    kernel = storel.compile(f"CREATE TENSOR C AS {expression}", backend=backend, **operands)
    converted = kernel.compilation.converted
    assert all(operand_of(name) == "A" for name in converted)
    assert ("x" in operands) != any(map(uses_in, converted))
    result = kernel(**operands)
    assert isinstance(result, storel.Tensor)
    np.testing.assert_allclose(result.to_numpy(), expected)


def test_what_one_use_is_read_as_is_all_that_is_paid_for() -> None:
    kernel = storel.compile(f"CREATE TENSOR C AS {SEVERAL_USES[0][0]}", A=SQUARE)
    ((name, converted),) = kernel.compilation.converted.items()
    assert (name, converted.format) == ("A@2", "csc")
    compilation = kernel.compilation
    assert expected_time(compilation) == running_time(compilation) + conversion_cost(
        storel.tensor(SQUARE), converted
    )
    assert "A@2, use 2 of A, is converted to csc first" in kernel.explain()
    assert "A@2_pos" in kernel.plan


def test_uses_of_views_are_uses_of_what_they_read() -> None:
    program = (
        "CREATE TENSOR norm AS sum(<(i, k), a> in A) { i -> a * a }; "
        "CREATE TENSOR C AS sum(<(i, k), a> in A, <(j, k), b> in A) "
        "{ (i, j) -> a * b / sqrt(norm(i) * norm(j)) }"
    )
    kernel = storel.compile(program, A=SQUARE)
    assert any(map(uses_in, kernel.compilation.converted))
    lengths = np.sqrt((DENSE**2).sum(axis=1))
    result = kernel(A=SQUARE)
    assert isinstance(result, storel.Tensor)
    np.testing.assert_allclose(result.to_numpy(), DENSE @ DENSE.T / np.outer(lengths, lengths))


def test_no_use_is_tried_once_all_is_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other trials than that in which the second use is read by columns could only be as good."""
    tried: list[list[str]] = []
    compiled = scheduling.compile_as_stored

    def noted(task: Any, converted: Any = NOTHING_CONVERTED) -> Any:
        tried.append(list(converted))
        return compiled(task, converted)

    monkeypatch.setattr(scheduling, "compile_as_stored", noted)
    storel.compile(f"CREATE TENSOR C AS {SEVERAL_USES[0][0]}", A=SQUARE)
    assert tried.index(["A@2"]) == len(tried) - 1


def test_a_matrix_and_its_transpose_are_merged_row_by_row() -> None:
    """To list the entries of both, and to put them in order, takes ten times as long as another copy."""
    rng = np.random.default_rng(1)
    matrix = scipy.sparse.random_array((3000, 3000), density=0.003, format="csr", rng=rng)
    program = (
        "CREATE TENSOR R AS sum(<(i, j), a> in A) { (i, j) -> a } + sum(<(i, j), a> in A) { (j, i) -> a }"
    )
    tensor = storel.tensor(matrix)
    kernel = storel.compile(program, A=tensor)
    assert any(map(uses_in, kernel.compilation.converted))
    result = kernel(A=tensor)
    assert isinstance(result, storel.Tensor)
    assert abs(result.to_scipy() - (matrix + matrix.T)).max() < 1e-12


@pytest.mark.parametrize(("storage", "array"), [("csc", "A_pos"), ("coo", "A_col")])
@pytest.mark.parametrize("other", ["A", "B"])
def test_what_is_read_array_by_array_stays_as_it_is(storage: str, array: str, other: str) -> None:
    rng = np.random.default_rng(1)
    matrix = scipy.sparse.random_array((1500, 1500), density=0.006, format="csr", rng=rng)
    tensor = storel.tensor(matrix, storage)
    loops = f"sum(<(i, k), a> in A, <(j, k), b> in {other})"
    program = f"CREATE TENSOR R AS {loops} {{ (i, j) -> a * b * {array}(3) }}"
    given: dict[str, Any] = {"A": tensor, "B": matrix} if other == "B" else {"A": tensor}
    kernel = storel.compile(program, **given)
    assert kernel.compilation.converted and "A" not in kernel.compilation.converted
    result = kernel(**given)
    assert isinstance(result, storel.Tensor)
    factor = tensor.arrays[array.removeprefix("A_")][3]
    np.testing.assert_allclose(result.to_numpy(), (matrix @ matrix.T).toarray() * factor, rtol=1e-9)


@pytest.mark.parametrize(
    ("storage", "program"),
    [
        ("dcsc", "sum(<(i, j), a> in A, <(i, k), b> in B) { (j, k) -> a * b }"),
        ("dcsr", "sum(<(i, j), a> in A, <(k, j), b> in B) { (i, k) -> a * b }"),
    ],
)
def test_stored_rows_that_another_operand_repeats_are_turned(storage: str, program: str) -> None:
    rng = np.random.default_rng(0)
    matrix = scipy.sparse.random_array((3000, 3000), density=0.002, format="csr", rng=rng)
    given = {name: storel.tensor(matrix, storage) for name in "AB"}
    made = storel.compile(f"CREATE TENSOR R AS {program}", **given)
    assert made.compilation.converted
    expected = matrix.T @ matrix if storage == "dcsc" else matrix @ matrix.T
    found = made(**given)
    assert isinstance(found, storel.Tensor)
    np.testing.assert_allclose(found.to_numpy(), expected.toarray())


@pytest.mark.parametrize("storage", ["dense", "low_rank(1)"])
def test_what_has_more_entries_than_it_stores_stays_as_it_is(storage: str) -> None:
    """A row of the one lies apart in what is read by columns; the other would have to be multiplied out."""
    size = 1000
    arrays = {"u": np.ones(size), "v": np.ones(size)}
    given: Any = np.ones((size, size)) if storage == "dense" else arrays
    made = Environment()
    made.add_tensor("A", storel.tensor(given, storage, shape=None if storage == "dense" else (size, size)))
    term = column_of(Symbol("A_n")) if storage == "dense" else Sum(Symbol("A_u"), SEARCH)
    assert convertible_operands(term, made, lambda: 1e12) == (["A"] if storage == "dense" else [])


@pytest.mark.parametrize(
    ("program", "letters"),
    [
        ("sum(<(i, j, k), a> in A, <(l, j, k), b> in A) { (i, l) -> a * b }", "ijk,ljk->il"),
        ("sum(<(i, j, k), a> in A, <(i, l, k), b> in A) { (j, l) -> a * b }", "ijk,ilk->jl"),
    ],
)
def test_fibers_that_share_two_keys_are_found_by_these(program: str, letters: str) -> None:
    rng = np.random.default_rng(7)
    keys = tuple(rng.integers(0, extent, 60_000) for extent in (400, 300, 200))
    data: Any = scipy.sparse.coo_array((rng.random(60_000), keys), shape=(400, 300, 200))
    kernel = storel.compile(f"CREATE TENSOR y AS {program}", A=data)
    assert kernel.compilation.converted
    result = kernel(A=data)
    assert isinstance(result, storel.Tensor)
    expected = np.einsum(letters, data.toarray(), data.toarray(), optimize=True)
    np.testing.assert_allclose(result.to_numpy(), expected)


DENSE_PRODUCT = "CREATE TENSOR R AS sum(<(i, j), a> in A, <(j, k), x> in X) { (i, k) -> a * x }"


@pytest.mark.parametrize("storage", ["symmetric", "csr", "levels(dense, compressed; order=(1, 0))"])
def test_what_has_all_its_entries_is_multiplied_as_an_array(storage: str) -> None:
    """Entry by entry half of a symmetric matrix takes 80 times as long as a dense product."""
    rng = np.random.default_rng(0)
    half, right = rng.random((400, 400)), rng.random((400, 300))
    operands: dict[str, Any] = {"A": storel.tensor(half + half.T, storage), "X": storel.tensor(right)}
    kernel = storel.compile(DENSE_PRODUCT, **operands)
    assert [*kernel.compilation.converted] == ["A"]
    assert has_only_products(kernel.compilation)
    result = kernel(**operands)
    assert isinstance(result, storel.Tensor)
    np.testing.assert_allclose(result.to_numpy(), (half + half.T) @ right)


def test_what_has_all_its_entries_stays_where_each_is_read_once() -> None:
    half = np.random.default_rng(0).random((400, 400))
    operands: dict[str, Any] = {"A": storel.tensor(half + half.T, "symmetric"), "x": storel.tensor(half[0])}
    kernel = storel.compile("CREATE TENSOR R AS sum(<(i, j), a> in A) { i -> a * x(j) }", **operands)
    assert not kernel.compilation.converted
    result = kernel(**operands)
    assert isinstance(result, storel.Tensor)
    np.testing.assert_allclose(result.to_numpy(), (half + half.T) @ half[0])


@pytest.mark.parametrize(
    ("semiring", "value"),
    [
        ("plus_times", "min(a, b)"),
        ("plus_times", "abs(a - b)"),
        ("plus_times", "exp(a + b)"),
        ("min_plus", "a * b"),
        ("max_times", "a * b"),
        ("or_and", "true"),
    ],
)
def test_rows_that_share_columns_are_found_by_columns_whatever_is_made_of_them(
    semiring: str, value: str
) -> None:
    """Else each row of one is looked for in all rows of the other, in a table or by a search."""
    rng = np.random.default_rng(0)
    given = {
        name: scipy.sparse.random_array((1200, 1200), density=0.005, format="csr", rng=rng) for name in "AB"
    }
    loops = "sum(<(i, k), a> in A, <(j, k), b> in B)"
    program = f"CREATE TENSOR C OVER {semiring} AS {loops} {{ (i, j) -> {value} }}"
    operands: dict[str, Any] = {name: storel.tensor(each) for name, each in given.items()}
    kernel = storel.compile(program, **operands)
    assert {name: each.format for name, each in kernel.compilation.converted.items()} == {"B": "csc"}
    assert kernel.compilation.optimized.cost.iterations[-1] < 100_000
    result = kernel(**operands)
    few = {name: storel.tensor(each[:40]) for name, each in given.items()}
    expected = storel.run(program, backend="interpret", **few)
    assert isinstance(result, storel.Tensor) and isinstance(expected, storel.Tensor)
    np.testing.assert_allclose(result.to_numpy()[:40, :40], expected.to_numpy())


@pytest.mark.parametrize(("density", "is_stored_by_place"), [(0.3, True), (0.01, False)])
@pytest.mark.parametrize("layout", ["csr", "hash"])
def test_small_factors_whose_rows_are_met_often_get_places(
    density: float, is_stored_by_place: bool, layout: str
) -> None:
    rng = np.random.default_rng(5)
    keys = tuple(rng.integers(0, extent, 200_000) for extent in (500, 40, 60))
    data: Any = scipy.sparse.coo_array((rng.random(200_000), keys), shape=(500, 40, 60))
    factors = [np.where(rng.random((extent, 16)) < density, 1.5, 0) for extent in (40, 60)]
    first, second = (storel.tensor(each, layout) for each in factors)
    program = "sum(<(i, k, l), v> in B, <(k, j), c> in C, <(l, j), d> in D) { (i, j) -> v * c * d }"
    kernel = storel.compile(f"CREATE TENSOR y AS {program}", B=data, C=first, D=second)
    stored = [tensor.format for tensor in kernel.compilation.converted.values()]
    assert ("dense" in stored) == is_stored_by_place
    result = kernel(B=data, C=first, D=second)
    assert isinstance(result, storel.Tensor)
    expected = np.einsum("ikl,kj,lj->ij", data.toarray(), *factors, optimize=True)
    np.testing.assert_allclose(result.to_numpy(), expected)
