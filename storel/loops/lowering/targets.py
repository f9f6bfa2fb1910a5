"""Where scalars go: the leaves of a destination.

A target takes values one by one; what happens to them is its own business. Targets with children are
in ``assembly.py`` (results) and ``stores.py`` (what a ``bind`` fills).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from storel.loops.emitter import ALWAYS, NEVER, Emitter, chosen, compare, convert, index
from storel.loops.lowering.operations import product
from storel.loops.nodes import Assign, Buffer, Constant, Expression, Local, Role, Store, Update
from storel.loops.nodes import If as Branch
from storel.scalars import ScalarType
from storel.semiring import Scalar


@dataclass(frozen=True, slots=True)
class Limit:
    """The extent of a target: nothing but ``zero`` may arrive beyond it."""

    extent: int
    zero: Constant


class Target(Protocol):
    """A destination while it is written.

    ``limit`` is what keys must be proved, or else checked, to stay within; None where the planner has
    derived the extent from the keys.
    """

    @property
    def limit(self) -> Limit | None: ...

    def add(self, value: Expression) -> None:
        """Combine ``value`` into this scalar target."""
        ...

    def enter(self, key: Expression, fill: Callable[[Target], None], *, is_simple: bool) -> None:
        """Run ``fill`` on the child at ``key``; ``is_simple`` if that adds exactly one value."""
        ...


class Leaf:
    """A target of rank 0: it has no children."""

    limit: Limit | None = None

    def enter(self, key: Expression, fill: Callable[[Target], None], *, is_simple: bool) -> None:
        raise AssertionError("a scalar has no children")


class Dictionary:
    """A target with children: values arrive at its leaves alone."""

    def add(self, value: Expression) -> None:
        raise AssertionError("a dictionary takes entries, not values")


@dataclass
class LocalTarget(Leaf):
    """Accumulates into a local; ``zero``, if known, is the operator's neutral element."""

    emitter: Emitter
    local: Local
    operator: str
    zero: Constant | None = None

    def add(self, value: Expression) -> None:
        self.emitter.combine(self.local, self.operator, value)


@dataclass
class ProductTarget(LocalTarget):
    """Multiplies real numbers that may be inf or NaN into a local: a zero among them makes it zero."""

    def add(self, value: Expression) -> None:
        value = convert(value, self.local.type)
        total = product(self.emitter, "plus_times", self.local, value, Role.VALUE, is_unguarded=False)
        self.emitter.emit(Assign(self.local, total))


@dataclass(kw_only=True)
class SeenTarget(LocalTarget):
    """Accumulates into a local, and counts the values as ``seen``: in lanes, unlike a mark, as they are."""

    seen: Local

    def add(self, value: Expression) -> None:
        super().add(value)
        self.emitter.advance(self.seen, index(1))


@dataclass
class AssignTarget(Leaf):
    """Takes exactly one value, as the initial value of a local; no clearing, no addition."""

    emitter: Emitter
    hint: str
    type: ScalarType
    local: Local | None = None

    def add(self, value: Expression) -> None:
        self.local = self.emitter.declare(self.hint, value, self.type)


@dataclass
class ElementTarget(Leaf):
    """Accumulates into an element of a buffer; ``once`` if it holds the zero and is written once."""

    emitter: Emitter
    buffer: Buffer
    index: Expression
    operator: str
    once: bool = False

    def receive(self, fill: Callable[[Target], None], zero: Constant, *, is_simple: bool) -> None:
        """Run ``fill`` on the element; several values are added up in a local before."""
        if is_simple:
            fill(self)
        else:
            self.add(reduced(self.emitter, fill, self.buffer.type, self.operator, zero, is_simple=False))

    def add(self, value: Expression) -> None:
        value = convert(value, self.buffer.type)
        if self.once:
            self.emitter.emit(Store(self.buffer, self.index, value))
        else:
            self.emitter.emit(Update(self.buffer, self.index, self.operator, value))


@dataclass
class NowhereTarget:
    """What is beyond a limit, at any depth: each value is required to be zero.

    It has no place, so that values are not added up: those that would cancel fail, too.
    """

    emitter: Emitter
    zero: Constant
    require: Callable[[Expression], None]
    limit: Limit | None = None

    def add(self, value: Expression) -> None:
        self.require(compare("equal", self.emitter.declare("x", value), self.zero))

    def enter(self, key: Expression, fill: Callable[[Target], None], *, is_simple: bool) -> None:
        fill(self)


def furthest(operator: str, scalar_type: ScalarType) -> Scalar:
    """Return the number to which the least or greatest one of others is any of them."""
    return scalar_type.last if operator == "minimum" else scalar_type.first


def add_where(emitter: Emitter, target: Target, condition: Expression, value: Expression) -> None:
    """Combine ``value`` into a scalar target where the condition holds; it may be evaluated in any case."""
    if condition == ALWAYS:
        target.add(value)
        return
    if condition == NEVER:
        return
    if isinstance(target, LocalTarget) and target.zero is not None:
        target.add(chosen(condition, convert(value, target.local.type), target.zero))
        return
    with emitter.block() as statements:
        target.add(value)
    emitter.emit(Branch(condition, tuple(statements)))


def accumulating(
    emitter: Emitter, local: Local, operator: str, zero: Constant | None = None, *, is_unguarded: bool
) -> LocalTarget:
    """Return the target that accumulates into a local; products have a guard unless ``is_unguarded``."""
    is_plain = operator != "multiply" or is_unguarded or not local.type.is_real
    return (LocalTarget if is_plain else ProductTarget)(emitter, local, operator, zero)


def reduced(
    emitter: Emitter,
    fill: Callable[[Target], None],
    scalar_type: ScalarType,
    operator: str,
    zero: Constant,
    *,
    is_simple: bool,
    is_unguarded: bool = True,
) -> Local:
    """Run ``fill`` on a fresh scalar and return the local that holds the outcome.

    Products of reals have a guard unless ``is_unguarded``.
    """
    if is_simple:
        target = AssignTarget(emitter, "value", scalar_type)
        fill(target)
        assert target.local is not None
        return target.local
    local = emitter.declare("sum", zero)
    fill(accumulating(emitter, local, operator, zero, is_unguarded=is_unguarded))
    return local
