"""``.npy`` and ``.npz``, NumPy's files of arrays: those that are large are mapped into memory, not read.

A mapped array is read from its file as it is used, and takes no memory of its own; the file must not be
changed meanwhile. Members of an ``.npz`` can be mapped if they are not compressed and begin at a multiple
of their elements' size, as all that storel writes do.
"""

from __future__ import annotations

import math
import os
import struct
import tokenize
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from storel.arrays import Array
from storel.errors import DataError
from storel.host.text import reading
from storel.storage.files.contents import reason

MAPPED_FROM = 1 << 24
"""The size in bytes from which arrays are mapped: reading less costs no more than mapping it."""

_SIGNATURE, _LOCAL_HEADER = b"PK\x03\x04", struct.Struct("<4s5H3I2H")
_ZIP64_FIELD_SIZE = 20
_ALIGNMENT_KIND, _ALIGNMENT_FIELD = 0xD935, struct.Struct("<3H")
_ENCRYPTED = 1
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


_DAMAGED = (ValueError, EOFError, TypeError, OverflowError, MemoryError, tokenize.TokenError)
"""What NumPy raises for an array whose header is none, or tells more than there is."""


def read_array(path: Path) -> Array:
    """Return the array in a ``.npy`` file: read if it is small, else mapped into memory."""
    with reading(path) as stream:
        try:
            if path.stat().st_size >= MAPPED_FROM:
                return np.asarray(np.lib.format.open_memmap(path, mode="r"))
            return np.lib.format.read_array(stream, allow_pickle=False)
        except _DAMAGED as error:
            raise DataError(f"{path} is not a usable .npy file: {_reason(error)}") from error


def read_archive(path: Path) -> dict[str, Array]:
    """Return all arrays in a ``.npz`` file; large ones that are not compressed are mapped into memory."""
    found: dict[str, Array] = {}
    with reading(path) as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                for entry in archive.infolist():
                    mapped = _mapped_member(path, entry)
                    found[entry.filename.removesuffix(".npy")] = (
                        _read_member(archive, entry) if mapped is None else mapped
                    )
        except (*_DAMAGED, zipfile.BadZipFile, NotImplementedError, struct.error) as error:
            raise DataError(f"{path} is not a usable .npz file: {_reason(error)}") from error
    return found


def write_archive(arrays: Mapping[str, Array], stream: BinaryIO) -> None:
    """Write arrays by their names as ``.npz``, not compressed; each can be mapped when it is read."""
    with zipfile.ZipFile(stream, "w") as archive:
        for name, array in arrays.items():
            entry = _aligned_entry(f"{name}.npy", archive.start_dir)
            with archive.open(entry, "w", force_zip64=True) as member:
                np.lib.format.write_array(cast(BinaryIO, member), np.asarray(array), allow_pickle=False)


def _reason(error: Exception) -> str:
    """Return why an array cannot be read; how Python fails to evaluate its header tells readers nothing."""
    if isinstance(error, TypeError | tokenize.TokenError) or "malformed node" in str(error):
        return "its header does not describe an array"
    return reason(error)


def _read_member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Array:
    if entry.flag_bits & _ENCRYPTED:
        raise ValueError(f"its {entry.filename} is encrypted")
    with archive.open(entry) as member:
        return np.lib.format.read_array(cast(BinaryIO, member), allow_pickle=False)


def _mapped_member(path: Path, entry: zipfile.ZipInfo) -> Array | None:
    """Map a large member that lies in the file as it is; None for any other, and if it is not aligned."""
    is_plain = entry.compress_type == zipfile.ZIP_STORED and not entry.flag_bits & _ENCRYPTED
    if not is_plain or entry.file_size < MAPPED_FROM:
        return None
    with path.open("rb") as stream:
        stream.seek(entry.header_offset)
        signature, *_, name_length, extra_length = _LOCAL_HEADER.unpack(stream.read(_LOCAL_HEADER.size))
        if signature != _SIGNATURE:
            return None
        begin = stream.seek(name_length + extra_length, os.SEEK_CUR)
        read_header = _HEADERS.get(np.lib.format.read_magic(stream))
        if read_header is None:
            return None
        shape, is_fortran, dtype = read_header(stream)
        start, size = stream.tell(), math.prod(shape) * dtype.itemsize
    if dtype.hasobject or start % dtype.alignment or start + size > begin + entry.file_size:
        return None
    order = "F" if is_fortran else "C"
    return np.asarray(np.memmap(path, dtype, mode="r", offset=start, shape=shape, order=order))


def _aligned_entry(name: str, position: int) -> zipfile.ZipInfo:
    """Describe a member that is written at ``position`` such that its data can be mapped.

    A field of the size that it takes stands before it, the one that Android's archives have for this.
    """
    entry = zipfile.ZipInfo(name)
    before = position + _LOCAL_HEADER.size + len(name.encode()) + _ALIGNMENT_FIELD.size + _ZIP64_FIELD_SIZE
    padding = -before % np.lib.format.ARRAY_ALIGN
    field = _ALIGNMENT_FIELD.pack(_ALIGNMENT_KIND, 2 + padding, np.lib.format.ARRAY_ALIGN)
    entry.extra = field + bytes(padding)
    return entry
