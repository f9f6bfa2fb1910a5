"""Whatever happens to the cache, the answer is right."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from storel.codegen import c_source, numba_source
from storel.errors import BackendError
from storel.host import cache
from storel.loops.nodes import (
    Allocation,
    Binary,
    Buffer,
    Constant,
    For,
    Kernel,
    Load,
    Local,
    Procedure,
    Role,
    Store,
)
from storel.runtime import toolchain
from storel.runtime.kernel import load
from storel.runtime.library import Backend
from storel.scalars import ScalarType
from storel.source import Source
from storel.syntax.parser import parse, tables

INT64, FLOAT64 = ScalarType.INT64, ScalarType.FLOAT64
N, INDEX = Local("n", INT64), Local("i", INT64)
X, Y = Buffer("x", FLOAT64), Buffer("y", FLOAT64)
SIZES, LENGTHS = Buffer("sizes", INT64, Role.INDEX), Buffer("lengths", INT64, Role.INDEX)
ZERO = Constant(0, INT64)
DOUBLE = Binary("add", Load(X, INDEX), Load(X, INDEX))
KERNEL = Kernel(
    Procedure("bound", (N,), (X, SIZES), (Store(SIZES, ZERO, N),)),
    Procedure("compute", (N,), (X, Y, LENGTHS), (For(INDEX, ZERO, N, (Store(Y, INDEX, DOUBLE),)),)),
    (Allocation(Y, 0, None, is_output=True),),
)
SOURCES: dict[Backend, str] = {"c": c_source.render(KERNEL), "numba": numba_source.render(KERNEL)}
BACKENDS: list[Backend] = ["c", "numba"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own, which knows the compiler already."""
    found = toolchain.find()
    monkeypatch.setattr(toolchain, "find", lambda: found)
    monkeypatch.setenv("STOREL_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def doubled(backend: Backend) -> bool:
    x = np.arange(5.0)
    return np.array_equal(load(SOURCES[backend], KERNEL, backend)({"n": 5}, {"x": x})["y"], 2 * x)


def artifacts(folder: Path, backend: Backend) -> list[Path]:
    return sorted(folder.glob(f"{backend}-*"))


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_source_lies_beside_the_code(folder: Path, backend: Backend) -> None:
    assert doubled(backend)
    (artifact,) = artifacts(folder, backend)
    assert SOURCES[backend] in [
        path.read_text() for path in artifact.glob("kernel.[cp]*") if path.suffix != ".so"
    ]
    assert not list(folder.glob(".*")), "nothing half-built is left"


@pytest.mark.parametrize("damage", [b"", b"garbage"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_damaged_files_are_made_again(folder: Path, backend: Backend, damage: bytes) -> None:
    assert doubled(backend)
    (artifact,) = artifacts(folder, backend)
    for path in sorted(artifact.rglob("*")):
        if path.is_file():
            path.unlink()  # a library in use must keep its pages
            path.write_bytes(damage)
    assert doubled(backend)
    assert doubled(backend)
    assert artifacts(folder, backend) == [artifact]


def test_a_library_cut_short_is_not_loaded(folder: Path) -> None:
    assert doubled("c")
    (library,) = folder.glob("c-*/kernel.so")
    whole = library.read_bytes()
    library.unlink()
    library.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(cache.Damaged):
        cache.check_seal(library)
    assert doubled("c")
    (library,) = folder.glob("c-*/kernel.so")
    cache.check_seal(library)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_cache_that_cannot_be_written(folder: Path, backend: Backend) -> None:
    folder.write_text("a file where the directory should be")
    with pytest.warns(UserWarning, match="nothing is kept on disk"):
        assert doubled(backend)
    assert folder.read_text() == "a file where the directory should be"


def test_a_full_disk_is_told(folder: Path) -> None:
    def build(_: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with (
        pytest.raises(BackendError, match=r"cannot be kept: No space left(?s:.*)TMPDIR"),
        pytest.warns(UserWarning, match="No space left"),
    ):
        cache.obtain("never", build, lambda artifact: artifact)
    assert not list(folder.glob("*never*"))


def test_a_full_directory_of_the_users_is_told_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def replace(note: Path, target: Path) -> Path:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "replace", replace)
    with pytest.warns(UserWarning, match=rf"STOREL_CACHE_DIR is {folder}: No space left") as told:
        assert cache.kept("plan", lambda: 1) == 1
        assert cache.kept("plan", lambda: 2) == 2
        cache.remember("note", "text")
    assert (len(told), cache.recall("note")) == (1, None)


def test_what_does_not_compile_is_reported(folder: Path) -> None:
    with pytest.raises(BackendError, match="failed") as caught:
        load("int nonsense(", KERNEL, "c")
    assert "numba" in str(caught.value.hint)
    with pytest.raises(BackendError, match="does not load"):
        load("def nonsense(", KERNEL, "numba")


def test_threads_and_processes_at_once(folder: Path) -> None:
    results: list[bool] = []
    threads = [threading.Thread(target=lambda: results.append(doubled("c"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 4
    assert len(artifacts(folder, "c")) == 1


def test_a_second_process_finds_everything(folder: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    compiler = tmp_path / "cc"
    compiler.write_text(f'#!/bin/sh\necho started >> {log}\nexec {shutil.which("cc")} "$@"\n')
    compiler.chmod(0o755)
    program = (
        "from storel.runtime import toolchain\n"
        "from storel.runtime.kernel import load\n"
        "from pathlib import Path\n"
        "from storel.loops.nodes import Kernel, Procedure\n"
        "import sys\n"
        "kernel = Kernel(Procedure('bound', (), (), ()), Procedure('compute', (), (), ()), ())\n"
        "load(Path(sys.argv[1]).read_text(), kernel, toolchain.choose('auto'))\n"
        "assert 'numba' not in sys.modules\n"
    )
    source = tmp_path / "source.c"
    source.write_text(SOURCES["c"])
    environment = {**os.environ, "CC": str(compiler)}
    for _ in range(2):
        subprocess.run([sys.executable, "-c", program, str(source)], env=environment, check=True)
        count = log.read_text().count("started")
        assert count == 3, "one --version, one probe, one kernel"


def test_notes(folder: Path) -> None:
    assert cache.recall("note") is None
    cache.remember("note", "text")
    assert cache.recall("note") == "text"
    (folder / "note").write_bytes(b"\xff")
    assert cache.recall("note") is None


def test_where_no_directory_can_be_there_is_nothing_to_forget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setenv("STOREL_CACHE_DIR", str(file / "below"))
    with pytest.warns(UserWarning, match="Not a directory"):
        cache.remember("note", "text")
    cache.forget("note")
    assert cache.recall("note") is None


def test_a_directory_whose_name_is_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STOREL_CACHE_DIR", os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    tables.cache_clear()
    assert len(parse(Source("test", "CREATE TENSOR y AS 1 + 1")).statements) == 1
    assert all(map(doubled, BACKENDS))
    tables.cache_clear()
