"""Random programs over operands of all types of numbers, of which few short ones may be added up.

    @given(mixed_programs())                          a Mixed: its text and its operands
    program.largest()                                 how far rounding may take a result from the right one

A program is a sum over one to three tensors that share keys, of products of their values, lookups, sums of
others, differences and literals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from strategies.kernels import FORMATS

import storel
from storel.arrays import Array
from storel.errors import StorelError

LETTERS = "ijk"
EXTENTS = (1, 2, 6, 12)
NUMBERS: dict[Any, tuple[float, ...]] = {
    np.int32: (0, 1, 2**30, 2**31 - 1, 2**31 - 1, -(2**30), 46341),
    np.int64: (0, 1, 2, -1, 2**31, 2**33),
    np.float32: (0, 1, 0.5, -1.5, 2**24),
    np.float64: (0, 1, 0.5, -1.5, 1e9),
    np.bool_: (0, 1, 1),
}
TYPES = (np.int32, np.int32, np.int64, np.float32, np.float64, np.bool_)


@dataclass(frozen=True)
class Mixed:
    """A script and the arrays that it is given, each in a format, None where it is given as it is."""

    text: str
    arrays: dict[str, tuple[Array, str | None]]

    def operands(self) -> dict[str, Any]:
        return {name: _in_format(*given) for name, given in self.arrays.items()}

    def largest(self) -> Array:
        """Return the sums of the absolute values of all that is added up for each entry of the result."""
        positive = {name: np.abs(array.astype(np.float64)) for name, (array, _) in self.arrays.items()}
        result = storel.run(self.text.replace(" - ", " + "), backend="interpret", **positive)
        assert isinstance(result, storel.Tensor)
        return result.to_numpy()


def _in_format(array: Array, name: str | None) -> Any:
    if name is None:
        return array
    try:
        return storel.tensor(array).to(name)
    except StorelError:  # what the format holds is structured
        return array


@st.composite
def mixed_programs(draw: st.DrawFn) -> Mixed:
    return _Writer(draw).program()


class _Writer:
    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw
        self.sizes = {letter: self.one_of(*EXTENTS) for letter in LETTERS}
        self.arrays: dict[str, tuple[Array, str | None]] = {}
        self.keys: list[str] = []
        self.values: list[str] = []

    def one_of(self, *choices: Any) -> Any:
        return self._draw(st.sampled_from(choices))

    def tensor(self, letters: tuple[str, ...]) -> str:
        name, kind = f"T{len(self.arrays)}", self.one_of(*TYPES)
        shape = tuple(self.sizes[letter] for letter in letters)
        seed = self._draw(st.integers(0, 2**16))
        array = np.random.default_rng(seed).choice(np.array(NUMBERS[kind], dtype=kind), shape)
        self.arrays[name] = array, self.one_of(None, None, *FORMATS[len(letters)])
        return name

    def letters(self) -> tuple[str, ...]:
        return self.one_of("i", "j", "k", ("i", "j"), ("j", "k"), ("k", "i"))

    def program(self) -> Mixed:
        generators: list[str] = []
        for value in "xyz"[: self.one_of(1, 2, 3)]:
            letters = self.letters()
            generators.append(f"<{_tuple(letters)}, {value}> in {self.tensor(letters)}")
            self.keys += [letter for letter in letters if letter not in self.keys]
            self.values.append(value)
        body = " * ".join(self._draw(st.permutations([self.one_of(*self.values), self.number(2)])))
        entry = self.one_of(f"({body})", *(f"{{ {key} -> {body} }}" for key in self.keys))
        return Mixed(f"CREATE TENSOR R AS sum({', '.join(generators)}) {entry}", self.arrays)

    def number(self, depth: int) -> str:
        forms = ("value", "product", "product", "sum", "difference", "lookup", "loop", "if")
        match self.one_of(*forms) if depth else "value":
            case "product":
                return f"({self.number(depth - 1)} * {self.number(depth - 1)})"
            case "sum":
                return f"({self.number(depth - 1)} + {self.number(depth - 1)})"
            case "difference":
                return f"({self.number(depth - 1)} - {self.number(depth - 1)})"
            case "lookup":
                key = self.one_of(*self.keys)
                return f"{self.tensor((key,))}({key})"
            case "loop":
                value, letters = f"w{depth}", self.letters()
                names = _tuple([f"{letter}{depth}" for letter in letters])
                source = f"<{names}, {value}> in {self.tensor(letters)}"
                self.values.append(value)
                body = self.number(depth - 1)
                self.values.remove(value)
                return f"(sum({source}) {body} * {value})"
            case "if":
                return (
                    f"(if ({self.one_of(*self.values)} > {self.one_of(0, 1)}) then {self.number(depth - 1)})"
                )
            case _:
                return str(self.one_of(*self.values, *self.values, *self.keys, 2, 1.0, 0.5, 10**6))


def _tuple(names: Any) -> str:
    return names[0] if len(names) == 1 else f"({', '.join(names)})"
