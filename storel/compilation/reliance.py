"""What a kernel relies on so that its products need no guards against zero meeting inf or NaN.

Data that is likely to come again is looked at once, and the arrays of dense operands in each call, since
whoever gave them may have written to them. So where products have other factors that are known to be neither
zero nor inf nor NaN, which the values of a sparse matrix mostly are, nothing is relied on of those arrays: a
call need not look at them, and inf and NaN in them cost nothing.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace

from storel.calculus.finite import is_finite, nonzero_factors
from storel.calculus.nodes import Term
from storel.symbols import ArraySymbol, Fact, Symbols


@dataclass(frozen=True, slots=True)
class Reliance:
    """The facts that a kernel is made with, and the arrays and parameters that it relies on not to be zero.

    These are None where its products are guarded.
    """

    symbols: Symbols
    nonzero: frozenset[str] | None

    def is_on_numbers(self, array: str) -> bool:
        """Return whether an array is relied on to hold neither inf nor NaN."""
        fact = self.symbols.get(array)
        return isinstance(fact, ArraySymbol) and fact.finite


def reliance(term: Term, symbols: Symbols, dense: Set[str]) -> Reliance:
    """Return what the kernel of a term is to rely on, of the arrays ``dense`` as little as possible."""
    fewer = {name: _with_any_elements(fact) if name in dense else fact for name, fact in symbols.items()}
    is_looked_at = any(fewer[name] != symbols[name] for name in dense)
    if not is_looked_at and is_finite(term, symbols):
        return Reliance(symbols, frozenset())
    nonzero = nonzero_factors(term, fewer)
    if nonzero is not None:
        return Reliance(fewer, nonzero)
    return Reliance(symbols, frozenset() if is_finite(term, symbols) else None)


def _with_any_elements(fact: Fact) -> Fact:
    return replace(fact, finite=False) if isinstance(fact, ArraySymbol) and fact.type.is_real else fact
