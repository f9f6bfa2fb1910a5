"""What a mapping reads of arrays that are given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import storel
from storel.errors import DataError
from storel.storage.unpacking.iterations import Iterations
from storel.storage.unpacking.reads import verify_reads

BITS = {"word": np.array([0b101]), "rank": np.array([0, 2]), "val": np.array([1.0, 2.0])}


def test_bits_without_values_are_refused() -> None:
    assert storel.tensor(BITS, "bitmap", shape=(2, 2)).to_numpy().tolist() == [[1.0, 0.0], [2.0, 0.0]]
    with pytest.raises(DataError, match=r"reads val\(2\), outside 0:2") as caught:
        storel.tensor(BITS | {"word": np.array([0b111])}, "bitmap", shape=(2, 2))
    place = caught.value.span
    assert place is not None and place.source.name.endswith("bitmap.sdql") and place.text.startswith("val(")


@pytest.mark.parametrize("name", ["csr", "coo", "ell", "rle", "hyb", "tiled", "dia", "bcsr", "sell"])
def test_most_reads_and_keys_are_proved(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tensor = storel.tensor(np.eye(9), name)

    def refuse(*_: Any, **__: Any) -> Iterations:
        raise AssertionError("gone through")

    monkeypatch.setattr(Iterations, "of", refuse)
    verify_reads(tensor.storage, tensor.arrays, tensor.sizes)


@pytest.mark.parametrize(
    ("stored", "given", "entry"),
    [
        ("ragged", {"pos": [0, 5, 6], "val": [1, 2, 3, 4, 5, 6]}, "(0, 3) = 4"),
        ("skyline", {"pos": [0, 2, 3], "val": [1, 2, 3]}, "(0, -1) = 1"),
        ("moved", {"at": [0, 2], "val": [1, 0, 5, 0, 0, 6]}, "(1, 4) = 6"),
    ],
)
def test_entries_outside_of_the_extents_are_refused(
    stored: str, given: dict[str, list[int]], entry: str, tmp_path: Path
) -> None:
    (tmp_path / "moved.sdql").write_text(
        "CREATE FORMAT moved(T: real[m, n]) USING at: int[m], val: real[m * n] "
        "AS sum(<i, _> in 0:m) sum(<j, _> in 0:n) { (i, j + at(i)) -> val(i * n + j) }"
    )
    shape = (2, 2) if stored == "skyline" else (2, 3)
    arrays = {name: np.array(array) for name, array in given.items()}
    with pytest.raises(DataError) as raised:
        storel.tensor(arrays, stored, shape=shape, formats=tmp_path)
    assert raised.value.message == f"the mapping makes the entry {entry}"
    assert raised.value.expected == f"keys inside of the shape {shape}"


def test_zeros_outside_of_the_extents_are_no_entries(tmp_path: Path) -> None:
    (tmp_path / "loose.sdql").write_text(
        "CREATE FORMAT loose(T: real[m, n]) USING off: int[d] INCREASING, val: real[d * m] "
        "AS sum(<k, o> in off(0:d)) sum(<i, _> in 0:m) { (i, i + o) -> val(k * m + i) }"
    )
    given = {"off": np.array([-1, 1]), "val": np.array([0.0, 1.0, 2.0, 3.0, 4.0, 0.0])}
    tensor = storel.tensor(given, "loose", shape=(3, 3), formats=tmp_path)
    assert tensor.to_numpy().tolist() == [[0.0, 3.0, 0.0], [1.0, 0.0, 4.0], [0.0, 2.0, 0.0]]


def test_what_only_kernels_compute_is_left_to_them(tmp_path: Path) -> None:
    (tmp_path / "grown.sdql").write_text(
        "CREATE FORMAT grown(T: real[n]) USING at: int[n], val: real[n] "
        "AS sum(<i, p> in at) { i -> exp(val(bit(p, 0) + i)) }"
    )
    given = {"at": np.array([0, 0]), "val": np.zeros(2)}
    tensor = storel.tensor(given, "grown", shape=(2,), formats=tmp_path)
    assert tensor.storage.name == "grown"


def divided(body: str, directory: Path, divisors: list[int]) -> storel.Tensor:
    """Return a tensor in a format whose mapping has divisors among its arrays."""
    (directory / "divided.sdql").write_text(
        f"CREATE FORMAT divided(T: real[n]) USING by: int[n], val: real[n] AS sum(<i, _> in 0:n) {body}"
    )
    given = {"by": np.array(divisors), "val": np.array([1.0, 2.0, 3.0])}
    return storel.tensor(given, "divided", shape=(3,), formats=directory)


@pytest.mark.parametrize(
    "body",
    [
        "{ i -> val(i // by(i)) }",
        "{ i % by(i) -> val(i) }",
        "if (i // by(i) < 2) then { i -> val(i) }",
        "if (i // by(i) < 2 and by(i) != 0) then { i -> val(i) }",
        "sum(<_, _> in 0:2 // by(i)) { i -> val(i) }",
    ],
)
def test_no_integer_is_divided_by_zero(body: str, tmp_path: Path) -> None:
    assert divided(body, tmp_path, [1, 1, 2]).nnz > 0
    with pytest.raises(DataError, match=r"divides an integer by zero\n.*divided\.sdql:1"):
        divided(body, tmp_path, [1, 0, 2])


@pytest.mark.parametrize(
    "body",
    [
        "if (by(i) != 0) then { i -> val(i // by(i)) }",
        "if (by(i) != 0 and i // by(i) < 2) then { i -> val(i) }",
        "if (by(i) == 0 or i // by(i) == 0) then { i -> val(i) }",
        "if (i < 2 and by(i + 1) == 2) then { i -> val(i) }",
    ],
)
def test_what_a_condition_excludes_need_not_be_defined(body: str, tmp_path: Path) -> None:
    tensor = divided(body, tmp_path, [1, 0, 2])
    assert tensor.nnz == 2 - ("i + 1" in body)
