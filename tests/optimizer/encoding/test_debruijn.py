"""Binders as indices: where terms move, how analyses count, and that what unrolls for ever ends."""

from __future__ import annotations

import math

import numpy as np
import pytest

import storel
from storel.calculus.interpret import evaluate
from storel.calculus.nodes import Literal, Multiply, Range, Singleton, Sum, Term, Variable
from storel.optimizer.egraph.base import Base
from storel.optimizer.egraph.saturate import Saturation
from storel.optimizer.encoding.bindings import EggSmolError
from storel.optimizer.encoding.debruijn import DE_BRUIJN
from storel.optimizer.limits import Limits, Stop
from storel.optimizer.optimize import optimize
from storel.optimizer.outcome import Options
from storel.optimizer.rules import rulefile
from storel.optimizer.rules.rulefile import RuleSet
from storel.scalars import ScalarType


def scope(text: str) -> tuple[str, ...]:
    """Return binders from the innermost outward; - is one that is shadowed."""
    return tuple("" if name == "-" else name for name in text.split())


@pytest.mark.parametrize(
    ("before", "after", "moved", "left"),
    [
        ("v k", "v k", "h", []),
        ("", "v k", "(Shift 2 0 h)", []),
        ("v k", "", "(Shift -2 0 h)", [0, 1]),
        ("w l v k", "v k", "(Shift -2 0 h)", [0, 1]),
        ("v k", "w l v k", "(Shift 2 0 h)", []),
        ("w l v k", "w l", "(Shift -2 2 h)", [2, 3]),
        ("w l", "w l v k", "(Shift 2 2 h)", []),
        ("v k", "v - k", "(Shift 1 1 h)", []),
        ("w l v k", "v k w l", "(Exchange 2 2 0 h)", []),
        ("c b a", "a c b", "(Exchange 2 1 0 h)", []),
        ("c b a", "a b c", "(Exchange 1 1 1 (Exchange 2 1 0 h))", []),
        ("y q x p", "x q p", "(Exchange 1 1 0 (Shift -1 0 h))", [0]),
        ("c b a", "a n c", "(Shift 1 1 (Exchange 1 1 0 (Shift -1 1 h)))", [1]),
    ],
)
def test_moved(before: str, after: str, moved: str, left: list[int]) -> None:
    text, facts = DE_BRUIJN.moved("h", scope(before), scope(after))
    assert (text, facts) == (moved, [f"(independent h {place})" for place in left])


@pytest.mark.parametrize(
    ("facts", "actions", "indexed"),
    [
        ("(= e (Add s a b)) (linear a v s)", "(linear e v s)",
         ("(= e (Add s a b)) (linear a v s)", "(linear e v s)")),
        ("(= e (Sum s r k w b)) (strict b v s) (!= v k) (!= v w)", "(strict e v s)",
         ("(= e (Sum s r k w b)) (= v (- v-2 2)) (<= 2 v-2) (strict b v-2 s)  ", "(strict e v s)")),
        ("(= e (Sum s r k w b)) (linear b w s) (independent b v)", "(linear e v s)",
         ("(= e (Sum s r k w b)) (linear b 0 s) (independent b (+ v 2))", "(linear e v s)")),
        ("(asked (Find s r k p b) v s)", "(asked b v s)",
         ("(asked (Find s r k p b) v s)", "(asked b (+ v 1) s)")),
        ("(= e (Sum s r k v b)) (dictionary r)", "(asked b v s)",
         ("(= e (Sum s r k v b)) (dictionary r)", "(asked b 0 s)")),
        ("(= e (Sum s (Var v) k w b)) (= 0 (rank (Var w))) (independent b v)", "(separable e v s)",
         ("(= e (Sum s (Var v v-kind) k w b)) (= 0 (rank (Kind w))) (independent b (+ v 2))",
          "(separable e v s)")),
    ],
)  # fmt: skip
def test_analysis(facts: str, actions: str, indexed: tuple[str, str]) -> None:
    assert DE_BRUIJN.analysis(facts, actions) == indexed


@pytest.mark.parametrize(
    ("operated", "expected"),
    [
        ("(Shift 2 0 (Var 1 0))", "(Var 3 0)"),
        ("(Shift 2 2 (Var 1 0))", "(Var 1 0)"),
        ("(Shift -1 0 (Var 1 0))", "(Var 0 0)"),
        ("(Shift 1 0 (Find s a (Var 0 0) 0 (Mul s (Var 0 0) (Var 1 0))))",
         "(Find s a (Var 1 0) 0 (Mul s (Var 0 0) (Var 2 0)))"),
        ("(Exchange 2 1 0 (Mul s (Var 0 0) (Mul s (Var 1 1) (Var 2 2))))",
         "(Mul s (Var 1 0) (Mul s (Var 2 1) (Var 0 2)))"),
        ("(Exchange 2 1 0 (Exchange 1 2 0 (Mul s (Var 0 0) (Var 2 1))))", "(Mul s (Var 0 0) (Var 2 1))"),
        ("(Subst (Var 4 1) 0 (Find s a (Var 0 0) 0 (Mul s (Var 1 0) (Var 2 0))))",
         "(Find s a (Var 4 1) 0 (Mul s (Var 5 1) (Var 1 0)))"),
        ("(Subst (Int 7) 1 (Mul s (Var 0 0) (Mul s (Var 1 0) (Var 2 0))))",
         "(Mul s (Var 0 0) (Mul s (Int 7) (Var 1 0)))"),
    ],
)  # fmt: skip
def test_operators(operated: str, expected: str) -> None:
    graph = Base(RuleSet(()), DE_BRUIJN)
    left, right = (
        text.replace(" s ", ' "plus_times" ').replace(" a ", ' (Sym "a") ') for text in (operated, expected)
    )
    graph.run('(set (free (Sym "a")) (bigint 0))')
    graph.run(f"(let $left {left})\n(let $right {right})")
    Saturation(graph, Limits(), math.inf).prepare()
    try:
        graph.run("(check (= $left $right))")
    except EggSmolError:
        pytest.fail(f"{operated} is not {expected}")


def integer(value: int) -> Term:
    return Literal(value, ScalarType.INT64)


UNROLLING = RuleSet(
    rulefile.parse("""
rule unit: ?a * sum(<k, v> in 0:1) 1  =>  ?a
rule inward: ?a * sum(<k, v> in ?R) ?b  =>  sum(<k, v> in ?R) ?a * ?b
""")
)


@pytest.mark.parametrize("binders", ["named", "debruijn"])
def test_what_unrolls_for_ever_ends(binders: str) -> None:
    """These rules make a class hold itself below a binder: with names a cycle, with indices no end."""
    one = Sum(Range(integer(0), integer(1)), integer(1))
    term = Sum(Range(integer(0), integer(5)), Singleton(Variable(1), Multiply(Variable(1), one)))
    limits = Limits(iterations=30, nodes=500, seconds=60.0)
    found = optimize(term, {}, UNROLLING, Options(normalize=limits, main=limits, binders=binders))
    assert evaluate(found.term, {}, {}) == evaluate(term, {}, {}) == {k: k for k in range(1, 5)}
    assert found.report[0].stop is (Stop.SATURATED if binders == "named" else Stop.NODES)


def test_a_rule_with_too_many_matches_is_held_back() -> None:
    graph = Base(rulefile.shipped(), DE_BRUIJN)
    factors: str = "(Var 0 0)"
    for number in range(300):
        factors = f'(Mul "plus_times" (Int {number}) {factors})'
    graph.run(f"(let $term {factors})")
    state = Saturation(graph, Limits(), math.inf)
    state.step("main")
    first = state.matches["multiply-commute"]
    state.step("main")
    assert DE_BRUIJN.most_matches is not None
    assert state.matches["multiply-commute"] == first > DE_BRUIJN.most_matches


@pytest.mark.parametrize("body", ["v", "v * v", "{ j -> v }"])
def test_a_variable_that_is_always_nothing_is_not_what_is_substituted(body: str) -> None:
    """A number is each of the variables that are always this number, also those that others stand in for."""
    dense = np.array([[3.0], [2.0], [2.0]])  # of one column, and fewer rows than a block has
    program = f"CREATE TENSOR s AS sum(<(i, j), v> in T * T) {body}"
    found, expected = (
        storel.run(program, binders="debruijn", backend=backend, T=storel.tensor(dense, "tiled"))
        for backend in ("c", "interpret")
    )
    assert isinstance(found, storel.Tensor)
    assert isinstance(expected, storel.Tensor)
    np.testing.assert_array_equal(found.to_numpy(), expected.to_numpy())


@pytest.mark.parametrize("storage", ["coo", "dcsr", "csf", "dia"])
@pytest.mark.parametrize(
    ("program", "meaning"),
    [
        ("CREATE TENSOR y AS A * B", np.multiply),
        ("CREATE TENSOR y AS sum(<(i, j), a> in A, <(j, k), b> in B) { (i, k) -> a * b }", np.matmul),
    ],
)
def test_joins_of_lists(storage: str, program: str, meaning: np.ufunc) -> None:
    """The loops over both are sampled, whatever their binders are called."""
    rng = np.random.default_rng(3)
    dense = [np.where(rng.random((9, 9)) < 0.3, rng.random((9, 9)), 0) for _ in range(2)]
    operands = {name: storel.tensor(each, storage) for name, each in zip("AB", dense, strict=True)}
    found = storel.run(program, binders="debruijn", **operands)
    assert isinstance(found, storel.Tensor)
    np.testing.assert_allclose(found.to_numpy(), meaning(*dense), rtol=1e-12)
