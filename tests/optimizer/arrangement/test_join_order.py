"""The order of generators by statistics, and what it does for plans."""

from __future__ import annotations

import math
from itertools import permutations
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import storel
from storel.compilation import compiler
from storel.optimizer.arrangement.join_order import TRIED, orders
from storel.optimizer.outcome import Options
from storel.symbols import Symbols
from storel.syntax.nodes.expressions import Expression, Generator, Mapped, Range, Sum


def sparse(*shape: int, entries: int, storage: str) -> storel.Tensor:
    rng = np.random.default_rng(entries)
    places = rng.choice(int(np.prod(shape)), entries, replace=False)
    coordinates = np.array(np.unravel_index(np.sort(places), shape))
    return storel.tensor((coordinates, rng.random(entries) + 0.5), storage, shape=shape)


TENSORS: dict[str, Any] = {
    "A": sparse(60, 60, entries=900, storage="csr"),
    "B": sparse(60, 60, entries=100, storage="coo"),
    "C": sparse(60, 60, 60, entries=500, storage="csf"),
    "F": sp.csr_array(np.ones((60, 60))),
    "x": np.arange(60.0),
    "D": np.ones((60, 60)),
}


def orders_of(generators: str, body: str = "1.0", **options: Any) -> list[str]:
    """Return the sources of a sum in the orders that are tried, else as written, ranges as such."""
    program = f"CREATE TENSOR s AS sum({generators}) {body}"
    used = {name: tensor for name, tensor in TENSORS.items() if f"in {name}" in generators}
    compilation = storel.compile(program, **options, **used).compilation
    written = compilation.composed.expression
    found = orders(written, compilation.symbols) or (written,)
    return [" ".join(map(name, each.generators)) for each in found if isinstance(each, Sum)]


def name(generator: Generator) -> str:
    source = generator.source
    return source.tensor if isinstance(source, Mapped) else type(source).__name__


@pytest.mark.parametrize(
    ("generators", "expected"),
    [
        ("<j, v> in x, <(i, j), a> in A", "A x"),
        ("<(i, j), d> in D, <j, v> in x, <(j, i), a> in A", "A D x"),
        ("<(i, j), f> in F, <(i, j), b> in B", "B F"),
        ("<(i, j), a> in A, <(i, j), b> in B", "B A"),
        ("<(i, j), b> in B, <(k, l), a> in A, <(j, k, m), c> in C", "B C A"),
        ("<(k, l), a> in A, <(i, k, m), c> in C, <(i, j), b> in B", "B C A"),
        ("<i, _> in 0:30, <(i, j), a> in A", "A Range"),
        ("<(i, j), a> in A, <k, _> in i:60, <(k, j), b> in B", "B A Range"),
        ("<(i, j), a> in A", "A"),
    ],
)
def test_what_is_sparse_and_selective_comes_first(generators: str, expected: str) -> None:
    assert orders_of(generators) == [expected]


def test_of_several_generators_orders_begin_with_different_ones() -> None:
    found = orders_of("<(i, j), f> in F, <(k, l), a> in A, <(i, k, m), c> in C, <(i, j), b> in B")
    assert found == ["B C A F", "C B A F", "A C B F"]
    assert len(found) == TRIED


def test_what_depends_on_another_generator_stays_behind_it() -> None:
    program = "CREATE TENSOR s AS sum(<k, _> in 0:60, <j, _> in 0:k, <(j, i), b> in B) b"
    compilation = storel.compile(program, B=TENSORS["B"]).compilation
    (found,) = orders(compilation.composed.expression, compilation.symbols)
    assert isinstance(found, Sum)
    assert [type(each.source) for each in found.generators] == [Mapped, Range, Range]
    assert [each.keys[0].name for each in found.generators][1:] == ["k", "j"]


def test_a_row_of_another_generator_leaves_all_as_written() -> None:
    program = "CREATE TENSOR s AS sum(<i, row> in A, <(i, j), b> in B, <j, v> in row) v * b"
    compilation = storel.compile(program, A=TENSORS["A"], B=TENSORS["B"]).compilation
    assert not orders(compilation.composed.expression, compilation.symbols)


def test_strict_floating_point_keeps_the_written_order() -> None:
    given = {name: TENSORS[name] for name in ("A", "x")}
    program = "CREATE TENSOR y AS sum(<j, v> in x, <(i, j), a> in A) { i -> a * v }"
    strict, free = (
        storel.compile(program, floating_point=mode, **given).compilation
        for mode in ("strict", "reassociate")
    )
    assert len(strict.optimized.report) == 1
    assert free.optimized.cost.nanoseconds < strict.optimized.cost.nanoseconds


JOINS = (
    (
        ("<(k, m, l), a> in A", "<(j, k), b> in B"),
        "{ (l, k) -> a * b }",
        {
            "A": sparse(20, 20, 60, entries=2400, storage="csf"),
            "B": sparse(5, 20, entries=2, storage="coo"),
        },
    ),
    (
        ("<(i, k), d> in D", "<(l, k), a> in A", "<(l, k, j), b> in B"),
        "{ (i, k) -> d * a * b }",
        {
            "A": sparse(5, 20, entries=30, storage="csr"),
            "B": sparse(5, 20, 20, entries=40, storage="coo"),
            "D": np.ones((60, 20)),
        },
    ),
    (
        (
            "<(j, l), d> in D",
            "<(i, l), a> in A",
            "<(k, m), b> in B",
            "<(m, k, l), c> in C",
            "<(j, l), e> in E",
        ),
        "{ j -> a * b * c * d * e }",
        {
            "A": sparse(5, 20, entries=2, storage="csc"),
            "B": sparse(20, 200, entries=400, storage="csr"),
            "C": sparse(200, 20, 20, entries=8000, storage="csf"),
            "D": np.ones((20, 20)),
            "E": np.full((20, 20), 2.0),
        },
    ),
)

COLLECTED = (
    ("<(i, l), a> in A", "<l, c> in x", "<(l, k), b> in B"),
    "{ k -> a * b * c }",
    {
        "A": sparse(5, 200, entries=300, storage="coo"),
        "B": sparse(200, 200, entries=800, storage="csf"),
        "x": np.ones(200),
    },
)
"""A join in which whatever is searched for is collected before (``sharing/collecting.py``)."""


def none(expression: Expression, symbols: Symbols) -> tuple[Expression, ...]:
    return ()


def costs(generators: tuple[str, ...], body: str, given: dict[str, Any]) -> list[float]:
    """Return what the plans of a join cost whose operands are named in other orders, all of them searched."""
    written = list(permutations(generators))[:: 1 if len(generators) < 4 else 40]
    programs = (f"CREATE TENSOR y AS sum({', '.join(each)}) {body}" for each in written)
    search = Options(patience=math.inf)
    compiled = (storel.compile(program, search=search, **given).compilation for program in programs)
    return [each.optimized.cost.nanoseconds for each in compiled]


@pytest.mark.parametrize(("generators", "body", "given"), [*JOINS, COLLECTED])
def test_a_plan_costs_the_same_in_whatever_order_operands_are_named(
    generators: tuple[str, ...], body: str, given: dict[str, Any]
) -> None:
    found = costs(generators, body, given)
    assert max(found) < 1.05 * min(found)


@pytest.mark.parametrize(("generators", "body", "given"), JOINS)
def test_rewriting_alone_does_not_exchange_whole_joins(
    generators: tuple[str, ...], body: str, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler, "orders", none)
    found = costs(generators, body, given)
    assert max(found) > 3 * min(found)
