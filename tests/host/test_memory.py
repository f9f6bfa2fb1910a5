from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import storel
from storel.errors import MemoryLimitError
from storel.host import memory


def test_some_memory_is_available() -> None:
    assert 1 << 20 < memory.available() < 1 << 50


def test_what_does_not_fit_is_refused() -> None:
    memory.require_memory(1 << 20, "a table", limit=1 << 20)
    with pytest.raises(MemoryLimitError, match=r"a table would need 2\.1 MB\n  expected: at most 1\.0 MB"):
        memory.require_memory(1 << 21, "a table", limit=1 << 20)
    with pytest.raises(MemoryLimitError):
        memory.require_memory(1 << 60, "a table")


def test_small_amounts_are_told_exactly() -> None:
    with pytest.raises(MemoryLimitError) as raised:
        memory.require_memory(2400, "a table", limit=-1)
    assert str(raised.value).startswith("a table would need 2,400 bytes\n  expected: at most -1 bytes")
    with pytest.raises(MemoryLimitError) as raised:
        storel.run("CREATE TENSOR y AS sum(<i, a> in x) { i -> a * 2 }", x=np.ones(300), memory_limit=1000)
    assert (raised.value.expected, raised.value.found) == (
        "at most 1,000 bytes",
        "2,400 bytes, of which 2,400 bytes for the result result.val",
    )


@pytest.mark.parametrize("backend", ["interpret", "c", "numba"])
def test_results_are_refused_by_every_backend(backend: str) -> None:
    program = "CREATE TENSOR y: real[300] STORED AS dense AS { 5 -> 1.0 }"
    with pytest.raises(MemoryLimitError, match=r"2,400 bytes"):
        storel.run(program, backend=backend, memory_limit=1000)
    program = "CREATE TENSOR y: real[1000000000000, 2] AS { (5, 1) -> 1.0 }"
    result = storel.run(program, backend=backend, memory_limit=1_000_000)
    assert isinstance(result, storel.Tensor) and result.to_coo()[0].tolist() == [[5], [1]]


IN_LITTLE_SPACE = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
import storel
for stored, limit in (("dense", None), ("dense", 1 << 60), ("csr", None), ("csr", 1 << 60)):
    extents = "1000000000" if stored == "dense" else "1000000000, 2"
    key = "5" if stored == "dense" else "(5, 1)"
    program = f"CREATE TENSOR y: real[{extents}] STORED AS {stored} AS {{ {key} -> 1.0 }}"
    try:
        storel.run(program, backend="interpret", memory_limit=limit)
    except storel.StorelError as error:
        print(type(error).__name__, error.message)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not keep to the limit")
def test_addresses_are_memory_too() -> None:
    """What the process may not have, as ``ulimit -v`` says, is refused, and told of if not foreseen."""
    finished = subprocess.run([sys.executable, "-c", IN_LITTLE_SPACE], capture_output=True, text=True)
    assert finished.stdout.splitlines() == [
        "MemoryLimitError the values would need 8,000.0 MB",
        "MemoryLimitError the system has not enough memory",
        "MemoryLimitError pos would need 8,000.0 MB",
        "MemoryLimitError the system has not enough memory",
    ], finished.stderr
