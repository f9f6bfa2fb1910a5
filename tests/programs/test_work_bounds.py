"""The work of a plan is bounded by what its operands store, however the program is written.

    work(plan(variant)) <= bound(kernel)        for every way of writing the kernel that ``variants`` draws

The bounds are those of a program written by hand for the kernel; where one holds in some formats only, the
others would need an order that they do not store. What is listed unsorted is sorted afterwards: that counts
as n ceil(log2 n) steps of the workspace for n entries.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pytest
from strategies.variants import TRANSPOSED, Either, Factor, Operand, Variant, Writer, addition

import storel
from storel.arrays import Array
from storel.execution.run import measure
from storel.loops.interpret import Work
from storel.loops.python_source import sorting_steps
from storel.optimizer.outcome import Options
from storel.plan.nodes import (
    Accumulate,
    Action,
    Bind,
    Coordinates,
    Enter,
    Guard,
    Loop,
    ScalarStore,
    Store,
    Together,
    Unite,
)

Arrays = dict[str, Array]

SEEDS = range(3)
WIDTH = 4
"""The columns of dense factors."""

EXTENTS = ({"i": 40, "j": 30, "k": 35, "l": 9, "r": WIDTH}, {"i": 15, "j": 60, "k": 50, "l": 20, "r": WIDTH})
DENSITIES = (0.1, 0.05)

ROWS = ("csr", "dcsr", "csf")
MATRICES = (*ROWS, "coo", "csc")
TENSORS = ("csf", "coo")


@dataclass(frozen=True)
class Kernel:
    """A product of tensors, those in ``sparse`` in one of the ``formats``, and a bound of its work."""

    name: str
    output: str
    factors: tuple[Factor, ...]
    sparse: str
    formats: tuple[str, ...]
    bound: Callable[[Work, Arrays], bool]

    def operands(self) -> Iterator[Operand]:
        """Yield each tensor once."""
        every = (
            (factor.left, factor.right) if isinstance(factor, Either) else (factor,)
            for factor in self.factors
        )
        yield from {operand.name: operand for operand in chain(*every)}.values()

    def arrays(self, extents: dict[str, int], density: float) -> Arrays:
        """Return random operands; parameters are none of them."""
        generator = np.random.default_rng(0)
        found: Arrays = {}
        for operand in self.operands():
            shape = tuple(extents[letter] for letter in operand.letters)
            array = generator.random(shape) + 0.5
            if operand.name in self.sparse:
                array[generator.random(shape) > density] = 0
            if shape:
                found[operand.name] = array
        return found

    def numpy(self, arrays: Arrays) -> Array:
        """Return the answer by dense arithmetic."""

        def read(factor: Factor) -> Array:
            if isinstance(factor, Either):
                return arrays[factor.left.name] + arrays[factor.right.name]
            return arrays[factor.name] if factor.letters else np.array(0.5)

        letters = ",".join(factor.letters for factor in self.factors)
        return np.einsum(f"{letters}->{self.output}", *map(read, self.factors))

    def variant(self, seed: str, storage: str) -> Variant:
        """Write the kernel in one of its ways."""
        writer = Writer(self.output, self.factors, frozenset(self.sparse), random.Random(seed))
        return writer.variant(storage in TRANSPOSED)


def nnz(*arrays: Array) -> int:
    return sum(int(np.count_nonzero(array)) for array in arrays)


def products(left: Array, right: Array) -> int:
    """Return the number of pairs of entries that a matrix product multiplies."""
    return int(np.count_nonzero(left, axis=0) @ np.count_nonzero(right, axis=1))


def fibers(tensor: Array) -> int:
    """Return the number of pairs of the first two keys that have entries."""
    return int(np.count_nonzero(tensor.any(axis=2)))


def spmv(work: Work, arrays: Arrays) -> bool:
    return work.multiplications <= nnz(arrays["A"])


def batax(work: Work, arrays: Arrays) -> bool:
    """Each row of A is read at most twice."""
    entries, rows = nnz(arrays["A"]), len(arrays["A"])
    return work.multiplications <= 2 * entries + 3 * rows and work.iterations <= 2 * entries + rows


def mmm(work: Work, arrays: Arrays) -> bool:
    return work.multiplications == products(arrays["A"], arrays["B"])


def summm(work: Work, arrays: Arrays) -> bool:
    """Either operand's sums are stored, whichever is written first."""
    left, right = arrays["A"], arrays["B"]
    rows, columns = left.shape
    most = nnz(left, right) + columns + 2 * max(rows, right.shape[1])
    factored = max(nnz(left), nnz(right)) + columns
    return work.multiplications <= factored and work.iterations <= most


def mttkrp(work: Work, arrays: Arrays) -> bool:
    return work.multiplications <= WIDTH * (nnz(arrays["B"]) + fibers(arrays["B"]))


def ttm(work: Work, arrays: Arrays) -> bool:
    return work.multiplications <= WIDTH * nnz(arrays["B"])


def sddmm(work: Work, arrays: Arrays) -> bool:
    return work.multiplications <= (WIDTH + 1) * nnz(arrays["S"])


def scaled(work: Work, arrays: Arrays) -> bool:
    """Once per entry an addition of values and one into the result, whose rows or columns are counted."""
    entries = nnz(arrays["A"])
    return work.multiplications <= entries and work.additions <= 2 * entries + sum(arrays["A"].shape)


A, B = Operand("A", "ij"), Operand("B", "jk")

KERNELS = (
    Kernel("spmv", "i", (A, Operand("x", "j")), "A", MATRICES, spmv),
    Kernel(
        "batax",
        "j",
        (Operand("beta", ""), A, Operand("A", "ik"), Operand("x", "k")),
        "A",
        ROWS,
        batax,
    ),
    Kernel("mmm", "ik", (A, B), "AB", MATRICES, mmm),
    Kernel("summm", "", (A, B), "AB", MATRICES, summm),
    Kernel(
        "mttkrp", "ir", (Operand("B", "ikl"), Operand("C", "kr"), Operand("D", "lr")), "B", ("csf",), mttkrp
    ),
    Kernel("ttm", "ijr", (Operand("B", "ijl"), Operand("C", "rl")), "B", TENSORS, ttm),
    Kernel(
        "sddmm",
        "ij",
        (Operand("S", "ij"), Operand("A", "ir"), Operand("B", "rj")),
        "S",
        (*ROWS, "coo"),
        sddmm,
    ),
    Kernel("scale-by-sum", "ij", (A, Either(Operand("b", "i"), Operand("c", "i"))), "A", MATRICES, scaled),
)

CASES = [
    pytest.param(kernel, storage, seed, id=f"{kernel.name}-{storage}-{seed}")
    for kernel in KERNELS
    for storage in kernel.formats
    for seed in SEEDS
]


def packed(variant: Variant, arrays: Arrays, sparse: str, storage: str) -> dict[str, storel.Tensor]:
    """Return the operands under the names of the variant; a transposed one has the same arrays."""
    found: dict[str, storel.Tensor] = {}
    for name, array in arrays.items():
        turned = name in variant.transposed
        chosen = "dense" if name not in sparse else TRANSPOSED[storage] if turned else storage
        found[variant.names[name]] = storel.tensor(np.ascontiguousarray(array.T) if turned else array, chosen)
    return found


def run(text: str, operands: dict[str, storel.Tensor]) -> tuple[storel.Kernel, Array, Work]:
    kernel = storel.compile(text, **operands)
    result, work = measure(kernel.compilation, kernel.environment)
    return kernel, result.to_numpy(), work


def stores(action: Action) -> Iterator[Store]:
    """Yield what an action stores on the way."""
    match action:
        case Accumulate():
            return
        case Bind(store, value, body):
            yield store
            yield from stores(value)
            yield from stores(body)
        case Enter(_, body) | Loop(_, body) | Guard(_, body):
            yield from stores(body)
        case Together(actions) | Unite(actions):
            for each in actions:
                yield from stores(each)


@pytest.mark.parametrize(("kernel", "storage", "seed"), CASES)
def test_work_is_bounded(kernel: Kernel, storage: str, seed: int) -> None:
    variant = kernel.variant(f"{kernel.name} {seed}", storage)
    arrays = kernel.arrays(EXTENTS[seed % 2], DENSITIES[seed % 2])
    compiled, result, work = run(variant.text, packed(variant, arrays, kernel.sparse, storage))
    np.testing.assert_allclose(result, kernel.numpy(arrays), rtol=1e-10, atol=1e-12)
    assert kernel.bound(work, arrays), f"{variant.text}\n{compiled.plan}\n{work}"
    if kernel.name == "batax":
        kept = list(stores(compiled.compilation.plan.action))
        assert all(isinstance(store, ScalarStore) for store in kept), compiled.plan


def steps(work: Work, entries: int) -> int:
    """Return the iterations, the steps of sorting, and those of searches among so many entries."""
    return work.iterations + work.workspace + work.lookups * entries.bit_length()


@pytest.mark.parametrize("storage", MATRICES)
@pytest.mark.parametrize("seed", SEEDS)
def test_matrices_are_added_in_one_pass(storage: str, seed: int) -> None:
    """Lists are not indexed by rows: their rows are searched, or all entries are listed and sorted.

    Whichever is done, it takes no more steps than a sort of all entries by comparison: n ceil(log2 n).
    """
    chosen = random.Random(f"addition {seed}")
    variant = addition(chosen, storage in TRANSPOSED)
    arrays = KERNELS[2].arrays({"i": 40, "j": 40, "k": 40}, DENSITIES[seed % 2])
    left, right = arrays["A"], arrays["B"]
    compiled, result, work = run(variant.text, packed(variant, arrays, "AB", storage))
    np.testing.assert_allclose(result, left + right)
    entries, rows = nnz(left, right), max(left.shape)
    assert work.multiplications == 0
    if storage == "coo":
        most = entries + sorting_steps(entries) + 3 * rows
        assert steps(work, entries) <= most, f"{variant.text}\n{compiled.plan}\n{work}"
    else:
        assert work.iterations <= entries + 3 * rows, f"{variant.text}\n{compiled.plan}\n{work}"


@pytest.mark.parametrize(
    "script",
    [
        "CREATE TENSOR s AS sum(<(i, j), a> in A, <(j, k), b> in B) a * b",
        "CREATE TENSOR s AS sum(<(i, j), a> in A, <(j, k), b> in A, <(i, k), c> in A) a * b * c",
    ],
    ids=["sum of a product", "triangles"],
)
def test_buckets_take_a_few_times_the_work_of_rows(script: str) -> None:
    """A bucket has one element on average: it takes a step for the row, the bucket and the element each."""
    drawn = np.random.default_rng(8)
    given = {name: drawn.integers(1, 9, (200, 200)) * (drawn.random((200, 200)) < 0.1) for name in "AB"}
    given = {name: given[name] for name in given if f"in {name}" in script}
    iterations: dict[str, int] = {}
    for text in ("csr", "hash"):
        stored = {name: storel.tensor(dense, text) for name, dense in given.items()}
        kernel = storel.compile(script, search=Options(patience=math.inf), **stored)
        iterations[text] = measure(kernel.compilation, kernel.environment)[1].iterations
    assert iterations["hash"] <= 3 * iterations["csr"]


def test_the_sort_of_listed_entries_is_counted() -> None:
    """By rows and by columns there is no order in common."""
    left, right = np.eye(6)[::-1], np.eye(6)
    operands = {"A": storel.tensor(left, "csc"), "B": storel.tensor(right, "csr")}
    compiled, result, work = run("CREATE TENSOR r STORED AS csr AS A + B", operands)
    np.testing.assert_array_equal(result, left + right)
    assert isinstance(compiled.compilation.plan.destination, Coordinates)
    assert work.workspace == sorting_steps(12)
