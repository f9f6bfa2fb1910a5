"""How many nests of loops a program over composed operands becomes: one for each choice of their parts.

A loop over a sum of dictionaries is a loop over each of them. So where operands of several parts meet in a
product, each part of one meets all parts of the others, and a search sees every such choice beside the rest.
"""

from __future__ import annotations

import math

from storel.calculus.apart import keyed
from storel.calculus.nodes import Add, Term
from storel.calculus.walk import children
from storel.compilation.environment import Environment
from storel.errors import FormatError
from storel.storage.compose import Composed
from storel.storage.tensor import Tensor


def nests(term: Term) -> int:
    """Return in how many nests of loops ``term`` ends if its sums of dictionaries are taken apart.

    >>> from storel.calculus.nodes import Singleton, Sum, Symbol
    >>> row = Singleton(Symbol("k"), Symbol("v"))
    >>> nests(Sum(Add(row, row), Sum(Add(row, Add(row, row)), Symbol("v"))))
    6
    """
    found = [nests(child) for child, _ in children(term)]
    if not isinstance(term, Add):
        return math.prod(found)
    return sum(found) if keyed(term) else max(found)


def apart(composed: Composed, environment: Environment) -> int:
    """Return how many nests of loops there are if no part of an operand meets one of another."""
    return sum(times * parts(environment.tensors[name]) for name, times in composed.uses.items())


def parts(tensor: Tensor) -> int:
    """Return of how many loops the mapping of a tensor is the sum; 1 where it is no such sum."""
    try:
        return len(tensor.storage.chains)
    except FormatError:
        return 1
