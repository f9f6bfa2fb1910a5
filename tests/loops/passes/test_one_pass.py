"""Long sums over the same elements are one loop, where none needs what another one makes."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest
from strategies.loops import FLOAT64, N, check, index, integer, kernel, plus

import storel
from storel.loops.nodes import (
    Allocation,
    Assign,
    Binary,
    Buffer,
    Constant,
    Declare,
    Expression,
    For,
    If,
    Kernel,
    Load,
    Local,
    Statement,
    Store,
    Update,
)
from storel.loops.passes.one_pass import sum_in_one_pass
from storel.loops.passes.reorder import reorder
from storel.loops.passes.streams import stream
from storel.loops.verify import verify
from storel.loops.walk import walk
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol

X, W, Y = Buffer("x", FLOAT64), Buffer("w", FLOAT64), Buffer("y", FLOAT64)
I, J, K = index("i"), index("j"), index("k")  # noqa: E741
LARGE = 1 << 20
SIZES = [0, 1, 7, 31, 32, 33, 500]
RNG = np.random.default_rng(0)


def total(name: str, of: ScalarType = FLOAT64) -> Local:
    return Local(name, of)


S, T = total("s"), total("t")


def zero(local: Local) -> Declare:
    return Declare(local, Constant(0.0, local.type))


def times(left: Expression, right: Expression) -> Binary:
    return Binary("multiply", left, right)


def adding(local: Local, value: Expression, place: Local = I, low: Expression | None = None) -> For:
    """Return the loop that adds up a value."""
    return For(place, low or integer(0), N, (Assign(local, plus(local, value)),))


def stored(*locals_: Local) -> list[Statement]:
    return [Store(Y, integer(place), local) for place, local in enumerate(locals_)]


def passes(*body: Statement, results: int = 2) -> tuple[Kernel, int]:
    """Return the kernel that the passes make of a body, and how many loops it has."""
    known = {name: ArraySymbol(name, FLOAT64, LARGE) for name in ("x", "w")}
    output = Allocation(Y, 0, is_output=True), integer(results)
    made = sum_in_one_pass(stream(reorder(kernel([X, W], [output], list(body))), known))
    verify(made)
    return made, sum(isinstance(each, For) for each in walk(made.compute.body))


ELEMENT = Load(X, I)
SQUARE = times(Load(X, J), Load(X, J))
PAIR = (zero(S), adding(S, ELEMENT), zero(T), adding(T, SQUARE, J))


@pytest.mark.parametrize("size", SIZES)
def test_two_sums_of_the_same_elements(size: int) -> None:
    made, loops = passes(*PAIR, *stored(S, T))
    assert loops == 1
    x, w = RNG.random(size), RNG.random(size)
    check(made, {"n": size}, {"x": x, "w": w}, {"y": [x.sum(), (x * x).sum()]})


@pytest.mark.parametrize("size", SIZES)
def test_many_sums_some_of_which_share_elements(size: int) -> None:
    def element(buffer: Buffer, number: int) -> Load:
        return Load(buffer, index(f"i{number}"))

    values: list[Expression] = [
        element(X, 0),
        times(element(X, 1), element(X, 1)),
        times(element(X, 2), element(W, 2)),
        *[element(X, number) for number in (3, 4, 5)],
    ]
    totals = [total(f"t{number}") for number in range(len(values))]
    sums = [
        (zero(each), adding(each, value, index(f"i{number}")))
        for number, (each, value) in enumerate(zip(totals, values, strict=True))
    ]
    made, loops = passes(*chain.from_iterable(sums), *stored(*totals), results=len(totals))
    assert loops == 1
    x, w = RNG.random(size), RNG.random(size)
    expected = [x.sum(), (x * x).sum(), (x * w).sum(), *[x.sum()] * 3]
    check(made, {"n": size}, {"x": x, "w": w}, {"y": expected})


def test_what_lies_between_stays_in_order() -> None:
    """What the second sum needs comes first, what needs the first sum comes last."""
    factor, mean = Local("factor", FLOAT64), Local("mean", FLOAT64)
    between = (Declare(factor, Constant(3.0, FLOAT64)), Declare(mean, times(S, factor)))
    body = (zero(S), adding(S, ELEMENT), *between, zero(T), adding(T, times(Load(X, J), factor), J))
    made, loops = passes(*body, *stored(mean, T))
    assert loops == 1
    x = RNG.random(50)
    check(made, {"n": 50}, {"x": x, "w": x}, {"y": [3 * x.sum()] * 2})


def test_results_and_conditions_between_come_later() -> None:
    first = If(Binary("less", integer(3), N), (Update(Y, integer(0), "add", S),))
    made, loops = passes(*PAIR[:2], Store(Y, integer(0), S), first, *PAIR[2:], Store(Y, integer(1), T))
    assert loops == 1
    x = RNG.random(50)
    check(made, {"n": 50}, {"x": x, "w": x}, {"y": [2 * x.sum(), (x * x).sum()]})


CENTRED = Binary("subtract", Load(X, J), S)
APART = {
    "one needs the other": (*PAIR[:3], adding(T, CENTRED, J)),
    "one starts from the other": (*PAIR[:2], Declare(T, S), adding(T, SQUARE, J)),
    "other elements": (*PAIR[:3], adding(T, Load(W, J), J)),
    "another range": (*PAIR[:3], adding(T, SQUARE, J, low=integer(1))),
    "a loop lies between": (*PAIR[:2], For(K, integer(0), N, (Store(Y, integer(0), S),)), *PAIR[2:]),
    "what is written is needed": (
        *PAIR[:2],
        Store(Y, integer(0), S),
        Declare(T, Load(Y, integer(0))),
        adding(T, SQUARE, J),
    ),
    "one goes on with what the other has": (zero(S), zero(T), adding(S, ELEMENT), adding(S, SQUARE, J)),
    "one needs what is counted on": (zero(S), zero(T), adding(S, times(ELEMENT, T)), adding(T, SQUARE, J)),
}


@pytest.mark.parametrize("name", APART)
def test_what_stays_apart(name: str) -> None:
    body = (*APART[name], *stored(S, T))
    made, loops = passes(*body)
    assert loops == 2 + (name == "a loop lies between")
    x, w = RNG.random(40) + 1, RNG.random(40)
    s, t = x.sum(), (x * x).sum()
    expected = {
        "one needs the other": (x - s).sum(),
        "one starts from the other": s + t,
        "what is written is needed": s + t,
        "other elements": w.sum(),
        "another range": (x[1:] ** 2).sum(),
    }.get(name, t)
    s = 0 if name == "one needs what is counted on" else s
    s, expected = (s + t, 0) if name == "one goes on with what the other has" else (s, expected)
    check(made, {"n": 40}, {"x": x, "w": w}, {"y": [s, expected]})


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32])
@pytest.mark.parametrize("size", [300_000, 300_017])
def test_moments_of_a_large_vector(size: int, dtype: type) -> None:
    """Sums, products and maxima of one vector, of different types, read it once."""
    program = """CREATE TENSOR y AS
        let s = sum(<_, v> in x) v in let q = sum(<_, v> in x) 1.0 * v * v in let m = max(<_, v> in x) v in
        {0 -> s} + {1 -> q} + {2 -> m}"""
    x = RNG.integers(-9, 9, size).astype(dtype)
    expected = [x.sum(), (x.astype(float) ** 2).sum(), x.max()]
    for backend in ("c", "numba"):
        found = storel.run(program, x=x, backend=backend)
        assert isinstance(found, storel.Tensor)
        np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-3)
    loops = storel.explain(program, x=x, backend="c", stage="loops")
    assert loops.count("for ") < 3
