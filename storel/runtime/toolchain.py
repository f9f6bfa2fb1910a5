"""The machine's C compiler: found once, tried once, remembered.

``$CC`` comes first, then ``cc``, ``gcc``, ``clang``. A compiler is taken if a tiny library that it makes
runs; each flag that it does not take is left out. The answer is kept in the cache until the compiler's
file or the processor changes, so that a later process starts no compiler to learn it. ``$STOREL_CFLAGS`` are
further flags, taken as they are.
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from storel.errors import BackendError
from storel.host import cache

REQUIRED = ("-O3", "-fwrapv", "-fPIC", "-shared", "-std=gnu11", "-w")
OPTIONAL = (
    "-march=native",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fopenmp-simd",
    "-fno-loop-unroll-and-jam",  # it makes gathers of contiguous rows
    "-fno-loop-interchange",  # loops are in order, and GCC 12 leaves some that it exchanged without vectors
    "-fno-ipa-ra",  # else GCC 12 may leave vectors in registers, and `exp` takes 30 times as long
    "-mincoming-stack-boundary=3",  # else GCC 12 may place vectors off their 16 bytes, which ends the process
)

QUICK_GATHERS = "-DQUICK_GATHERS"
"""Says that many elements are looked up as quickly as one by one."""

GATHER_STATE = Path("/sys/devices/system/cpu/vulnerabilities/gather_data_sampling")
"""Where Linux says whether looking up many elements is slowed down."""

ROUNDED = "-ffp-contract=off"
"""With which products are rounded before they are added, as Numba and the interpreters do."""

_PROBE = """\
#include <stdint.h>
int64_t probe(const int64_t *numbers, int64_t count) {
    int64_t sum = 0;
#pragma omp simd reduction(+:sum)
    for (int64_t i = 0; i < count; ++i) sum += numbers[i];
    return sum;
}
"""


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C compiler that was seen to work, its version, and the flags that it takes."""

    command: tuple[str, ...]
    version: str
    flags: tuple[str, ...]

    def compile(self, source: Path, library: Path, *further: str) -> None:
        """Compile a C file to a shared library; raise BackendError if the compiler refuses.

        ``further`` are flags beside those that are always given.
        """
        command = [*self.command, *self.flags, *further, str(source), "-o", str(library), "-lm"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        except OSError as error:
            raise BackendError(f"the C compiler {self.command[0]} does not start: {error}") from error
        if done.returncode != 0:
            raise BackendError(
                f"the C compiler {self.command[0]} failed",
                found=done.stderr.strip()[-2000:] or f"exit code {done.returncode}",
                hint='backend="numba" needs no C compiler',
            )


def choose(backend: Literal["auto", "c", "numba"]) -> Literal["c", "numba"]:
    """Return the backend to use: "auto" is C where there is a compiler, else Numba.

    Raise BackendError if "c" is asked for and there is no compiler.
    """
    if backend == "numba" or find() is not None:
        return "numba" if backend == "numba" else "c"
    if backend == "auto":
        return "numba"
    raise BackendError(
        "there is no working C compiler",
        expected="a compiler named by $CC, or cc, gcc or clang on the PATH",
        hint='install one, or use backend="numba"',
    )


def find() -> Compiler | None:
    """Return the machine's C compiler, None if there is none that works."""
    compiler = _find(os.environ.get("CC", ""), os.environ.get("PATH", ""), str(cache.directory()))
    further = os.environ.get("STOREL_CFLAGS", "").split()
    return replace(compiler, flags=(*compiler.flags, *further)) if compiler and further else compiler


@functools.cache
def _find(chosen: str, path: str, cache_directory: str) -> Compiler | None:
    for words in (shlex.split(chosen), ["cc"], ["gcc"], ["clang"]):
        program = shutil.which(words[0], path=path) if words else None
        if program is not None:
            compiler = _remembered((program, *words[1:]))
            if compiler is not None:
                return compiler
    return None


def _remembered(command: tuple[str, ...]) -> Compiler | None:
    """Return the probed compiler, from the cache if its file is still the same."""
    status = Path(command[0]).stat()
    flags = (*REQUIRED, *OPTIONAL, str(has_quick_gathers()))
    identity = (*command, str(status.st_mtime_ns), str(status.st_size), processor(), *flags)
    name = f"compiler-{cache.digest(*identity)}.json"
    note = cache.recall(name)
    if note is not None:
        try:
            known = json.loads(note)
            return Compiler(tuple(known["command"]), str(known["version"]), tuple(known["flags"]))
        except (ValueError, KeyError, TypeError):
            pass  # the note is damaged: probe again
    compiler = _probe(command)
    if compiler is not None:
        cache.remember(name, json.dumps(asdict(compiler)))
    return compiler


def _probe(command: tuple[str, ...]) -> Compiler | None:
    """Return the compiler with all flags if they work, else with those that work one by one."""
    try:
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    except (OSError, UnicodeDecodeError):
        return None
    required = (*REQUIRED, QUICK_GATHERS) if has_quick_gathers() else REQUIRED
    compiler = Compiler(command, done.stdout.partition("\n")[0], (*required, *OPTIONAL))
    if _works(compiler):
        return compiler
    compiler = Compiler(command, compiler.version, required)
    if not _works(compiler):
        return None
    for flag in OPTIONAL:
        richer = Compiler(command, compiler.version, (*compiler.flags, flag))
        compiler = richer if _works(richer) else compiler
    return compiler


def _works(compiler: Compiler) -> bool:
    """Return whether what is compiled computes; not so where there is no place to try."""
    try:
        with tempfile.TemporaryDirectory(prefix="storel-", ignore_cleanup_errors=True) as folder:
            source, library = Path(folder, "probe.c"), Path(folder, "probe.so")
            source.write_text(_PROBE)
            compiler.compile(source, library)
            probe = ctypes.CDLL(str(library)).probe
    except (BackendError, OSError, AttributeError):
        return False
    probe.restype = ctypes.c_int64
    probe.argtypes = (ctypes.c_void_p, ctypes.c_int64)
    return bool(probe((ctypes.c_int64 * 100)(*range(100)), 100) == 4950)


@functools.cache
def processor() -> str:
    """Return what tells this processor's instruction set from others'."""
    told = ("vendor", "cpu family", "model", "stepping", "flags", "Features", "CPU")
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as lines:
            first = [line.strip() for line in iter(lines.readline, "\n") if line.startswith(told)]
    except OSError:
        first = [platform.processor()]  # asks another program
    return "\n".join([platform.machine(), *first])


@functools.cache
def has_quick_gathers() -> bool:
    """Return whether the processor looks up many elements as quickly as one by one.

    Intel's do since Sapphire Rapids. Those before are slowed down by what keeps them from telling other
    programs' data (gather data sampling, 2023); AMD's read one by one in any case.
    """
    try:
        state = GATHER_STATE.read_text("utf-8")
    except OSError:
        return False
    words = processor().split()
    return state.strip() == "Not affected" and "GenuineIntel" in words and "avx512vl" in words
