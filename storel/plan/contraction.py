"""Dense contractions: nests of loops that multiply and add up what a matrix product does.

    C(b…, m…, n…) = sum(k…) A(b…, m…, k…) · B(b…, k…, n…)        all dense, dimensions in any order

A loop is classified by its strides in the three arrays: how much an address grows with its variable. Loops
with a stride in all three are of a batch, those in the result and one operand are rows or columns, those in
both operands are summed over. Source: Springer, Bientinesi, "Design of a high-performance GEMM-like
tensor-tensor multiplication", TOMS 44(3), 2018, for these classes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TypeAlias

from storel.calculus.domains import affine
from storel.calculus.nodes import Literal, Lookup, Symbol, Term, Variable
from storel.plan.nest import Nest, constant, nest_of
from storel.plan.nodes import Levels, Place, Plan, Store, TableStore
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, ParameterSymbol, Symbols

LEAST = 4
"""The least number of rows, columns and summands of what is computed as a matrix product."""

LEAST_STEPS = 2**17
"""The least number of multiplications that are worth it."""

LEAST_EACH = 2**15
"""The least number of multiplications in each product of a batch: to call for one takes a microsecond."""

Strides: TypeAlias = tuple[int, ...]
"""By how many elements an address grows with each loop's variable."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A dense operand: an input of the kernel, where its first element is, and its strides."""

    name: str
    offset: int
    strides: Strides


@dataclass(frozen=True, slots=True)
class Contraction:
    """A product of two dense operands and of scalars, summed over the loops without a stride in the result.

    ``extents`` are those of the loops, ``strides`` the result's, ``scalars`` the names of parameters, and
    ``factor`` the product of literals.
    """

    type: ScalarType
    extents: tuple[int, ...]
    strides: Strides
    left: Operand
    right: Operand
    scalars: tuple[str, ...] = ()
    factor: float = 1.0

    def loops(self, *, left: bool, right: bool, result: bool) -> tuple[int, ...]:
        """Return the loops that just these of the three arrays know."""
        known = zip(self.left.strides, self.right.strides, self.strides, strict=True)
        return tuple(
            number
            for number, strides in enumerate(known)
            if tuple(map(bool, strides)) == (left, right, result)
        )

    @property
    def batch(self) -> tuple[int, ...]:
        return self.loops(left=True, right=True, result=True)

    @property
    def rows(self) -> tuple[int, ...]:
        return self.loops(left=True, right=False, result=True)

    @property
    def columns(self) -> tuple[int, ...]:
        return self.loops(left=False, right=True, result=True)

    @property
    def summed(self) -> tuple[int, ...]:
        return self.loops(left=True, right=True, result=False)

    def extent(self, loops: tuple[int, ...]) -> int:
        """Return the number of iterations of a nest of these loops."""
        return math.prod(self.extents[loop] for loop in loops)

    @property
    def result_bytes(self) -> int:
        """The bytes of the result."""
        return self.extent((*self.batch, *self.rows, *self.columns)) * self.type.itemsize

    @property
    def all_strides(self) -> tuple[Strides, Strides, Strides]:
        """The strides in the left operand, the right one, and the result."""
        return self.left.strides, self.right.strides, self.strides

    @property
    def turned(self) -> Contraction:
        """The same with the operands exchanged: rows are columns."""
        return replace(self, left=self.right, right=self.left)


def contraction(plan: Plan, stores: tuple[Store, ...], symbols: Symbols) -> Contraction | None:
    """Return the contraction that ``plan`` is, which reads ``stores``; None if none that is worth it."""
    match plan.destination:
        case Levels(levels, leaf) if leaf.operator == "add" and leaf.type.is_real:
            extents = [constant(level.extent, symbols) for level in levels if isinstance(level, Place)]
            if len(extents) < len(levels):
                return None
        case _:
            return None
    nest = nest_of(plan.action, stores, symbols)
    if nest is None or [nest.extents[loop] for loop in nest.entered] != extents:
        return None
    strides = [0] * len(nest.extents)
    for level, loop in enumerate(nest.entered):
        strides[loop] = math.prod(each or 0 for each in extents[level + 1 :])
    found = _product(nest, leaf.type, tuple(strides), stores, symbols)
    if found is None:
        return None
    groups = (found.batch, found.rows, found.columns, found.summed)
    if sum(map(len, groups)) < len(found.extents):
        return None
    steps = math.prod(found.extents)
    if any(found.extent(group) < LEAST for group in groups[1:]) or steps < LEAST_STEPS:
        return None
    if found.extent(found.batch) > 1 and steps < LEAST_EACH * found.extent(found.batch):
        return None
    return found


def _product(
    nest: Nest, scalar_type: ScalarType, strides: Strides, stores: tuple[Store, ...], symbols: Symbols
) -> Contraction | None:
    """Return the value of a nest as a product of two operands and scalars."""
    operands: list[Operand] = []
    scalars: list[str] = []
    factor = 1.0
    for term in nest.factors:
        fact = symbols.get(term.name) if isinstance(term, Symbol) else None
        match term:
            case Literal(value) if not isinstance(value, bool):
                factor *= value
            case Symbol(name) if isinstance(fact, ParameterSymbol) and fact.type.is_real:
                scalars.append(name)
            case _:
                operand = operand_of(term, nest, scalar_type, stores, symbols)
                if operand is None:
                    return None
                operands.append(operand)
    if len(operands) != 2 or not math.isfinite(factor):  # of literals that are each finite
        return None
    left, right = operands
    return Contraction(scalar_type, nest.extents, strides, left, right, tuple(scalars), factor)


def operand_of(
    term: Term,
    nest: Nest,
    scalar_type: ScalarType,
    stores: tuple[Store, ...],
    symbols: Symbols,
) -> Operand | None:
    """Return a lookup at an address that is linear in the loops' variables, inside the array."""
    keys: list[Term] = []
    while isinstance(term, Lookup):
        keys.insert(0, term.key)
        term = term.mapping
    places, count = [1], len(nest.extents)
    match term:
        case Symbol(name):
            fact = symbols[name]
            if not isinstance(fact, ArraySymbol) or fact.type is not scalar_type:
                return None
            length = fact.length
        case Variable(index) if count <= index < count + len(stores):
            position = index - count
            store = stores[position]
            if not isinstance(store, TableStore) or store.type is not scalar_type:
                return None
            name = f"store.{len(stores) - 1 - position}"
            extents = [constant(extent, symbols) or 0 for extent in store.extents]
            places, length = [*extents[1:], 1], math.prod(extents)
        case _:
            return None
    strides, offset = [0] * len(nest.extents), 0
    for level, key in enumerate(keys):
        form = affine(key, symbols, nest.context(len(stores)))
        if form is None:
            return None
        width = math.prod(places[level:])
        offset += form[1] * width
        for loop, by in form[0].items():
            if loop >= count:
                return None
            strides[loop] += by * width
    spans = [by * (extent - 1) for by, extent in zip(strides, nest.extents, strict=True)]
    first, last = (offset + sum(choose(0, span) for span in spans) for choose in (min, max))
    return Operand(name, offset, tuple(strides)) if first >= 0 and last < length else None
