"""The kernels, for tensors of any rank, and what NumPy answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from entries import Array, Entries, numbered, summed

WIDTH = 4
"""The number of columns of dense factors."""

KEYS = ("i", "j", "k", "l")

Operands: TypeAlias = Mapping[str, Array | Entries]


@dataclass(frozen=True, slots=True)
class Question:
    """An expression over A and other operands, given the names of A's keys; ``answer`` is NumPy's."""

    expression: Callable[[tuple[str, ...]], str]
    operands: Callable[[Entries], Operands]
    answer: Callable[[Entries, Operands], Entries]
    ranks: tuple[int, ...] = (1, 2, 3, 4)

    def text(self, rank: int) -> str:
        return f"CREATE TENSOR Y AS {self.expression(KEYS[:rank])}"

    def magnitude(self, given: Entries, operands: Operands) -> float:
        """Return the largest entry of the answer where all terms of a sum have one sign."""
        sizes = {name: _sizes(each) if isinstance(each, Entries) else each for name, each in operands.items()}
        return float(max(self.answer(_sizes(given), sizes).values, default=0))


def _sizes(given: Entries) -> Entries:
    return given.with_values(abs(given.values))


def _entries(keys: tuple[str, ...]) -> str:
    return f"<({', '.join(keys)}), a> in A" if keys[1:] else f"<{keys[0]}, a> in A"


def _at(keys: tuple[str, ...], value: str) -> str:
    return f"{{ ({', '.join(keys)}) -> {value} }}" if keys else value


def _over(keys: tuple[str, ...], body: str) -> str:
    return f"sum({_entries(keys)}) {body}"


def _dense(*shape: int) -> Array:
    return np.random.default_rng(shape).integers(1, 5, shape).astype(np.float64)


def _vector_answer(given: Entries, operands: Operands) -> Entries:
    return summed(given.shape[:-1], given.keys[:-1], given.values * _array(operands["x"])[given.keys[-1]])


def _matrix_answer(given: Entries, operands: Operands) -> Entries:
    values = given.values[:, None] * _array(operands["C"])[given.keys[-1]]
    return _rows_summed(given.shape[:-1], given.keys[:-1], values)


def _mttkrp_answer(given: Entries, operands: Operands) -> Entries:
    factors = _array(operands["C"])[given.keys[1]] * _array(operands["D"])[given.keys[2]]
    return _rows_summed(given.shape[:1], given.keys[:1], given.values[:, None] * factors)


def _rows_summed(shape: tuple[int, ...], keys: Array, rows: Array) -> Entries:
    """Add up rows of values, each at a key; the columns are one more dimension."""
    columns = np.tile(np.arange(WIDTH), len(rows))
    repeated = np.concatenate((np.repeat(keys, WIDTH, axis=1), columns[None]))
    return summed((*shape, WIDTH), repeated, rows.ravel())


def _other(given: Entries) -> Operands:
    """Return entries of the same shape and type, half of them where the given ones are."""
    moved = given.keys.copy()
    moved[-1, ::2] = (moved[-1, ::2] + 1) % max(given.shape[-1], 1)
    _, first = np.unique(numbered(given.shape, moved), return_index=True)
    return {"B": Entries(given.shape, moved[:, first], given.values[first])}


def _sum_answer(given: Entries, operands: Operands) -> Entries:
    other = operands["B"]
    assert isinstance(other, Entries)
    keys = np.concatenate((given.keys, other.keys), axis=1)
    return summed(given.shape, keys, np.concatenate((given.values, other.values)))


def _form_answer(given: Entries, operands: Operands) -> Entries:
    products = given.values.astype(np.float64)
    for key, axis in zip(KEYS, given.keys, strict=False):
        products = products * _array(operands[f"x{key}"])[axis]
    return summed((), given.keys[:0], products)


def _count_answer(given: Entries, _: Operands) -> Entries:
    return summed((), given.keys[:0], (given.values != 0).astype(np.int64))


def _array(operand: Array | Entries) -> Array:
    assert isinstance(operand, np.ndarray)
    return operand


QUESTIONS: Mapping[str, Question] = {
    "times vector": Question(
        lambda keys: _over(keys, _at(keys[:-1], f"a * x({keys[-1]})")),
        lambda given: {"x": _dense(given.shape[-1])},
        _vector_answer,
    ),
    "times matrix": Question(
        lambda keys: f"sum({_entries(keys)}, <({keys[-1]}, r), c> in C) {_at((*keys[:-1], 'r'), 'a * c')}",
        lambda given: {"C": _dense(given.shape[-1], WIDTH)},
        _matrix_answer,
        (1, 2, 3),
    ),
    "A + B": Question(lambda _: "A + B", _other, _sum_answer),
    "row sums": Question(
        lambda keys: _over(keys, _at(keys[:1], "a")),
        lambda _: {},
        lambda given, _: summed(given.shape[:1], given.keys[:1], given.values),
    ),
    "transposed": Question(
        lambda keys: _over(keys, _at(keys[::-1], "a")),
        lambda _: {},
        lambda given, _: summed(given.shape[::-1], given.keys[::-1], given.values),
        (2, 3, 4),
    ),
    "form": Question(
        lambda keys: _over(keys, " * ".join(("a", *(f"x{key}({key})" for key in keys)))),
        lambda given: {f"x{key}": _dense(extent) for key, extent in zip(KEYS, given.shape, strict=False)},
        _form_answer,
    ),
    "count": Question(
        lambda keys: f"count({_entries(keys).replace(' a>', ' _>')})", lambda _: {}, _count_answer
    ),
    "MTTKRP": Question(
        lambda keys: f"sum({_entries(keys)}, <(j, r), c> in C, <(k, r), d> in D) {{ (i, r) -> a * c * d }}",
        lambda given: {"C": _dense(given.shape[1], WIDTH), "D": _dense(given.shape[2], WIDTH)},
        _mttkrp_answer,
        (3,),
    ),
}
"""By name; "form" is x'Ay at rank 2, where x and y differ if only the extents do."""
