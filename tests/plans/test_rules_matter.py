"""Without a rule, plans are others: for each rule that decides one, a kernel and a layout that show it.

What the rest of the rules are for is in ``tests/rules``: there each has a case in which it fires.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from strategies.kernels import FORMATS, KERNELS

import storel
from storel.calculus.nodes import Term
from storel.optimizer.optimize import optimize
from storel.optimizer.outcome import Optimized
from storel.optimizer.rules.rulefile import shipped
from storel.symbols import Symbols

EXTENTS = {"i": 6, "j": 5, "k": 7, "l": 4}
SHARE_OF_ZEROS = 0.6

WITNESSES = {
    "add-singletons": ("add2", 2),
    "equal-symmetric": ("mttkrp", 4),
    "find-element": ("mmm", 1),
    "find-factor": ("batax", 1),
    "find-factor-singleton": ("mmm", 3),
    "fuse-if": ("mmm", 1),
    "fuse-singleton": ("mmm", 1),
    "fuse-sum": ("mmm", 1),
    "if-out-of-product-right": ("mttkrp", 4),
    "if-out-of-singleton": ("ttm", 1),
    "if-out-of-sum": ("mttkrp", 4),
    "if-true": ("batax", 0),
    "less-equal-true": ("batax", 0),
    "less-true": ("batax", 0),
    "let-inline": ("batax", 0),
    "lookup-if": ("mttkrp", 1),
    "lookup-singleton": ("mmm", 1),
    "lookup-sum": ("mmm", 1),
    "merge-join": ("mttkrp", 4),
    "multiply-associate": ("batax", 0),
    "multiply-commute": ("batax", 0),
    "scale-singleton-left-back": ("batax", 1),
    "select-inward": ("mttkrp", 3),
    "select-range": ("batax", 0),
    "sum-factor": ("batax", 0),
    "sum-factor-back": ("mttkrp", 3),
    "sum-factor-singleton": ("mmm", 1),
    "sum-interchange": ("mttkrp", 3),
    "sum-unite-same": ("add2", 3),
}


@cache
def searched(name: str, layout: int) -> tuple[Term, Symbols, Optimized]:
    """Return a kernel's term, the facts about it, and what all rules make of it."""
    (kernel,) = (each for each in KERNELS if each.name == name)
    rng = np.random.default_rng(0)
    tensors: dict[str, storel.Tensor] = {}
    for operand, letters in kernel.operands.items():
        values = rng.random(tuple(EXTENTS[letter] for letter in letters))
        values[rng.random(values.shape) < SHARE_OF_ZEROS] = 0
        formats = FORMATS[values.ndim]
        tensors[operand] = storel.tensor(values).to(formats[layout % len(formats)])
    compilation = storel.compile(kernel.script, **tensors).compilation
    term, symbols = compilation.term, compilation.symbols
    return term, symbols, optimize(term, symbols)


@pytest.mark.parametrize("rule", sorted(WITNESSES))
def test_without_the_rule_the_plan_is_another(rule: str) -> None:
    term, symbols, found = searched(*WITNESSES[rule])
    without = optimize(term, symbols, shipped().without(rule))
    assert (without.normalized, without.term) != (found.normalized, found.term)


def test_without_loops_united_that_are_added_later_a_sum_takes_longer() -> None:
    """Rows of two matrices, one of which is scaled, are added up without a table of each."""
    rng, given = np.random.default_rng(0), dict[str, storel.Tensor]()
    for name in "AB":
        values = rng.random((40, 40))
        given[name] = storel.tensor(np.where(values < 0.9, 0, values)).to("csr")
    script = "PARAMETER c: real = 2.0\nCREATE TENSOR R AS c * A + B"
    compilation = storel.compile(script, **given).compilation
    found = optimize(compilation.term, compilation.symbols)
    without = optimize(compilation.term, compilation.symbols, shipped().without("sum-unite"))
    assert without.cost.nanoseconds > 1.1 * found.cost.nanoseconds


@pytest.mark.parametrize(
    ("rule", "program"),
    [
        ("if-equality-out", "sum(<(i, j), a> in A) if a > 0.5 and i == j then a"),
        ("second-if-out-of-sum", "sum(<(i, j), _> in A, <i, _> in f) { j -> true }"),
    ],
)
def test_without_conditions_that_move_out_more_is_read(rule: str, program: str) -> None:
    """Diagonals are looked up, and of few rows only the entries are asked for, one of which is a zero."""
    rng = np.random.default_rng(0)
    matrix = sp.csr_array(np.where(rng.random((400, 400)) < 0.05, rng.random((400, 400)), 0))
    matrix.data[0] = 0
    given = {"A": storel.tensor(matrix), "f": storel.tensor(rng.random(400) < 0.02)}
    read = {name: tensor for name, tensor in given.items() if f"in {name}" in program}
    ring = "OVER or_and " if "true" in program else ""
    compilation = storel.compile(f"CREATE TENSOR r {ring}AS {program}", **read).compilation
    found = optimize(compilation.term, compilation.symbols)
    without = optimize(compilation.term, compilation.symbols, shipped().without(rule))
    assert without.cost.nanoseconds > 1.1 * found.cost.nanoseconds
