"""What a user calls things changes neither a plan nor what it costs to find one."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import storel
from storel.calculus.nodes import Add, Literal, Symbol
from storel.calculus.printer import show
from storel.calculus.walk import names_in
from storel.host import cache
from storel.optimizer.egraph.browse import reached
from storel.optimizer.naming import by_place
from storel.plan.printer import render
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, MappingSymbol, SizeSymbol

MATRIX = sp.random(40, 30, 0.2, format="csr", rng=np.random.default_rng(1))
OTHER = sp.random(30, 40, 0.1, format="csr", rng=np.random.default_rng(2))
OPERANDS: dict[str, Any] = {"A": MATRIX, "B": OTHER, "x": np.arange(30.0)}

PROGRAMS = [
    "sum(<(i, j), a> in A, <j, v> in x) { i -> a * v }",
    "sum(<(i, j), a> in A, <(j, k), b> in B) { (i, k) -> a * b }",
    "sum(<(i, j), a> in A, <(j, i), b> in B) a * b * x(j)",
    "sum(<(i, j), a> in A) { j -> a * a } + x",
]


def renamed(text: str, names: dict[str, str]) -> str:
    return re.sub(r"\b[ABx]\b", lambda found: names[found[0]], text)


def compiled(program: str, names: dict[str, str]) -> storel.Kernel:
    operands = {names[name]: data for name, data in OPERANDS.items() if re.search(rf"\b{name}\b", program)}
    return storel.compile(f"CREATE TENSOR R AS {renamed(program, names)}", **operands)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("names", [("Z", "M", "mine"), ("s1", "s0", "s10"), ("B", "A", "row")])
def test_operands_of_other_names_have_the_same_plan_without_a_search(
    program: str, names: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    own, others = {name: name for name in "ABx"}, dict(zip("ABx", names, strict=True))
    known = compiled(program, own)
    monkeypatch.setattr("storel.optimizer.optimize.optimize", None)
    found = compiled(program, others)
    swapped = re.sub(r"\b[ABx](?=_)", lambda name: others[name[0]], render(known.compilation.plan))
    assert render(found.compilation.plan) == swapped
    assert np.allclose(_dense(found), _dense(known))


def _dense(kernel: storel.Kernel) -> Any:
    result = kernel(**dict(kernel.environment.tensors))
    return result.to_numpy() if isinstance(result, storel.Tensor) else result


def test_all_that_a_search_shows_is_called_as_the_user_calls_it() -> None:
    optimized = compiled(PROGRAMS[0], {name: f"mine{name}" for name in "ABx"}).compilation.optimized
    for each in (optimized.term, optimized.normalized, *(plan.term for plan in optimized.considered)):
        assert all(name.startswith("mine") for name in names_in(each)), show(each)
    symbols = [
        node.arguments[0]
        for each in reached(optimized.graph)
        for node in each.nodes
        if node.constructor == "Sym"
    ]
    assert symbols and all(str(name).startswith("mine") for name in symbols)


def test_kernels_that_differ_in_names_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    obtain = cache.obtain

    def noted(name: str, *rest: Any) -> Any:
        asked.append(name)
        return obtain(name, *rest)

    monkeypatch.setattr(cache, "obtain", noted)
    for names in (("A", "B", "x"), ("parameter_1", "s", "compute")):
        _dense(compiled(PROGRAMS[1], dict(zip("ABx", names, strict=True))))
    first, second = (asked[: len(asked) // 2], asked[len(asked) // 2 :])
    assert first and first == second


def test_facts_are_told_of_the_other_names() -> None:
    symbols = {
        "n": SizeSymbol("n", 3),
        "T": MappingSymbol("T", Symbol("row")),
        "col": ArraySymbol("col", ScalarType.INT64, 3, within="row", group=("row", "col")),
        "row": ArraySymbol("row", ScalarType.INT64, 3),
    }
    naming = by_place([Symbol("col")], symbols)
    found = naming.symbols(symbols)
    assert found == {
        "s0": replace(symbols["col"], name="s0", within="s1", group=("s1", "s0")),
        "s1": replace(symbols["row"], name="s1"),
        "s2": SizeSymbol("s2", 3),
        "s3": MappingSymbol("s3", Symbol("s1")),
    }
    assert naming.back.symbols(found) == symbols


def test_zeros_keep_their_signs() -> None:
    zero, below = (Literal(value, ScalarType.FLOAT64) for value in (0.0, -0.0))
    term = Add(Add(Symbol("x"), zero), Add(Symbol("x"), below))
    found = by_place([term], {"x": SizeSymbol("x", 1)}).term(term)
    assert repr(found) == repr(Add(Add(Symbol("s0"), zero), Add(Symbol("s0"), below)))
