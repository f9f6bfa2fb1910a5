"""Each distribution has the shape that it is named after, and is the same every time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import storel
from storel.arrays import Array
from storel.bench.arithmetic import SIDE, peak
from storel.bench.data import NAMES, Data
from storel.bench.probes import probes
from storel.bench.problem import Gather
from storel.errors import DataError


@pytest.mark.parametrize("name", NAMES)
def test_matrices_are_the_same_every_time_and_others_with_other_seeds(name: str) -> None:
    one, same, other = (Data(name, 100, 900).matrix(seed) for seed in (1, 1, 2))
    assert abs(one - same).max() == 0
    assert abs(one - other).max() > 0
    assert one.shape == (100, 100)
    assert 0 < one.nnz <= 900
    assert one.has_sorted_indices


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("x.npy", np.arange(1.0, 6.0), "rank 1"),
        ("x.npy", np.ones((2, 2, 2)), "rank 3"),
        ("x.tns", np.ones((2, 2)), "rank 2"),
        ("x.npy", np.array([[1.0, np.nan]]), "inf or NaN"),
        ("x.tns", np.full((2, 2, 2), np.inf), "inf or NaN"),
    ],
)
def test_files_hold_numbers_of_the_rank_that_kernels_take(
    tmp_path: Path, name: str, values: Array, message: str
) -> None:
    storel.tensor(values).save(tmp_path / name)
    data = Data(str(tmp_path / name), 10, 10)
    with pytest.raises(DataError, match=message):
        data.tensor() if name.endswith(".tns") else data.matrix()


def test_shapes() -> None:
    uniform, skewed, banded, triangular = (Data(name, 200, 2000).matrix() for name in NAMES)
    assert max(np.diff(skewed.indptr)) > 3 * max(np.diff(uniform.indptr))
    rows, columns = banded.nonzero()
    assert abs(rows - columns).max() <= 10
    rows, columns = triangular.nonzero()
    assert (rows <= columns).all()


def test_tensors_are_sorted_and_skewed_where_that_is_asked() -> None:
    uniform, skewed = (Data(name, 200, 2000).tensor() for name in ("uniform", "power-law"))
    assert uniform.shape == skewed.shape == (24, 18, 58)
    flat = np.ravel_multi_index(tuple(uniform.coordinates), uniform.shape)
    assert (np.diff(flat) > 0).all()
    assert np.median(skewed.coordinates[2]) < np.median(uniform.coordinates[2]) / 2


@pytest.mark.parametrize("has_compiler", [True, False])
def test_limits_are_shares_of_what_a_probe_does(has_compiler: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not has_compiler:
        monkeypatch.setattr("storel.runtime.toolchain.find", lambda: None)
    _, done = peak(2)
    gathers = Gather(np.array([3, 0, 3]), 4, 2), Gather(np.arange(11), 11), Gather(np.arange(5), 5, 9)
    found = probes(2**30, 2 * done, gathers, threads=2)
    assert {name: probe.share for name, probe in found.items()} == {
        "stream": 4.0,
        "flops": 2.0,
        "gather": 1.0,
    }
    for probe in found.values():
        probe.run()
    assert "gather" not in probes(64, 1, ())


def test_arithmetic_is_that_of_numpy_without_a_compiler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, two = peak(2)
    _, one = peak(1)
    assert two in (one, 2 * one)
    monkeypatch.setattr("storel.runtime.toolchain.find", lambda: None)
    run, done = peak(2)
    assert done == 2 * SIDE**3
    run()
