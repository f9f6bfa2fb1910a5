"""Kernels in machine code: memory for what they make, their arguments in slots, their failures as errors."""

from __future__ import annotations

import ctypes
import operator
import struct
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from storel.arrays import Array
from storel.host import memory
from storel.loops.lowering.division import BLOCKS, COUNT, PART_HIGH, PART_LOW
from storel.loops.nodes import Buffer, For, Kernel, Load, Local, Procedure, While
from storel.loops.protocol import capacities, failure, length_count, needed_bytes
from storel.loops.walk import all_parts, evaluated, walk
from storel.runtime import buffers, workers
from storel.runtime.library import Backend, Entry, load_entries
from storel.scalars import ScalarType
from storel.semiring import Scalar

Scalars: TypeAlias = Mapping[str, Scalar]

NOTHING: Mapping[str, Array] = {}

_DTYPE, _ADDRESS = operator.attrgetter("array.dtype"), operator.attrgetter("address")

_PARTS = (PART_LOW, PART_HIGH)

_SLOT = {
    ScalarType.BOOL: "?7x",
    ScalarType.INT32: "i4x",
    ScalarType.INT64: "q",
    ScalarType.FLOAT32: "f4x",
    ScalarType.FLOAT64: "d",
}


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Input:
    """A contiguous array and its address, which is right as long as the array is held.

    That of a tensor is one object as long as the tensor lives, and the array does not change.
    """

    array: Array
    address: int

    @staticmethod
    def of(array: Array) -> Input:
        """Return where ``array`` is; raises TypeError if it is not contiguous."""
        if not array.flags.c_contiguous:
            raise TypeError(f"expected a contiguous array, found strides {array.strides}")
        return Input(array, buffers.address(array))


def located(arrays: Mapping[str, Array]) -> dict[str, Input]:
    """Return where arrays are; raises TypeError if one of them is not contiguous."""
    return {name: Input.of(array) for name, array in arrays.items()}


class CompiledKernel:
    """A kernel in machine code. Calls from several threads at once do not disturb each other."""

    def __init__(self, kernel: Kernel, entries: Mapping[str, Entry]) -> None:
        self.kernel = kernel
        self._is_counted = any(isinstance(each, For | While) for each in walk(kernel.bound.body))
        determining, read = _read(kernel.bound, kernel.inputs)
        self._determining = [local.name for local in determining]
        self._reads_data = bool(read)
        self._last_bound: tuple[list[Scalar], list[int]] = [], []
        dividing, divided = ([], []) if kernel.divide is None else _read(kernel.divide, kernel.inputs)
        self.measured = tuple(dict.fromkeys([*read, *divided]))
        numbers = [local for local in dict.fromkeys([*determining, *dividing]) if local not in _PARTS]
        self._measuring = [local.name for local in numbers]
        self._numbers = _slots(numbers, [])
        self._inputs = [buffer.name for buffer in kernel.inputs]
        self._dtypes = [buffer.type.dtype for buffer in kernel.inputs]
        self._procedures = {
            procedure.name: _Linked(kernel, procedure, entries[procedure.name])
            for procedure in kernel.procedures
        }
        self._used = [
            (number, allocation.used)
            for number, allocation in enumerate(kernel.allocations)
            if allocation.used is not None
        ]
        self._sizes = ctypes.c_int64 * len(kernel.allocations)
        self._lengths = ctypes.c_int64 * length_count(kernel)

    def __call__(
        self,
        scalars: Scalars,
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
        scalars: Scalars,
        inputs: Mapping[str, Input],
        memory_limit: int | None = None,
        begun: Mapping[str, Array] = NOTHING,
    ) -> dict[str, Array]:
        """Do the same with arrays whose addresses were asked for before, which takes longer than a call.

        Outputs that another kernel has ``begun`` are continued.
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
        given = list(map(inputs.__getitem__, self._inputs))
        if list(map(_DTYPE, given)) != self._dtypes:
            for name, each, dtype in zip(self._inputs, given, self._dtypes, strict=True):
                if each.array.dtype != dtype:
                    raise TypeError(f"{name}: expected an array of {dtype}, found {each.array.dtype}")
        return list(map(_ADDRESS, given))

    def numbers(self, scalars: Scalars) -> bytes:
        """Return what sizes of outputs, and parts of the loop, depend on beside the ``measured`` arrays."""
        return self._numbers.pack(*map(scalars.__getitem__, self._measuring))

    def bound(self, scalars: Scalars, addresses: list[int]) -> list[int]:
        """Return how many elements each allocation needs; what does not depend on data is found once."""
        given = [scalars[name] for name in self._determining]
        known, found = self._last_bound
        if given == known and found and not self._reads_data:
            return found
        sizes = self._sizes()
        self._procedures["bound"](scalars, [*addresses, ctypes.addressof(sizes)])
        found = list(sizes)
        self._last_bound = given, found
        return found

    def bound_parts(self, parts: Sequence[Scalars], addresses: list[int], threads: int) -> list[list[int]]:
        """Return the same for each part, found by so many threads where it is found by counting."""
        if not self._is_counted:
            return [self.bound(part, addresses) for part in parts]
        sizes = [self._sizes() for _ in parts]
        places = ([*addresses, ctypes.addressof(each)] for each in sizes)
        self._procedures["bound"].call_all(list(zip(parts, places, strict=True)), threads)
        return [list(each) for each in sizes]

    def _counts(self, sizes: list[int]) -> list[int]:
        return [sizes[allocation.slot] for allocation in self.kernel.allocations]

    def compute(self, scalars: Scalars, addresses: list[int], arrays: Sequence[Array]) -> list[int]:
        """Fill the allocated ``arrays``; return the used lengths."""
        lengths = self._lengths_of(arrays)
        self._procedures["compute"](scalars, self._places(addresses, arrays, lengths))
        return list(lengths)

    def compute_parts(
        self, parts: Sequence[Scalars], addresses: list[int], arrays: Sequence[Sequence[Array]], threads: int
    ) -> list[list[int]]:
        """Do the same for each part with its arrays, by so many threads."""
        lengths = [self._lengths_of(own) for own in arrays]
        places = (self._places(addresses, *each) for each in zip(arrays, lengths, strict=True))
        self._procedures["compute"].call_all(list(zip(parts, places, strict=True)), threads)
        return [list(each) for each in lengths]

    def _lengths_of(self, arrays: Sequence[Array]) -> ctypes.Array[ctypes.c_int64]:
        """Return what takes the used lengths, with the lengths that there are."""
        lengths = self._lengths()
        for number, used in self._used:
            lengths[used] = len(arrays[number])
        return lengths

    @staticmethod
    def _places(
        addresses: list[int], arrays: Sequence[Array], lengths: ctypes.Array[ctypes.c_int64]
    ) -> list[int]:
        return [*addresses, *map(buffers.address, arrays), ctypes.addressof(lengths)]

    def divide(self, scalars: Scalars, addresses: list[int], count: int) -> tuple[list[tuple[int, int]], int]:
        """Return the ends of at most ``count`` parts of the kernel's loop, and the work of all of them."""
        cuts = (ctypes.c_int64 * (count + 2 + BLOCKS))()
        self._procedures["divide"]({**scalars, COUNT.name: count}, [*addresses, ctypes.addressof(cuts)])
        ends = cuts[: count + 1]
        parts = [(low, high) for low, high in pairwise(ends) if low < high]
        return parts or [(ends[0], ends[-1])], cuts[count + 1]


def _read(procedure: Procedure, inputs: Collection[Buffer]) -> tuple[list[Local], list[str]]:
    """Return the parameters that a procedure reads: scalars, and those of the ``inputs``."""
    read = {part for each in walk(procedure.body) for part in all_parts(evaluated(each))}
    buffers_read = {part.buffer for part in read if isinstance(part, Load)}
    scalars = [each for each in procedure.scalars if each in read and each != COUNT]
    return scalars, [each.name for each in inputs if each in buffers_read]


class _Linked:
    """A procedure in machine code: arguments are packed as it wants them, a failure is raised."""

    def __init__(self, kernel: Kernel, procedure: Procedure, entry: Entry) -> None:
        self._kernel = kernel
        self._entry = entry
        self._scalars = tuple(local.name for local in procedure.scalars)
        self._slots = _slots(procedure.scalars, procedure.buffers)

    def __call__(self, scalars: Scalars, addresses: list[int]) -> None:
        self._check(workers.call(self._entry, self._packed(scalars, addresses)))

    def call_all(self, calls: Sequence[tuple[Scalars, list[int]]], threads: int) -> None:
        """Make all calls by so many threads; when they have ended, raise the first failure."""
        for outcome in workers.call_all(self._entry, [self._packed(*each) for each in calls], threads):
            self._check(outcome)

    def _packed(self, scalars: Scalars, addresses: list[int]) -> bytes:
        return self._slots.pack(*map(scalars.__getitem__, self._scalars), *addresses)

    def _check(self, outcome: workers.Outcome) -> None:
        if outcome.code != 0:
            raise failure(self._kernel, outcome.code - 1, outcome.detail)


def allowance(needed: int, begun: Mapping[str, Array]) -> int:
    """Return how many bytes a kernel may have that asks for ``needed``, with what it goes on with."""
    held = sum(array.nbytes for array in begun.values())
    return memory.allowance(max(0, needed - held)) + held


def load(source: str, kernel: Kernel, backend: Backend, *, is_strict: bool = False) -> CompiledKernel:
    """Return ``kernel`` as machine code, compiled from ``source`` or taken from the cache.

    ``source`` is what the backend's module in ``codegen`` rendered. Raise BackendError if it does not
    compile. A strict one rounds as Numba and the interpreters do.
    """
    names = [procedure.name for procedure in kernel.procedures]
    entries = load_entries(source, names, backend, is_strict=is_strict)
    return CompiledKernel(kernel, dict(zip(names, entries, strict=True)))


def _slots(scalars: Sequence[Local], arrays: Sequence[Buffer]) -> struct.Struct:
    """Return the layout of a procedure's arguments: 8 bytes for each scalar, an address for each array."""
    return struct.Struct("=" + "".join(_SLOT[local.type] for local in scalars) + "Q" * len(arrays))
