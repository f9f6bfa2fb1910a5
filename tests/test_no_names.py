"""No format, kernel or rule has code of its own: the compiler does not know their names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import storel
from storel.optimizer.rules.rulefile import shipped
from storel.storage.formats.known import Formats

PACKAGE = Path(storel.__file__).parent
KERNELS = frozenset(path.stem for path in (PACKAGE.parent / "experiments" / "paper_kernels").glob("*.sdql"))

SCIPY = {
    "storage/conversion/compressed.py",
    "storage/coordinates.py",
    "storage/matrices.py",
    "storage/stored.py",
    "storage/files/matrix_market.py",
    "storage/files/saved.py",
}
"""Files that name SciPy's own classes and formats: those of a foreign matrix, and what SciPy sorts by."""

WORDS = {
    *("dense", "transposed", "factor", "diagonal", "symmetric"),
    *("bitmap", "constant", "hash", "identity", "mask", "pattern", "permutation"),
}
"""Names that are ordinary words of the field, too: dense levels, a transposed matrix, a scalar factor, how
far from the diagonal entries lie, whether a matrix is symmetric, a hash table, the pattern of a rule."""

LISTING = "to_coo"
"""The public method that lists the entries of any tensor, named as everywhere else."""


def words(path: Path) -> Iterator[str]:
    """Yield the words in identifiers and strings of a module, docstrings excepted."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(statement.value)
        for node in ast.walk(tree)
        if isinstance(node, documented)
        for statement in node.body
        if isinstance(statement, ast.Expr)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str() as text) if id(node) not in docstrings:
                yield from re.findall(r"[a-z0-9-]+", text.lower())
            case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name) if name != LISTING:
                yield from name.lower().split("_")
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) if name != LISTING:
                yield from name.lower().split("_")
            case _:
                pass


BENCHMARKS = PACKAGE / "bench"
"""Nothing but the command line imports it; it is what times kernels by their names."""


def modules() -> list[str]:
    paths = (path for path in PACKAGE.rglob("*.py") if not path.is_relative_to(BENCHMARKS))
    return sorted(str(path.relative_to(PACKAGE)) for path in paths)


@pytest.mark.parametrize("module", modules())
def test_a_module_names_no_format_kernel_or_rule(module: str) -> None:
    forbidden = KERNELS | {rule.name for rule in shipped().rules}
    if module not in SCIPY:
        forbidden |= set(Formats().files)
    found = set(words(PACKAGE / module)) & (forbidden - WORDS)
    assert not found


def test_the_search_finds_names(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text('"""csc"""\nif storage == "csr":\n    mttkrp_plan(A)\n', encoding="utf-8")
    assert {"csr", "mttkrp"} <= set(words(module))
    assert "csc" not in set(words(module))
