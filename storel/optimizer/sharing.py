from storel.calculus.nodes import Term
from storel.optimizer.cost import Constants
from storel.symbols import Symbols


def share(term: Term, symbols: Symbols, constants: Constants) -> Term:
    return term
