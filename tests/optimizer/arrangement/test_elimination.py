"""Many operands: variables are eliminated one by one, before the e-graph sees the term."""

from __future__ import annotations

import gc
from typing import Any, TypeAlias

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies.terms import REAL, Surroundings, dictionary, surroundings, terms

import storel
from storel.calculus.interpret import evaluate
from storel.calculus.nodes import Apply, If, Literal, Lookup, Multiply, Range, Sum, Symbol, Term, Variable
from storel.calculus.printer import show
from storel.calculus.verify import InvariantError, infer
from storel.execution.run import measure
from storel.optimizer.arrangement.elimination import eliminated, in_order_of_joins
from storel.optimizer.egraph.facts import encoded
from storel.optimizer.egraph.saturate import saturate
from storel.optimizer.limits import Limits, Stop
from storel.optimizer.optimize import optimize
from storel.optimizer.rules.rulefile import IN_ORDER, shipped
from storel.scalars import ScalarType

Matrix: TypeAlias = Any
EXTENT = 20
ZERO, FIVE = (Literal(value, ScalarType.INT64) for value in (0, 5))
KEYS = Range(ZERO, FIVE)


def matrices(number: int) -> list[Matrix]:
    rng = np.random.default_rng(5)
    return [sp.csr_array(sp.random(EXTENT, EXTENT, 0.15, rng=rng)) for _ in range(number)]


@settings(max_examples=50, deadline=None)
@given(surroundings(), terms(REAL) | terms(dictionary(2)), st.booleans())
def test_the_value_stays(around: Surroundings, term: Term, earlier: bool) -> None:
    found = eliminated(term, earlier=earlier)
    try:
        is_typed = infer(found, around.symbols) == infer(term, around.symbols)
    except InvariantError:
        return
    if is_typed:
        one, other = (evaluate(each, around.symbols, around.values) for each in (found, term))
        assert one == other


def test_loops_stand_where_they_are_joined() -> None:
    """Two tables that only a third one joins stand beside each other in no order that is tried."""

    def read(name: str, index: int) -> Term:
        return Lookup(Symbol(name), Variable(index))

    def equal(left: Term, right: Term) -> Term:
        return Apply("equal", (left, right))

    third = Sum(
        KEYS, If(equal(read("a", 1), read("b", 3)), If(equal(read("c", 1), read("d", 5)), read("x", 3)))
    )
    apart = Sum(KEYS, Sum(KEYS, third))
    joined = in_order_of_joins(apart)
    assert joined is not None and show(joined) == (
        "sum(<i, _> in 0:5) sum(<j, _> in 0:5) (if (c(j) == d(i)) then "
        "sum(<k, _> in 0:5) (if (a(j) == b(k)) then x(k)))"
    )
    assert in_order_of_joins(joined) == joined
    alone = Sum(KEYS, Sum(KEYS, If(equal(read("a", 1), read("b", 3)), read("x", 3))))
    assert in_order_of_joins(alone) is None  # nothing else is between two loops


def chain(given: list[Matrix]) -> tuple[str, dict[str, Matrix], Any]:
    sources = ", ".join(f"<(k{i}, k{i + 1}), v{i}> in M{i}" for i in range(len(given)))
    product = " * ".join(f"v{i}" for i in range(len(given)))
    expected = np.ones(EXTENT)
    for matrix in reversed(given):
        expected = matrix @ expected
    return (
        f"CREATE TENSOR s AS sum({sources}) {{k0 -> {product}}}",
        {f"M{i}": matrix for i, matrix in enumerate(given)},
        expected,
    )


def star(given: list[Matrix]) -> tuple[str, dict[str, Matrix], Any]:
    sources = ", ".join(f"<(a, b{i}), v{i}> in M{i}" for i in range(len(given)))
    product = " * ".join(f"v{i}" for i in range(len(given)))
    expected = np.prod([np.asarray(matrix.sum(1)).ravel() for matrix in given], axis=0)
    return (
        f"CREATE TENSOR s AS sum({sources}) {{a -> {product}}}",
        {f"M{i}": matrix for i, matrix in enumerate(given)},
        expected,
    )


@pytest.mark.parametrize("number", [7, 9])
@pytest.mark.parametrize("query", [chain, star])
def test_many_operands(query: Any, number: int) -> None:
    """Each matrix is passed once, whatever the number of paths through them."""
    given = matrices(number)
    program, operands, expected = query(given)
    kernel = storel.compile(program, **operands)
    found, work = measure(kernel.compilation, kernel.environment)
    assert np.allclose(found.to_numpy(), expected)
    assert work.multiplications <= sum(matrix.nnz for matrix in given) + number * EXTENT
    stops = {phase.stop for phase in kernel.compilation.optimized.report}
    assert not stops & {Stop.NODES, Stop.ITERATIONS}  # time is up when it is up


def test_a_chain_of_dense_matrices() -> None:
    """All of its dictionaries are taken apart, however many loops are around one."""
    given = [matrix.toarray() for matrix in matrices(7)]
    program, operands, expected = chain(given)
    kernel = storel.compile(program, **operands)
    found, work = measure(kernel.compilation, kernel.environment)
    assert np.allclose(found.to_numpy(), expected)
    assert work.multiplications <= len(given) * (EXTENT + 1) * EXTENT


def test_loops_in_a_function_are_searched_beside_those_around_it() -> None:
    """Of a product that edges ask for by their ends, as in attention over a graph, little is made twice."""
    left, right = (
        f"(sum(<k, x> in X({node}), <f, w> in W(k)) x * w * {vector}(f))" for node, vector in ("ia", "jb")
    )
    script = f"""CREATE TENSOR E AS sum(<(i, j), _> in G)
      {{ (i, j) -> exp(max({left} + {right}, 0.2 * ({left} + {right}))) }}"""
    rng = np.random.default_rng(5)
    x, w, a, b = (rng.random(shape) for shape in ((EXTENT, 8), (8, 6), 6, 6))
    (graph,) = matrices(1)
    kernel = storel.compile(script, X=x, W=w, a=a, b=b, G=graph)
    found, work = measure(kernel.compilation, kernel.environment)
    added = np.add.outer(x @ w @ a, x @ w @ b)
    assert np.allclose(
        found.to_numpy(), np.where(graph.toarray() != 0, np.exp(np.maximum(added, 0.2 * added)), 0)
    )
    assert work.multiplications <= 2 * (8 * 6 + EXTENT * 8 + graph.nnz)


def test_a_search_leaves_hardly_anything_to_the_collector() -> None:
    """Cycles would hold all that it made, which takes as long to be found as the search itself."""
    program, operands, _ = chain(matrices(6))
    compilation = storel.compile(program, **operands).compilation
    gc.collect()
    gc.disable()
    try:
        optimize(compilation.term, compilation.symbols)
        assert gc.collect() < 5_000
    finally:
        gc.enable()


def test_rules_that_reorder_are_left_out_in_order() -> None:
    product = Sum(Range(ZERO, FIVE), Multiply(Variable(1), Variable(0)))
    known = encoded(product, {})
    found = {
        phase: saturate(shipped(), known.text, known.facts, phase, Limits())[1]
        for phase in ("main", IN_ORDER)
    }
    reordering = {rule.name for rule in shipped().rules if "reorder" in rule.tags}
    assert reordering & set(found["main"].matches)
    assert not reordering & set(found[IN_ORDER].matches)
    assert found[IN_ORDER].phase == "main"
