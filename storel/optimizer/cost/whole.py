"""What whole terms cost, and how many arithmetic operations they take."""

from __future__ import annotations

from collections.abc import Sequence

from storel.calculus.nodes import Term
from storel.optimizer.cost.model import ARITHMETIC, NANOSECONDS, Cost, CostModel
from storel.optimizer.cost.prices import require_price
from storel.optimizer.cost.variations import FULL
from storel.optimizer.estimation.appraised import Appraised, Place, Price
from storel.optimizer.estimation.cardinality import Fold
from storel.optimizer.estimation.estimate import Estimate
from storel.symbols import Symbols


def estimate(term: Term, symbols: Symbols, model: CostModel = NANOSECONDS) -> Cost:
    """Return the full cost of a closed term as it stands."""
    return Estimator(symbols, model).cost(term)


class Estimator:
    """The full costs of closed terms; what they have in common is looked at once."""

    def __init__(self, symbols: Symbols, model: CostModel = NANOSECONDS) -> None:
        self._fold = Fold(symbols, full_price(model))
        self._model = model
        self._priced: dict[Term, float] = {}

    def nanoseconds(self, term: Term) -> float:
        """Return the estimated time of a term as it stands."""
        if term not in self._priced:
            self._priced[term] = _whole(self._fold.visit(term).appraised, self._model)
        return self._priced[term]

    def operations(self, term: Term) -> float:
        """Return the estimated number of arithmetic operations of a term; nothing is estimated again."""
        return _whole(self._fold.visit(term).priced(full_price(ARITHMETIC)), ARITHMETIC)

    def cost(self, term: Term) -> Cost:
        """Return the estimated time of a term, the iterations of its loops, and its entries."""
        found = self._fold.visit(term)
        iterations = tuple(loop.iterations for loop in found.loops())
        return Cost(self.nanoseconds(term), iterations, found.appraised.estimate.counts)


def _whole(found: Appraised, model: CostModel) -> float:
    """Return the price of a whole term, given that of its node."""
    whole = model.price("Result", "", [found.cost], [found.estimate], found.estimate, FULL, 0)
    return require_price(whole, model, "Result", [found.cost])


def full_price(model: CostModel = NANOSECONDS) -> Price:
    """Return the price of a node that stands in a whole term."""

    def price(
        constructor: str, text: str, children: Sequence[Appraised], result: Estimate, place: Place
    ) -> float:
        costs, known = [child.cost for child in children], [child.estimate for child in children]
        found = model.price(constructor, text, costs, known, result, FULL, 2, place)
        return require_price(found, model, constructor, costs)

    return price
