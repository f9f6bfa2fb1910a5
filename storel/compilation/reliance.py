"""What a kernel relies on so that it asks for no zeros: among what is stored, and where they meet inf or NaN.

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
from storel.optimizer.terms.present import visited
from storel.symbols import ArraySymbol, Fact, Symbols


@dataclass(frozen=True, slots=True)
class Reliance:
    """The facts that a kernel is made with, and the arrays and parameters that it relies on not to be zero.

    Where products ``are_guarded``, a zero times inf or NaN is looked for.
    """

    symbols: Symbols
    nonzero: frozenset[str]
    are_guarded: bool = False

    def is_on_numbers(self, array: str) -> bool:
        """Return whether an array is relied on to hold neither inf nor NaN."""
        fact = self.symbols.get(array)
        return isinstance(fact, ArraySymbol) and fact.finite


def reliance(term: Term, nonzero: frozenset[str], symbols: Symbols, dense: Set[str]) -> Reliance:
    """Return what the kernel of a term is to rely on, of the arrays ``dense`` as little as possible.

    The term itself is right as long as no element of the arrays ``nonzero`` is zero.
    """
    known, nonzero = symbols, nonzero | visited(term, symbols)
    fewer = {name: _with_any_elements(fact) if name in dense else fact for name, fact in symbols.items()}
    is_looked_at = any(fewer[name] != symbols[name] for name in dense)
    are_guarded = False
    if is_looked_at or not is_finite(term, symbols):
        factors = nonzero_factors(term, fewer)
        if factors is not None:
            known, nonzero = fewer, nonzero | factors
        else:
            are_guarded = not is_finite(term, symbols)
    return Reliance(_with_zeros_elsewhere(known, nonzero), nonzero, are_guarded)


def _with_any_elements(fact: Fact) -> Fact:
    return replace(fact, finite=False) if isinstance(fact, ArraySymbol) and fact.type.is_real else fact


def _with_zeros_elsewhere(symbols: Symbols, nonzero: frozenset[str]) -> Symbols:
    """Return the facts of which a kernel may use all: arrays that are not ``nonzero`` may hold zeros."""
    return {
        name: replace(fact, nonzero=name in nonzero)
        if isinstance(fact, ArraySymbol) and fact.nonzero
        else fact
        for name, fact in symbols.items()
    }
