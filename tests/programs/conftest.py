"""What the tests of whole programs share."""

from __future__ import annotations

import pytest

from storel.calculus.nodes import Term
from storel.compilation import compiled as compilation
from storel.compilation import compiler
from storel.optimizer.outcome import Optimized, Options
from storel.optimizer.remember import optimized
from storel.optimizer.rules.rulefile import RuleSet
from storel.runtime import divided
from storel.symbols import Symbols


@pytest.fixture
def several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every kernel run in parts, however little there is to do."""
    monkeypatch.setenv("STOREL_NUM_THREADS", "3")
    monkeypatch.setattr(compilation, "WORTH_THREADS", 0.0)
    monkeypatch.setattr(divided, "UPDATES_PER_PLACE", 0)
    monkeypatch.setattr(divided, "LEAST_WORK", 0)
    monkeypatch.setattr(divided, "LEAST_PIECE", 1)


@pytest.fixture
def order_of_statistics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search from generators in the order of their statistics alone."""

    def search(
        term: Term, symbols: Symbols, rules: RuleSet | None, options: Options, others: tuple[Term, ...]
    ) -> Optimized:
        return optimized(others[0] if others else term, symbols, rules, options)

    monkeypatch.setattr(compiler, "search", search)
