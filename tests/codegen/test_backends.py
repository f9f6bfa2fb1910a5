"""Hand-written kernels give the same on the interpreter, in C and in Numba, and what NumPy gives."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from strategies.loops import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    LENGTHS,
    SIZES,
    Array,
    N,
    check,
    every_backend,
    index,
    integer,
    kernel,
    next_to,
    plus,
)

from storel.codegen import c_source, numba_source
from storel.errors import Cause, EvaluationError, MemoryLimitError
from storel.loops import interpret
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
    Procedure,
    Role,
    Sort,
    Statement,
    Store,
    Unary,
    Update,
    While,
)
from storel.loops.verify import verify
from storel.runtime.kernel import load
from storel.scalars import ScalarType
from storel.semiring import Scalar


def random_csr(rows: int, columns: int, seed: int) -> tuple[Array, Array, Array, Array]:
    random = np.random.default_rng(seed)
    dense = random.standard_normal((rows, columns)) * (random.random((rows, columns)) < 0.3)
    row, idx = np.nonzero(dense)
    pos = np.searchsorted(row, np.arange(rows + 1)).astype(np.int64)
    return dense, pos, idx.astype(np.int32), dense[row, idx]


def test_matrix_times_vector() -> None:
    pos, idx = Buffer("A.pos", INT64, Role.INDEX), Buffer("A.idx", INT32, Role.INDEX)
    val, x, y = Buffer("A.val", FLOAT32), Buffer("double", FLOAT32), Buffer("y", FLOAT64)
    i, p, s = index("i"), index("for"), Local("s", FLOAT32)
    term = Binary("multiply", Load(val, p), Load(x, Load(idx, p)), Role.VALUE)
    made = kernel(
        [pos, idx, val, x],
        [(Allocation(y, 0, 1.0, is_output=True), N)],
        [
            For(
                i,
                integer(0),
                N,
                (
                    Declare(s, Constant(0, FLOAT32)),
                    For(
                        p,
                        Load(pos, i),
                        Load(pos, plus(i, integer(1))),
                        (Assign(s, Binary("add", s, term, Role.VALUE)),),
                        reductions=((s, "add"),),
                    ),
                    Update(y, i, "add", Cast(FLOAT64, s)),
                ),
            )
        ],
    )
    dense, starts, columns, values = random_csr(30, 40, 0)
    vector = np.arange(1, 41, dtype=np.float32)
    inputs = {"A.pos": starts, "A.idx": columns, "A.val": values.astype(np.float32), "double": vector}
    expected = 1 + dense.astype(np.float32) @ vector
    for backend, run in every_backend(made).items():
        result = run({"n": 30}, inputs)["y"]
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4, err_msg=backend)


def test_numba_compiles_a_function_for_each_procedure_with_what_it_uses_alone() -> None:
    """Arguments that are not used, and functions that are called once, would be compiled, too."""
    read, unread = Buffer("read", FLOAT64), Buffer("unread", FLOAT64)
    made = kernel(
        [read, unread],
        [(Allocation(Buffer("y", FLOAT64), 0, 0.0, is_output=True), integer(1))],
        [Store(Buffer("y", FLOAT64), integer(0), Load(read, integer(0)))],
    )
    text = numba_source.render(made)
    _, bound, compute = text.split("@cfunc")
    assert bound.count("carray(") == 1 and compute.count("carray(") == 2
    inputs = {"read": np.array([3.0]), "unread": np.array([4.0])}
    for run in every_backend(made).values():
        assert run({"n": 1}, inputs)["y"] == [3.0]


def distinct_values(sort_from: int) -> Kernel:
    """The distinct keys with their sums: a dense workspace with marks, a list, and ``Sort``."""
    key, val = Buffer("key", INT32, Role.INDEX), Buffer("val", INT64)
    total, mark = Buffer("total", INT64), Buffer("mark", BOOL, Role.INDEX)
    idx, out = Buffer("idx", INT32, Role.INDEX), Buffer("out", INT64)
    i, k, count = index("i"), Local("k", INT32), index("count")
    return kernel(
        [key, val],
        [
            (Allocation(total, 0), integer(5000)),
            (Allocation(mark, 1, False), integer(5000)),
            (Allocation(idx, 2, None, is_output=True, used=0, overflow=0), N),
            (Allocation(out, 3, None, is_output=True, used=1), N),
        ],
        [
            Declare(count, integer(0)),
            For(
                i,
                integer(0),
                N,
                (
                    Declare(k, Load(key, i)),
                    If(
                        Load(mark, k),
                        (Update(total, k, "add", Load(val, i)),),
                        (
                            If(
                                Binary("greater_equal", count, Load(LENGTHS, integer(0))),
                                (Fail(0, count),),
                            ),
                            Store(mark, k, Constant(True, BOOL)),
                            Store(total, k, Load(val, i)),
                            Store(idx, count, k),
                            next_to(count),
                        ),
                    ),
                ),
            ),
            Sort(idx, integer(sort_from), count),
            For(
                index("j"),
                integer(0),
                count,
                (Store(out, index("j"), Load(total, Load(idx, index("j")))),),
                Role.WORKSPACE,
            ),
            Store(LENGTHS, integer(0), count),
            Store(LENGTHS, integer(1), count),
        ],
        (Failure(Cause.CAPACITY, "more than {} entries do not fit"),),
    )


def test_a_workspace_is_sorted() -> None:
    made = distinct_values(0)
    runs = every_backend(made)
    for size, span in ((0, 1), (1, 1), (33, 5000), (100, 60), (3000, 5000), (3000, 40)):
        random = np.random.default_rng(size)
        keys, values = random.integers(0, span, size).astype(np.int32), random.integers(-9, 9, size)
        distinct, places = np.unique(keys, return_inverse=True)
        sums = np.zeros(len(distinct), np.int64)
        np.add.at(sums, places, values)
        for backend, run in runs.items():
            outputs = run({"n": size}, {"key": keys, "val": values})
            assert sorted(outputs) == ["idx", "out"], backend
            np.testing.assert_array_equal(outputs["idx"], distinct)
            np.testing.assert_array_equal(outputs["out"], sums)


SORTING = """
import storel
scan = "let t = sum(<p, k> in keys) { k % 300 -> 1.0 } in sum(<k, c> in t) c * c"
result = storel.run("CREATE TENSOR r AS " + scan, keys=list(range(400, 0, -1)), backend="numba")
assert result.to_numpy() == 600
"""


def test_numba_takes_a_sort_from_its_cache(tmp_path: Path) -> None:
    """Machine code that was kept by one process is loaded by the next, which calls what it calls."""
    environment = {**os.environ, "STOREL_CACHE_DIR": str(tmp_path)}
    for _ in range(2):
        subprocess.run([sys.executable, "-c", SORTING], env=environment, check=True)


def test_an_output_gets_what_the_limit_leaves() -> None:
    made = distinct_values(0)
    temporaries = 5000 * 9
    keys = np.arange(1000, dtype=np.int32)
    inputs = {"key": keys, "val": np.ones(1000, np.int64)}
    few = inputs | {"key": keys % 10}
    compiled = load(c_source.render(made), made, "c")

    def interpreted(
        scalars: Mapping[str, Scalar], arrays: Mapping[str, Array], limit: int
    ) -> dict[str, Array]:
        return interpret.run(made, scalars, arrays, limit)[0]

    for run in (compiled, interpreted):
        assert len(run({"n": 1000}, few, temporaries + 8000 + 400)["idx"]) == 10
        with pytest.raises(MemoryLimitError, match="more than 100 entries do not fit"):
            run({"n": 1000}, inputs, temporaries + 8000 + 400)
        with pytest.raises(MemoryLimitError, match="more memory") as caught:
            run({"n": 1000}, inputs, 1000)
        assert "total" in str(caught.value) or "out" in str(caught.value)


def test_a_bitmap_is_drained() -> None:
    key, words = Buffer("key", INT64, Role.INDEX), Buffer("words", INT64, Role.INDEX)
    out = Buffer("out", INT64, Role.INDEX)
    i, w, bits, count = index("i"), index("w"), index("bits"), index("count")
    word = Binary("shift_right", Load(key, i), integer(6))
    bit = Binary("shift_left", integer(1), Binary("bit_and", Load(key, i), integer(63)))
    lowest = Unary("trailing_zeros", bits)
    made = kernel(
        [key],
        [
            (Allocation(words, 0, 0), integer(16)),
            (Allocation(out, 1, None, is_output=True, used=0), N),
        ],
        [
            For(i, integer(0), N, (Update(words, word, "bit_or", bit),)),
            Declare(count, integer(0)),
            For(
                w,
                integer(0),
                integer(16),
                (
                    Declare(bits, Load(words, w)),
                    While(
                        Binary("not_equal", bits, integer(0)),
                        (
                            Store(out, count, plus(Binary("multiply", w, integer(64)), lowest)),
                            Assign(bits, Binary("bit_and", bits, Binary("subtract", bits, integer(1)))),
                            next_to(count),
                        ),
                        Role.WORKSPACE,
                    ),
                ),
                Role.WORKSPACE,
            ),
            Store(LENGTHS, integer(0), count),
        ],
    )
    keys = np.random.default_rng(0).permutation(1024)[:300]
    check(made, {"n": 300}, {"key": keys}, {"out": np.sort(keys)})


def test_binary_search_and_failure() -> None:
    table, wanted = Buffer("table", INT64, Role.INDEX), Buffer("wanted", INT32, Role.INDEX)
    place = Buffer("place", INT64, Role.INDEX)
    i, low, high, middle, goal = index("i"), index("low"), index("high"), index("middle"), index("goal")
    half = Binary("floor_divide", plus(low, high), integer(2))
    found = Binary(
        "and", Binary("less", low, N), Binary("equal", Load(table, low), goal)
    )  # table[n] is never read
    made = kernel(
        [table, wanted],
        [(Allocation(place, 0, None, is_output=True), integer(5))],
        [
            For(
                i,
                integer(0),
                integer(5),
                (
                    Declare(goal, Cast(INT64, Load(wanted, i))),
                    Declare(low, integer(0)),
                    Declare(high, N),
                    While(
                        Binary("less", low, high),
                        (
                            Declare(middle, half),
                            If(
                                Binary("less", Load(table, middle), goal),
                                (Assign(low, plus(middle, integer(1))),),
                                (Assign(high, middle),),
                            ),
                        ),
                        Role.SEARCH,
                    ),
                    If(Unary("not", found), (Fail(1, goal),)),
                    Store(place, i, low),
                ),
            )
        ],
        (Failure(Cause.KEY, ""), Failure(Cause.READ, "{} is not in the table", "table")),
    )
    table_values = np.arange(0, 100, 7)
    good = {"table": table_values, "wanted": np.array([0, 98, 7, 49, 49], np.int32)}
    check(made, {"n": len(table_values)}, good, {"place": [0, 14, 1, 7, 7]})
    for backend, run in every_backend(made).items():
        with pytest.raises(EvaluationError, match=r"^-8 is not in the table$"):
            run({"n": len(table_values)}, good | {"wanted": np.array([0, 98, -8, 200, 1], np.int32)})
            pytest.fail(backend)


@pytest.mark.parametrize("operator", ["minimum", "maximum"])
def test_reduction_keeps_nan(operator: str) -> None:
    x, y = Buffer("x", FLOAT64), Buffer("y", FLOAT64)
    i, best = index("i"), Local("best", FLOAT64)
    step = Assign(best, Binary(operator, best, Load(x, i), Role.VALUE))
    start = Constant(np.inf if operator == "minimum" else -np.inf, FLOAT64)
    made = kernel(
        [x],
        [(Allocation(y, 0, None, is_output=True), integer(1))],
        [
            Declare(best, start),
            For(i, integer(0), N, (step,), reductions=((best, operator),)),
            Store(y, integer(0), best),
        ],
    )
    values = np.random.default_rng(1).standard_normal(1001)
    for backend, run in every_backend(made).items():
        for place in (None, 0, 500, 1000):
            data = values.copy()
            if place is not None:
                data[place] = np.nan
            expected = getattr(np, operator).reduce(data)
            np.testing.assert_array_equal(run({"n": 1001}, {"x": data})["y"], [expected], err_msg=backend)


def test_names_of_the_target_languages_do_no_harm() -> None:
    names = ["int", "lambda", "restrict", "exp", "sizes ", "é", "np", "x.y", "x_y", "compute", "minimum"]
    buffers = [Buffer(name, FLOAT64) for name in names]
    total: Expression = Unary("exp", Constant(0, FLOAT64))
    for buffer in buffers:
        total = Binary("add", total, Binary("minimum", Load(buffer, integer(0)), Load(buffer, integer(0))))
    out = Buffer("return", FLOAT64)
    body: list[Statement] = [Store(out, integer(0), total)]
    made = kernel(buffers, [(Allocation(out, 0, None, is_output=True), N)], body)
    inputs = {name: np.array([float(k)]) for k, name in enumerate(names)}
    check(made, {"n": 1}, inputs, {"return": [1 + sum(range(len(names)))]})


def test_scalars_of_every_type_arrive() -> None:
    out = Buffer("out", FLOAT64)
    scalars = tuple(Local(of.value, of) for of in ScalarType)
    stores = tuple(Store(out, integer(k), Cast(FLOAT64, local)) for k, local in enumerate(scalars))
    made = Kernel(
        Procedure("bound", scalars, (SIZES,), (Store(SIZES, integer(0), integer(5)),)),
        Procedure("compute", scalars, (out, LENGTHS), stores),
        (Allocation(out, 0, None, is_output=True),),
    )
    verify(made)
    values: dict[str, Scalar] = {"bool": True, "int32": -5, "int64": 1 << 40, "float32": 0.5, "float64": 0.1}
    check(made, values, {}, {"out": [1, -5, 1 << 40, 0.5, 0.1]})
