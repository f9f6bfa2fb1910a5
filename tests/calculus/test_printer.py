from __future__ import annotations

import pytest
from strategies.terms import integer, real

from storel.calculus.nodes import (
    Add,
    Apply,
    Empty,
    Find,
    If,
    Let,
    Lookup,
    Merge,
    Multiply,
    Range,
    Reduce,
    Singleton,
    Slice,
    Sum,
    Symbol,
    Term,
    Unique,
    Variable,
)
from storel.calculus.printer import show, show_indices

A, B = Symbol("a"), Symbol("b")
V, K = Variable(0), Variable(1)

CASES: list[tuple[Term, str, str]] = [
    (real(-1.0), "-1.0", "-1.0"),
    (
        Sum(Range(integer(0), Symbol("n")), Singleton(K, V)),
        "sum(<i, v> in 0:n) { i -> v }",
        "sum(0:n) { %1 -> %0 }",
    ),
    (Sum(A, Sum(V, K)), "sum(<_, v> in a) sum(<i, _> in v) i", "sum(a) sum(%0) %1"),
    (Multiply(Sum(A, V), B), "(sum(<_, v> in a) v) * b", "(sum(a) %0) * b"),
    (Add(Sum(A, Multiply(V, V)), B), "sum(<_, v> in a) v * v + b", "sum(a) %0 * %0 + b"),
    (Sum(A, Add(V, B)), "sum(<_, v> in a) (v + b)", "sum(a) (%0 + b)"),
    (Sum(A, V, "min_plus"), "sum[min_plus](<_, v> in a) v", "sum[min_plus](a) %0"),
    (Add(A, Add(B, B)), "a + (b + b)", "a + (b + b)"),
    (Apply("subtract", (Apply("subtract", (A, B)), B)), "a - b - b", "a - b - b"),
    (Apply("equal", (Apply("less", (A, B)), B)), "(a < b) == b", "(a < b) == b"),
    (Apply("not", (Apply("or", (A, B)),)), "not (a or b)", "not (a or b)"),
    (Multiply(Apply("negate", (A,)), Apply("power", (A, B))), "-a * pow(a, b)", "-a * pow(a, b)"),
    (Lookup(Lookup(A, K), V), "a(%1)(%0)", "a(%1)(%0)"),
    (Slice(A, integer(0), Add(B, integer(1))), "a(0:b + 1)", "a(0:b + 1)"),
    (Let(A, Let(B, Add(V, K))), "let t = a in let u = b in u + t", "let a in let b in %0 + %1"),
    (Let(If(A, B), V), "let t = (if (a) then b) in t", "let (if (a) then b) in %0"),
    (
        Merge(A, B, Singleton(V, Multiply(K, Variable(2)))),
        "merge(<p, q, i> in <a, b>) { i -> q * p }",
        "merge(<a, b>) { %0 -> %1 * %2 }",
    ),
    (Find(A, B, V), "find(<p> in a at b) p", "find(a at b) %0"),
    (Reduce("min", A, V), "min(<_, v> in a) v", "min(a) %0"),
    (Add(Empty(1), Empty(2)), "{} + {}_2", "{} + {}_2"),
    (Unique(A), "unique(a)", "unique(a)"),
    (Sum(Symbol("i"), Singleton(K, Symbol("v"))), "sum(<p, _> in i) { p -> v }", "sum(i) { %1 -> v }"),
]  # fmt: skip


@pytest.mark.parametrize(("term", "named", "indexed"), CASES)
def test_table(term: Term, named: str, indexed: str) -> None:
    assert (show(term), show_indices(term)) == (named, indexed)


def test_generated_names_avoid_symbols() -> None:
    term = Sum(Range(integer(0), Symbol("v")), Multiply(V, Multiply(K, Symbol("i"))))
    assert show(term) == "sum(<j, w> in 0:v) w * (j * i)"


def test_names_of_free_variables_are_given() -> None:
    assert show(Sum(Variable(0), Add(Variable(1), Variable(2))), ("row",)) == "sum(<i, _> in row) (i + row)"
