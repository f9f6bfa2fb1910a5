"""The programs to optimize: the papers' kernels and the showcase in several formats, questions, examples."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import storel
from storel.calculus.nodes import Term
from storel.optimizer.outcome import Options
from storel.symbols import Symbols

sys.path.append(str(Path(__file__).parents[1] / "paper_kernels"))
sys.path.append(str(Path(__file__).parents[1] / "optimizer_showcase"))

import operands
import showcase

EXAMPLES = Path(__file__).parents[2] / "examples"

FORMATS = {2: ("csr", "coo", "csc"), 3: ("csf", "coo")}
"""The formats of the showcase's operands, by rank: the first is their own."""


SIZE = 12
LAYOUTS = ("csr", "coo", "dcsr", "hyb", "bcsr", "symmetric", "tridiagonal")
QUESTIONS = {
    "squares": "sum(<(i, j), v> in A) { i -> v * v }",
    "exponentials": "sum(<(i, j), v> in A) { i -> exp(v) }",
    "largest": "sum(<i, row> in A) { i -> max(<j, v> in row) v }",
    "sampled": "sum(<(i, j), v> in B) { (i, j) -> v * A(i, j) }",
    "element-wise": "A * B",
    "sum": "sum(<(i, j), v> in A + 2.0 * B) { i -> v }",
}
"""What is asked of a matrix A in each of the layouts, and of B in ``csr``: not only linear sums."""

LONG_CHAINS = ("chain of 6", "chain of 8")
"""Cases of the showcase that are left out: they take two fifths of the time, and are as those of 4."""


@dataclass(frozen=True, slots=True)
class Program:
    """A closed term with the facts about its names, and what the optimizer may do with it."""

    name: str
    term: Term
    symbols: Symbols
    options: Options


def programs(word: str = "") -> Iterator[Program]:
    """Yield the programs whose names contain ``word``, each term with the same facts once."""
    seen: set[str] = set()
    for name, source, given in _sources():
        if word not in name:
            continue
        compilation = storel.compile(source, **given).compilation
        term, symbols = compilation.term, compilation.symbols
        known = repr((term, symbols))
        if known not in seen:
            seen.add(known)
            expands = given.get("floating_point") == "expand"
            yield Program(name, term, symbols, Options(expands=expands, patience=math.inf))


def _sources() -> Iterator[tuple[str, str | Path, dict[str, Any]]]:
    """Yield names, programs, and their operands and options."""
    for case in operands.cases(None, small=True):
        for layout, stored in operands.layouts(case):
            yield f"{case.kernel} ({layout})", case.script, {**(stored or {}), **case.fixed}
    for case in showcase.cases(showcase.SMALL):
        if any(chain in case.name for chain in LONG_CHAINS):
            continue
        given = {name: _tensor(value) for name, value in case.operands.items()}
        ranks = {tensor.rank for tensor in given.values() if _is_sparse(tensor)}
        for index in range(max((len(FORMATS[rank]) for rank in ranks), default=1)):
            stored = {name: _stored(tensor, index) for name, tensor in given.items()}
            layout = ", ".join(sorted({t.format for t in stored.values() if _is_sparse(t)})) or "dense"
            yield f"{case.name} ({layout})", case.program, {**stored, **case.options}
    rng = np.random.default_rng(0)
    other = sp.random(SIZE, SIZE, 0.3, format="csr", rng=rng)
    band = sp.csr_array(2 * np.eye(SIZE) + np.eye(SIZE, k=1) + np.eye(SIZE, k=-1))
    for layout in LAYOUTS:
        matrix = storel.tensor(band if layout == "tridiagonal" else other + other.T).to(layout)
        for name, question in QUESTIONS.items():
            given = {"A": matrix, **({"B": storel.tensor(other)} if "B" in question else {})}
            yield f"{name} of a matrix ({layout})", f"CREATE TENSOR r AS {question}", given
    for path in sorted(EXAMPLES.glob("*.sdql")):
        yield f"example {path.stem}", path, {}


def _tensor(value: Any) -> storel.Tensor:
    return value if isinstance(value, storel.Tensor) else storel.tensor(value)


def _is_sparse(tensor: storel.Tensor) -> bool:
    return tensor.format in {name for names in FORMATS.values() for name in names}


def _stored(tensor: storel.Tensor, index: int) -> storel.Tensor:
    """Return a sparse tensor in one of the formats; what is dense stays so."""
    if not _is_sparse(tensor):
        return tensor
    names = FORMATS[tensor.rank]
    return tensor.to(names[index % len(names)])
