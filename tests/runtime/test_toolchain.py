from __future__ import annotations

import errno
import shutil
from pathlib import Path

import numpy as np
import pytest

import storel
from storel.errors import BackendError
from storel.host import cache
from storel.runtime import toolchain

quick_gathers_of_this_processor = toolchain.has_quick_gathers


@pytest.fixture(autouse=True)
def nothing_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "has_quick_gathers", lambda: False)
    monkeypatch.setenv("STOREL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.delenv("STOREL_CFLAGS", raising=False)
    (tmp_path / "bin").mkdir()


def install(path: Path, script: str) -> None:
    real = shutil.which("cc", path="/usr/bin:/usr/local/bin:/bin")
    path.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\nREAL={real}\n{script}\n")
    path.chmod(0o755)


def test_without_a_compiler_numba_is_taken() -> None:
    assert toolchain.find() is None
    assert toolchain.choose("auto") == "numba"
    assert toolchain.choose("numba") == "numba"
    with pytest.raises(BackendError, match="no working C compiler") as caught:
        toolchain.choose("c")
    assert caught.value.hint is not None and "numba" in caught.value.hint


def test_without_a_place_to_try_it_there_is_no_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_directory() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    install(tmp_path / "bin" / "gcc", 'exec $REAL "$@"')
    monkeypatch.setattr("tempfile.gettempdir", no_directory)
    assert toolchain.find() is None


def test_flags_that_fail_are_left_out(tmp_path: Path) -> None:
    install(tmp_path / "bin" / "gcc", 'case "$*" in *-fopenmp-simd*|*-march*) exit 1;; esac\nexec $REAL "$@"')
    compiler = toolchain.find()
    assert compiler is not None
    left_out = {"-march=native", "-fopenmp-simd"}
    assert compiler.flags == (*toolchain.REQUIRED, *(f for f in toolchain.OPTIONAL if f not in left_out))
    assert toolchain.choose("auto") == "c"


def test_quick_gathers_are_a_flag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "bin" / "gcc", 'exec $REAL "$@"')
    before = toolchain.find()
    monkeypatch.setattr(toolchain, "has_quick_gathers", lambda: True)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:")  # asks again
    after = toolchain.find()
    assert before is not None and after is not None
    assert set(after.flags) - set(before.flags) == {toolchain.QUICK_GATHERS}


@pytest.mark.parametrize(
    "state, processor, quick",
    [
        ("Not affected\n", "x86_64\nvendor_id : GenuineIntel\nflags : avx2 avx512f avx512vl", True),
        ("Not affected\n", "x86_64\nvendor_id : AuthenticAMD\nflags : avx2 avx512f avx512vl", False),
        ("Not affected\n", "x86_64\nvendor_id : GenuineIntel\nflags : avx2", False),
        ("Mitigation: Microcode\n", "x86_64\nvendor_id : GenuineIntel\nflags : avx2 avx512vl", False),
        (None, "x86_64\nvendor_id : GenuineIntel\nflags : avx2 avx512vl", False),
    ],
)
def test_quick_gathers_are_told_by_the_system(
    state: str | None, processor: str, quick: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if state is not None:
        (tmp_path / "state").write_text(state)
    monkeypatch.setattr(toolchain, "GATHER_STATE", tmp_path / "state")
    monkeypatch.setattr(toolchain, "processor", lambda: processor)
    quick_gathers_of_this_processor.cache_clear()
    assert quick_gathers_of_this_processor() is quick
    quick_gathers_of_this_processor.cache_clear()


def test_the_environment_names_the_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "bin" / "cc", "exit 1")
    install(tmp_path / "bin" / "mine", '[ "$1" = --wrapped ] && shift\nexec $REAL "$@"')
    monkeypatch.setenv("CC", "mine --wrapped")
    compiler = toolchain.find()
    assert compiler is not None
    assert compiler.command == (str(tmp_path / "bin" / "mine"), "--wrapped")
    monkeypatch.setenv("CC", "")
    assert toolchain.find() is None, "a compiler that fails is none"


def test_further_flags_make_another_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "bin" / "cc", 'exec $REAL "$@"')
    usual = toolchain.find()
    monkeypatch.setenv("STOREL_CFLAGS", " -O1  -DFURTHER ")
    compiler = toolchain.find()
    assert usual is not None and compiler is not None
    assert compiler.flags == (*usual.flags, "-O1", "-DFURTHER")
    for _ in range(2):
        storel.run("CREATE TENSOR s AS sum(<_, v> in x) v", x=np.ones(3), backend="c")
    monkeypatch.delenv("STOREL_CFLAGS")
    storel.run("CREATE TENSOR s AS sum(<_, v> in x) v", x=np.ones(3), backend="c")
    assert len(list(cache.directory().glob("c-*"))) == 2


def test_a_damaged_note_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "bin" / "cc", 'exec $REAL "$@"')
    first = toolchain.find()
    (note,) = cache.directory().glob("compiler-*.json")
    note.write_text("{")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:")  # asks again
    assert toolchain.find() == first
    assert note.read_text() != "{"
