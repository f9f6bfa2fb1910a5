"""Functions are evaluated some at a time where something is scattered, as often as before, and no others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from strategies.loops import FLOAT64, LENGTHS, N, check, index, integer, kernel

import storel
from storel.execution.run import measure
from storel.loops.nodes import (
    Allocation,
    Assign,
    Binary,
    Buffer,
    Cast,
    Declare,
    Expression,
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
)
from storel.loops.passes.fission import BLOCK, evaluate_apart
from storel.loops.verify import verify
from storel.loops.walk import walk
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol

IDX = Buffer("idx", ScalarType.INT32, Role.INDEX)
X, Y, Z = (Buffer(name, FLOAT64) for name in "xyz")
I, K = index("i"), index("k")  # noqa: E741
TOTAL, FOUND = Local("total", FLOAT64), Local("found", ScalarType.BOOL)
NOTHING = Declare(TOTAL, Cast(FLOAT64, integer(0)))
ELEMENT = Load(X, I)


def exp(of: Expression) -> Unary:
    return Unary("exp", of, Role.VALUE)


def value(operator: str, left: Expression, right: Expression) -> Binary:
    return Binary(operator, left, right, Role.VALUE)


def over(*body: Statement) -> For:
    return For(I, integer(0), N, (Declare(K, Cast(ScalarType.INT64, Load(IDX, I))), *body))


def split(*body: Statement, length: int = 1000) -> Kernel:
    outputs: list[tuple[Allocation, Expression]]
    outputs = [(Allocation(each, slot, is_output=True, fill=0), N) for slot, each in enumerate((Y, Z))]
    known = {name: ArraySymbol(name, FLOAT64, length) for name in ("idx", "x")}
    made = evaluate_apart(kernel([IDX, X], outputs, list(body)), known)
    verify(made)
    return made


def blocks(made: Kernel) -> int:
    """Return how many loops compute values beforehand."""
    return sum(isinstance(each, For) and each.in_lanes for each in walk(made.compute.body))


def is_large(of: Expression) -> Binary:
    return Binary("less", Cast(FLOAT64, integer(2)), of)


SCATTERED = Update(Y, K, "add", exp(ELEMENT))
SIZES = [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5]


def data(size: int) -> dict[str, Any]:
    rng = np.random.default_rng(size)
    return {"idx": rng.integers(0, max(size, 1), size).astype("i4"), "x": rng.standard_normal(size)}


def scattered(given: dict[str, Any], values: Any) -> Any:
    return np.bincount(given["idx"], weights=values, minlength=len(given["x"]))


@pytest.mark.parametrize("size", SIZES)
def test_what_is_scattered_is_computed_before(size: int) -> None:
    made, given = split(over(SCATTERED)), data(size)
    assert blocks(made) == 1
    check(made, {"n": size}, given, {"y": scattered(given, np.exp(given["x"])), "z": np.zeros(size)})


@pytest.mark.parametrize("size", SIZES)
def test_several_values_and_what_is_made_of_them(size: int) -> None:
    """The places of one are looked up themselves, and the other one is added up as well."""
    found, root = Local("found", FLOAT64), Unary("tanh", Load(X, K), Role.VALUE)
    adding = Assign(TOTAL, value("add", TOTAL, value("multiply", found, found)))
    body = (Declare(found, root), SCATTERED, adding, Update(Z, K, "add", found))
    added = For(index("j"), integer(0), N, (Update(Y, index("j"), "add", TOTAL),))
    made = split(NOTHING, over(*body), added)
    assert blocks(made) == 1 and len(made.allocations) == 4
    given = data(size)
    values, others = np.exp(given["x"]), np.tanh(given["x"][given["idx"]])
    expected = {"y": scattered(given, values) + (others**2).sum(), "z": scattered(given, others)}
    check(made, {"n": size}, given, expected)


WHOLE: dict[str, For] = {
    "nothing is scattered": over(Update(Y, I, "add", exp(ELEMENT))),
    "no function": over(Update(Y, K, "add", value("multiply", ELEMENT, ELEMENT))),
    "it needs what is written": over(Update(Y, K, "add", exp(Load(Z, K))), Store(Z, K, ELEMENT)),
    "it needs what is added up": over(
        Assign(TOTAL, value("add", TOTAL, ELEMENT)), Update(Y, K, "add", exp(TOTAL))
    ),
    "it is asked for behind a guard": over(
        Declare(FOUND, Binary("and", is_large(exp(Load(Z, K))), is_large(exp(Load(X, K))))),
        Store(Z, K, Cast(FLOAT64, FOUND)),
    ),
    "only some need it": over(If(Binary("less", I, K), (SCATTERED,))),
}


@pytest.mark.parametrize("loop", WHOLE.values(), ids=WHOLE)
def test_what_stays_whole(loop: For) -> None:
    made = split(NOTHING, loop)
    assert made.compute.body == (NOTHING, loop)
    assert made.compute.buffers[-1] == LENGTHS


@pytest.mark.parametrize(("entries", "is_split"), [(2, False), (20, True)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_columns_of_a_sparse_matrix(entries: int, is_split: bool, dtype: Any) -> None:
    """Few entries in a row fill no vector; as many functions are evaluated in any case."""
    rng = np.random.default_rng(4)
    matrix = scipy.sparse.random_array((200, 300), density=entries / 300, format="csr", rng=rng, dtype=dtype)
    script, given = "CREATE TENSOR y AS sum(<(i, j), a> in A) {j -> tanh(a * x(i))}", rng.random(200)
    operands: dict[str, Any] = {"A": storel.tensor(matrix), "x": given.astype(dtype)}
    expected = np.tanh(matrix.toarray() * operands["x"][:, None]).sum(axis=0)
    for backend in ("c", "numba"):
        found = storel.run(script, **operands, backend=backend)
        assert isinstance(found, storel.Tensor)
        np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-5)
    compiled = storel.compile(script, **operands)
    assert ("in lanes" in compiled.explain("loops")) == is_split
    work = measure(compiled.compilation, compiled.environment)[1]
    assert work.multiplications == 2 * matrix.nnz
    assert work.iterations == 200 + matrix.nnz
