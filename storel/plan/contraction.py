"""Dense contractions: nests of loops that multiply and add up what a matrix product does.

    C(b…, m…, n…) = sum(k…) A(b…, m…, k…) · B(b…, k…, n…)        all dense, dimensions in any order

A loop is told by its strides in the three arrays: by how much an address grows with its variable. Loops that
all three know are of a batch, those of the result and one operand its rows or columns, those of both
operands the sum. Source: Springer, Bientinesi, "Design of a high-performance GEMM-like tensor-tensor
multiplication", TOMS 44(3), 2018, for these classes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from storel.calculus.binding import shift
from storel.calculus.bounds import bounds
from storel.calculus.domains import affine
from storel.calculus.intervals import ANY, Context, Interval
from storel.calculus.nodes import Apply, Literal, Lookup, Multiply, Symbol, Term, Variable
from storel.calculus.strictness import vanishes
from storel.plan.copies import Key, copied_keys
from storel.plan.nodes import (
    Accumulate,
    Action,
    Bind,
    Enter,
    Entries,
    Levels,
    Loop,
    Place,
    Plan,
    Positions,
    ScalarStore,
    Store,
    TableStore,
)
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, ParameterSymbol, Symbols

LEAST = 4
"""The least number of rows, columns and summands of what is computed as a matrix product."""

LEAST_STEPS = 2**17
"""The least number of multiplications that are worth it."""

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
            extents = [_constant(level.extent, symbols) for level in levels if isinstance(level, Place)]
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
    if any(found.extent(group) < LEAST for group in groups[1:]) or math.prod(found.extents) < LEAST_STEPS:
        return None
    return found


Binders: TypeAlias = "tuple[int | Term, ...]"
"""What each binder around a term stands for, the innermost first: the loop of this number, or a value."""


@dataclass(frozen=True, slots=True)
class Nest:
    """Loops from 0 around one value: their extents, and the numbers of those whose variables are entered."""

    extents: tuple[int, ...]
    entered: tuple[int, ...]
    binders: Binders
    value: Term

    def context(self, binders: Binders) -> Context:
        """Return the bounds of the variables of a term under ``binders``."""
        return tuple(
            Interval(0, self.extents[each] - 1) if isinstance(each, int) else ANY for each in binders
        )


def nest_of(action: Action, stores: tuple[Store, ...], symbols: Symbols) -> Nest | None:
    """Return ``action`` as a nest of loops around one value; a table that is only copied counts as none.

    A loop over the entries of a row is one over all of its places where those without an entry add nothing.
    """
    extents: list[int] = []
    rows: list[int] = []
    binders: Binders = ()
    entered: list[int | Term] = []
    copy: _Copy | None = None
    while True:
        match action:
            case Loop(Positions(Literal(0), high), body):
                extent = _constant(high, symbols) or 0
                binders = (len(extents), len(extents), *binders)
                extents.append(extent)
            case Loop(Entries(row), body):
                extent = row_extent(row, len(binders), stores, symbols)
                binders = (Lookup(shift(row, 1), Variable(0)), len(extents), *binders)
                rows.append(len(binders))
                extents.append(extent)
            case Enter(Variable(index), body) if index < len(binders):
                entered.append(binders[index])
            case Bind(ScalarStore(), Accumulate(value), body):
                binders = (value, *binders)
            case Bind(TableStore() as store, body, copying) if copy is None:
                keys = copied_keys(copying, store.extents)
                if keys is None:
                    return None
                copy, entered = _Copy(keys, tuple(entered), binders), []
            case Accumulate(value):
                reached = entered if copy is None else copy.entered(entered)
                loops = tuple(loop for loop in reached if isinstance(loop, int))
                is_nest = all(extents) and len(set(loops)) == len(reached)
                is_nest = is_nest and all(_vanishes_without(each, value, binders) for each in rows)
                return Nest(tuple(extents), loops, binders, value) if is_nest else None
            case _:
                return None
        action = body


def _vanishes_without(entry: int, value: Term, binders: Binders) -> bool:
    """Return whether ``value`` is zero where that binder, counted from outside, stands for a zero."""
    zeros = 0
    for number, stands_for in enumerate(reversed(binders), 1):
        is_zero = not isinstance(stands_for, int) and vanishes(stands_for, zeros)
        zeros = zeros << 1 | (is_zero or number == entry)
    return vanishes(value, zeros)


@dataclass(frozen=True, slots=True)
class _Copy:
    """A table that is copied: the keys of the copy, what was entered before it, and the binders around it."""

    keys: tuple[Key, ...]
    before: tuple[int | Term, ...]
    outside: Binders

    def entered(self, table: list[int | Term]) -> list[int | Term]:
        """Return what is entered in all, where ``table`` is what the filling of the table enters."""
        keys = (table[key.index] if key.is_of_table else self.outside[key.index] for key in self.keys)
        return [*self.before, *keys]


def row_extent(row: Term, binders: int, stores: tuple[Store, ...], symbols: Symbols) -> int:
    """Return the length of a row of a table, which stands under so many binders; 0 if it is none."""
    depth = 0
    while isinstance(row, Lookup):
        row, depth = row.mapping, depth + 1
    store = stores[row.index - binders] if isinstance(row, Variable) and row.index >= binders else None
    if not isinstance(store, TableStore) or len(store.extents) != depth + 1:
        return 0
    return _constant(store.extents[depth], symbols) or 0


def _product(
    nest: Nest, scalar_type: ScalarType, strides: Strides, stores: tuple[Store, ...], symbols: Symbols
) -> Contraction | None:
    """Return the value of a nest as a product of two operands and scalars."""
    operands: list[Operand] = []
    scalars: list[str] = []
    factor = 1.0
    for term, binders in factors(nest.value, nest.binders):
        fact = symbols.get(term.name) if isinstance(term, Symbol) else None
        match term:
            case Literal(value) if not isinstance(value, bool):
                factor *= value
            case Symbol(name) if isinstance(fact, ParameterSymbol) and fact.type.is_real:
                scalars.append(name)
            case _:
                operand = operand_of(term, binders, nest, scalar_type, stores, symbols)
                if operand is None:
                    return None
                operands.append(operand)
    if len(operands) != 2:
        return None
    left, right = operands
    return Contraction(scalar_type, nest.extents, strides, left, right, tuple(scalars), factor)


def factors(term: Term, binders: Binders) -> Iterator[tuple[Term, Binders]]:
    """Yield the factors of a product, or of a quotient by a number, each with the binders around it."""
    match term:
        case Multiply(left, right, "plus_times"):
            yield from factors(left, binders)
            yield from factors(right, binders)
        case Apply("divide", (dividend, Literal(divisor))) if divisor != 0 and math.isfinite(1.0 / divisor):
            yield from factors(dividend, binders)
            yield Literal(1.0 / divisor, ScalarType.FLOAT64), binders
        case Variable(index) if index < len(binders) and not isinstance(value := binders[index], int):
            yield from factors(value, binders[index + 1 :])
        case _:
            yield term, binders


def operand_of(
    term: Term,
    binders: Binders,
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
    places = [1]
    match term:
        case Symbol(name):
            fact = symbols[name]
            if not isinstance(fact, ArraySymbol) or fact.type is not scalar_type:
                return None
            length = fact.length
        case Variable(index) if len(binders) <= index < len(binders) + len(stores):
            position = index - len(binders)
            store = stores[position]
            if not isinstance(store, TableStore) or store.type is not scalar_type:
                return None
            name = f"store.{len(stores) - 1 - position}"
            extents = [_constant(extent, symbols) or 0 for extent in store.extents]
            places, length = [*extents[1:], 1], math.prod(extents)
        case _:
            return None
    strides, offset = [0] * len(nest.extents), 0
    for level, key in enumerate(keys):
        form = affine(key, symbols, nest.context(binders))
        if form is None:
            return None
        width = math.prod(places[level:])
        offset += form[1] * width
        for index, by in form[0].items():
            loop = binders[index]
            if not isinstance(loop, int):
                return None
            strides[loop] += by * width
    spans = [by * (extent - 1) for by, extent in zip(strides, nest.extents, strict=True)]
    first, last = (offset + sum(choose(0, span) for span in spans) for choose in (min, max))
    return Operand(name, offset, tuple(strides)) if first >= 0 and last < length else None


def _constant(term: Term, symbols: Symbols) -> int | None:
    """Return the value of a term that has only one."""
    interval = bounds(term, symbols)
    return interval.low if interval.low == interval.high else None
