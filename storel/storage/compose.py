"""Storage mappings inlined into a program: syntax tree to syntax tree.

A reference to a stored tensor becomes ``Mapped``: the mapping of its format, with the array ``idx`` of tensor
``C`` called ``C_idx`` and its sizes called after the first tensor that has an extent of that value, so
that loops over equal extents are equal. A reference to a view becomes the view's own, composed
expression. ``Mapped`` is closed but for arrays and sizes: nothing around it can capture its names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from storel.storage.facts import symbols_of
from storel.storage.substitution import rename
from storel.storage.tensor import Tensor
from storel.symbols import ArraySymbol, Fact, SizeSymbol, Symbols
from storel.syntax.nodes.expressions import (
    Binary,
    Binder,
    Call,
    Comprehension,
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
    Unary,
    Unique,
)


@dataclass(frozen=True, slots=True)
class Composed:
    """A program with its storage, and the facts about every name that it leaves free."""

    expression: Expression
    symbols: Symbols


@dataclass(frozen=True, slots=True)
class View:
    """A definition that is inlined: its expression, its extents, and the sizes that its type names."""

    expression: Expression
    extents: tuple[int, ...]
    semiring: str
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])


def compose(view: View, views: Mapping[str, View], tensors: Mapping[str, Tensor], facts: Symbols) -> Composed:
    """Inline the mappings of ``tensors`` and the definitions ``views``.

    ``facts`` are about the names that stay: raw arrays, parameters, sizes.
    """
    composer = _Composer(views, tensors, dict(facts))
    expression = composer.definition(view)
    return Composed(expression, composer.symbols)


@dataclass
class _Composer:
    views: Mapping[str, View]
    tensors: Mapping[str, Tensor]
    symbols: dict[str, Fact]
    _extents: dict[int, str] = field(default_factory=dict[int, str])
    _mapped: dict[str, Mapped] = field(default_factory=dict[str, Mapped])

    def definition(self, view: View) -> Expression:
        """Compose the expression of one definition; the sizes that its type binds become symbols."""
        sizes = {name: self._size(name, value) for name, value in view.sizes.items()}
        return self.expression(rename(view.expression, sizes), frozenset())

    def expression(self, node: Expression, bound: frozenset[str]) -> Expression:
        """Replace the tensors that ``node`` names, but for names that are ``bound`` around it."""

        def inside(child: Expression) -> Expression:
            return self.expression(child, bound)

        match node:
            case Name(name) if name not in bound:
                return self._reference(node, name)
            case Sum(generators, body):
                changed, inner = self._generators(generators, bound)
                return replace(node, generators=changed, body=self.expression(body, inner))
            case Comprehension(_, generators, body):
                changed, inner = self._generators(generators, bound)
                return replace(
                    node, generators=changed, body=None if body is None else self.expression(body, inner)
                )
            case Let(binder, value, body):
                return replace(node, value=inside(value), body=self.expression(body, bound | _names(binder)))
            case Merge(p, q, key, left, right, body):
                inner = bound | _names(p, q, key)
                body = self.expression(body, inner)
                return replace(node, left=inside(left), right=inside(right), body=body)
            case Singleton(keys, value):
                return replace(node, keys=tuple(map(inside, keys)), value=inside(value))
            case Call(function, arguments):
                return replace(node, function=inside(function), arguments=tuple(map(inside, arguments)))
            case Range(low, high):
                return replace(node, low=inside(low), high=inside(high))
            case If(condition, positive, negative):
                otherwise = None if negative is None else inside(negative)
                return replace(
                    node, condition=inside(condition), positive=inside(positive), negative=otherwise
                )
            case Binary(_, left, right):
                return replace(node, left=inside(left), right=inside(right))
            case Unary(_, operand):
                return replace(node, operand=inside(operand))
            case Unique(key):
                return replace(node, key=inside(key))
            case Extent(Name(name), dimension) if name not in bound:
                return self._extent(name, dimension)
            case _:
                return node

    def _generators(
        self, generators: tuple[Generator, ...], bound: frozenset[str]
    ) -> tuple[tuple[Generator, ...], frozenset[str]]:
        changed: list[Generator] = []
        for generator in generators:
            changed.append(replace(generator, source=self.expression(generator.source, bound)))
            bound |= _names(*generator.keys, generator.value)
        return tuple(changed), bound

    def _reference(self, node: Name, name: str) -> Expression:
        if name not in self._mapped:
            if name in self.tensors:
                self._mapped[name] = self._stored(name, self.tensors[name])
            elif name in self.views:
                view = self.views[name]
                self._mapped[name] = Mapped(name, self.definition(view), view.semiring)
            else:
                self._note_array_of_a_tensor(name)
                return node
        return replace(self._mapped[name], span=node.span)

    def _note_array_of_a_tensor(self, name: str) -> None:
        """Note the facts about ``A_pos`` where a program reads the arrays of a tensor A itself."""
        for prefix, tensor in self.tensors.items():
            if name.startswith(f"{prefix}_") and isinstance(
                fact := symbols_of(tensor, prefix).get(name), ArraySymbol
            ):
                self.symbols[name] = fact

    def _stored(self, name: str, tensor: Tensor) -> Mapped:
        """Return the mapping of a stored tensor under the names of its symbols."""
        self.symbols.update(symbols_of(tensor, name))
        names = {each.name: f"{name}_{each.name}" for each in tensor.storage.arrays}
        for size, value in tensor.sizes.items():
            is_extent = size in tensor.storage.extents
            names[size] = self._size(f"{name}_{size}", value) if is_extent else f"{name}_{size}"
        return Mapped(name, rename(tensor.storage.mapping, names), tensor.semiring)

    def _size(self, name: str, value: int) -> str:
        """Return the name that stands for an extent of this value."""
        chosen = self._extents.setdefault(value, name)
        self.symbols.setdefault(chosen, SizeSymbol(chosen, value))
        return chosen

    def _extent(self, name: str, dimension: int) -> Expression:
        if name in self.tensors:
            return Number(self.tensors[name].shape[dimension])
        return Number(self.views[name].extents[dimension])


def _names(*binders: Binder) -> frozenset[str]:
    return frozenset(binder.name for binder in binders if binder.name is not None)
