"""Tensors in the formats that take their arrays only: the product that each stands for, and its factors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from entries import FILLED, Array, Entries

Arguments: TypeAlias = Mapping[str, int]
Factored: TypeAlias = tuple[Entries, dict[str, Array]]


def _drawn(given: Entries, *shape: int) -> Array:
    """Return small integers of the given entries' type, a third of them zeros."""
    drawn = np.random.default_rng(shape).integers(0, 3, shape)
    return drawn.astype(given.values.dtype)


def _product(dense: Array) -> Entries:
    keys = np.array(np.nonzero(dense))
    return Entries(dense.shape, keys, dense[tuple(keys)])


def _low_rank(given: Entries, arguments: Arguments) -> Factored:
    rows, columns = given.shape
    u, v = _drawn(given, rows, arguments["k"]), _drawn(given, columns, arguments["k"])
    return _product(u @ v.T), {"u": u.ravel(), "v": v.ravel()}


def _kronecker(given: Entries, arguments: Arguments) -> Factored:
    p, q = arguments["p"], arguments["q"]
    a, b = _drawn(given, given.shape[0] // p, given.shape[1] // q), _drawn(given, p, q)
    return _product(np.kron(a, b)), {"a": a.ravel(), "b": b.ravel()}


def _star_join(given: Entries, arguments: Arguments) -> Factored:
    f, g = arguments["f"], arguments["g"]
    rows, columns = given.shape[0], max(0, given.shape[1] - f - g)
    own = _drawn(given, rows, columns)
    tables = [_drawn(given, rows // 4 + 1, f), _drawn(given, rows // 7 + 1, g)]
    keys = [np.arange(rows) * 3 % len(table) for table in tables]
    joined = np.concatenate((own, *(table[key] for table, key in zip(tables, keys, strict=True))), axis=1)
    arrays = {"own": own.ravel()}
    for number, (table, key) in enumerate(zip(tables, keys, strict=True), 1):
        arrays |= {f"key{number}": key, f"table{number}": table.ravel()}
    return _product(joined), arrays


def _limited(factored: Callable[[Entries, Arguments], Factored]) -> Callable[[Entries, Arguments], Factored]:
    def limited(given: Entries, arguments: Arguments) -> Factored:
        if np.prod(given.shape, dtype=float) > FILLED:
            raise MemoryError
        return factored(given, arguments)

    return limited


FACTORED: Mapping[str, Callable[[Entries, Arguments], Factored]] = {
    "low_rank": _limited(_low_rank),
    "kronecker": _limited(_kronecker),
    "star_join": _limited(_star_join),
}
"""For entries of a shape and a type, which the product has, up to what the format's sizes must divide."""
