"""Tensors in storage, built without a front end: terms as functions of the number of enclosing binders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pytest

from storel.calculus.nodes import (
    Add,
    Apply,
    Literal,
    Lookup,
    Multiply,
    Range,
    Singleton,
    Slice,
    Sum,
    Symbol,
    Term,
    Variable,
)
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, Fact, ParameterSymbol, SizeSymbol

Open: TypeAlias = Callable[[int], Term]
Matrix: TypeAlias = Any


def number(value: int) -> Open:
    return lambda _: Literal(value, ScalarType.INT64)


def name(text: str) -> Open:
    return lambda _: Symbol(text)


def bound(level: int) -> Open:
    return lambda depth: Variable(depth - 1 - level)


def total(source: Open, body: Callable[[Open, Open], Open]) -> Open:
    def build(depth: int) -> Term:
        return Sum(source(depth), body(bound(depth), bound(depth + 1))(depth + 2))

    return build


def entry(*keys_and_value: Open) -> Open:
    *keys, value = keys_and_value
    for key in reversed(keys):
        value = _entry(key, value)
    return value


def _entry(key: Open, value: Open) -> Open:
    return lambda d: Singleton(key(d), value(d))


def at(mapping: Open, *keys: Open) -> Open:
    for key in keys:
        mapping = _at(mapping, key)
    return mapping


def _at(mapping: Open, key: Open) -> Open:
    return lambda d: Lookup(mapping(d), key(d))


def plus(left: Open, right: Open) -> Open:
    return lambda d: Add(left(d), right(d))


def times(first: Open, *others: Open) -> Open:
    for other in others:
        first = _times(first, other)
    return first


def _times(left: Open, right: Open) -> Open:
    return lambda d: Multiply(left(d), right(d))


def call(function: str, *arguments: Open) -> Open:
    return lambda d: Apply(function, tuple(argument(d) for argument in arguments))


def span(low: Open, high: Open) -> Open:
    return lambda d: Range(low(d), high(d))


def part(array: Open, low: Open, high: Open) -> Open:
    return lambda d: Slice(array(d), low(d), high(d))


ONE = number(1)


@dataclass
class Store:
    """Symbols and data, and tensors packed into the formats by hand; some stored values are zero."""

    symbols: dict[str, Fact] = field(default_factory=dict[str, Fact])
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(7))

    def size(self, text: str, value: int) -> Open:
        self.symbols[text] = SizeSymbol(text, value)
        return name(text)

    def parameter(self, text: str, value: float) -> Open:
        self.symbols[text] = ParameterSymbol(text, ScalarType.FLOAT64)
        self.values[text] = value
        return name(text)

    def array(self, text: str, data: Any, **facts: Any) -> Open:
        array = np.asarray(data)
        self.symbols[text] = ArraySymbol(text, ScalarType(array.dtype.name), len(array), **facts)
        self.values[text] = array
        return name(text)

    def matrix(self, *shape: int) -> Matrix:
        data = self.random.integers(1, 9, shape).astype(float)
        data[self.random.random(shape) > 0.4] = 0
        return data

    def pack(self, kind: str, text: str, data: Matrix, sizes: tuple[str, ...]) -> Open:
        packers = {"dense": self.dense, "csr": self.csr, "csc": self.csc, "coo": self.coo, "csf": self.csf}
        return packers[kind](text, data, sizes)

    def dense(self, text: str, data: Matrix, sizes: tuple[str, ...]) -> Open:
        values = self.array(text, np.ravel(data))

        def level(depth: int, address: Open | None) -> Open:
            if depth == data.ndim:
                return at(values, address or number(0))
            extent = name(sizes[depth])

            def row(key: Open, _: Open) -> Open:
                return entry(key, level(depth + 1, plus(times(address, extent), key) if address else key))

            return total(span(number(0), extent), row)

        return level(0, None)

    def segments(self, text: str, data: Matrix) -> tuple[Open, Open, Open]:
        mask = (data != 0) | (self.random.random(data.shape) < 0.1)
        rows, columns = np.nonzero(mask)
        position = np.searchsorted(rows, np.arange(data.shape[0] + 1))
        return (
            self.array(f"{text}_pos", position, ascending=True, low=0, high=len(rows)),
            self.array(f"{text}_idx", columns, within=f"{text}_pos", low=0, high=data.shape[1] - 1),
            self.array(f"{text}_val", data[mask]),
        )

    def csr(self, text: str, data: Matrix, sizes: tuple[str, ...]) -> Open:
        pos, idx, val = self.segments(text, data)

        def row(i: Open, _: Open) -> Open:
            segment = part(idx, at(pos, i), at(pos, plus(i, ONE)))
            return entry(i, total(segment, lambda p, j: entry(j, at(val, p))))

        return total(span(number(0), name(sizes[0])), row)

    def csc(self, text: str, data: Matrix, sizes: tuple[str, ...]) -> Open:
        pos, idx, val = self.segments(text, data.T)

        def column(j: Open, _: Open) -> Open:
            segment = part(idx, at(pos, j), at(pos, plus(j, ONE)))
            return total(segment, lambda p, i: entry(i, j, at(val, p)))

        return total(span(number(0), name(sizes[1])), column)

    def coo(self, text: str, data: Matrix, sizes: tuple[str, ...]) -> Open:
        places = np.argwhere(data != 0)
        names = tuple(f"{text}_{depth}" for depth in range(data.ndim))
        keys = [
            self.array(
                names[depth], places[:, depth], group=names if depth == 0 else (), ascending=depth == 0,
                increasing=data.ndim == 1, low=0, high=data.shape[depth] - 1,
            )
            for depth in range(data.ndim)
        ]  # fmt: skip
        val = self.array(f"{text}_val", data[data != 0])
        whole = part(keys[0], number(0), self.size(f"{text}_nnz", len(places)))
        return total(whole, lambda p, i: entry(i, *(at(key, p) for key in keys[1:]), at(val, p)))

    def csf(self, text: str, data: Matrix, sizes: tuple[str, ...]) -> Open:
        places = np.argwhere(data != 0)
        fibers = np.unique(places[:, :2], axis=0)
        rows = np.unique(fibers[:, 0])
        pos2 = np.searchsorted(fibers[:, 0], np.append(rows, data.shape[0]))
        flat = [tuple(fiber) for fiber in fibers]
        owner = np.array([flat.index((i, j)) for i, j, _ in places])
        pos3 = np.searchsorted(owner, np.arange(len(fibers) + 1))
        shape = data.shape
        idx1 = self.array(f"{text}_idx1", rows, increasing=True, low=0, high=shape[0] - 1)
        p2 = self.array(f"{text}_pos2", pos2, ascending=True, low=0, high=len(fibers))
        idx2 = self.array(f"{text}_idx2", fibers[:, 1], within=f"{text}_pos2", low=0, high=shape[1] - 1)
        p3 = self.array(f"{text}_pos3", pos3, ascending=True, low=0, high=len(places))
        idx3 = self.array(f"{text}_idx3", places[:, 2], within=f"{text}_pos3", low=0, high=shape[2] - 1)
        val = self.array(f"{text}_val", data[data != 0])

        def leaf(q: Open) -> Open:
            segment = part(idx3, at(p3, q), at(p3, plus(q, ONE)))
            return total(segment, lambda r, k: entry(k, at(val, r)))

        def fiber(p: Open) -> Open:
            segment = part(idx2, at(p2, p), at(p2, plus(p, ONE)))
            return total(segment, lambda q, j: entry(j, leaf(q)))

        whole = part(idx1, number(0), self.size(f"{text}_rows", len(rows)))
        return total(whole, lambda p, i: entry(i, fiber(p)))


@dataclass
class Program:
    """A program over tensors in given formats, with its data."""

    store: Store
    term: Term


def entries(matrix: Open, body: Callable[[Open, Open, Open], Open]) -> Open:
    """Sum ``body`` over the rows, columns and values of a matrix."""

    def row(i: Open, entry_row: Open) -> Open:
        def column(j: Open, value: Open) -> Open:
            return body(i, j, value)

        return total(entry_row, column)

    return total(matrix, row)


def build(kernel: str, *formats: str) -> Program:
    store = Store()
    extents = {"m": 5, "n": 7, "o": 4, "r": 3}
    for text, value in extents.items():
        store.size(text, value)

    def tensor(position: int, sizes: str) -> Open:
        data = store.matrix(*(extents[size] for size in sizes))
        return store.pack(formats[position], "ABCD"[position], data, tuple(sizes))

    def vector(text: str, size: str) -> Open:
        return store.dense(text, store.matrix(extents[size]), (size,))

    if kernel in ("mttkrp", "ttm"):
        term = _of_rank_three(kernel, tensor)
    elif kernel in ("spmv", "add and scale", "batax"):
        term = _with_vectors(kernel, tensor, vector, store)
    elif kernel in ("squares", "exponentials", "count", "gram", "triangles"):
        term = _of_one_matrix(kernel, tensor)
    else:
        term = _of_matrices(kernel, len(formats), tensor)
    return Program(store, term(0))


Tensors: TypeAlias = Callable[[int, str], Open]


def _with_vectors(kernel: str, tensor: Tensors, vector: Callable[[str, str], Open], store: Store) -> Open:
    matrix = tensor(0, "mn")
    if kernel == "spmv":
        x = vector("x", "n")
        return entries(matrix, lambda i, j, v: entry(i, times(v, at(x, j))))
    if kernel == "add and scale":
        both = plus(vector("b", "n"), vector("c", "n"))
        return entries(matrix, lambda i, j, v: entry(i, j, times(v, at(both, j))))
    x, beta = vector("x", "n"), store.parameter("beta", 0.5)

    def twice(i: Open, j: Open, a: Open) -> Open:
        return total(at(matrix, i), lambda k, b: entry(j, times(beta, a, b, at(x, k))))

    return entries(matrix, twice)


def _of_rank_three(kernel: str, tensor: Tensors) -> Open:
    cube = tensor(0, "mno")
    if kernel == "mttkrp":
        c, d = tensor(1, "nr"), tensor(2, "or")

        def leaf(i: Open, k: Open, h: Open, b: Open) -> Open:
            return total(at(c, k), lambda j, v: entry(i, j, times(b, v, at(d, h, j))))
    else:
        c = tensor(1, "ro")

        def leaf(i: Open, k: Open, h: Open, b: Open) -> Open:
            return total(c, lambda j, row: entry(i, k, j, times(b, at(row, h))))

    return total(cube, lambda i, plane: entries(plane, lambda k, h, b: leaf(i, k, h, b)))


def _of_one_matrix(kernel: str, tensor: Tensors) -> Open:
    if kernel == "triangles":
        graph = tensor(0, "nn")

        def wedge(i: Open, j: Open, v: Open) -> Open:
            return total(at(graph, j), lambda k, w: times(v, w, at(graph, i, k)))

        return entries(graph, wedge)
    matrix = tensor(0, "mn")
    if kernel == "gram":

        def pairs(i: Open, row: Open) -> Open:
            return total(row, lambda j, x: total(row, lambda k, y: entry(j, k, times(x, y))))

        return total(matrix, pairs)
    if kernel == "squares":
        return entries(matrix, lambda i, j, v: entry(i, times(v, v)))
    if kernel == "exponentials":
        return entries(matrix, lambda i, j, v: entry(j, call("exp", v)))
    return entries(matrix, lambda i, j, v: ONE)


def _of_matrices(kernel: str, count: int, tensor: Tensors) -> Open:
    if kernel in ("mmm", "summm"):
        left, right = tensor(0, "mn"), tensor(1, "no")

        def product(i: Open, k: Open, a: Open) -> Open:
            if kernel == "summm":
                return total(at(right, k), lambda j, b: times(a, b))
            return total(at(right, k), lambda j, b: entry(i, j, times(a, b)))

        return entries(left, product)
    if kernel == "sddmm":
        mask, c, d = tensor(0, "mn"), tensor(1, "mr"), tensor(2, "nr")

        def dot(i: Open, j: Open, v: Open) -> Open:
            return total(at(c, i), lambda k, w: entry(i, j, times(v, w, at(d, j, k))))

        return entries(mask, dot)
    if kernel == "transposed":
        straight, turned = tensor(0, "nn"), tensor(1, "nn")
        return entries(straight, lambda i, j, v: entry(i, j, times(v, at(turned, j, i))))
    first, second = tensor(0, "mn"), tensor(1, "mn")
    if kernel == "element-wise":
        return times(first, second)
    return plus(plus(first, second), tensor(2, "mn")) if count > 2 else plus(first, second)


@pytest.fixture
def program() -> Callable[..., Program]:
    return build
