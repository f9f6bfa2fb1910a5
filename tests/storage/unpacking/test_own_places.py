"""Keys that are given in another place than they say themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import storel
from storel.errors import DataError

HASH = {"pos": [0, 1, 2], "idx": [1, 0], "val": [1.0, 2.0]}
LEVELS = {"pos2": [0, 1, 1, 2, 2], "idx2": [0, 3], "val": [1.0, 2.0]}
ROWS = {"rows": [0, 1, 2], "row": [0, 1], "pos": [0, 1, 1, 1, 2], "col": [1, 1], "val": [1.0, 2.0]}
BLOCKS = {"pos": [0, 2, 3], "idx": [1, 4, 5], "val": [1.0, 3.0, 2.0]}
IN_BLOCKS = (
    "USING pos: int[k + 1] ASCENDING FROM 0 TO nnz, idx: int[nnz] IN 0:n, val: real[nnz]{more} AS "
    "sum(<b, _> in 0:k) sum(<p, i> in idx(pos(b):pos(b + 1))) if (b == i // 4) then "
)
BESIDE = IN_BLOCKS.format(more=", by: real[nnz]")


def given(
    arrays: dict[str, list[float]], stored: str, shape: tuple[int, ...], formats: Path
) -> storel.Tensor:
    return storel.tensor(
        {name: np.array(each) for name, each in arrays.items()}, stored, shape=shape, formats=formats
    )


@pytest.fixture
def formats(tmp_path: Path) -> Path:
    """Return a directory of formats that read some of what they are given."""
    texts = {
        "composed": "(T: real[n]) USING near: levels(fixed; width1=1), far: hash(2) AS near + far",
        "read": "(T: real[n]; k: int) " + IN_BLOCKS.format(more="") + "{ i -> -val(p) }",
        "element": "(T: real[n]; k: int) "
        + IN_BLOCKS.format(more="")
        + "sum(<_, v> in val(p:p + 1)) { i -> v }",
        "computed": "(T: real[n]; k: int) " + BESIDE + "{ i -> val(p) * by(p) }",
        "twice": "(T: real[n]; k: int) " + BESIDE + "{ i -> val(p) * by(p) } "
        "+ sum(<p, i> in idx(0:nnz)) { (i + 1) % n -> val(p) + by(p) }",
        "every": "(T: real[n]) USING idx: int[z], val: real[z] AS "
        "sum(<s, _> in 0:2) sum(<p, i> in idx(0:z)) if (i % 2 == s) then { i -> val(p) }",
        "apart": "(T: real[n]) USING first: int[2], idx: int[z], val: real[z] AS "
        "sum(<s, _> in 0:2) sum(<p, i> in idx(first(s):z)) if (i % 2 == s) then { i -> val(p) }",
        "main": "(T: real[n, n]) USING pos: int[n + 1] ASCENDING FROM 0 TO z, idx: int[z], val: real[z] AS "
        "sum(<i, _> in 0:n) sum(<p, j> in idx(pos(i):pos(i + 1))) if (j == i) then { (i, j) -> val(p) }",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.sdql").write_text(f"CREATE FORMAT {name}{text}")
    return tmp_path


@pytest.mark.parametrize(
    ("arrays", "stored", "shape", "message", "expected", "found"),
    [
        (HASH, "hash(buckets=2)", (8,), "idx(0) = 1 … val(0) = 1.0", "i & buckets - 1 == b", "i = 1, b = 0"),
        (LEVELS, "levels(dense, hashed; buckets2=2)", (2, 4), "idx2(1) = 3 … val(1) = 2.0",
         "i1 & buckets2 - 1 == b2", "i1 = 3, b2 = 0"),
        (ROWS, "hash(2, 2)", (4, 4), "col(0) = 1 … val(0) = 1.0", "j & inner - 1 == c", "j = 1, c = 0"),
        (ROWS | {"row": [2, 0], "col": [0, 1]}, "hash(2, 2)", (4, 4), "row(1) = 0 … val(1) = 2.0",
         "i & buckets - 1 == b", "i = 0, b = 1"),
        ({"near_idx1": [-1], "near_val": [9.0], **{f"far_{name}": each for name, each in HASH.items()}},
         "composed", (8,), "far_idx(0) = 1 … far_val(0) = 1.0", "i & 2 - 1 == b", "i = 1, b = 0"),
        *((BLOCKS | more, stored, (8,), f"idx(1) = 4 … {value}", "b == i // 4", "i = 4, b = 0")
          for stored, more, value in (
              ("read(2)", {}, "val(1) = 3.0"),
              ("element(2)", {}, "val(1) = 3.0"),
              ("computed(2)", {"by": [0.0, 0.0, 0.0]}, "val(1) = 3.0"),
              ("computed(2)", {"val": [0.0, 0.0, 0.0], "by": [0.0, 1.0, 0.0]}, "by(1) = 1.0"),
          )),
    ],
)  # fmt: skip
def test_a_key_in_the_wrong_place_is_an_error(
    arrays: dict[str, list[float]],
    stored: str,
    shape: tuple[int, ...],
    message: str,
    expected: str,
    found: str,
    formats: Path,
) -> None:
    with pytest.raises(DataError) as raised:
        given(arrays, stored, shape, formats)
    key, value = message.split(" … ")
    assert raised.value.message == f"{key} lies where it is not looked for: {value} is in no entry"
    assert (raised.value.expected, raised.value.found) == (expected, found)


@pytest.mark.parametrize(
    ("arrays", "stored", "shape", "count"),
    [
        (HASH | {"idx": [0, 1]}, "hash(buckets=2)", (8,), 2),
        (HASH | {"val": [0.0, 0.0]}, "hash(buckets=2)", (8,), 0),  # it has no value
        (ROWS | {"row": [1, 0], "pos": [0] * 5, "col": [], "val": []}, "hash(2, 2)", (4, 4), 0),
        ({"idx": [0, 1, 3], "val": [1.0, 2, 3]}, "every", (4,), 3),  # another iteration reads it
        ({"first": [0, 1], "idx": [0, 1, 2], "val": [1.0, 2, 3]}, "apart", (4,), 3),
        (BLOCKS | {"by": [1.0, 2, 3]}, "twice(2)", (8,), 4),
        # what is left out is no mistake
        ({"pos": [0, 2, 3], "idx": [0, 1, 0], "val": [1.0, 2, 3]}, "main", (2, 2), 1),
        ({"mark": [True, False], "val": [1.0, 2]}, "mask", (1, 2), 1),
        ({"idx": [1, -1], "val": [1.0, 9.0]}, "ell(2)", (1, 2), 1),
    ],
)
def test_what_is_left_out_otherwise_is_none(
    arrays: dict[str, list[float]], stored: str, shape: tuple[int, ...], count: int, formats: Path
) -> None:
    assert given(arrays, stored, shape, formats).nnz == count


def test_own_arrays_are_taken_back() -> None:
    dense = np.arange(60.0).reshape(3, 4, 5) % 7
    for data in (dense, dense[0], dense[0, 0]):
        tensor = storel.tensor(data, "hash")
        again = storel.tensor(dict(tensor.arrays), tensor.format, shape=data.shape)
        np.testing.assert_array_equal(again.to_numpy(), data)
