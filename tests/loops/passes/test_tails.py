"""Short sums go past their ends where what comes there exists, and nothing of it is added."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from strategies.loops import BOOL, FLOAT32, FLOAT64, INT32, INT64, N, index, integer, kernel, plus

from storel.codegen import c_source
from storel.degrees import DegreeVector, KnownDegrees
from storel.errors import Cause
from storel.loops import interpret
from storel.loops.nodes import (
    Allocation,
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
    Role,
    Statement,
    Unary,
    Update,
)
from storel.loops.passes.reorder import reorder
from storel.loops.passes.tails import FEW, fold_tails
from storel.loops.printer import kernel_text, text
from storel.loops.verify import verify
from storel.loops.walk import loads_of, walk
from storel.runtime.kernel import load
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol

POS, IDX = Buffer("pos", INT64, Role.INDEX), Buffer("idx", INT64, Role.INDEX)
X, VAL, Y = Buffer("x", FLOAT64), Buffer("val", FLOAT64), Buffer("y", FLOAT64)
TRUE = Buffer("true", BOOL)
I, K, P = index("i"), index("k"), index("p")  # noqa: E741
KEY = Declare(K, Load(IDX, P))
LAST, ROW = Load(POS, N), Binary("multiply", I, N)


def add(*factors: Expression) -> Update:
    value = factors[0]
    for factor in factors[1:]:
        value = Binary("multiply", value, factor)
    return Update(Y, I, "add", value)


def segment(*body: Statement, low: Expression | None = None) -> For:
    return For(P, low or Load(POS, I), Load(POS, plus(I, integer(1))), body)


def rows(*body: Statement) -> For:
    return For(I, integer(0), N, body)


SUM = segment(KEY, add(Load(VAL, P), Load(X, K)))


def folded(
    *body: Statement,
    inputs: tuple[Buffer, ...] = (POS, IDX, X, VAL),
    result: Buffer = Y,
    length: int = 0,
    segments: KnownDegrees | None = None,
) -> Kernel:
    """Return the kernel of a body, where ``val`` has ``length`` elements, in ten segments."""
    failures = (Failure(Cause.READ, "no row"),)
    allocation = (Allocation(result, 0, fill=0.0, is_output=True), N)
    known = {
        "val": ArraySymbol("val", FLOAT64, length),
        "pos": ArraySymbol("pos", INT64, 11, segments=segments),
    }
    made = fold_tails(reorder(kernel([*inputs], [allocation], [*body], failures)), known)
    verify(made)
    return made


@pytest.mark.parametrize(
    ("loop", "end"),
    [
        (SUM, LAST),
        (segment(add(Load(VAL, P), Load(X, Load(IDX, P)))), LAST),
        (segment(KEY, add(Load(VAL, P), Load(X, K), Load(X, I))), LAST),
        (segment(KEY, add(Load(VAL, P), Load(X, plus(K, I)))), None),
        (segment(add(Load(VAL, P), Cast(FLOAT64, P))), None),
        (segment(add(Load(VAL, P), Cast(FLOAT64, Load(IDX, P)))), LAST),
        (segment(add(Cast(FLOAT64, Load(TRUE, P)))), None),
        (segment(KEY, add(Load(VAL, P), Unary("exp", Load(X, K)))), None),
        (segment(KEY, add(Binary("divide", Load(VAL, P), Load(X, K)))), None),
        (segment(KEY, If(Binary("less", K, N), (add(Load(X, K)),))), None),
        (segment(KEY, add(Load(X, K)), low=Load(IDX, I)), None),
        (segment(add(Load(VAL, P))), LAST),
        (For(P, ROW, plus(ROW, N), (add(Load(VAL, P)),)), None),
        (If(Binary("less", I, integer(3)), (SUM,)), None),
    ],
    ids=[
        "declared",
        "read",
        "of the row",
        "at a place of the row",
        "the place itself",
        "what neighbours are",
        "truths",
        "a function",
        "a quotient",
        "guarded",
        "no segments",
        "in order",
        "all of one length",
        "some rows",
    ],
)
def test_where_sums_may_be_evaluated(loop: Statement, end: Expression | None) -> None:
    made = folded(rows(loop), inputs=(POS, IDX, X, VAL, TRUE))
    found = [each.tail for each in walk(made.compute.body) if isinstance(each, For)]
    assert found == [None, end]
    assert ("tail" in kernel_text(made)) == (end is not None)
    if end is not None:
        assert f"with a tail up to {text(end)}" in kernel_text(made)


def test_what_follows_a_failure_may_not_exist() -> None:
    for body in ((Fail(0, I), SUM), (SUM, Fail(0, I))):
        assert "tail" not in kernel_text(folded(rows(*body)))


def test_long_sums_of_what_is_read_in_order_are_vector_code_anyway() -> None:
    sums = {"in order": segment(add(Load(VAL, P))), "looked up": SUM}
    is_folded = {
        (name, length): "tail" in kernel_text(folded(rows(loop), length=length))
        for name, loop in sums.items()
        for length in (100, 1000)
    }
    assert [key for key, found in is_folded.items() if not found] == [("in order", 1000)]


@pytest.mark.parametrize(
    ("lengths", "is_foreseen"),
    [
        ([3] * 10, True),
        ([5, 5, 5, 5, 5, 5, 5, 2, 2, 2], True),
        ([3, 5] * 5, False),
        ([2 * FEW] * 10, False),
        (range(10), False),
    ],
)
def test_ends_that_are_foreseen_are_no_surprise(lengths: Sequence[int], is_foreseen: bool) -> None:
    """Sums of what is read in order are faster in lanes even so."""
    segments = DegreeVector(lambda: np.array(lengths))
    total = sum(lengths)
    assert ("tail" in kernel_text(folded(rows(SUM), length=total, segments=segments))) is not is_foreseen
    assert "tail" in kernel_text(folded(rows(segment(add(Load(VAL, P)))), length=total, segments=segments))
    known = segments.summary
    assert "tail" in kernel_text(folded(rows(SUM), length=total, segments=known)), "nothing is known of each"


LANES = pytest.mark.parametrize("flags", ["-DQUICK_GATHERS", "-UQUICK_GATHERS"], ids=["masked", "reaching"])


@LANES
@pytest.mark.parametrize("places", [INT64, INT32])
@pytest.mark.parametrize("of", [FLOAT64, FLOAT32, INT64, INT32])
def test_sums_of_segments_of_any_length(
    of: ScalarType, places: ScalarType, flags: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of the next segments is added, be it NaN, and nothing behind the last one is read."""
    monkeypatch.setenv("STOREL_CFLAGS", flags)
    idx = Buffer("idx", places, Role.INDEX)
    x, val, y = Buffer("x", of), Buffer("val", of), Buffer("y", of)
    key = Declare(K, Cast(INT64, Load(idx, P)))
    product = Binary("multiply", Load(val, P), Load(x, K))
    made = folded(rows(segment(key, Update(y, I, "add", product))), inputs=(POS, idx, x, val), result=y)
    lengths = np.array([0, 1, 2, 3, 4, 5, 0, 7, 8, 9, 15, 16, 17, 23, 40, 1, 1, 3])
    pos = np.concatenate(([0], np.cumsum(lengths)))
    count, columns = int(pos[-1]), 11
    rng = np.random.default_rng(1)
    no_address = 2**62 if places is INT64 else 2**30  # no such column
    found = np.append(rng.integers(0, columns, count), np.full(8, no_address)).astype(places.dtype)
    vals = rng.integers(-9, 9, count).astype(of.dtype)
    if of.is_real:
        vals[pos[3]] = np.nan
        vals[pos[9] - 1] = np.inf
    inputs: dict[str, Any] = {
        "pos": pos,
        "idx": found[:count],
        "x": rng.integers(1, 9, columns).astype(of.dtype),
        "val": vals,
    }
    scalars = {"n": len(lengths)}
    expected = interpret.run(made, scalars, inputs)[0]["y"]
    assert np.isfinite(expected).sum() == len(lengths) - (2 if of.is_real else 0)
    assert "LANES" in c_source.render(made)
    compiled = load(c_source.render(made), made, "c")
    np.testing.assert_array_equal(compiled(scalars, inputs)["y"], expected)


@LANES
@pytest.mark.parametrize(
    "value",
    [
        Binary("multiply", Load(VAL, P), Load(X, I)),
        Binary("add", Load(VAL, P), Load(X, I)),
        Binary("subtract", Load(X, Load(IDX, P)), Constant(0.5, FLOAT64)),
        Binary("multiply", Cast(FLOAT64, Load(IDX, P)), Load(X, Load(IDX, P))),
        Load(X, I),
        Constant(2.0, FLOAT64),
    ],
    ids=["a factor", "a summand", "a constant", "a conversion", "nothing else", "no number is read"],
)
def test_what_is_not_read_in_each_iteration(
    value: Expression, flags: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lanes past the end hold nothing, even where what is the same in all of them is infinite."""
    monkeypatch.setenv("STOREL_CFLAGS", flags)
    made = folded(rows(segment(add(value))))
    assert ("LANES" in c_source.render(made)) == any(load.buffer != X for load in loads_of(value))
    lengths = np.array([3, 0, 1, 9, 8, 4, 5, 12, 2])
    pos = np.concatenate(([0], np.cumsum(lengths)))
    rng = np.random.default_rng(2)
    inputs = {
        "pos": pos,
        "idx": rng.integers(0, len(lengths), pos[-1]),
        "x": np.array([1.0, 2.0, np.inf, 4.0, -np.inf, 6.0, 7.0, 8.0, 9.0]),
        "val": rng.integers(1, 9, pos[-1]).astype(float),
    }
    expected = interpret.run(made, {"n": len(lengths)}, inputs)[0]["y"]
    compiled = load(c_source.render(made), made, "c")
    np.testing.assert_array_equal(compiled({"n": len(lengths)}, inputs)["y"], expected)


def test_what_is_the_same_in_a_segment_is_not_read_where_that_is_empty() -> None:
    made = folded(rows(segment(add(Load(VAL, P), Load(X, Load(IDX, I))))))
    assert "tail" in kernel_text(made)
    pos = np.array([0, 3, 3, 4, 12, 20, 20])
    idx = np.where(np.diff(pos) > 0, 1, 1 << 40)  # no such address
    inputs = {"pos": pos, "idx": idx, "x": np.array([1.0, 2.0]), "val": np.arange(20.0)}
    compiled = load(c_source.render(made), made, "c")
    wanted = np.add.reduceat(np.append(2 * inputs["val"], 0), pos[:-1]) * (np.diff(pos) > 0)
    np.testing.assert_array_equal(compiled({"n": 6}, inputs)["y"], wanted)
