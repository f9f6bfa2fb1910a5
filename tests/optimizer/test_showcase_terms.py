"""What the e-graph holds equal to the programs of the showcase means what they do."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest
from strategies.root_classes import require_same_meaning

import storel

sys.path.insert(0, str(Path(__file__).parents[2] / "experiments" / "optimizer_showcase"))
showcase: Any = importlib.import_module("showcase")
case: Any = importlib.import_module("case")

LONGEST = 5
"""Operands of chains that are few enough for e-graphs to hold all orders of their products."""

CASES = {each.name: each for each in showcase.cases(case.Sizes(7, 6, 2, 3)) if len(each.operands) <= LONGEST}


@pytest.mark.parametrize("name", CASES)
def test_every_term_of_the_root_class_means_the_same(name: str) -> None:
    kernel = storel.compile(CASES[name].program, threads=1, **CASES[name].operands, **CASES[name].options)
    compilation, environment = kernel.compilation, kernel.environment
    values = {**environment.physical_arrays(), **environment.parameters}
    require_same_meaning(compilation.term, compilation.symbols, values)
