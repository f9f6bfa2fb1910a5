"""Source text to a callable kernel.

Both backends give two functions with the protocol of ``codegen``: the address of a block of 8-byte slots
goes in, 0 or a failure's code comes out.
"""

from __future__ import annotations

import ctypes
import importlib.util
import struct
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from storel import cache, memory
from storel.loops.nodes import Buffer, Kernel, Local
from storel.loops.protocol import capacities, failure, length_count, needed_bytes
from storel.runtime import buffers, toolchain
from storel.scalars import ScalarType
from storel.semiring import Scalar

Array: TypeAlias = NDArray[Any]
Backend: TypeAlias = Literal["c", "numba"]
Entry: TypeAlias = Callable[[bytes, Any], int]

_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_char_p, ctypes.c_void_p)
_SLOT = {
    ScalarType.BOOL: "?7x",
    ScalarType.INT32: "i4x",
    ScalarType.INT64: "q",
    ScalarType.FLOAT32: "f4x",
    ScalarType.FLOAT64: "d",
}


class CompiledKernel:
    """A kernel in machine code. Calls from several threads at once do not disturb each other."""

    def __init__(self, kernel: Kernel, bound: Entry, compute: Entry) -> None:
        self._kernel = kernel
        self._bound = bound
        self._compute = compute
        self._scalars = tuple(local.name for local in kernel.compute.scalars)
        self._inputs = tuple((buffer.name, buffer.type.dtype) for buffer in kernel.inputs)
        self._bound_slots = _slots(kernel.bound.scalars, kernel.bound.buffers)
        self._compute_slots = _slots(kernel.compute.scalars, kernel.compute.buffers)
        self._sizes = ctypes.c_int64 * len(kernel.allocations)
        self._lengths = ctypes.c_int64 * length_count(kernel)

    def __call__(
        self,
        scalars: Mapping[str, Scalar],
        inputs: Mapping[str, Array],
        memory_limit: int | None = None,
    ) -> dict[str, Array]:
        """Return the outputs by buffer name, cut to their used length.

        ``inputs`` are contiguous arrays of the buffers' types. The default limit is the memory that is free.
        Raise EvaluationError where the kernel fails, MemoryLimitError where its buffers do not fit.
        """
        arguments: list[Any] = [scalars[name] for name in self._scalars]
        arguments += [_address(name, inputs[name], dtype) for name, dtype in self._inputs]
        sizes = self._sizes()
        self._run(self._bound, self._bound_slots.pack(*arguments, ctypes.addressof(sizes)))
        wanted = list(sizes)
        limit = memory_limit
        if limit is None:
            limit = memory.allowance(needed_bytes(self._kernel, wanted))
        counts = capacities(self._kernel, wanted, limit)
        lengths = self._lengths()
        arrays: list[Array] = []
        for allocation, count in zip(self._kernel.allocations, counts, strict=True):
            array = buffers.allocate(allocation, count)
            arrays.append(array)
            arguments.append(array.ctypes.data)
            if allocation.used is not None:
                lengths[allocation.used] = count
        self._run(self._compute, self._compute_slots.pack(*arguments, ctypes.addressof(lengths)))
        outputs: dict[str, Array] = {}
        for allocation, array in zip(self._kernel.allocations, arrays, strict=True):
            if allocation.is_output:
                used = len(array) if allocation.used is None else lengths[allocation.used]
                outputs[allocation.buffer.name] = buffers.trim(array, used)
        return outputs

    def _run(self, entry: Entry, slots: bytes) -> None:
        detail = ctypes.c_int64()
        code = entry(slots, ctypes.byref(detail))
        if code != 0:
            raise failure(self._kernel, code - 1, detail.value)


def load(source: str, kernel: Kernel, backend: Backend) -> CompiledKernel:
    """Return ``kernel`` as machine code, compiled from ``source`` or taken from the cache.

    ``source`` is what the backend's module in ``codegen`` rendered. Raise BackendError if it does not
    compile.
    """
    bound, compute = _load_c(source) if backend == "c" else _load_numba(source)
    return CompiledKernel(kernel, bound, compute)


def _load_c(source: str) -> tuple[Entry, Entry]:
    toolchain.choose("c")
    compiler = toolchain.find()
    assert compiler is not None, "choose raises where there is none"

    def build(artifact: Path) -> None:
        (artifact / "kernel.c").write_text(source, "utf-8")
        compiler.compile(artifact / "kernel.c", artifact / "kernel.so")
        cache.seal(artifact / "kernel.so")

    def link(artifact: Path) -> tuple[Entry, Entry]:
        cache.check_seal(artifact / "kernel.so")
        try:
            library = ctypes.CDLL(str(artifact / "kernel.so"))
        except OSError as error:
            raise cache.Damaged(str(error)) from error
        return _ENTRY(("storel_bound", library)), _ENTRY(("storel_compute", library))

    parts = (*compiler.command, compiler.version, *compiler.flags, toolchain.processor())
    return cache.obtain(f"c-{cache.digest(source, *parts)}", build, link)


def _load_numba(source: str) -> tuple[Entry, Entry]:
    """Run the module from the cache; Numba keeps its machine code beside it."""
    name = f"numba-{cache.digest(source)}"

    def build(artifact: Path) -> None:
        (artifact / "kernel.py").write_text(source, "utf-8")

    def run(artifact: Path) -> tuple[Entry, Entry]:
        path = artifact / "kernel.py"
        try:
            if path.read_text("utf-8") != source:
                raise cache.Damaged(f"{path} is damaged")
            specification = importlib.util.spec_from_file_location(name, path)
            assert specification is not None and specification.loader is not None
            module = importlib.util.module_from_spec(specification)
            sys.modules[name] = module  # Numba's cache looks it up there
            specification.loader.exec_module(module)
        except Exception as error:
            raise cache.Damaged(f"{path}: {error}") from error
        return _ENTRY(module.storel_bound.address), _ENTRY(module.storel_compute.address)

    return cache.obtain(name, build, run)


def _slots(scalars: tuple[Local, ...], arrays: tuple[Buffer, ...]) -> struct.Struct:
    """Return the layout of a procedure's arguments: 8 bytes for each scalar, an address for each array."""
    return struct.Struct("=" + "".join(_SLOT[local.type] for local in scalars) + "Q" * len(arrays))


def _address(name: str, array: Array, dtype: np.dtype[Any]) -> int:
    if array.dtype != dtype or not array.flags.c_contiguous:
        raise TypeError(f"{name}: expected a contiguous array of {dtype}, found {array.dtype}")
    return array.ctypes.data
