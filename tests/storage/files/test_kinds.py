from __future__ import annotations

import codecs
import gzip
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from storel.errors import DataError, TypeMismatchError
from storel.storage.build import from_coordinates, from_numpy
from storel.storage.files.contents import DenseContents, SparseContents, StoredContents
from storel.storage.files.kinds import read_tensor, require_savable, save_tensor
from storel.storage.formats.known import Formats
from storel.storage.tensor import Tensor

FORMATS = Formats()
VALUES = np.array([1.5, -2.0, np.nan, np.inf, 0.1])


def sample(rank: int, dtype: type = np.float64) -> Tensor:
    coordinates = np.arange(5 * rank).reshape(5, rank).T % 4
    with np.errstate(invalid="ignore"):
        values = VALUES.astype(dtype) if dtype is not np.int64 else np.arange(1, 6)
    return from_coordinates(coordinates, values, (4,) * rank, FORMATS)


def entries(contents: object) -> dict[tuple[int, ...], str]:
    assert isinstance(contents, SparseContents)
    keys = map(tuple, contents.coordinates.T.tolist())
    return dict(zip(keys, map(repr, contents.values.tolist()), strict=True))


def entries_of(tensor: Tensor) -> dict[tuple[int, ...], str]:
    coordinates, values = tensor.to_coo()
    return dict(zip(map(tuple, coordinates.T.tolist()), map(repr, values.tolist()), strict=True))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize(("name", "rank"), [("t.mtx", 2), ("t.mtx.gz", 2)])
def test_matrices_come_back(tmp_path: Path, name: str, rank: int, dtype: type) -> None:
    tensor = sample(rank, dtype)
    save_tensor(tensor, tmp_path / name)
    contents = read_tensor(tmp_path / name)
    assert isinstance(contents, SparseContents)
    assert contents.shape == tensor.shape
    np.testing.assert_array_equal(contents.coordinates, tensor.to_coo()[0])
    np.testing.assert_array_equal(contents.values.astype(dtype), tensor.to_coo()[1])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize(("name", "rank"), [("t.tns", 1), ("t.tns", 3), ("t.tns.gz", 4)])
def test_coordinate_lists_come_back(tmp_path: Path, name: str, rank: int, dtype: type) -> None:
    tensor = sample(rank, dtype)
    save_tensor(tensor, tmp_path / name)
    assert entries(read_tensor(tmp_path / name)) == entries_of(tensor)


@pytest.mark.parametrize("name", ["t.mtx", "t.mtx.gz", "t.tns", "t.tns.gz"])
def test_a_byte_order_mark_is_passed_over(tmp_path: Path, name: str) -> None:
    save_tensor(sample(2), tmp_path / name)
    opened = gzip.open if name.endswith(".gz") else open
    with opened(tmp_path / name, "rb") as stream:
        text = stream.read()
    with opened(tmp_path / name, "wb") as stream:
        stream.write(codecs.BOM_UTF8 + text)
    assert entries(read_tensor(tmp_path / name)) == entries_of(sample(2))


@pytest.mark.parametrize(
    ("name", "first"), [("t.mtx", "%%MatrixMarket matrix array real general\n"), ("t.tns", "")]
)
def test_lines_behind_a_byte_order_mark_are_shown(tmp_path: Path, name: str, first: str) -> None:
    (tmp_path / name).write_text(f"{first}1 1\nx\n", encoding="utf-8-sig")
    with pytest.raises(DataError, match=f"{name}:{3 if first else 2}:1"):
        read_tensor(tmp_path / name)


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_dense_arrays_come_back(tmp_path: Path, rank: int) -> None:
    array = np.arange(3.0**rank).reshape((3,) * rank)
    save_tensor(from_numpy(array, FORMATS), tmp_path / "a.npy")
    contents = read_tensor(tmp_path / "a.npy")
    assert isinstance(contents, DenseContents)
    np.testing.assert_array_equal(contents.values, array)


def test_stored_tensors_come_back_as_they_are_stored(tmp_path: Path) -> None:
    tensor = sample(3)
    save_tensor(tensor, tmp_path / "t.npz")
    contents = read_tensor(tmp_path / "t.npz")
    assert isinstance(contents, StoredContents)
    assert (contents.format, contents.shape) == (tensor.format, tensor.shape)
    assert (contents.semiring, contents.is_closed) == ("plus_times", True)
    assert sorted(contents.arrays) == sorted(tensor.arrays)
    for name, array in tensor.arrays.items():
        np.testing.assert_array_equal(contents.arrays[name], array)
        assert contents.arrays[name].dtype == array.dtype


@pytest.mark.parametrize("name", ["t.npz", "t.tns.gz", "t.mtx.gz"])
def test_equal_tensors_give_equal_files(tmp_path: Path, name: str) -> None:
    (tmp_path / "again").mkdir()
    save_tensor(sample(2), tmp_path / name)
    save_tensor(sample(2), tmp_path / "again" / name)
    assert (tmp_path / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_a_missing_file_is_an_error_with_the_nearest_name(tmp_path: Path) -> None:
    (tmp_path / "ratings.tns").touch()
    with pytest.raises(DataError) as raised:
        read_tensor(tmp_path / "rating.tns")
    assert str(raised.value).splitlines() == [
        f"there is no file {tmp_path / 'rating.tns'}",
        "  hint: did you mean 'ratings.tns'?",
    ]


def test_only_files_are_named_and_a_directory_need_not_be_listable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> Iterator[Path]:
        raise PermissionError(13, "Permission denied", str(path))

    (tmp_path / "rating").mkdir()
    for _ in range(2):
        with pytest.raises(DataError, match="there is no file") as raised:
            read_tensor(tmp_path / "rating.tns")
        assert raised.value.hint is None
        monkeypatch.setattr(Path, "iterdir", refuse)


def test_an_unknown_ending_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError) as raised:
        read_tensor(tmp_path / "a.mxt")
    assert "expected: .arrow, .feather, .mtx, .mtx.gz, .npy, .npz, .parquet, .tns, .tns.gz" in str(
        raised.value
    )
    assert "hint: did you mean '.mtx'?" in str(raised.value)


def test_a_failed_save_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "t.mtx"
    path.write_text("precious")
    with pytest.raises(TypeMismatchError):
        save_tensor(sample(3), path)
    assert path.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("place", ["nowhere/t.npz", "directory.npz"])
def test_an_unwritable_output_is_an_error(tmp_path: Path, place: str) -> None:
    (tmp_path / "directory.npz").mkdir()
    with pytest.raises(DataError, match="cannot write"):
        save_tensor(sample(2), tmp_path / place)
    with pytest.raises(DataError, match="cannot write"):
        require_savable(tmp_path / place)
    assert [each.name for each in tmp_path.rglob("*")] == ["directory.npz"]


def test_where_a_tensor_can_be_saved_nothing_is_changed(tmp_path: Path) -> None:
    path = tmp_path / "t.mtx"
    require_savable(path)
    assert not list(tmp_path.iterdir())
    path.write_text("precious")
    require_savable(path)
    assert path.read_text() == "precious"


@pytest.mark.parametrize(
    ("name", "rank", "message"),
    [
        ("t.mtx", 3, "a .mtx file holds a matrix"),
        ("t.mtx.gz", 1, "a .mtx.gz file holds a matrix"),
        ("t.tns.gz", 0, "rank 1 or more"),
        ("t.parquet", 0, "rank 1 or more"),
    ],
)
def test_a_kind_of_file_may_hold_no_tensor_of_a_rank(
    tmp_path: Path, name: str, rank: int, message: str
) -> None:
    with pytest.raises(TypeMismatchError, match=message):
        require_savable(tmp_path / name, rank)
    with pytest.raises(TypeMismatchError, match=message):
        save_tensor(from_numpy(np.ones((2,) * rank), FORMATS), tmp_path / name)
    require_savable(tmp_path / "t.npz", rank)
    assert not list(tmp_path.iterdir())


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.tns").touch()
    (tmp_path / "link.tns").symlink_to(tmp_path / "real.tns")
    save_tensor(sample(2), tmp_path / "link.tns")
    assert (tmp_path / "link.tns").is_symlink()
    assert (tmp_path / "real.tns").stat().st_size > 0


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "pipe.tns"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    try:
        save_tensor(sample(2), path)
        assert stat.S_ISFIFO(path.stat().st_mode)
        assert b"\n1 2 " in os.read(reader, 64)
    finally:
        os.close(reader)
