"""Random programs with random data in random formats, as the property of the whole compiler needs them.

    @given(programs())                     a Program: its text and its operands
    run(program, backend="interpret")      what it means; any other way of running it must agree

A program is a sum over one to three tensors that share keys, of products of their values, lookups,
conditions and functions; sometimes another tensor is added, or the whole is the view of a second one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from strategies.kernels import FORMATS

import storel
from storel.arrays import Array

LETTERS = "ijkl"
REALS = (0.0, 0.0, 0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -3.0, 1.7)
NASTY = (*REALS, np.inf, -np.inf, np.nan, 1e30, 5e-324)
INTEGERS = (0, 0, 0, 1, -1, 2, 3, -7)
MANY = 125
"""Elements up to which each is drawn by itself, so that those that fail become few."""

COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


@dataclass(frozen=True)
class Program:
    """A script, its operands, and the format in which the result is wanted."""

    text: str
    operands: dict[str, storel.Tensor]
    result_format: str | None

    def __repr__(self) -> str:
        """Show what is needed to repeat a failure."""
        lines = [self.text, f"result in {self.result_format}"]
        for name, tensor in self.operands.items():
            lines.append(f"{name} = {tensor.to_numpy().tolist()} {tensor.dtype} in {tensor.format}")
        return "\n".join(lines)


def evaluate(program: Program, backend: str) -> Array:
    """Run a program and return its result as a dense array."""
    wanted = None if backend == "interpret" else program.result_format
    result = storel.run(program.text, backend=backend, format=wanted, **program.operands)
    assert isinstance(result, storel.Tensor)
    return result.to_numpy()


NARROW = (3, 2, 4, 5, 1, 0)
"""Extents that suffice for all that programs may be wrong about."""

WIDE = (8, 6, 17, 7, 12, 3, 16, 9, 1)
"""Extents about those of vectors, which compilers may be wrong about."""


@st.composite
def programs(draw: st.DrawFn, extents: tuple[int, ...] = NARROW) -> Program:
    """Draw a program over one semiring, with at most two different dimensions that are not narrow."""
    return _Writer(draw, extents).program()


class _Writer:
    """Writes one program; names and extents are drawn as they are needed."""

    def __init__(self, draw: st.DrawFn, extents: tuple[int, ...]) -> None:
        self._draw = draw
        self.semiring = self.one_of(
            "plus_times", "plus_times", "plus_times", "min_plus", "max_plus", "or_and"
        )
        self.values = NASTY if self.one_of(False, False, True) else REALS
        wide = LETTERS[:2]
        self.sizes = {each: self.one_of(*(extents if each in wide else NARROW)) for each in LETTERS}
        self.operands: dict[str, storel.Tensor] = {}
        self.keys: list[str] = []
        self.bound: list[str] = []

    @property
    def is_plain(self) -> bool:
        return self.semiring == "plus_times"

    def one_of(self, *choices: Any) -> Any:
        return self._draw(st.sampled_from(choices))

    def some(self, letters: list[str], most: int, least: int = 1) -> list[str]:
        shuffled = self._draw(st.permutations(letters))
        return list(shuffled[: self._draw(st.integers(least, min(most, len(letters))))])

    def program(self) -> Program:
        generators = [self.generator(value) for value in "xyz"[: self.one_of(1, 2, 2, 3)]]
        outer = self.some(sorted(set(self.keys)), 3, least=0)
        text = f"sum({', '.join(generators)}) {self.body(outer)}"
        over = "" if self.is_plain else f" OVER {self.semiring}"
        if outer and self.one_of(False, False, False, True):
            sign = self.one_of("+", "*", "-") if self.is_plain else self.one_of("+", "*")
            text = f"({text}) {sign} {self.tensor(outer)}"
        script = f"CREATE TENSOR R{over} AS {text}"
        rank = len(outer)
        if outer and self.one_of(False, False, False, True):
            names = [f"k{number}" for number in range(rank)]
            last = self.one_of(f"sum(<{tuple_of(names)}, v> in R) {{ {names[-1]} -> v * v }}", "R + R")
            rank = 1 if last.startswith("sum") else rank
            script += f"\nCREATE TENSOR S{over} AS {last}"
        wanted = self.one_of(None, *FORMATS[rank]) if rank else None
        return Program(script, self.operands, wanted)

    def generator(self, value: str) -> str:
        letters = self.some(list(LETTERS), 3)
        source = self.tensor(letters)
        match self.one_of("plain", "plain", "plain", "plain", "union", "intersection", "squared"):
            case "union":
                source = f"({source} + {self.tensor(letters)})"
            case "intersection":
                source = f"({source} * {self.tensor(letters)})"
            case "squared":
                inner = tuple_of([f"{letter}0" for letter in letters])
                source = f"(sum(<{inner}, w> in {source}) {{ {inner} -> w * w }})"
            case _:
                pass
        self.keys += letters
        self.bound.append(value)
        return f"<{tuple_of(letters)}, {value}> in {source}"

    def body(self, outer: list[str]) -> str:
        factors = list(self.bound) if self.one_of(True, False) else []
        factors += [self.factor() for _ in range(self.one_of(1, 1, 2))]
        product = " * ".join(self._draw(st.permutations(factors)))
        entry = f"{{ {tuple_of(outer)} -> {product} }}" if outer else product
        return f"if ({self.condition()}) then {entry}" if self.one_of(False, False, False, True) else entry

    def factor(self) -> str:
        value, other = self.one_of(*self.bound), self.one_of(*self.bound)
        letters = self.some(sorted(set(self.keys)), 2)
        if not self.is_plain:
            return self.one_of(value, f"{self.tensor(letters)}({', '.join(letters)})")
        match self.one_of("value", "lookup", "shifted", "function", "sum", "if", "let", "key", "comparison"):
            case "lookup":
                return f"{self.tensor(letters)}({', '.join(letters)})"
            case "shifted":
                shift = self.one_of(" + 1", " - 1")
                return f"{self.tensor(letters)}({', '.join([letters[0] + shift, *letters[1:]])})"
            case "function":
                return self.one_of(f"abs({value})", f"relu({value})", f"min({value}, {other})", "1")
            case "sum":
                return f"({value} {self.one_of('+', '-')} {self.one_of(other, '1', '2.5')})"
            case "if":
                return f"(if ({self.condition()}) then {value} else {self.one_of(other, '1')})"
            case "let":
                return f"(let u = {value} * {other} in u + u)"
            case "key":
                return letters[0]
            case "comparison":
                return f"({value} {self.one_of(*COMPARISONS)} {self.one_of(other, '1')})"
            case _:
                return value

    def condition(self) -> str:
        keys, comparison = sorted(set(self.keys)), self.one_of(*COMPARISONS)
        match self.one_of("keys", "keys", "values", "and", "not"):
            case "keys":
                return f"{self.one_of(*keys)} {comparison} {self.one_of(*keys, '1', '2')}"
            case "values":
                return f"{self.one_of(*self.bound)} {comparison} {self.one_of(*self.bound, '0', '0.5')}"
            case "and":
                return f"({self.condition()}) {self.one_of('and', 'or')} ({self.condition()})"
            case _:
                return f"not ({self.condition()})"

    def tensor(self, letters: list[str]) -> str:
        """Add an operand with these dimensions, or reuse one."""
        shape = tuple(self.sizes[letter] for letter in letters)
        known = [name for name, operand in self.operands.items() if operand.shape == shape]
        if known and self.one_of(False, False, True):
            return self.one_of(*known)
        name = "ABCDEFGHIJKLMNOPQ"[len(self.operands)]
        wanted = self.one_of(*FORMATS[len(shape)])
        if self.one_of(False, False, False, True):
            count = self._draw(st.integers(0, 6)) if all(shape) else 0
            axes = [[self._draw(st.integers(0, size - 1)) for _ in range(count)] for size in shape]
            coordinates = np.array(axes, dtype=np.int64).reshape(len(shape), count)
            data: Any = (coordinates, self.array((count,)))
        else:
            data = self.array(shape)
        self.operands[name] = storel.tensor(data, wanted, shape=shape, semiring=self.semiring)
        return name

    def array(self, shape: tuple[int, ...]) -> Array:
        if self.semiring == "or_and":
            dtype = "bool"
        else:
            dtype = self.one_of(
                "float64", "float64", "float32", "int64", "int32", "bool" if self.is_plain else "int64"
            )
        values: tuple[Any, ...] = INTEGERS if dtype.startswith("int") else self.values
        if dtype == "bool":
            values = (False, False, True)
        count = int(np.prod(shape))
        if count > MANY:
            drawn = np.random.default_rng(self._draw(st.integers(0, 2**32))).choice(values, count).tolist()
        else:
            drawn = self._draw(st.lists(st.sampled_from(values), min_size=count, max_size=count))
        return (
            np.array(drawn, dtype=np.float64 if dtype.startswith("float") else dtype)
            .astype(dtype)
            .reshape(shape)
        )


def tuple_of(names: list[str]) -> str:
    """Return a key as it is written."""
    return names[0] if len(names) == 1 else f"({', '.join(names)})"
