"""Elementary functions that kernels compute themselves: near to the truth, and the same wherever."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from strategies.loops import BACKENDS, FLOAT32, FLOAT64, RENDER, N, index, integer, kernel

import storel
from storel.loops import interpret
from storel.loops.nodes import Allocation, Buffer, For, Kernel, Load, Store, Unary
from storel.runtime.kernel import load
from storel.runtime.library import Backend
from storel.scalars import ScalarType

FUNCTIONS: dict[str, tuple[Callable[[Any], Any], float]] = {
    "exp": (np.exp, 1.1),
    "log": (np.log, 0.9),
    "tanh": (np.tanh, 2.7),
    "sigmoid": (lambda a: 1 / (1 + np.exp(-a)), 2.0),
}
"""What each function is, and how many units in the last place it may be off."""

SPECIAL = [
    0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 709.78, 709.79, 1e300, -1e300, -708.5, -745.1, -745.2,
    5e-324, -5e-324, 1e-310, 1.7e308, -1.0,
]  # fmt: skip

HAS_LONG_DOUBLES = np.finfo(np.longdouble).eps < np.finfo(np.float64).eps / 8


def applied(name: str, of: ScalarType) -> Kernel:
    """y[i] = f(x[i])"""
    x, y = Buffer("x", of), Buffer("y", of)
    body = For(index("i"), integer(0), N, (Store(y, index("i"), Unary(name, Load(x, index("i")))),))
    return kernel([x], [(Allocation(y, 0, None, is_output=True), N)], [body])


def compiled(name: str, of: ScalarType, backend: Backend) -> Callable[[NDArray[Any]], NDArray[Any]]:
    made = applied(name, of)
    run = load(RENDER[backend](made), made, backend)
    return lambda array: run({"n": len(array)}, {"x": array})["y"]


def samples(name: str) -> NDArray[np.float64]:
    """Numbers of all sizes, by which the function is neither 0 nor infinite, around 1 more of them."""
    random = np.random.default_rng(5)
    sizes = [random.uniform(-size, size, 5000) for size in (1e-300, 1e-9, 0.1, 0.5, 1.0, 10.0, 700.0)]
    powers = [10.0 ** random.uniform(-300, 300, 5000), 1 + random.uniform(-0.4, 0.5, 5000)]
    return np.abs(np.concatenate(sizes + powers)) if name == "log" else np.concatenate(sizes)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_they_are_near_the_truth(name: str, backend: Backend) -> None:
    function, most = FUNCTIONS[name]
    x = samples(name)
    exact = function(x.astype(np.longdouble))
    places = np.spacing(np.abs(exact).astype(np.float64))
    off = np.abs(compiled(name, FLOAT64, backend)(x).astype(np.longdouble) - exact) / places
    assert float(off.max()) <= (most if HAS_LONG_DOUBLES else most + 2)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(("of", "place"), [(FLOAT64, 2.0**-52), (FLOAT32, 2.0**-23)])
def test_zeros_ends_and_nan_are_those_of_the_interpreter(
    name: str, of: ScalarType, place: float, backend: Backend
) -> None:
    with np.errstate(over="ignore"):
        x = np.array(SPECIAL, of.dtype)
    wanted = interpret.run(applied(name, of), {"n": len(x)}, {"x": x})[0]["y"]
    found = compiled(name, of, backend)(x)
    np.testing.assert_allclose(found, wanted, rtol=4 * place, atol=0)
    numbers = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found)[numbers], np.signbit(wanted)[numbers])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_element_is_the_same_on_every_lane_and_after_the_last_vector(name: str, backend: Backend) -> None:
    x = samples(name)[-1031:]
    values = compiled(name, FLOAT64, backend)
    together = values(x)
    for first in (1, 2, 3, 7):
        np.testing.assert_array_equal(values(x[first:].copy()), together[first:])
    alone = [values(x[[place]])[0] for place in range(30)]
    np.testing.assert_array_equal(alone, together[:30])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_strict_kernels_call_the_library(name: str, backend: Backend) -> None:
    made = applied(name, FLOAT64)
    called = "exp" if name == "sigmoid" else name
    call = {"c": f"__builtin_{called}(", "numba": f"np.{called}("}[backend]
    assert call in RENDER[backend](made, is_strict=True)
    assert call not in RENDER[backend](made)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_sums_that_are_reordered_leave_them_as_they_are(name: str, backend: Backend) -> None:
    """They round by adding what is subtracted again, which a compiler must not leave out."""
    x = np.random.default_rng(2).random(1000) * 9 + 0.1
    found = storel.run(f"CREATE TENSOR s AS sum(<i, v> in x) {name}(v)", backend=backend, x=x)
    assert isinstance(found, storel.Tensor)
    np.testing.assert_allclose(found.to_numpy(), FUNCTIONS[name][0](x).sum(), rtol=1e-13)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("exponent", ["2", "3", "4", "e(i)"])
def test_small_powers_are_products_unless_strict(exponent: str, backend: Backend) -> None:
    """Whether the exponent is known or not; the library rounds once, which strict programs keep."""
    x = np.random.default_rng(5).standard_normal(1000)
    given = {"x": x, "e": np.full(1000, 3.0)} if exponent == "e(i)" else {"x": x}
    powers = {"2": x * x, "3": x * x * x, "4": (x * x) * (x * x), "e(i)": x * x * x}
    text = f"CREATE TENSOR y AS sum(<i, v> in x) {{ i -> pow(v, {exponent}) }}"
    free = storel.run(text, backend=backend, **given)
    strict = storel.run(text, backend=backend, floating_point="strict", **given)
    assert isinstance(free, storel.Tensor) and isinstance(strict, storel.Tensor)
    np.testing.assert_array_equal(free.to_numpy(), powers[exponent])
    exponents = np.full(1000, 3.0 if exponent == "e(i)" else float(exponent))
    np.testing.assert_array_equal(strict.to_numpy(), [a**b for a, b in zip(x, exponents, strict=True)])


@pytest.mark.parametrize("backend", ["interpret", *BACKENDS])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("exponent", ["0.5", "-0.5", "1.5", "2", "3", "-1", "0", "e(i)"])
def test_powers_of_what_is_infinite(exponent: str, dtype: Any, backend: str) -> None:
    """Compilers that know the exponent may take roots, which differ there."""
    x = np.array([-np.inf, np.inf, -4.0, 4.0, -1e30, np.nan], dtype)
    given = {"x": x, "e": np.full(6, 0.5, dtype)} if exponent == "e(i)" else {"x": x}
    number = 0.5 if exponent == "e(i)" else float(exponent)
    found = storel.run(
        f"CREATE TENSOR y AS sum(<i, v> in x) {{ i -> pow(v, {exponent}) }}", backend=backend, **given
    )
    assert isinstance(found, storel.Tensor)
    with np.errstate(all="ignore"):
        expected = np.power(x, np.full(6, number, found.dtype))
    np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-6)
