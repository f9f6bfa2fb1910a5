"""Loops over the same keys are one where none needs what another makes; what they share is computed once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from strategies.loops import FLOAT64, N, check, index, integer, kernel, plus

import storel
from storel.arrays import Array
from storel.errors import Cause
from storel.loops.nodes import (
    Allocation,
    Assign,
    Binary,
    Buffer,
    Cast,
    Constant,
    Declare,
    Expression,
    Fail,
    Failure,
    For,
    If,
    Kernel,
    Load,
    Local,
    Role,
    Statement,
    Store,
    Unary,
    Update,
    While,
)
from storel.loops.passes.siblings import unite_siblings
from storel.loops.passes.values import compute_once
from storel.loops.verify import verify
from storel.loops.walk import all_parts, evaluated, walk
from storel.scalars import ScalarType

POS, IDX, OTHER = (Buffer(name, ScalarType.INT32, Role.INDEX) for name in ("pos", "idx", "other"))
VAL, X, W, Y, Z = (Buffer(name, FLOAT64) for name in ("val", "x", "w", "y", "z"))
SIZE = 9
MATRIX = scipy.sparse.random_array((SIZE, SIZE), density=0.4, format="csr", rng=np.random.default_rng(1))
FACTOR = np.random.default_rng(2).random(SIZE)
NOTHING = Constant(0.0, FLOAT64)
NEVER = Constant(False, ScalarType.BOOL)


def number(name: str) -> Local:
    return Local(name, FLOAT64)


def read(buffer: Buffer, place: Expression) -> Cast:
    return Cast(ScalarType.INT64, Load(buffer, place))


def value(operator: str, left: Expression, right: Expression) -> Binary:
    return Binary(operator, left, right, Role.VALUE)


def weight(name: str, factor: Buffer = X) -> Binary:
    """Return what the entry at a place weighs, if its column has been read."""
    root = Unary("sqrt", Load(factor, index(f"k{name}")), Role.VALUE)
    return value("multiply", Load(VAL, index(name)), root)


def rows(name: str, *body: Statement, high: Expression = N) -> For:
    return For(index(name), integer(0), high, body)


def entries(name: str, row: str, *body: Statement, keys: Buffer = IDX) -> For:
    ends = read(POS, index(row)), read(POS, plus(index(row), integer(1)))
    return For(index(name), *ends, (Declare(index(f"k{name}"), read(keys, index(name))), *body))


def by_rows(i: str, p: str, to: Buffer = Y, added: Expression | None = None) -> For:
    """Return the loop that adds up what the entries of each row weigh."""
    total = number(f"t{p}")
    adding = entries(p, i, Assign(total, value("add", total, added or weight(p))))
    return rows(i, Declare(total, NOTHING), adding, Store(to, index(i), total))


def by_columns(
    j: str, q: str, added: Expression | None = None, high: Expression = N, keys: Buffer = IDX
) -> For:
    """Return the loop that adds up what the entries of each column weigh."""
    return rows(j, entries(q, j, Update(Z, index(f"k{q}"), "add", added or weight(q)), keys=keys), high=high)


def united(*body: Statement, reorders: bool = True) -> Kernel:
    outputs: list[tuple[Allocation, Expression]]
    outputs = [(Allocation(each, slot, is_output=True, fill=0), N) for slot, each in enumerate((W, Y, Z))]
    failures = (Failure(Cause.KEY, "failed at {}"),)
    given = kernel([POS, IDX, OTHER, VAL, X], outputs, list(body), failures)
    made = compute_once(unite_siblings(given, reorders=reorders))
    verify(made)
    return made


def loops(made: Kernel) -> int:
    return sum(isinstance(each, For) for each in walk(made.compute.body))


def roots(made: Kernel) -> int:
    """Return how many square roots are written."""
    found = (part for each in walk(made.compute.body) for part in all_parts(evaluated(each)))
    return sum(isinstance(part, Unary) for part in found)


def holds(made: Kernel, w: Any = 0.0, y: Any = 0.0, z: Any = 0.0, matrix: Any = MATRIX) -> None:
    """Check what a kernel makes of a matrix, on every backend."""
    size = matrix.shape[0]
    keys = matrix.indices.astype("i4")
    arrays = {"pos": matrix.indptr.astype("i4"), "idx": keys, "other": keys, "val": matrix.data, "x": FACTOR}
    expected = {"w": np.zeros(size) + w, "y": np.zeros(size) + y, "z": np.zeros(size) + z}
    check(made, {"n": size}, arrays, expected)


def weighed(matrix: Any = MATRIX) -> Array:
    return matrix.toarray() * np.sqrt(FACTOR[: matrix.shape[1]])


@pytest.mark.parametrize("matrix", [MATRIX, 0 * MATRIX, MATRIX[:1, :1]], ids=["some", "zeros", "1 × 1"])
def test_what_is_added_up_by_rows_and_by_columns_is_computed_once(matrix: Any) -> None:
    both = by_rows("i", "p"), by_columns("j", "q")
    for body in (both, both[::-1]):
        made = united(*body)
        assert (loops(made), roots(made)) == (2, 1)
        values = weighed(matrix)
        holds(made, y=values.sum(axis=1), z=values.sum(axis=0), matrix=matrix)


def test_what_lies_between_keeps_its_order() -> None:
    """What the second loop needs comes before both, what needs the first one after both."""
    factor, first = number("factor"), number("first")
    between = (Declare(factor, Constant(3.0, FLOAT64)), Declare(first, Load(Y, integer(0))))
    scaled = by_columns("j", "q", value("multiply", weight("q"), factor))
    made = united(by_rows("i", "p"), *between, scaled, Store(W, integer(1), first))
    assert (loops(made), roots(made)) == (2, 1)
    sums = weighed().sum(axis=1)
    holds(made, w=np.eye(SIZE)[1] * sums[0], y=sums, z=3 * weighed().sum(axis=0))


def test_three_loops_are_one_and_another_lies_between() -> None:
    squares = by_rows("l", "r", W, value("multiply", weight("r"), weight("r")))
    cleared = rows("m", Store(W, index("m"), NOTHING))
    made = united(by_rows("i", "p"), cleared, by_columns("j", "q"))
    assert (loops(made), roots(made)) == (3, 1)
    made = united(by_rows("i", "p"), by_columns("j", "q"), squares)
    assert (loops(made), roots(made)) == (2, 1)
    holds(made, w=(weighed() ** 2).sum(axis=1), y=weighed().sum(axis=1), z=weighed().sum(axis=0))


@pytest.mark.parametrize("reorders", [True, False])
def test_both_add_to_the_same_places_only_in_any_order(reorders: bool) -> None:
    made = united(by_columns("i", "p"), by_columns("j", "q"), reorders=reorders)
    assert (loops(made), roots(made)) == ((2, 1) if reorders else (4, 2))
    holds(made, z=2 * weighed().sum(axis=0))
    largest = rows("j", entries("q", "j", Update(Z, index("kq"), "maximum", weight("q"))))
    assert loops(united(by_columns("i", "p"), largest)) == 4


def test_a_value_that_changes_is_computed_again() -> None:
    """The second sum of a row is of roots of what the first one has become by then."""
    running, total = number("running"), number("total")
    root = Unary("sqrt", running, Role.VALUE)
    first = entries("p", "i", Assign(running, value("add", running, weight("p"))))
    second = entries("q", "i", Assign(total, value("add", total, value("multiply", weight("q"), root))))
    starts = Declare(running, NOTHING), Declare(total, NOTHING)
    made = united(rows("i", *starts, first, second, Store(Y, index("i"), total)))
    assert loops(made) == 3
    sums = weighed().sum(axis=1)
    holds(made, y=sums * np.sqrt(sums))


TWICE = value("add", weight("q"), weight("q"))
APART: dict[str, tuple[Statement, ...]] = {
    "another range": (by_rows("i", "p"), by_columns("j", "q", high=plus(N, integer(-1)))),
    "other keys": (by_rows("i", "p"), by_columns("j", "q", keys=OTHER)),
    "no keys": (
        rows("i", Store(Y, index("i"), Load(X, index("i")))),
        rows("j", Store(Z, index("j"), Load(X, index("j")))),
    ),
    "one needs the other": (by_rows("i", "p"), by_columns("j", "q", Load(Y, index("kq")))),
    "one needs what comes between": (
        by_rows("i", "p"),
        Store(W, integer(0), Load(Y, integer(0))),
        by_columns("j", "q", Load(W, integer(0))),
    ),
    "both write one array": (by_rows("i", "p"), by_rows("j", "q", added=TWICE)),
    "it may fail between": (
        by_rows("i", "p"),
        If(Binary("less", Load(Y, integer(0)), Constant(-1.0, FLOAT64)), (Fail(0, integer(0)),)),
        by_columns("j", "q"),
    ),
    "one searches": (
        by_rows("i", "p"),
        rows("j", entries("q", "j", While(NEVER, ()), Store(Z, index("j"), NOTHING))),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", APART)
def test_what_stays_apart(name: str) -> None:
    body = APART[name]
    made = united(*body)
    assert made.compute.body == body
    row_sums, stored = weighed().sum(axis=1), (MATRIX.toarray() != 0).astype(float)
    expected: dict[str, dict[str, Any]] = {
        "another range": {"z": weighed()[:-1].sum(axis=0)},
        "no keys": {"y": FACTOR, "z": FACTOR},
        "one needs the other": {"z": stored.sum(axis=0) * row_sums},
        "one needs what comes between": {
            "w": np.eye(SIZE)[0] * row_sums[0],
            "z": stored.sum(axis=0) * row_sums[0],
        },
        "both write one array": {"y": 2 * row_sums, "z": 0},
        "one searches": {"z": 0},
    }
    holds(made, **{"y": row_sums, "z": weighed().sum(axis=0), **expected.get(name, {})})


@pytest.mark.parametrize("program", [
    "let w = sum(<(i, j), a> in A) {(i, j) -> a * sigmoid(a * x(j))} in "
    "sum(<(i, j), v> in w) {i -> v * x(i)} + sum(<(i, j), v> in w) {j -> v}",
    "sum(<(i, j), a> in A) {j -> sigmoid(x(j) * a) * a} + "
    "sum(<(k, l), b> in A) {k -> sigmoid(x(l) * b) * b * x(k)}",
])  # fmt: skip
@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
def test_whole_programs(program: str, backend: Any) -> None:
    script, given = f"CREATE TENSOR y AS {program}", {"A": storel.tensor(MATRIX), "x": FACTOR}
    found = storel.run(script, **given, backend=backend)
    dense = MATRIX.toarray()
    values = dense / (1 + np.exp(-dense * FACTOR))
    assert isinstance(found, storel.Tensor)
    np.testing.assert_allclose(found.to_numpy(), values.sum(axis=1) * FACTOR + values.sum(axis=0))
    assert storel.explain(script, **given, stage="loops").count("sigmoid(") == 1
