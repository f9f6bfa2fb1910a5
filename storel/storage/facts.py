"""What the optimizer may rely on about a stored tensor: declared properties and statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from storel.degrees import DegreeVector, Occurrences, is_countable
from storel.scalars import ScalarType
from storel.semiring import PLUS_TIMES
from storel.storage.blocks import Span, count_runs, integer_span, is_all_finite
from storel.storage.declared import array_length, array_type, stated_facts
from storel.storage.formats.sizes import evaluate_size
from storel.storage.tensor import Tensor
from storel.symbols import ArraySymbol, Elements, Fact, SizeSymbol
from storel.syntax.nodes.declarations import (
    ArrayDeclaration,
    Ascending,
    DistinctElements,
    FromTo,
    Increasing,
    IncreasingTuple,
    InRange,
    Pad,
)
from storel.syntax.nodes.statements import CreateFormat

_KNOWN: WeakKeyDictionary[Tensor, dict[str, dict[str, Fact]]] = WeakKeyDictionary()
"""Facts by tensor and prefix: a tensor does not change, so its statistics are collected once."""

_LIKENESS: WeakKeyDictionary[Tensor, Likeness] = WeakKeyDictionary()
_COUNTED: WeakKeyDictionary[Tensor, tuple[int, ...]] = WeakKeyDictionary()


def symbols_of(tensor: Tensor, prefix: str) -> dict[str, Fact]:
    """Return the facts about the arrays and sizes of ``tensor``, each named ``prefix_name``."""
    by_prefix = _KNOWN.setdefault(tensor, {})
    if prefix not in by_prefix:
        by_prefix[prefix] = _collected(tensor, prefix)
    return by_prefix[prefix]


@dataclass(frozen=True, slots=True)
class Likeness:
    """All that a kernel for a tensor relies on: it is right for every tensor of which the same is true.

    ``arrays`` has the type of each array, whether it is finite, and about how large its integers are. Of
    nests it is evident that they make entries once. The declaration is here since formats of one name may be
    declared otherwise, by a script or a directory.
    """

    shape: tuple[int, ...]
    type: ScalarType
    format: str
    semiring: str
    is_closed: bool
    is_declared: bool
    makes_keys_once: bool
    has_natural_keys: bool
    sizes: tuple[tuple[str, int], ...]
    arrays: tuple[tuple[str, str, bool, Span | None], ...]
    declaration: CreateFormat = field(hash=False, repr=False)


def likeness(tensor: Tensor) -> Likeness:
    """Return what a kernel for ``tensor`` relies on; values are read once, to see whether they are finite."""
    known = _LIKENESS.get(tensor)
    if known is None:
        known = _LIKENESS[tensor] = Likeness(
            tensor.shape,
            tensor.type,
            tensor.format,
            tensor.semiring,
            tensor.is_closed,
            tensor.declared is not None,
            tensor.signature is None and tensor.makes_keys_once,
            tensor.has_natural_keys,
            tuple(sorted(tensor.sizes.items())),
            tuple(
                _promises(each, tensor.arrays[each.name])
                for each in tensor.storage.arrays
                if each.name in tensor.arrays  # there are none of what is declared by its statistics
            ),
            tensor.storage.declaration,
        )
    return known


def _promises(declaration: ArrayDeclaration, array: NDArray[Any]) -> tuple[str, str, bool, Span | None]:
    span = integer_span(array) if declaration.holds_values else None
    return declaration.name, array.dtype.str, _is_finite(array), span


@dataclass(frozen=True, slots=True)
class ArrayForm:
    """Which arrays are a tensor's values as they lie in memory, so that kernels read them without one.

    ``order`` are the dimensions as the format has them, ``values`` declares its only array. ``promises`` are
    what the elements are relied on to be, None if nothing is.
    """

    shape: tuple[int, ...]
    order: tuple[int, ...]
    values: ArrayDeclaration
    dtype: np.dtype[Any]
    promises: tuple[str, str, bool, Span | None] | None

    @staticmethod
    def of(tensor: Tensor) -> ArrayForm | None:
        """Return the form of arrays that are like ``tensor``; None where its format is not how arrays lie."""
        signature = tensor.signature
        if signature is None or not lies_as_arrays_do(tensor):
            return None
        (values,), (promises,) = tensor.storage.arrays, likeness(tensor).arrays
        dtype = tensor.arrays[values.name].dtype
        return ArrayForm(tensor.shape, signature.order, values, dtype, promises)

    def values_of(self, array: NDArray[Any]) -> NDArray[Any] | None:
        """Return the elements of an array of this form in the order of the format, None of another one."""
        if array.shape != self.shape or not array.flags.aligned:
            return None
        ordered = array.transpose(self.order)
        if not ordered.flags.c_contiguous or array.dtype != self.dtype:
            return None
        values = ordered.reshape(-1)
        is_right = self.promises is None or _promises(self.values, values) == self.promises
        return values if is_right else None


def lies_as_arrays_do(tensor: Tensor) -> bool:
    """Return whether a tensor is an array in memory, and is read as one."""
    is_full = tensor.signature is not None and tensor.signature.is_full
    return is_full and tensor.declared is None and tensor.semiring == PLUS_TIMES.name and tensor.is_closed


def counted(tensor: Tensor) -> tuple[int, ...]:
    """Return what estimates begin with: the nonzeros of arrays of reals, the runs in arrays of integers."""
    known = _COUNTED.get(tensor)
    if known is None:
        arrays = [tensor.arrays[name] for name in sorted(tensor.arrays)]
        known = _COUNTED[tensor] = tuple(
            int(np.count_nonzero(array)) if array.dtype.kind == "f" else count_runs(array) for array in arrays
        )
    return known


def _collected(tensor: Tensor, prefix: str) -> dict[str, Fact]:
    found: dict[str, Fact] = {}
    groups = _groups(tensor, prefix)
    is_dense = lies_as_arrays_do(tensor)
    for declaration in tensor.storage.arrays:
        name = f"{prefix}_{declaration.name}"
        group = groups.get(name, ())
        if tensor.declared is not None:
            stated = array_type(tensor.declared, declaration), array_length(declaration, tensor.sizes)
            symbol = declared_symbol(declaration, *stated, tensor.sizes, name, prefix, group)
            found[name] = stated_facts(tensor.storage, tensor.declared, symbol, declaration.name)
            continue
        array = tensor.arrays[declaration.name]
        symbol = array_symbol(declaration, array, tensor.sizes, name, prefix, group)
        found[name] = replace(symbol, nonzero=symbol.nonzero and not is_dense)
    for name, value in tensor.sizes.items():
        found[f"{prefix}_{name}"] = SizeSymbol(f"{prefix}_{name}", value)
    return found


def array_symbol(
    declaration: ArrayDeclaration,
    array: NDArray[Any],
    sizes: Mapping[str, int],
    name: str,
    prefix: str,
    group: tuple[str, ...],
) -> ArraySymbol:
    """Return the facts about one array, whose declared properties have been verified."""
    scalar_type = ScalarType.of(array.dtype)
    assert scalar_type is not None
    symbol = declared_symbol(declaration, scalar_type, len(array), sizes, name, prefix, group)
    if declaration.holds_values and (span := integer_span(array)) is not None:
        symbol = replace(symbol, low=span[0], high=span[1])
    nonzeros = int(np.count_nonzero(array)) if declaration.holds_values or scalar_type.is_real else None
    symbol = replace(
        symbol,
        distinct=count_runs(array) if symbol.ascending else None,
        nonzeros=nonzeros,
        nonzero=nonzeros == len(array),
        finite=_is_finite(array),
    )
    return with_degrees(symbol, array)


def _is_finite(array: NDArray[Any]) -> bool:
    return array.dtype.kind != "f" or is_all_finite(array)


def with_degrees(symbol: ArraySymbol, array: NDArray[Any]) -> ArraySymbol:
    """Add the integers of an array, and the degrees that they stand for, counted when they are needed."""
    low, high = symbol.low, symbol.high
    if symbol.type.is_integer:
        symbol = replace(symbol, elements=Elements(array))
    if not symbol.type.is_integer or low is None or high is None or low < 0:
        return symbol
    extent = max(0, high + 1)  # what a declaration such as `IN 0:m + n - 1` leaves of an empty matrix
    occurrences = Occurrences.of(array, extent, is_ascending=symbol.ascending)
    return replace(
        symbol,
        occurrences=occurrences if is_countable(high, len(array)) else None,
        segments=DegreeVector(lambda: np.diff(array)) if symbol.holds_boundaries else None,
    )


def declared_symbol(
    declaration: ArrayDeclaration,
    scalar_type: ScalarType,
    length: int,
    sizes: Mapping[str, int],
    name: str,
    prefix: str,
    group: tuple[str, ...],
) -> ArraySymbol:
    """Return what the declaration of an array says of it."""
    properties = declaration.properties
    low, high = _bounds(declaration, sizes)
    first, last = _ends(declaration, sizes)
    if low is None and first is not None and not {Ascending(), Increasing()}.isdisjoint(properties):
        low, high = first, last
    within = next((p.within for p in properties if isinstance(p, Increasing) and p.within), None)
    leads = bool(group) and group[0] == name
    return ArraySymbol(
        name,
        scalar_type,
        length,
        low,
        high,
        ascending=Ascending() in properties or leads,
        increasing=Increasing() in properties,
        unique=DistinctElements() in properties,
        within=None if within is None else f"{prefix}_{within}",
        group=group,
        first=first,
        last=last,
        holds_indices=declaration.holds_indices,
    )


def _groups(tensor: Tensor, prefix: str) -> dict[str, tuple[str, ...]]:
    """Return, for each array in an increasing tuple, the names of all arrays of the tuple."""
    found: dict[str, tuple[str, ...]] = {}
    for declaration in tensor.storage.arrays:
        for each in declaration.properties:
            if isinstance(each, IncreasingTuple):
                names = tuple(f"{prefix}_{name}" for name in each.arrays)
                found.update(dict.fromkeys(names, names))
    return found


def _bounds(declaration: ArrayDeclaration, sizes: Mapping[str, int]) -> tuple[int | None, int | None]:
    low: int | None = None
    high: int | None = None
    for each in declaration.properties:
        match each:
            case InRange(first, end):
                low, high = evaluate_size(first, sizes), evaluate_size(end, sizes) - 1
            case Pad(value) if low is not None and high is not None:
                padding = evaluate_size(value, sizes)
                low, high = min(low, padding), max(high, padding)
            case _:
                pass
    return low, high


def _ends(declaration: ArrayDeclaration, sizes: Mapping[str, int]) -> tuple[int | None, int | None]:
    for each in declaration.properties:
        if isinstance(each, FromTo):
            return evaluate_size(each.first, sizes), evaluate_size(each.last, sizes)
    return None, None
