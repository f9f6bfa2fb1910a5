"""Arrays in files: read, or mapped where they are large; the same numbers either way."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import storel
from storel.errors import DataError
from storel.storage.files import archive
from storel.storage.files.kinds import read_arrays, read_tensor


@pytest.fixture
def maps_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAPPED_FROM", 1)


def is_mapped(array: NDArray[Any]) -> bool:
    return isinstance(array, np.memmap) or isinstance(array.base, np.memmap)


def test_raw_arrays_are_read_by_name(tmp_path: Path) -> None:
    np.savez(tmp_path / "c.npz", C_len1=3, C_pos2=[0, 3, 3, 5])
    arrays = read_arrays(tmp_path / "c.npz")
    assert sorted(arrays) == ["C_len1", "C_pos2"]
    assert arrays["C_len1"].ndim == 0
    np.save(tmp_path / "x.npy", np.arange(3))
    assert list(read_arrays(tmp_path / "x.npy")) == ["x"]


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': ",
        "{[]: 1}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1 + 2,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (True,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999, 0), }",
    ],
)
def test_a_damaged_header_is_an_error(tmp_path: Path, header: str) -> None:
    content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(64)
    (tmp_path / "a.npy").write_bytes(content)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as made:
        made.writestr("x.npy", content)
    for name in ("a.npy", "a.npz"):
        with pytest.raises(DataError, match=r"is not a usable \.np[yz] file") as caught:
            read_tensor(tmp_path / name)
        assert not re.search(r"malformed|ast\.|unhashable|multi-line", str(caught.value))


def test_an_encrypted_member_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, x=np.arange(3))
    content = bytearray(path.read_bytes())
    for signature, flags in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        content[content.find(signature) + flags] |= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"is not a usable \.npz file: its x\.npy is encrypted"):
        read_arrays(path)


@pytest.mark.parametrize("smallest", [1, 1 << 24])
@pytest.mark.parametrize("kept", [0, 5, 60, 130])
def test_a_truncated_array_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: int, smallest: int
) -> None:
    monkeypatch.setattr(archive, "MAPPED_FROM", smallest)
    path = tmp_path / "a.npy"
    np.save(path, np.arange(10))
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(DataError, match=r"is not a usable \.npy file"):
        read_tensor(path)


ARRAYS = [
    np.arange(6.0).reshape(2, 3),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.arange(3).astype(">i4"),
    np.array([True, False]),
    np.zeros((0, 3)),
    np.array(2.5),
]


@pytest.mark.usefixtures("maps_all")
@pytest.mark.parametrize("array", ARRAYS)
def test_what_is_mapped_is_what_was_written(tmp_path: Path, array: NDArray[Any]) -> None:
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "a.npz", short=np.int8(1), a=array)
    np.savez_compressed(tmp_path / "b.npz", a=array)
    for found in (
        read_arrays(tmp_path / "a.npy")["a"],
        read_arrays(tmp_path / "a.npz")["a"],
        read_arrays(tmp_path / "b.npz")["a"],
    ):
        assert (found.dtype, found.shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(found, array)
    np.testing.assert_array_equal(storel.read(tmp_path / "a.npy").to_numpy(), array)


@pytest.mark.usefixtures("maps_all")
def test_what_storel_writes_can_be_mapped(tmp_path: Path) -> None:
    tensor = storel.tensor(np.arange(12.0).reshape(3, 4), "csr")
    tensor.save(tmp_path / "t.npz")
    with zipfile.ZipFile(tmp_path / "t.npz") as file:
        assert file.testzip() is None
    found = storel.read(tmp_path / "t.npz")
    assert all(is_mapped(array) and array.ctypes.data % 64 == 0 for array in found.arrays.values())
    np.testing.assert_array_equal(found.to_numpy(), tensor.to_numpy())
    result = storel.run("CREATE TENSOR s AS sum(<(i, j), a> in A) { i -> a }", A=found)
    assert isinstance(result, storel.Tensor)
    assert result.to_numpy().tolist() == [6, 22, 38]


@pytest.mark.usefixtures("maps_all")
def test_small_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "a.npy", np.arange(9.0))
    assert is_mapped(read_arrays(tmp_path / "a.npy")["a"])
    monkeypatch.undo()
    assert not is_mapped(read_arrays(tmp_path / "a.npy")["a"])


@pytest.mark.usefixtures("maps_all")
@pytest.mark.parametrize("at", [0, 26, 128])
def test_a_damaged_archive_is_an_error(tmp_path: Path, at: int) -> None:
    storel.tensor(np.eye(3), "csr").save(tmp_path / "t.npz")
    content = bytearray((tmp_path / "t.npz").read_bytes())
    content[at : at + 4] = b"\xff\xff\xff\xff"
    (tmp_path / "t.npz").write_bytes(content)
    with pytest.raises(DataError, match=r"is not a usable \.npz file"):
        read_tensor(tmp_path / "t.npz")


FROM_A_MAP = """
import sys
import numpy as np, storel
def status(name):
    lines = open("/proc/self/status").read().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith(name + ":")))
def answers(A):
    x = np.ones(A.shape[1])
    y = storel.run("CREATE TENSOR y AS sum(<(i, j), a> in A, <j, v> in x) { i -> a * v }", A=A, x=x)
    total = storel.run("CREATE TENSOR s AS sum(<(i, j), a> in A) a", A=A)
    return float(total), float(y.to_numpy().sum()), A.nnz
answers(storel.tensor(np.ones((1000, 512))))
if sys.platform == "linux":
    import resource
    limit = status("VmData") + (6 << 20)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
print(answers(storel.read(sys.argv[1])), answers(storel.tensor(np.load(sys.argv[1], mmap_mode="r"))))
storel.read(sys.argv[1]).save(sys.argv[2])
"""


def test_what_is_mapped_takes_no_memory_of_its_own(tmp_path: Path) -> None:
    """Where the system limits anonymous memory, a tenth of the file's size suffices."""
    written = np.lib.format.open_memmap(tmp_path / "a.npy", "w+", np.float64, (16384, 512))
    written[:] = 0.5
    written.flush()
    command = [sys.executable, "-c", FROM_A_MAP, str(tmp_path / "a.npy"), str(tmp_path / "b.npy")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    expected = (2.0**22, 2.0**22, 2**23)
    assert (ran.stdout, ran.stderr) == (f"{expected} {expected}\n", "")
    assert (tmp_path / "b.npy").read_bytes() == (tmp_path / "a.npy").read_bytes()
