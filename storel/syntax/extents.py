"""Extents: how large the dimensions of every value are, checked before anything runs.

A *closed* extent (declared, or fixed by the data) is what it is; an *open* one grows to what it meets.
Two different closed extents for one key are an error. Blank ranges are inferred on the way
(``ranges.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, repeat

from storel.errors import ExtentError
from storel.syntax.dimensions import Dimension, Facts, agree, facts_of, key_facts, met, united
from storel.syntax.free_names import free_names
from storel.syntax.intervals import Bounds
from storel.syntax.nodes.expressions import (
    Binary,
    BlankRange,
    Call,
    Comprehension,
    EmptyDictionary,
    Expression,
    Extent,
    Generator,
    If,
    Let,
    Mapped,
    Merge,
    Name,
    Number,
    Range,
    Singleton,
    Sum,
    Text,
    Truth,
    Unary,
    Unique,
    Window,
)
from storel.syntax.ranges import Access, infer_ranges
from storel.syntax.signatures import Signatures, TensorSignature
from storel.syntax.walk import map_children

Scope = Mapping[str, Facts]


@dataclass(frozen=True, slots=True)
class Inferred:
    """An expression without blank ranges, and the dimensions of its value."""

    expression: Expression
    dimensions: tuple[Dimension, ...]


def infer_extents(expression: Expression, signatures: Signatures) -> Inferred:
    """Fill blank ranges and find the dimensions of a resolved, well-typed expression.

    ``extent(A, d)`` stays where ``A`` is a tensor of ``signatures``; of other values it becomes a number.
    Raises ``ExtentError``.
    """
    scope = {name: facts_of(name, signature) for name, signature in signatures.items()}
    tensors = frozenset(name for name, own in signatures.items() if isinstance(own, TensorSignature))
    analysis = _Analysis(frozenset(scope), tensors)
    facts = analysis.of(expression, scope)
    return Inferred(analysis.filled(expression), facts.dimensions)


@dataclass(slots=True)
class _Analysis:
    """``accesses`` are the reads seen under the blank ranges ``unsolved``, by key."""

    known: frozenset[str]
    tensors: frozenset[str]
    ranges: dict[int, Range] = field(default_factory=dict[int, Range])
    extents: dict[int, Number] = field(default_factory=dict[int, Number])
    accesses: list[Access] = field(default_factory=list[Access])
    unsolved: list[str] = field(default_factory=list[str])

    def filled(self, expression: Expression) -> Expression:
        """Return ``expression`` with what was inferred in place."""
        found = self.ranges.get(id(expression)) or self.extents.get(id(expression))
        return found or map_children(expression, self.filled)

    def of(self, expression: Expression, scope: Scope) -> Facts:
        """Return what is known of the value of ``expression``."""
        match expression:
            case Name(name):
                return scope[name]
            case Number(value):
                exact = Bounds.exactly(value) if isinstance(value, int) else Bounds()
                return Facts(exact, (), expression, expression)
            case Truth() | Text() | EmptyDictionary() | Window():
                return Facts()
            case BlankRange():
                inferred = self.ranges.get(id(expression))
                return Facts(Bounds(0), (Dimension(None),)) if inferred is None else self.of(inferred, scope)
            case Sum(generators, body):
                return replace(self.loop(generators, body, scope), bounds=Bounds())
            case Comprehension(monoid, generators, body):
                facts = self.loop(generators, Number(0) if body is None else body, scope)
                return facts if monoid in ("min", "max") else Facts(Bounds(0) if body is None else Bounds())
            case Singleton(keys, value):
                dimensions = tuple(_dimension(key, self.of(key, scope)) for key in keys)
                inner = self.of(value, scope)
                return Facts(inner.bounds, (*dimensions, *inner.dimensions))
            case Call():
                return self.call(expression, scope)
            case Range():
                return self.range(expression, scope)
            case Let(binder, value, body):
                bound = {} if binder.name is None else {binder.name: self.of(value, scope)}
                return self.of(body, {**scope, **bound})
            case If(condition, positive, negative):
                self.of(condition, scope)
                facts = self.of(positive, scope)
                if negative is not None:
                    return united(facts, self.of(negative, scope), expression.span)
                return replace(facts, bounds=facts.bounds.union(Bounds.exactly(0)))
            case Binary():
                return self.binary(expression, scope)
            case Unary(operator, operand):
                facts = self.of(operand, scope)
                return replace(facts, bounds=-facts.bounds if operator == "-" else Bounds(0, 1))
            case Merge():
                return self.merge(expression, scope)
            case Unique(key):
                return self.of(key, scope)
            case Extent():
                return self.extent(expression, scope)
            case Mapped(_, mapping):
                return self.of(mapping, scope)

    def loop(self, generators: tuple[Generator, ...], body: Expression, scope: Scope) -> Facts:
        """Return the facts of a loop's body; infer the loop's blank ranges from all reads in it."""
        blanks = [
            generator
            for generator in generators
            if isinstance(generator.source, BlankRange) and id(generator.source) not in self.ranges
        ]
        if not blanks:
            return self.of(body, self.bind(generators, scope))
        outer, self.accesses = self.accesses, []
        blank_keys = [generator.keys[0].name or "_" for generator in blanks]
        depth = len(self.unsolved)
        self.unsolved += blank_keys
        facts = self.of(body, self.bind(generators, scope))
        found = infer_ranges(self.accesses, blank_keys, self.unsolved)
        del self.unsolved[depth:]
        self.accesses = outer + self.accesses if self.unsolved and len(found) < len(blanks) else outer
        for generator, key in zip(blanks, blank_keys, strict=True):
            if key in found:
                self.ranges[id(generator.source)] = found[key]
            elif not found and not self.unsolved:
                raise ExtentError(
                    f"the range of '{key}' cannot be inferred",
                    expected="a read of an array or a closed extent at an address linear in it",
                    span=generator.span,
                    hint=f"say it after the sources: where {key} in 0:n",
                )
        return self.loop(generators, body, scope) if found else facts

    def bind(self, generators: tuple[Generator, ...], scope: Scope) -> Scope:
        """Return ``scope`` with what the generators bind; a key that is bound twice must agree."""
        dimensions: dict[str, Dimension] = {}
        for generator in generators:
            source = self.of(generator.source, scope)
            bound: dict[str, Facts] = {}
            levels = chain(source.dimensions, repeat(Dimension(0, origin="{}")))  # {} has any number
            for key, dimension in zip(generator.keys, levels, strict=False):
                if key.name is None:
                    continue
                own = key_facts(dimension)
                if key.name in dimensions:
                    subject = f"key '{key.span.text or key.name}'"
                    agree(dimensions[key.name], dimension, subject, key.span)
                    earlier = {**scope, **bound}[key.name]
                    if dimension.size is not None:
                        self.accesses.append(Access(Name(key.name), dimension, {**scope, **bound}))
                    own = replace(earlier, bounds=earlier.bounds.intersection(own.bounds))
                if key.name not in dimensions or dimension.is_closed:
                    dimensions[key.name] = dimension
                bound[key.name] = own
            if generator.value.name:
                bound[generator.value.name] = source.inner(len(generator.keys))
            scope = {**scope, **bound}
        return scope

    def call(self, call: Call, scope: Scope) -> Facts:
        """Return the facts of a function's value, a sub-array, an element or a lookup."""
        function = call.function
        arguments = [self.of(argument, scope) for argument in call.arguments]
        if isinstance(function, Name) and function.name not in scope:
            return Facts(_function_bounds(function.name, [each.bounds for each in arguments]))
        facts = self.of(function, scope)
        if isinstance(call.arguments[0], Range):
            part = replace(arguments[0].dimensions[0], origin="a sub-array")
            return Facts(facts.bounds, (part,))
        for argument, dimension in zip(call.arguments, facts.dimensions, strict=False):
            if dimension.is_closed:
                self.accesses.append(Access(argument, dimension, scope))
        return facts.inner(len(call.arguments))

    def range(self, expression: Range, scope: Scope) -> Facts:
        low, high = self.of(expression.low, scope), self.of(expression.high, scope)
        size = high.bounds.high
        bounds = Bounds(low.bounds.low, None if size is None else size - 1)
        symbol = expression.high if self.is_global(expression.high) else None
        dimension = Dimension(size, False, max(low.bounds.low or 0, 0), symbol, "a range")
        return Facts(bounds, (dimension,))

    def is_global(self, expression: Expression) -> bool:
        return free_names(expression) <= self.known

    def binary(self, node: Binary, scope: Scope) -> Facts:
        left, right = self.of(node.left, scope), self.of(node.right, scope)
        match node.operator:
            case "+":
                return replace(united(left, right, node.span), bounds=left.bounds + right.bounds)
            case "-":
                return replace(united(left, right, node.span), bounds=left.bounds - right.bounds)
            case "*":
                return met(left, right, node.span)
            case "//":
                return Facts(left.bounds // right.bounds)
            case "%":
                return Facts(left.bounds % right.bounds)
            case "&":
                return Facts(left.bounds & right.bounds)
            case "^":
                return Facts(left.bounds ^ right.bounds)
            case "<<":
                return Facts(left.bounds << right.bounds)
            case ">>":
                return Facts(left.bounds >> right.bounds)
            case _:  # also |, by which interleave spreads bits: an extent of all bits is worse than none
                return Facts()

    def merge(self, node: Merge, scope: Scope) -> Facts:
        left, right = self.of(node.left, scope), self.of(node.right, scope)
        common = Facts(left.bounds.intersection(right.bounds))
        bound = zip(
            (node.left_position, node.right_position, node.key),
            (key_facts(left.dimensions[0]), key_facts(right.dimensions[0]), common),
            strict=True,
        )
        return self.of(node.body, {**scope, **{each.name: facts for each, facts in bound if each.name}})

    def extent(self, node: Extent, scope: Scope) -> Facts:
        dimension = self.of(node.tensor, scope).dimensions[node.dimension]
        if dimension.size is None:
            if self.unsolved:
                return Facts(Bounds(0))
            raise ExtentError("this extent is not known", span=node.span, hint="declare it in a type")
        if not (isinstance(node.tensor, Name) and node.tensor.name in self.tensors):
            self.extents[id(node)] = Number(dimension.size, node.span)
        return Facts(Bounds.exactly(dimension.size), (), node, node)


def _dimension(key: Expression, facts: Facts) -> Dimension:
    """Return the dimension of a dictionary whose keys are as ``facts`` says; a literal is not negative."""
    low, high = facts.bounds.low, facts.bounds.high
    if high is not None and high < 0 and not free_names(key):  # a name may be guarded by a condition
        raise ExtentError("a negative key", expected="a natural number", found=str(high), span=key.span)
    return Dimension(None if high is None else max(high + 1, 0), False, max(low or 0, 0))


def _function_bounds(name: str, arguments: list[Bounds]) -> Bounds:
    match name, arguments:
        case "min", [a, b]:
            return a.least(b)
        case "max", [a, b]:
            return a.greatest(b)
        case "abs", [a]:
            return a if a.is_natural else a.greatest(-a).greatest(Bounds.exactly(0))
        case "bit", _:
            return Bounds(0, 1)
        case _:
            return Bounds()
