"""Terms that eager rules rewrite: the meaning stays, mappings are taken apart, choices are left."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies.terms import REAL, Surroundings, dictionary, surroundings, terms

import storel
from storel.calculus.interpret import evaluate
from storel.calculus.nodes import (
    Add,
    Apply,
    If,
    Let,
    Literal,
    Multiply,
    Range,
    Singleton,
    Slice,
    Sum,
    Symbol,
    Term,
    Variable,
)
from storel.calculus.printer import show
from storel.calculus.verify import infer
from storel.optimizer.cost.whole import estimate
from storel.optimizer.limits import Limits
from storel.optimizer.optimize import optimize
from storel.optimizer.outcome import DEFAULT, Options
from storel.optimizer.rules.rewriting import Rewriter
from storel.optimizer.rules.rulefile import collect, parse, shipped
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, ParameterSymbol, SizeSymbol

SHIPPED = shipped()
ZERO, FIVE = (Literal(value, ScalarType.INT64) for value in (0, 5))
ONE = Literal(1.0, ScalarType.FLOAT64)
ROW = Sum(Range(ZERO, FIVE), Singleton(Variable(1), ONE))


def rewritten(text: str, term: Term) -> str:
    return show(Rewriter(collect(parse(text)), {}).normal(term))


@settings(max_examples=50, deadline=None)
@given(surroundings(), terms(REAL) | terms(dictionary(2)))
def test_the_value_and_the_type_stay(around: Surroundings, term: Term) -> None:
    found = Rewriter(SHIPPED, around.symbols).normal(term)
    assert infer(found, around.symbols) == infer(term, around.symbols)
    assert evaluate(found, around.symbols, around.values) == evaluate(term, around.symbols, around.values)


@settings(max_examples=20, deadline=None)
@given(surroundings(), terms(REAL), st.just("normalize"))
def test_what_is_settled_stays_in_an_e_graph(around: Surroundings, term: Term, phase: str) -> None:
    """The e-graph's own analyses allow no rule that the rewriter rules out, but for exchanged sides."""
    rewriter = Rewriter(SHIPPED, around.symbols)
    found = rewriter.normal(term)
    if rewriter.is_settled(found, phase):
        report = optimize(found, around.symbols, options=replace(DEFAULT, rewrites=False)).report[0]
        assert report.matches.keys() <= {"equal-symmetric"}


ELEMENT, SUM = Variable(0), Add(Variable(0), Symbol("n"))
IS_N, N_IS = Apply("equal", (ELEMENT, Symbol("n"))), Apply("equal", (Symbol("n"), ELEMENT))
SUM_IS, IS_SUM = Apply("equal", (SUM, FIVE)), Apply("equal", (FIVE, SUM))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (If(IS_N, ONE), True),
        (If(IS_N, If(N_IS, ONE)), False),
        (If(SUM_IS, ONE), False),
        (If(IS_SUM, ONE), False),
    ],
)
def test_one_equality_whose_sides_may_be_exchanged_settles_a_term(body: Term, expected: bool) -> None:
    """Unless a rule matches one way round, or another equality may then be the same."""
    term = Sum(Slice(Symbol("a"), ZERO, FIVE), body)
    symbols = {"a": ArraySymbol("a", ScalarType.INT64, 5, low=0, high=9), "n": SizeSymbol("n", 7)}
    assert Rewriter(SHIPPED, symbols).is_settled(term, "normalize") is expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (Multiply(Symbol("x"), Variable(0)), "x * (sum(<_, _> in 0:5) 1.0)"),
        (Multiply(Variable(0), Variable(0)), None),
        (Singleton(ZERO, Multiply(Symbol("x"), Variable(0))), "{ 0 -> x * (sum(<_, _> in 0:5) 1.0) }"),
        (Multiply(Symbol("x"), Sum(Range(ZERO, FIVE), Variable(2))), None),
    ],
)
def test_a_number_that_a_loop_makes_is_settled_where_it_is_used_once(
    body: Term, expected: str | None
) -> None:
    number = Sum(Range(ZERO, FIVE), ONE)
    symbols = {"x": ParameterSymbol("x", ScalarType.FLOAT64)}
    found = Rewriter(SHIPPED, symbols).settled(Let(number, body), "normalize")
    assert (None if found is None else show(found)) == expected


@pytest.mark.parametrize("formats", [("dense", "dense"), ("csr", "csr"), ("csr", "dense")])
def test_dense_and_compressed_rows_need_no_e_graph_to_be_taken_apart(formats: tuple[str, str]) -> None:
    one, other = (storel.tensor(np.eye(5), name) for name in formats)
    program = "CREATE TENSOR C AS sum(<(i, k), a> in A, <(k, j), b> in B) { (i, j) -> a * b }"
    compilation = storel.compile(program, A=one, B=other).compilation
    first = compilation.optimized.report[0]
    assert (first.phase, first.iterations) == ("normalize", 0)
    assert first.matches["fuse-sum"] > 0
    alone = replace(DEFAULT, rewrites=False)
    searched = optimize(compilation.term, compilation.symbols, options=alone)
    assert estimate(searched.term, compilation.symbols) == estimate(
        optimize(compilation.term, compilation.symbols).term, compilation.symbols
    )


FLIP = "rule flip @simplify: ?a + ?b => ?b + ?a"


def test_rules_that_undo_each_other_end() -> None:
    assert "+" in rewritten(FLIP, Add(ONE, Literal(2.0, ScalarType.FLOAT64)))


@pytest.mark.parametrize("binders", ["named", "debruijn"])
@pytest.mark.parametrize(
    "rule",
    [
        "rule deeper @simplify: ?a * ?b => -(-?a) * ?b",
        "rule below @decide: -?a => -(-(-?a))",
        "rule inside @simplify: sum(<k, v> in ?R) ?b => sum(<k, v> in ?R) ?b * ?b / ?b",
    ],
)
def test_rules_that_never_end_leave_a_plan(rule: str, binders: str) -> None:
    """Limits end what the rules would go on with for ever; the answer is right."""
    rules = collect((*SHIPPED.rules, *parse(rule)))
    program = "PARAMETER a: real CREATE TENSOR y AS a * -a + sum(<i, _> in 0:3) a * i"
    for seconds in (0.2, 0.0):
        few = Limits(seconds=seconds)
        search = Options(normalize=few, main=few, binders=binders)
        result = storel.compile(program, rules=rules, search=search, a=2.0)(a=2.0)
        assert isinstance(result, storel.Tensor) and float(result) == 2


@pytest.mark.parametrize(
    ("rule", "term", "expected"),
    [
        (
            "rule inline @simplify: let x = ?e in ?b => let x = ?e in ?b",
            Let(ROW, Multiply(Variable(0), Variable(0))),
            "let t = sum(<i, _> in 0:5) { i -> 1.0 } in t * t",
        ),
        (
            "rule inline @simplify: let x = ?e in ?b => let x = ?e in ?b",
            Let(FIVE, Add(Variable(0), Variable(0))),
            "5 + 5",
        ),
        (
            "rule inline @simplify: let x = ?e in ?b => let x = ?e in ?b",
            Let(Sum(Range(ZERO, FIVE), ONE), Multiply(ONE, Variable(0))),
            "let t = sum(<_, _> in 0:5) 1.0 in 1.0 * t",
        ),
        (
            "rule out @simplify: sum(<k, v> in ?R) ?a * ?b => ?a * sum(<k, v> in ?R) ?b",
            Sum(Range(ZERO, FIVE), Multiply(ONE, Variable(0))),
            "1.0 * (sum(<_, v> in 0:5) v)",
        ),
        (
            "rule out @simplify: sum(<k, v> in ?R) ?a * ?b => ?a * sum(<k, v> in ?R) ?b",
            Sum(Range(ZERO, FIVE), Multiply(Variable(0), ONE)),
            "sum(<_, v> in 0:5) v * 1.0",
        ),
        (
            "rule minus @simplify @ring: ?a + ?b => ?b + ?a",
            Add(ONE, Literal(2.0, ScalarType.FLOAT64), "min_plus"),
            "1.0 +[min_plus] 2.0",
        ),
        (
            "rule never @simplify: if false then ?b => zero",
            If(Literal(False, ScalarType.BOOL), Literal(2.0, ScalarType.FLOAT64)),
            "0.0",
        ),
    ],
)
def test_a_rule(rule: str, term: Term, expected: str) -> None:
    assert rewritten(rule, term) == expected
