"""Times beside SciPy, interleaved in one run, one thread, each kernel in a process of its own.

    python benchmarks/run.py [--size 100000] [--nonzeros 3000000] [--tensor FILE.tns] [--json]

``first`` is planning, compiling and the first run; ``peak`` the memory that storel's runs added to the
loaded operands, beside the size of operands and result.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
from kernels import KERNELS, Timed, mttkrp_of
from rich.console import Console
from rich.table import Table

import storel

MEBIBYTE = 2**20


def seconds(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def peak() -> int:
    """Return the largest resident size of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def bytes_of(tensor: storel.Tensor) -> int:
    return sum(array.nbytes for array in tensor.arrays.values())


def is_close(result: storel.Tensor, answer: Any) -> bool:
    """Return whether a result is SciPy's, sparse ones compared by their entries."""
    if result.rank == 0:
        return bool(np.isclose(float(result), answer))
    if hasattr(answer, "nnz"):
        return bool(abs(result.to_scipy() - answer).max() <= 1e-10 * abs(answer).max())
    return bool(np.allclose(result.to_numpy(), answer, rtol=1e-10))


def measured(timed: Timed, backends: list[str], repetitions: int) -> dict[str, Any]:
    """Time one kernel on each backend beside SciPy, and check the answers."""
    operands = {
        name: value if isinstance(value, float) else storel.tensor(value)
        for name, value in timed.operands.items()
    }
    tensors = [value for value in operands.values() if isinstance(value, storel.Tensor)]
    found: dict[str, Any] = {}
    calls: dict[str, Callable[[], Any]] = {}
    for backend in backends:
        before = peak()
        start = time.perf_counter()
        kernel = storel.compile(timed.script, backend=backend, **operands)
        result = kernel(**operands)
        first = time.perf_counter() - start
        assert isinstance(result, storel.Tensor)
        found[backend] = {
            "first": first,
            "peak": peak() - before,
            "result": bytes_of(result),
            "operands": sum(map(bytes_of, tensors)),
        }
        calls[backend] = _call(kernel, operands)
        del result
    calls["scipy"] = timed.scipy
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repetitions):
        for name, call in calls.items():
            times[name].append(seconds(call))
    answer = timed.scipy()
    for name, samples in times.items():
        entry = found.setdefault(name, {})
        entry |= {"min": min(samples), "median": statistics.median(samples)}
        if name != "scipy":
            entry["ratio"] = min(samples) / min(times["scipy"])
            entry["right"] = is_close(calls[name](), answer)
    return found


def _call(kernel: storel.Kernel, operands: dict[str, Any]) -> Callable[[], Any]:
    return lambda: kernel(**operands)


def in_own_process(name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    command = [sys.executable, __file__, "--one", name, "--size", str(arguments.size)]
    command += ["--nonzeros", str(arguments.nonzeros), "--repetitions", str(arguments.repetitions)]
    command += ["--backends", arguments.backends]
    if arguments.tensor is not None:
        command += ["--tensor", str(arguments.tensor)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def table_of(results: dict[str, dict[str, Any]]) -> Table:
    table = Table(
        "kernel", "backend", "min ms", "median ms", "scipy ms", "ratio", "first s", "peak MiB", "data MiB"
    )
    for kernel, found in results.items():
        for backend, entry in found.items():
            if backend == "scipy":
                continue
            data = entry["operands"] + entry["result"]
            cells = (
                f"{entry['min'] * 1e3:.2f}",
                f"{entry['median'] * 1e3:.2f}",
                f"{found['scipy']['min'] * 1e3:.2f}",
                f"{entry['ratio']:.2f}" if entry["right"] else "WRONG",
                f"{entry['first']:.2f}",
                f"{entry['peak'] / MEBIBYTE:.0f}",
                f"{data / MEBIBYTE:.0f}",
            )
            table.add_row(kernel, backend, *cells)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=100_000, help="rows and columns of the matrices")
    parser.add_argument("--nonzeros", type=int, default=3_000_000)
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--backends", default="c,numba")
    parser.add_argument("--tensor", type=Path, help="also time MTTKRP on this .tns file")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one is not None:
        if arguments.one == "mttkrp file":
            timed = mttkrp_of(storel.read(arguments.tensor))
        else:
            timed = KERNELS[arguments.one](arguments.size, arguments.nonzeros)
        print(json.dumps(measured(timed, arguments.backends.split(","), arguments.repetitions)))
        return
    names = [*KERNELS, *(["mttkrp file"] if arguments.tensor is not None else [])]
    results = {name: in_own_process(name, arguments) for name in names}
    if arguments.json:
        print(json.dumps(results))
    else:
        Console().print(table_of(results))
    if not all(entry.get("right", True) for found in results.values() for entry in found.values()):
        raise SystemExit("a result is wrong")


if __name__ == "__main__":
    main()
