"""Packing of matrices that are drawn, into shipped formats and into formats of one mapping."""

from __future__ import annotations

from typing import Any

import numpy as np

from storel.source import Source
from storel.storage.formats.format import Format
from storel.storage.formats.known import Formats
from storel.storage.formats.properties import verify_properties
from storel.storage.tensor import Tensor, pack
from storel.syntax.nodes.statements import CreateFormat
from storel.syntax.parser import parse, parse_format

FORMATS = Formats()


def resolved(text: str) -> Format:
    return FORMATS.resolve(parse_format(text), 2)


def created(text: str) -> Format:
    (statement,) = parse(Source("test", f"CREATE FORMAT f(T: real[m, n]) {text}")).statements
    assert isinstance(statement, CreateFormat)
    return Format("f", statement)


def from_dense(storage: Format, dense: Any, semiring: str = "plus_times") -> Tensor:
    """Pack every place, zeros included, in an order that is not sorted."""
    coordinates = np.indices(dense.shape).reshape(dense.ndim, -1)[:, ::-1]
    return pack(storage, coordinates, dense.reshape(-1)[::-1], dense.shape, semiring)


def check(storage: Format, dense: Any) -> Tensor:
    tensor = from_dense(storage, dense)
    verify_properties(tensor.storage, tensor.arrays, tensor.sizes)
    np.testing.assert_array_equal(tensor.to_numpy(), dense)
    assert tensor.nnz == np.count_nonzero(dense)
    assert tensor.dtype == dense.dtype
    return tensor


def matrix(text: str) -> Any:
    """Read a matrix as the formats' comments draw it."""
    return np.array([[float(word.replace(".", "0")) for word in row.split()] for row in text.split("/")])
