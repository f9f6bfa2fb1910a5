"""What a mapping reads of arrays that are given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import storel
from storel.errors import DataError
from storel.storage.iterations import Iterations
from storel.storage.reads import verify_reads

BITS = {"word": np.array([0b101]), "rank": np.array([0, 2]), "val": np.array([1.0, 2.0])}


def test_bits_without_values_are_refused() -> None:
    assert storel.tensor(BITS, "bitmap", shape=(2, 2)).to_numpy().tolist() == [[1.0, 0.0], [2.0, 0.0]]
    with pytest.raises(DataError, match=r"reads val\(2\), outside 0:2"):
        storel.tensor(BITS | {"word": np.array([0b111])}, "bitmap", shape=(2, 2))


@pytest.mark.parametrize("name", ["csr", "coo", "ell", "hash", "rle", "hyb", "skyline", "tiled", "symmetric"])
def test_most_reads_are_proved(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tensor = storel.tensor(np.eye(9), name)

    def refuse(*_: Any, **__: Any) -> Iterations:
        raise AssertionError("gone through")

    monkeypatch.setattr(Iterations, "of", refuse)
    verify_reads(tensor.storage, tensor.arrays, tensor.sizes)


def test_what_only_kernels_compute_is_left_to_them(tmp_path: Path) -> None:
    (tmp_path / "grown.sdql").write_text(
        "CREATE FORMAT grown(T: real[n]) USING at: int[n], val: real[n] "
        "AS sum(<i, p> in at) { i -> exp(val(bit(p, 0) + i)) }"
    )
    given = {"at": np.array([0, 0]), "val": np.zeros(2)}
    tensor = storel.tensor(given, "grown", shape=(2,), formats=tmp_path)
    assert tensor.storage.name == "grown"
