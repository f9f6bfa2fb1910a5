"""Minima and maxima over several sources, with and without entries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import storel
from storel.errors import StorelError

BACKENDS = ("interpret", "c", "numba")


def outcomes(text: str, **data: Any) -> list[Any]:
    """Return what a program is on each backend, in every mode: a number, or an error's first line."""
    found: list[Any] = []
    for backend in BACKENDS:
        for floating_point in ("strict", "reassociate"):
            options: Any = {"backend": backend, "floating_point": floating_point}
            try:
                result = storel.run(f"CREATE TENSOR r AS {text}", **data, **options)
            except StorelError as error:
                found.append(str(error).splitlines()[0])
            else:
                assert isinstance(result, storel.Tensor)
                found.append(result.to_numpy()[()].item())
    return found


def matrix(kind: str, rows: int, columns: int) -> Any:
    return np.random.default_rng(rows + columns).integers(-4, 5, (rows, columns)).astype(kind)


@pytest.mark.parametrize(
    ("several", "nested"),
    [
        ("max(<i, _> in 0:9, <j, _> in 0:7) X(i, j)", "max(<i, _> in 0:9) max(<j, _> in 0:7) X(i, j)"),
        ("min(<i, _> in 0:9, <_, v> in y) v * X(i, 1)", "min(<i, _> in 0:9) min(<_, v> in y) v * X(i, 1)"),
    ],
)
def test_sources_by_themselves_are_nested(several: str, nested: str) -> None:
    """What one finds does not depend on another: nobody asks beforehand whether all find any."""
    data = {"X": matrix("float64", 9, 7), "y": np.arange(3.0)}
    used = {name: value for name, value in data.items() if name in several}
    texts = (f"CREATE TENSOR r AS {text}" for text in (several, nested))
    plans = [storel.compile(text, **used).compilation.plan for text in texts]
    assert plans[0] == plans[1]


@pytest.mark.parametrize("kind", ["float64", "float32", "int64", "int32", "bool"])
@pytest.mark.parametrize("monoid", ["min", "max"])
@pytest.mark.parametrize(("rows", "columns"), [(5, 40), (40, 5), (1, 1)])
@pytest.mark.parametrize(
    "over",
    [
        "(<i, _> in 0:{m}, <j, _> in 0:{n}) X(i, j)",
        "(<j, _> in 0:{n}, <i, _> in 0:{m}) X(i, j)",
        "(<i, _> in 0:{m}, <j, _> in i:{n}) X(i, j)",
        "(<(i, j), x> in X) x",
        "(<i, r> in X, <j, x> in r, <k, s> in X) x",
    ],
)
def test_extremes_are_those_of_the_interpreter(
    over: str, rows: int, columns: int, monoid: str, kind: str
) -> None:
    text = monoid + over.format(m=rows, n=columns)
    found = outcomes(text, X=matrix(kind, rows, columns))
    assert found == [found[0]] * len(found)
    assert not isinstance(found[0], str)


@pytest.mark.parametrize("place", ["first", "middle", "last"])
@pytest.mark.parametrize("over", ["(<i, _> in 0:6, <j, _> in 0:50) X(i, j)", "(<(i, j), x> in X) abs(x)"])
def test_what_is_no_number_is_the_greatest_and_the_least(over: str, place: str) -> None:
    data = matrix("float64", 6, 50)
    data[{"first": (0, 0), "middle": (3, 33), "last": (5, 49)}[place]] = np.nan
    for monoid in ("min", "max"):
        assert np.isnan(outcomes(monoid + over, X=data)).all()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("monoid", ["min", "max"])
def test_of_a_row_and_nothing_there_is_none(monoid: str, backend: Any) -> None:
    """That the row has entries does not say that the other source has any."""
    text = f"CREATE TENSOR r AS sum(<i, row> in X) {{ i -> {monoid}(<j, x> in row, <_, v> in y) x * v }}"
    with pytest.raises(StorelError, match="of no entries"):
        storel.run(text, X=np.array([[1.0, 2.0], [0.0, 3.0]]), y=np.zeros(3), backend=backend)


@pytest.mark.parametrize("monoid", ["min", "max"])
@pytest.mark.parametrize(
    "over",
    [
        "(<i, _> in 0:{m}, <j, _> in 0:{n}) X(i, j)",
        "(<j, _> in 0:{n}, <i, _> in 0:{m}) X(i, j)",
        "(<(i, j), x> in X) x",
        "(<i, r> in X, <j, x> in r, <_, y> in y) x * y",
    ],
)
@pytest.mark.parametrize(("rows", "columns"), [(0, 4), (4, 0), (0, 0)])
def test_of_nothing_there_is_none(over: str, rows: int, columns: int, monoid: str) -> None:
    data = {"X": matrix("float64", rows, columns), "y": np.ones(2)}
    text = monoid + over.format(m=rows, n=columns)
    found = outcomes(text, **{name: each for name, each in data.items() if name in text})
    assert found == [found[0]] * len(found)
    assert "of no entries" in str(found[0])
