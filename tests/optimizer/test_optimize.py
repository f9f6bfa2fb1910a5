"""Plans: their shape, their meaning, and that they do not change from run to run."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from strategies.root_classes import require_same_meaning, same

from storel.calculus.interpret import evaluate
from storel.calculus.nodes import Literal, Singleton, Sum, Symbol, Variable
from storel.calculus.printer import show
from storel.calculus.verify import infer, verify
from storel.optimizer.cost.whole import estimate
from storel.optimizer.egraph.base import base
from storel.optimizer.egraph.facts import encoded
from storel.optimizer.egraph.saturate import saturate
from storel.optimizer.limits import Limits, Stop
from storel.optimizer.optimize import optimize
from storel.optimizer.outcome import BINDERS, DEFAULT, Options
from storel.optimizer.rules import rulefile
from storel.optimizer.rules.rulefile import RuleSet
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, SizeSymbol

A_ROW = "A_idx(A_pos(i):A_pos(i + 1))"
B_ROW = "B_idx(B_pos(i):B_pos(i + 1))"

SHAPES = [
    (("spmv", "csr"), f"sum(<i, _> in 0:m) {{ i -> sum(<p, v> in {A_ROW}) A_val(p) * x(v) }}"),
    (("spmv", "coo"), "sum(<p, v> in A_0(0:A_nnz)) { v -> A_val(p) * x(A_1(p)) }"),
    (
        ("add", "csr", "csr"),
        f"sum(<i, _> in 0:m) {{ i -> sum(<p, v> in {A_ROW}) {{ v -> A_val(p) }}"
        f" + sum(<p, v> in {B_ROW}) {{ v -> B_val(p) }} }}",
    ),
    (
        ("add and scale", "csr"),
        f"sum(<i, _> in 0:m) {{ i -> sum(<p, v> in {A_ROW}) {{ v -> A_val(p) * (b(v) + c(v)) }} }}",
    ),
    (
        ("mmm", "csr", "csr"),
        f"sum(<i, _> in 0:m) {{ i -> sum(<p, v> in {A_ROW})"
        " sum(<q, w> in B_idx(B_pos(v):B_pos(v + 1))) { w -> A_val(p) * B_val(q) } }",
    ),
    (
        ("batax", "csr"),
        f"sum(<i, _> in 0:m) (let t = beta * (sum(<p, v> in {A_ROW}) A_val(p) * x(v))"
        f" in sum(<p, v> in {A_ROW}) {{ v -> t * A_val(p) }})",
    ),
    (
        ("summm", "csr", "csr"),
        f"let t = sum(<i, _> in 0:m) sum(<p, v> in {A_ROW}) {{ v -> A_val(p) }}"
        f" in sum(<i, v> in t) (sum(<p, _> in {B_ROW}) B_val(p)) * v",
    ),
    (
        ("sddmm", "csr", "dense", "dense"),
        f"sum(<i, _> in 0:m) {{ i -> sum(<p, v> in {A_ROW})"
        " { v -> A_val(p) * (sum(<j, _> in 0:r) B(r * i + j) * C(r * v + j)) } }",
    ),
    (("count", "csr"), "sum(<i, _> in A_pos(0):A_pos(m)) (if (A_val(i) != 0) then 1)"),
    (("count", "coo"), "sum(<p, _> in A_0(0:A_nnz)) (if (A_val(p) != 0) then 1)"),
    (("squares", "coo"), "sum(<p, v> in A_0(0:A_nnz)) { v -> A_val(p) * A_val(p) }"),
]

KERNELS = [
    *((kernel, kind) for kernel in ("spmv", "squares", "exponentials", "gram") for kind in ("csr", "coo")),
    *(("triangles", kind) for kind in ("csr", "coo", "dense")),
    ("batax", "coo"),
    ("mttkrp", "csf", "dense", "dense"),
    ("mttkrp", "coo", "dense", "csr"),
    ("ttm", "csf", "dense"),
    ("sddmm", "coo", "dense", "dense"),
    ("transposed", "csr", "csc"),
    ("transposed", "csc", "coo"),
    ("mmm", "csr", "csc"),
    ("mmm", "csc", "csr"),
    ("mmm", "coo", "dense"),
    ("add", "csr", "coo", "csc"),
    ("element-wise", "csr", "csr"),
    ("element-wise", "coo", "dense"),
    ("summm", "csc", "csr"),
]


@pytest.mark.parametrize(("kernel", "plan"), SHAPES)
def test_shape(program: Callable[..., Any], kernel: tuple[str, ...], plan: str) -> None:
    source = program(*kernel)
    assert show(optimize(source.term, source.store.symbols).term) == plan


@pytest.mark.parametrize("kernel", [*(kernel for kernel, _ in SHAPES), *KERNELS])
def test_meaning(program: Callable[..., Any], kernel: tuple[str, ...]) -> None:
    source = program(*kernel)
    symbols, values = source.store.symbols, source.store.values
    plan = optimize(source.term, symbols)
    verify(plan.term, symbols)
    assert all(phase.stop is Stop.SATURATED for phase in plan.report)
    assert same(evaluate(plan.term, symbols, values), evaluate(source.term, symbols, values))


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_term_of_the_root_class_means_the_same(
    program: Callable[..., Any], kernel: tuple[str, ...]
) -> None:
    source = program(*kernel)
    require_same_meaning(source.term, source.store.symbols, source.store.values)


def test_a_wrong_rule_is_found_out(program: Callable[..., Any]) -> None:
    wrong = rulefile.parse("rule wrong-sum @main: sum(<k, v> in ?R) ?a * ?b => sum(<k, v> in ?R) ?a")
    source = program("spmv", "csr")
    symbols, values = source.store.symbols, source.store.values
    rules = RuleSet((*rulefile.shipped().rules, *wrong))
    plan = optimize(source.term, symbols, rules)
    assert not same(evaluate(plan.term, symbols, values), evaluate(source.term, symbols, values))


def test_planning_is_deterministic(program: Callable[..., Any]) -> None:
    source = program("batax", "csr")
    first, second = (optimize(source.term, source.store.symbols) for _ in range(2))
    assert first.term == second.term
    assert [phase.matches for phase in first.report] == [phase.matches for phase in second.report]


def test_a_plan_does_not_depend_on_those_before(program: Callable[..., Any]) -> None:
    """E-graphs are used again, so that the numbers of their classes go on; each thread has its own."""

    def planned(*kernels: tuple[str, ...]) -> dict[tuple[str, ...], Any]:
        found = {}
        for kernel in kernels:
            source = program(*kernel)
            plan = optimize(source.term, source.store.symbols)
            found[kernel] = plan.term, [(phase.nodes, phase.matches) for phase in plan.report]
        return found

    kernels = [kernel for kernel, _ in SHAPES]
    in_turn = planned(*kernels, *reversed(kernels))
    for kernel in kernels:
        with ThreadPoolExecutor(1) as alone:
            assert alone.submit(planned, kernel).result()[kernel] == in_turn[kernel]


@pytest.mark.parametrize("binders", BINDERS)
def test_an_e_graph_forgets_its_term(binders: str) -> None:
    held = base(rulefile.shipped(), BINDERS[binders])

    def rows() -> dict[str, int]:
        return {name: len(function.rows) for name, function in held.graph.freeze().functions.items()}

    before = rows()
    symbols = {"a": ArraySymbol("a", ScalarType.FLOAT64, 3)}
    source = encoded(Sum(Symbol("a"), Variable(0)), symbols, BINDERS[binders])
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt), held.holding(source.text, source.facts):
            held.settle("scope")
            assert held.nodes() > 0
            raise KeyboardInterrupt
        assert rows() == before


@pytest.mark.parametrize(
    ("kernel", "rule"),
    [
        (("spmv", "coo"), "fuse-singleton"),
        (("spmv", "csr"), "select-range"),
        (("add", "csr", "csr"), "sum-unite-same"),
        (("batax", "csr"), "sum-factor"),
        (("summm", "csr", "csr"), "sum-factor"),
        (("transposed", "csr", "csc"), "merge-join"),
        (("mmm", "csr", "csc"), "lookup-singleton"),
    ],
)
def test_deleting_a_rule_changes_the_plan(
    program: Callable[..., Any], kernel: tuple[str, ...], rule: str
) -> None:
    source = program(*kernel)
    whole = optimize(source.term, source.store.symbols)
    less = optimize(source.term, source.store.symbols, rulefile.shipped().without(rule))
    assert whole.term != less.term


def test_the_type_of_the_result_stays() -> None:
    truth = Singleton(Literal(0, ScalarType.INT64), Literal(True, ScalarType.BOOL))
    counted = Sum(truth, Variable(0))
    assert infer(optimize(counted, {}).term, {}) == infer(counted, {})


def test_the_written_order_is_kept_without_a_main_phase(program: Callable[..., Any]) -> None:
    source = program("batax", "csr")
    options = Options(main=Limits(iterations=0))
    plan = optimize(source.term, source.store.symbols, options=options)
    assert "t * A_val(q) * x(w)" in show(plan.term)
    assert [phase.phase for phase in plan.report] == ["normalize"]


@pytest.mark.parametrize("formats", [("coo", "coo"), ("csr", "coo"), ("coo", "csc"), ("csc", "csc")])
def test_row_sums_are_scattered(program: Callable[..., Any], formats: tuple[str, str]) -> None:
    source = program("summm", *formats)
    plan = show(optimize(source.term, source.store.symbols).term)
    assert plan.startswith("let t = ") and "find" not in plan and "merge" not in plan


def test_products_are_factored_where_that_is_hardly_dearer(program: Callable[..., Any]) -> None:
    source = program("mttkrp", "csf", "dense", "dense")
    symbols = source.store.symbols
    # Nearly every fiber has one entry: a table for each of them saves one product in a hundred.
    fibers, entries = 2_970_000, 3_000_000
    sizes = {"m": 12_000, "n": 9_000, "o": 29_000, "r": 16, "A_rows": 12_000}
    grown = {name: SizeSymbol(name, value) for name, value in sizes.items()}
    arrays = {
        "A_idx1": (12_000, 11_999),
        "A_pos2": (12_001, fibers),
        "A_idx2": (fibers, 8_999),
        "A_pos3": (fibers + 1, entries),
        "A_idx3": (entries, 28_999),
        "A_val": (entries, None),
        "B": (9_000 * 16, None),
        "C": (29_000 * 16, None),
    }
    grown |= {name: replace(symbols[name], length=n, high=high) for name, (n, high) in arrays.items()}
    row = "sum(<s, x> in A_idx3(A_pos3(q):A_pos3(q + 1))) sum(<i, _> in 0:r) { i -> A_val(s) * C(r * x + i) }"
    assert f"let t = {row} in" in show(optimize(source.term, symbols | grown).term)


def test_budgets_stop_by_node_count(program: Callable[..., Any]) -> None:
    source = program("batax", "csr")
    known = encoded(source.term, source.store.symbols)
    _, report = saturate(rulefile.shipped(), known.text, known.facts, "normalize", Limits(nodes=20))
    assert report.stop is Stop.NODES


def test_the_cost_of_the_plan_is_its_own(program: Callable[..., Any]) -> None:
    source = program("summm", "csr", "csr")
    plan = optimize(source.term, source.store.symbols)
    assert plan.cost == estimate(plan.term, source.store.symbols, DEFAULT.cost)
    assert plan.cost.nanoseconds < estimate(source.term, source.store.symbols).nanoseconds
