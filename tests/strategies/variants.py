"""Kernels written in many ways: the same meaning, other names, orders, nestings and storage.

    sum(<(i,k), a> in A, <(k,j), b> in B) { (i, j) -> a * b }
    sum(<(k,x), u> in R) sum(<y, row> in T) { y -> { x -> row(k) * u } }

A kernel is a product of tensors at letters, summed over the letters that its result does not have.
``Writer`` draws one of the programs that mean it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor read at letters; a parameter has none."""

    name: str
    letters: str


@dataclass(frozen=True, slots=True)
class Either:
    """The sum of two vectors at one letter."""

    left: Operand
    right: Operand

    @property
    def letters(self) -> str:
        return self.left.letters


Factor: TypeAlias = Operand | Either

TRANSPOSED = {"csr": "csc", "csc": "csr"}
"""The format in which a transposed matrix has the same arrays."""

_KEYS: tuple[str, ...] = ("i", "j", "k", "l", "row", "col", "p", "q", "u2", "key", "m", "n")
_VALUES: tuple[str, ...] = ("a", "b", "c", "v", "w", "x1", "value", "entry", "z", "s")
_TENSORS: tuple[str, ...] = ("A", "B", "C", "D", "M", "Q", "Left", "right", "T1", "zeta")


@dataclass(frozen=True, slots=True)
class Variant:
    """A script; ``names`` gives the name in it of each operand, ``transposed`` those to hand over so."""

    text: str
    names: dict[str, str]
    transposed: frozenset[str]


def addition(chosen: random.Random, allows_transposed: bool) -> Variant:
    """Write the sum of the matrices A and B: as they are, entry by entry, or the entries of their sum."""
    names = dict(zip("AB", chosen.sample(_TENSORS, 2), strict=True))
    first, second, value = chosen.sample(_KEYS, 3)
    transposed = frozenset(name for name in "AB" if allows_transposed and chosen.random() < 0.5)

    def entries(source: str, row: str, column: str) -> str:
        return f"sum(<({row}, {column}), {value}> in {source}) {{ ({first}, {second}) -> {value} }}"

    terms: list[str] = []
    for name in chosen.sample("AB", 2):
        if name in transposed:
            terms.append(entries(names[name], second, first))
        else:
            by_entries = entries(names[name], first, second)
            terms.append(chosen.choice((names[name], by_entries)))
    whole = " + ".join(f"({term})" if term.startswith("sum") else term for term in terms)
    if chosen.random() < 0.3:
        whole = entries(f"({whole})", first, second)
    result = next(name for name in _TENSORS if name not in names.values())
    return Variant(f"CREATE TENSOR {result} AS {whole}", names, transposed)


@dataclass
class Writer:
    """Writes the product of ``factors`` with the letters ``output``; ``sparse`` may be transposed."""

    output: str
    factors: tuple[Factor, ...]
    sparse: frozenset[str]
    random: random.Random
    transposed: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        operands = [
            each
            for factor in self.factors
            for each in ((factor.left, factor.right) if isinstance(factor, Either) else (factor,))
        ]
        self.ranks = {operand.name: len(operand.letters) for operand in operands}
        self.names = dict(zip(self.ranks, self.random.sample(_TENSORS, len(self.ranks)), strict=True))
        letters = sorted({letter for operand in operands for letter in operand.letters})
        self._keys = list(self.random.sample(_KEYS, len(_KEYS)))
        self._values = list(self.random.sample(_VALUES, len(_VALUES)))
        self.keys = {letter: self._keys.pop() for letter in letters}

    def coin(self) -> bool:
        return self.random.random() < 0.5

    def shuffled(self, items: list[str]) -> list[str]:
        return self.random.sample(items, len(items))

    def variant(self, allows_transposed: bool) -> Variant:
        """Write the script."""
        if allows_transposed:
            self.transposed = {name for name in sorted(self.sparse) if self.ranks[name] == 2 and self.coin()}
        parameters = [name for name, rank in self.ranks.items() if rank == 0]
        lines = [f"PARAMETER {self.names[name]}: real = 0.5" for name in parameters]
        result = next(name for name in _TENSORS if name not in self.names.values())
        lines.append(f"CREATE TENSOR {result} AS {self.expression()}")
        return Variant("\n".join(lines), self.names, frozenset(self.transposed))

    def expression(self) -> str:
        """Write the sums, from the outside in, and the entry that they enclose."""
        order = self.random.sample(self.factors, len(self.factors))
        order = [factor for factor in order if factor.letters]
        read = self.lookups(order)
        generators = [factor for factor in order if factor not in read]
        inner = self.innermost(generators) if not read else []
        bound: list[str] = []
        product = [self.read(factor) for factor in self.factors if factor in read or not factor.letters]
        groups = self.split([each for each in generators if each not in inner])
        written = [self.summed(group, bound, product) for group in groups]
        if inner:
            part: list[str] = []
            text = self.summed(inner, bound, part)
            product.append(f"({text} {self.product(part)})")
        return f"{' '.join(written)} {self.entry(product)}"

    def lookups(self, order: list[Factor]) -> list[Factor]:
        """Choose factors to be read by key: those whose letters the others bind; sparse ones drive."""
        found: list[Factor] = []
        for factor in order:
            others = set(chain(*(each.letters for each in order if each != factor and each not in found)))
            is_sparse = isinstance(factor, Operand) and factor.name in self.sparse
            if not is_sparse and set(factor.letters) <= others and self.coin():
                found.append(factor)
        return found

    def innermost(self, generators: list[Factor]) -> list[Factor]:
        """Choose generators for a sum inside the entry: the result has none of the letters it adds."""
        if len(generators) < 3 or self.coin():
            return []
        outer = set(self.output)
        inner = [each for each in generators if not set(each.letters) <= outer]
        kept = [each for each in generators if each not in inner]
        return inner if set(chain(*(each.letters for each in kept))) >= outer and kept else []

    def split(self, generators: list[Factor]) -> list[list[Factor]]:
        """Cut a list into one sum or several nested ones."""
        groups: list[list[Factor]] = [[]]
        for generator in generators:
            if groups[-1] and self.coin():
                groups.append([])
            groups[-1].append(generator)
        return groups

    def summed(self, group: list[Factor], bound: list[str], product: list[str]) -> str:
        """Write one sum up to its body; ``bound`` are the letters of the sums around it."""
        here: list[str] = []
        sources: list[str] = []
        conditions: list[str] = []
        for factor in group:
            value = self._values.pop()
            product.append(value)
            source, letters = self.source(factor)
            while letters and letters[0] in bound and letters[0] not in here and len(letters) > 1:
                source, letters = f"{source}({self.keys[letters[0]]})", letters[1:]
            keys: list[str] = []
            for letter in letters:
                if letter in bound and letter not in here:
                    fresh = self._keys.pop()
                    conditions.append(self.equation(fresh, self.keys[letter]))
                    keys.append(fresh)
                else:
                    keys.append(self.keys[letter])
                    here.append(letter)
            if len(keys) == 2 and self.random.random() < 0.3:
                row = self._values.pop()
                sources += [f"<{keys[0]}, {row}> in {source}", f"<{keys[1]}, {value}> in {row}"]
            else:
                sources.append(f"<{_tuple(keys)}, {value}> in {source}")
        bound += [letter for letter in here if letter not in bound]
        guard = f" if ({' and '.join(conditions)}) then" if conditions else ""
        return f"sum({', '.join(sources)}){guard}"

    def equation(self, left: str, right: str) -> str:
        return f"{left} == {right}" if self.coin() else f"{right} == {left}"

    def source(self, factor: Factor) -> tuple[str, str]:
        """Return what to sum over, and its letters."""
        if isinstance(factor, Either):
            return self.either(self.names[factor.left.name], self.names[factor.right.name]), factor.letters
        letters = factor.letters[::-1] if factor.name in self.transposed else factor.letters
        return self.names[factor.name], letters

    def read(self, factor: Factor) -> str:
        """Write the value of a factor whose letters are bound."""
        if isinstance(factor, Either):
            return self.either(self.read(factor.left), self.read(factor.right))
        source, letters = self.source(factor)
        return f"{source}({', '.join(self.keys[letter] for letter in letters)})" if letters else source

    def either(self, left: str, right: str) -> str:
        return f"({left} + {right})" if self.coin() else f"({right} + {left})"

    def product(self, parts: list[str]) -> str:
        """Write the factors in some order, bracketed somehow."""
        parts = self.shuffled(parts)
        while len(parts) > 1:
            at = self.random.randrange(len(parts) - 1)
            pair = f"{parts[at]} * {parts[at + 1]}"
            parts[at : at + 2] = [pair if len(parts) == 2 or at == 0 else f"({pair})"]
        return parts[0]

    def entry(self, product: list[str]) -> str:
        """Write the entry of the result, some factors perhaps outside it."""
        parts = self.shuffled(product)
        outside = parts.pop() if self.output and len(parts) > 1 and self.random.random() < 0.2 else ""
        value = self.product(parts)
        if not self.output:
            return value
        keys = [self.keys[letter] for letter in self.output]
        if self.coin():
            entry = f"{{ {_tuple(keys)} -> {value} }}"
        else:
            for key in reversed(keys):
                value = f"{{ {key} -> {value} }}"
            entry = value
        if outside:
            return f"{outside} * {entry}" if self.coin() else f"{entry} * {outside}"
        return entry


def _tuple(keys: list[str]) -> str:
    return keys[0] if len(keys) == 1 else f"({', '.join(keys)})"
