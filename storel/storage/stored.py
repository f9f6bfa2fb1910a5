"""The arrays of a format, and what binds them to its mapping; everything that can be read from them.

Writing to files and counting need no more of a tensor than this.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from storel.arrays import Array
from storel.errors import DataError, TypeMismatchError
from storel.host.memory import require_memory
from storel.scalars import ScalarType
from storel.semiring import SEMIRINGS
from storel.storage.blocks import count_unlike
from storel.storage.coordinates import index_dtype
from storel.storage.formats.format import Format
from storel.storage.formats.signature import LevelKind, LevelSignature, level_signature
from storel.storage.summary import Summary
from storel.storage.unpacking.distinct_entries import entries_are_distinct, has_at_most
from storel.storage.unpacking.reads import keys_are_natural
from storel.storage.unpacking.unpack import enumerate_entries

MOST_KEYS = 100
"""Keys for each element of the arrays up to which a mapping lists entries: a word of bits has 64."""


@dataclass(frozen=True, eq=False)
class Stored:
    """The arrays of a tensor, verified against its format: what can be read from them.

    ``sizes`` are the values of all size names of the mapping: extents, parameters, lengths. Neither they nor
    the arrays can be written to; arrays that a caller gave are shared, and must not be changed either while
    the tensor is in use. ``declared`` are the statistics of a tensor that
    has no arrays (``declared.py``). ``is_packed`` says that the arrays were made for entries of distinct
    keys, each of which has an iteration of the mapping of its own.
    """

    shape: tuple[int, ...]
    type: ScalarType
    storage: Format
    arrays: Mapping[str, Array]
    sizes: Mapping[str, int]
    semiring: str = "plus_times"
    is_closed: bool = True
    declared: Summary | None = None
    is_packed: bool = False

    def __post_init__(self) -> None:
        self._close(self.arrays, self.sizes)

    def _close(self, arrays: Mapping[str, Array], sizes: Mapping[str, int]) -> None:
        """Hold what nobody can write to: what was verified, and is remembered, must stay true."""
        closed = {name: _read_only(array) for name, array in arrays.items()}
        self.__dict__.update(arrays=MappingProxyType(closed), sizes=MappingProxyType(dict(sizes)))

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: nothing that was only computed."""
        open_ = {"arrays": dict(self.arrays), "sizes": dict(self.sizes)}
        return {each.name: getattr(self, each.name) for each in fields(self)} | open_

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._close(state["arrays"], state["sizes"])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type of the values."""
        return self.type.dtype

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def format(self) -> str:
        """The format as it is written after ``STORED AS``."""
        return self.storage.text

    @cached_property
    def signature(self) -> LevelSignature | None:
        """The level structure of the format, if it has one."""
        return level_signature(self.storage)

    @cached_property
    def nnz(self) -> int:
        """The number of entries: of values that are not the semiring's zero."""
        if self.declared is not None:
            return self.declared.nnz
        if self.signature is not None:
            return _count_entries(self.arrays[self.signature.values], self.semiring)
        return len(self.to_coo()[1])

    @cached_property
    def makes_keys_once(self) -> bool:
        """Whether it is known that no two iterations of the mapping make an entry of the same keys.

        So packing sees to it; arrays that were given may list one twice: they are gone through when this is
        asked.
        """
        if self.is_packed or self.declared is not None:
            return self.is_packed
        return entries_are_distinct(self.storage, self.arrays, self.sizes, self.semiring)

    @cached_property
    def lists_entries(self) -> bool:
        """Whether the mapping goes through not many more keys than there are elements in its arrays.

        That of a product of matrices, or of a constant, does: its entries are not to be written out unasked.
        """
        if self.signature is not None or self.declared is not None:
            return True
        held = sum(map(len, self.arrays.values())) + sum(self.shape)
        return has_at_most(MOST_KEYS * held, self.storage, self.arrays, self.sizes)

    @cached_property
    def has_natural_keys(self) -> bool:
        """Whether it is known that the mapping makes no negative keys, of zeros either.

        In nests of levels they are those of entries; other mappings may read padding at a key such as -1.
        """
        if self.signature is not None or self.declared is not None:
            return True
        return keys_are_natural(self.storage, self.arrays, self.sizes)

    def require_data(self) -> None:
        """Raise DataError if the tensor is only declared."""
        if self.declared is not None:
            raise DataError(
                "the tensor is declared by its statistics and has no data",
                hint="bind the data itself to run the program",
            )

    def to_coo(self) -> tuple[Array, Array]:
        """Return the entries as ``(coordinates, values)``: a rank × nnz int64 array, sorted, and a vector.

        Both are kept with the tensor and cannot be written to.
        """
        coordinates, values = self._entries
        return _read_only(coordinates), _read_only(values)

    def to_numpy(self, memory_limit: int | None = None) -> Array:
        """Return a dense array; missing entries hold the semiring's zero.

        Where it is inf, integers of which some are missing become reals.

        Raises MemoryLimitError before it allocates more than ``memory_limit`` bytes (default: what the
        machine has).
        """
        self.require_data()
        places = math.prod(self.shape)
        require_memory(places * self.dtype.itemsize, f"a dense array of shape {self.shape}", memory_limit)
        if (view := self.as_view()) is not None:
            return np.array(view, order="C")
        coordinates, values = self.to_coo()
        ring = SEMIRINGS[self.semiring]
        held = self.type if len(values) == places else ring.with_zero(self.type)
        dense = np.full(self.shape, ring.zero if len(values) < places else 0, dtype=held.dtype)
        if self.rank:
            dense[tuple(coordinates)] = values
        elif len(values):
            dense[()] = values[0]
        return dense

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Return a dense array, as ``numpy.asarray`` asks for one.

        Where each entry has its place in one array, it is that array, read-only: nothing is copied unless
        ``copy`` or another ``dtype`` asks for it. Raises ValueError where ``copy`` is False and it must be.
        """
        self.require_data()
        view = None if copy else self.as_view()
        dense = self.to_numpy() if view is None else view
        as_asked = dense if dtype is None else dense.astype(dtype, copy=False)
        if copy is False and (view is None or as_asked is not dense):
            raise ValueError(f"a tensor in {self.format} becomes this array only by a copy")
        return as_asked

    def to_scipy(self) -> Any:
        """Return a ``scipy.sparse`` array of rank 1 or 2; without a copy where the layouts agree.

        What is shared with the tensor cannot be written to: ``.copy()`` can.
        """
        self.require_data()
        if self.rank not in (1, 2):
            raise TypeMismatchError(
                "scipy.sparse holds vectors and matrices", found=f"a tensor of rank {self.rank}"
            )
        import scipy.sparse as sp  # here, since it takes 0.1 s and few programs need it

        wrapped = self._as_compressed(sp.csr_array, sp.csc_array)
        if wrapped is not None:
            return wrapped
        coordinates, values = self.to_coo()
        return sp.coo_array((values, tuple(coordinates)), shape=self.shape)

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    def item(self) -> Any:
        """Return the only value of a tensor of rank 0 as a Python scalar."""
        if self.rank != 0:
            raise TypeMismatchError(
                "only a tensor of rank 0 converts to a number", found=f"a tensor of shape {self.shape}"
            )
        return self.to_numpy().item()

    def __repr__(self) -> str:
        extents = ", ".join(map(str, self.shape))
        return f"<storel.Tensor {self.type.value}[{extents}] in {self.format}, {self.nnz} entries>"

    @cached_property
    def _entries(self) -> tuple[Array, Array]:
        self.require_data()
        return enumerate_entries(self.storage, self.arrays, self.sizes, self.semiring)

    def listed(self) -> tuple[Array, Array]:
        """Return what ``to_coo`` does, but keep nothing, and give the keys as int32 if that holds them."""
        if "_entries" in self.__dict__:
            return self._entries
        index_type = index_dtype(self.shape)
        return enumerate_entries(self.storage, self.arrays, self.sizes, self.semiring, index_type)

    def as_view(self) -> Array | None:
        """Return the values as an array of the tensor's shape if each key has its place, else None."""
        signature = self.signature
        if signature is None or not signature.is_full:
            return None
        stored = self.arrays[signature.values].reshape([self.shape[axis] for axis in signature.order])
        return stored.transpose(np.argsort(signature.order))

    def _as_compressed(self, rows: Any, columns: Any) -> Any | None:
        """Wrap a dense level above a compressed one as SciPy's compressed rows or columns."""
        signature = self.signature
        if signature is None or self.rank != 2:
            return None
        kinds = tuple(level.kind for level in signature.levels)
        inner = signature.levels[-1]
        if kinds != (LevelKind.DENSE, LevelKind.COMPRESSED) or inner.pos is None or inner.idx is None:
            return None
        parts = tuple(self.arrays[name] for name in (signature.values, inner.idx, inner.pos))
        wrap = rows if signature.order == (0, 1) else columns
        return wrap(parts, shape=self.shape)


def _count_entries(values: Array, semiring: str) -> int:
    zero = SEMIRINGS[semiring].zero
    return int(np.count_nonzero(values)) if zero == 0 else count_unlike(values, zero)


def _read_only(array: Array) -> Array:
    """Return a view that cannot be written to, or the array itself if it cannot be."""
    if not array.flags.writeable:
        return array
    view = array.view()
    view.setflags(write=False)
    return view
