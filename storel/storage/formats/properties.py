"""Declared lengths and properties of arrays: evaluated, checked, and never merely believed.

Every check is O(length) with NumPy, most in little memory, and its message names the first offending
position.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from storel.arrays import Array
from storel.errors import DataError, FormatError, TypeMismatchError, UnknownNameError, nearest
from storel.storage.blocks import blocks, is_ascending, steps
from storel.storage.formats.format import Format
from storel.storage.formats.sizes import evaluate_size, free_size_names, solved_size
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
from storel.syntax.nodes.expressions import Name


def lengths(storage: Format, sizes: Mapping[str, int], arrays: Mapping[str, Array]) -> dict[str, int]:
    """Return ``sizes`` with the length symbols that the arrays determine.

    Raises DataError for an array that is missing, has a wrong length, or holds numbers of the wrong kind.
    """
    known = dict(sizes)
    for declaration in storage.arrays:
        array = arrays.get(declaration.name)
        if array is None:
            wanted = ", ".join(each.name for each in storage.arrays)
            raise DataError(
                f"format {storage.name} needs the array {declaration.name}",
                expected=wanted,
                found=", ".join(sorted(arrays)) or "none",
            )
        _check_type(declaration, array)
        (length,) = declaration.type.extents
        if isinstance(length, Name) and length.name not in known:
            known[length.name] = len(array)
    for declaration in storage.arrays:
        for each in declaration.properties:
            if isinstance(each, FromTo) and isinstance(each.last, Name) and len(arrays[declaration.name]):
                known.setdefault(each.last.name, int(arrays[declaration.name][-1]))
    for declaration in storage.arrays:
        (length,) = declaration.type.extents
        known |= solved_size(length, len(arrays[declaration.name]), known)
    for declaration in storage.arrays:
        (length,) = declaration.type.extents
        unknown = free_size_names(length) - set(known)
        if unknown:
            raise DataError(
                f"the length of {declaration.name} names {sorted(unknown)[0]}, which nothing fixes"
            )
        expected = evaluate_size(length, known)
        if len(arrays[declaration.name]) != expected:
            raise DataError(
                f"array {declaration.name} has the wrong length",
                expected=f"{expected} elements",
                found=f"{len(arrays[declaration.name])}",
            )
    return known


def verify_properties(storage: Format, arrays: Mapping[str, Array], sizes: Mapping[str, int]) -> None:
    """Raise DataError unless the arrays have all properties that ``storage`` declares."""
    for declaration in storage.arrays:
        verify_array(declaration, arrays, sizes)


def verify_made(
    name: str, declaration: ArrayDeclaration, arrays: Mapping[str, Array], sizes: Mapping[str, int]
) -> None:
    """Raise FormatError unless an array that was made of entries is as its format declares it."""
    try:
        verify_array(declaration, arrays, sizes)
    except DataError as error:
        raise FormatError(
            f"{name}: the entries do not fit what is declared of {declaration.name}: {error.message}",
            expected=error.expected,
            span=declaration.span,
        ) from error


def verify_array(
    declaration: ArrayDeclaration, arrays: Mapping[str, Array], sizes: Mapping[str, int]
) -> None:
    """Raise DataError unless one array has its declared properties, StorelError for what they name."""
    name, array = declaration.name, arrays[declaration.name]
    padding = [evaluate_size(p.value, sizes) for p in declaration.properties if isinstance(p, Pad)]
    for each in declaration.properties:
        match each:
            case InRange(low, high):
                bounds = evaluate_size(low, sizes), evaluate_size(high, sizes)
                _check_range(name, array, *bounds, padding)
            case Ascending():
                _check_steps(name, array, strict=False, boundaries=None)
            case Increasing(within):
                boundaries = None if within is None else _named(within, declaration, arrays)
                _check_steps(name, array, strict=True, boundaries=boundaries)
            case IncreasingTuple(names):
                named = [_named(other, declaration, arrays) for other in names]
                if len({len(other) for other in named}) > 1:
                    raise DataError(f"the arrays {', '.join(names)} are not of one length")
                _check_tuples(names, named)
            case DistinctElements():
                _check_distinct(name, array)
            case FromTo(first, last):
                _check_ends(name, array, evaluate_size(first, sizes), evaluate_size(last, sizes))
            case Pad():
                pass


def _named(name: str, declaration: ArrayDeclaration, arrays: Mapping[str, Array]) -> Array:
    """Return the array that a property names; raises UnknownNameError, TypeMismatchError for no integers."""
    if name not in arrays:
        raise UnknownNameError(f"unknown array '{name}'", span=declaration.span, hint=nearest(name, arrays))
    if not np.issubdtype(arrays[name].dtype, np.integer):
        raise TypeMismatchError(
            f"array {name} holds {arrays[name].dtype} numbers", expected="integers", span=declaration.span
        )
    return arrays[name]


def _check_type(declaration: ArrayDeclaration, array: Array) -> None:
    is_integer = np.issubdtype(array.dtype, np.integer)
    if array.ndim != 1:
        raise DataError(f"array {declaration.name} has {array.ndim} dimensions", expected="one dimension")
    if declaration.holds_indices and not is_integer:
        raise DataError(
            f"array {declaration.name} holds {array.dtype} numbers",
            expected="integers",
            hint="positions and keys must be int32 or int64",
        )


def _check_range(name: str, array: Array, low: int, high: int, padding: list[int]) -> None:
    for piece in blocks(len(array)):
        part = array[piece]
        outside = (part < low) | (part >= high)
        for element in padding:
            outside &= part != element
        if outside.any():
            first = piece.start + int(np.argmax(outside))
            raise DataError(f"{name}({first}) = {array[first]} is outside {low}:{high}")


def _check_steps(name: str, array: Array, *, strict: bool, boundaries: Array | None) -> None:
    if boundaries is not None and not is_ascending(boundaries):
        boundaries = np.sort(boundaries)
    for piece, these, following in steps(array):
        broken = following <= these if strict else following < these
        if boundaries is not None:
            low, high = np.searchsorted(boundaries, (piece.start + 1, piece.stop + 1))
            broken[boundaries[low:high] - 1 - piece.start] = False
        if not broken.any():
            continue
        first = piece.start + int(np.argmax(broken))
        word = "INCREASING" if strict else "ASCENDING"
        place = ""
        if boundaries is not None:
            place = f" (segment {int(np.searchsorted(boundaries, first, side='right')) - 1})"
        raise DataError(
            f"{name}({first}) = {array[first]}, {name}({first + 1}) = {array[first + 1]}: not {word}{place}"
        )


def _check_tuples(names: tuple[str, ...], arrays: list[Array]) -> None:
    for piece in blocks(len(arrays[0]) - 1):
        greater = np.zeros(piece.stop - piece.start, dtype=bool)
        undecided = ~greater
        for array in arrays:
            these, following = array[piece], array[piece.start + 1 : piece.stop + 1]
            greater |= undecided & (following > these)
            undecided &= following == these
        if not greater.all():
            first = piece.start + int(np.argmin(greater))
            one, two = (tuple(int(array[at]) for array in arrays) for at in (first, first + 1))
            raise DataError(
                f"({', '.join(names)}) at {first} = {one}, at {first + 1} = {two}: not INCREASING"
            )


def _check_distinct(name: str, array: Array) -> None:
    order = np.argsort(array, kind="stable")
    repeated = np.flatnonzero(array[order][1:] == array[order][:-1])
    if len(repeated):
        first, second = (int(order[at]) for at in (repeated[0], repeated[0] + 1))
        raise DataError(f"{name}({first}) = {name}({second}) = {array[first]}: not UNIQUE")


def _check_ends(name: str, array: Array, first: int, last: int) -> None:
    for position, expected in ((0, first), (len(array) - 1, last)):
        if len(array) == 0 or array[position] != expected:
            found = "nothing" if len(array) == 0 else str(array[position])
            raise DataError(f"{name}({position}) is {found}", expected=str(expected))
