"""Source text to a callable kernel.

Both backends give two functions with the protocol of ``codegen``: the address of a block of 8-byte slots
goes in, 0 or a failure's code comes out.
"""

from __future__ import annotations

import ctypes
import importlib.util
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from numpy.typing import NDArray

from storel import cache, memory
from storel.loops.division import COUNT
from storel.loops.nodes import Buffer, For, Kernel, Local, Procedure, While
from storel.loops.protocol import capacities, failure, length_count, needed_bytes
from storel.loops.walk import walk
from storel.runtime import buffers, toolchain
from storel.scalars import ScalarType
from storel.semiring import Scalar

Array: TypeAlias = NDArray[Any]
Backend: TypeAlias = Literal["c", "numba"]
Entry: TypeAlias = Callable[[bytes, Any], int]

NOTHING: Mapping[str, Array] = {}

_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_char_p, ctypes.c_void_p)
_SLOT = {
    ScalarType.BOOL: "?7x",
    ScalarType.INT32: "i4x",
    ScalarType.INT64: "q",
    ScalarType.FLOAT32: "f4x",
    ScalarType.FLOAT64: "d",
}


class Input(NamedTuple):
    """A contiguous array and its address, which is right as long as the array is held."""

    array: Array
    address: int

    @staticmethod
    def of(array: Array) -> Input:
        """Return where ``array`` is; raises TypeError if it is not contiguous."""
        if not array.flags.c_contiguous:
            raise TypeError(f"expected a contiguous array, found strides {array.strides}")
        return Input(array, array.ctypes.data)


def located(arrays: Mapping[str, Array]) -> dict[str, Input]:
    """Return where arrays are; raises TypeError if one of them is not contiguous."""
    return {name: Input.of(array) for name, array in arrays.items()}


class CompiledKernel:
    """A kernel in machine code. Calls from several threads at once do not disturb each other.

    ``is_counted`` says whether its ``bound`` has loops.
    """

    def __init__(self, kernel: Kernel, entries: Mapping[str, Entry]) -> None:
        self.kernel = kernel
        self.is_counted = any(isinstance(each, For | While) for each in walk(kernel.bound.body))
        self._inputs = tuple((buffer.name, buffer.type.dtype) for buffer in kernel.inputs)
        self._procedures = {
            procedure.name: _Linked(kernel, procedure, entries[procedure.name])
            for procedure in kernel.procedures
        }
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
        return self.run(scalars, located(inputs), memory_limit)

    def run(
        self,
        scalars: Mapping[str, Scalar],
        inputs: Mapping[str, Input],
        memory_limit: int | None = None,
        begun: Mapping[str, Array] = NOTHING,
    ) -> dict[str, Array]:
        """Do the same with arrays whose addresses were asked for before, which takes longer than a call.

        Outputs that were ``begun`` by another kernel are gone on with.
        """
        addresses = self.addresses(inputs)
        sizes = self.bound(scalars, addresses)
        needed = needed_bytes(self.kernel, sizes)
        limit = allowance(needed, begun) if memory_limit is None else memory_limit
        counts = capacities(self.kernel, sizes, limit) if needed > limit else self._counts(sizes)
        arrays = [
            begun[allocation.buffer.name]
            if allocation.buffer.name in begun
            else buffers.allocate(allocation, count)
            for allocation, count in zip(self.kernel.allocations, counts, strict=True)
        ]
        lengths = self.compute(scalars, addresses, arrays)
        outputs: dict[str, Array] = {}
        for allocation, array in zip(self.kernel.allocations, arrays, strict=True):
            if allocation.is_output:
                used = len(array) if allocation.used is None else lengths[allocation.used]
                outputs[allocation.buffer.name] = buffers.trim(array, used)
        return outputs

    def addresses(self, inputs: Mapping[str, Input]) -> list[int]:
        """Return where the inputs are; raises TypeError for one of another type than the kernel reads."""
        found: list[int] = []
        for name, dtype in self._inputs:
            array, address = inputs[name]
            if array.dtype != dtype:
                raise TypeError(f"{name}: expected an array of {dtype}, found {array.dtype}")
            found.append(address)
        return found

    def bound(self, scalars: Mapping[str, Scalar], addresses: list[int]) -> list[int]:
        """Return how many elements each allocation needs."""
        sizes = self._sizes()
        self._procedures["bound"](scalars, [*addresses, ctypes.addressof(sizes)])
        return list(sizes)

    def _counts(self, sizes: list[int]) -> list[int]:
        return [sizes[allocation.slot] for allocation in self.kernel.allocations]

    def compute(
        self, scalars: Mapping[str, Scalar], addresses: list[int], arrays: Sequence[Array]
    ) -> list[int]:
        """Fill the allocated ``arrays``; return the used lengths."""
        lengths = self._lengths()
        for allocation, array in zip(self.kernel.allocations, arrays, strict=True):
            if allocation.used is not None:
                lengths[allocation.used] = len(array)
        places = [buffers.address(array) for array in arrays]
        self._procedures["compute"](scalars, [*addresses, *places, ctypes.addressof(lengths)])
        return list(lengths)

    def divide(
        self, scalars: Mapping[str, Scalar], addresses: list[int], count: int
    ) -> tuple[list[tuple[int, int]], int]:
        """Return the ends of at most ``count`` parts of the kernel's loop, and the work of all of them."""
        cuts = (ctypes.c_int64 * (count + 2))()
        self._procedures["divide"]({**scalars, COUNT.name: count}, [*addresses, ctypes.addressof(cuts)])
        ends = list(cuts)[:-1]
        parts = [(low, high) for low, high in pairwise(ends) if low < high]
        return parts or [(ends[0], ends[-1])], cuts[count + 1]


class _Linked:
    """A procedure in machine code: arguments are packed as it wants them, a failure is raised."""

    def __init__(self, kernel: Kernel, procedure: Procedure, entry: Entry) -> None:
        self._kernel = kernel
        self._entry = entry
        self._scalars = tuple(local.name for local in procedure.scalars)
        self._slots = _slots(procedure.scalars, procedure.buffers)

    def __call__(self, scalars: Mapping[str, Scalar], addresses: list[int]) -> None:
        values = [scalars[name] for name in self._scalars]
        detail = ctypes.c_int64()
        code = self._entry(self._slots.pack(*values, *addresses), ctypes.byref(detail))
        if code != 0:
            raise failure(self._kernel, code - 1, detail.value)


def allowance(needed: int, begun: Mapping[str, Array]) -> int:
    """Return how many bytes a kernel may have that asks for ``needed``, with what it goes on with."""
    held = sum(array.nbytes for array in begun.values())
    return memory.allowance(max(0, needed - held)) + held


def load(source: str, kernel: Kernel, backend: Backend) -> CompiledKernel:
    """Return ``kernel`` as machine code, compiled from ``source`` or taken from the cache.

    ``source`` is what the backend's module in ``codegen`` rendered. Raise BackendError if it does not
    compile.
    """
    names = [procedure.name for procedure in kernel.procedures]
    return CompiledKernel(kernel, dict(zip(names, load_entries(source, names, backend), strict=True)))


def load_entries(source: str, names: list[str], backend: Backend) -> list[Entry]:
    """Return the functions ``storel_NAME`` of a source text, compiled or taken from the cache."""
    return _load_c(source, names) if backend == "c" else _load_numba(source, names)


def _load_c(source: str, names: list[str]) -> list[Entry]:
    toolchain.choose("c")
    compiler = toolchain.find()
    assert compiler is not None, "choose raises where there is none"

    def build(artifact: Path) -> None:
        (artifact / "kernel.c").write_text(source, "utf-8")
        compiler.compile(artifact / "kernel.c", artifact / "kernel.so")
        cache.seal(artifact / "kernel.so")

    def link(artifact: Path) -> list[Entry]:
        cache.check_seal(artifact / "kernel.so")
        try:
            library = ctypes.CDLL(str(artifact / "kernel.so"))
        except OSError as error:
            raise cache.Damaged(str(error)) from error
        return [_ENTRY((f"storel_{name}", library)) for name in names]

    parts = (*compiler.command, compiler.version, *compiler.flags, toolchain.processor())
    return cache.obtain(f"c-{cache.digest(source, *parts)}", build, link)


def _load_numba(source: str, names: list[str]) -> list[Entry]:
    """Run the module from the cache; Numba keeps its machine code beside it."""
    name = f"numba-{cache.digest(source)}"

    def build(artifact: Path) -> None:
        (artifact / "kernel.py").write_text(source, "utf-8")

    def run(artifact: Path) -> list[Entry]:
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
        return [_ENTRY(getattr(module, f"storel_{name}").address) for name in names]

    return cache.obtain(name, build, run)


def _slots(scalars: tuple[Local, ...], arrays: tuple[Buffer, ...]) -> struct.Struct:
    """Return the layout of a procedure's arguments: 8 bytes for each scalar, an address for each array."""
    return struct.Struct("=" + "".join(_SLOT[local.type] for local in scalars) + "Q" * len(arrays))
