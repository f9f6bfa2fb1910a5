"""Random programs whose values are dictionaries: they are made, named, sliced, looked into and combined.

    scalar      value, key, number, A(k, …), sums, products, conditions, functions, reductions over
                generators, dictionary(k, …), let u = scalar in scalar, let d = dictionary in scalar
    dictionary  A, a name, { (k, …) -> scalar or dictionary }, sum over generators or a range of these, sums,
                products, multiples, conditions, slices of one more key, let … in dictionary
    generators  <(k, …), v> in dictionary, …: keys may be bound before, v may be a dictionary itself

Each is written for a rank and a ``Context``: the names that are in scope. Over other semirings than the
default only what is defined there is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st
from strategies.kernels import FORMATS
from strategies.random_programs import COMPARISONS, INTEGERS, REALS, Program, tuple_of

import storel

SEMIRINGS = ("plus_times", "plus_times", "plus_times", "min_plus", "max_plus", "or_and", "max_times")
TYPES = ("float64", "float64", "float32", "int64", "int32")
FUNCTIONS = (
    "abs({})",
    "relu({})",
    "floor({})",
    "min({}, {})",
    "max({}, {})",
    "({} - {})",
    "({} / (1 + abs({})))",
)
DEPTH = 2


@dataclass(frozen=True)
class Context:
    """The names in scope: keys, scalars, and dictionaries by their rank."""

    keys: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    dictionaries: tuple[tuple[str, int], ...] = ()

    def with_keys(self, *names: str) -> Context:
        return replace(self, keys=(*self.keys, *(name for name in names if name not in self.keys)))

    def with_name(self, name: str, rank: int) -> Context:
        """Add what a ``let`` or a generator binds."""
        if rank == 0:
            return replace(self, values=(*self.values, name))
        return replace(self, dictionaries=(*self.dictionaries, (name, rank)))

    def of_rank(self, rank: int) -> list[str]:
        return [name for name, known in self.dictionaries if known == rank]


@st.composite
def nested_programs(draw: st.DrawFn) -> Program:
    """Draw a program over one semiring; every extent of every operand is the same."""
    return _Writer(draw).program()


class _Writer:
    """Writes one program; operands are drawn as they are needed."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw
        self._bound = 0
        self.semiring: str = self.one_of(*SEMIRINGS)
        self.extent: int = self.one_of(3, 4, 5)
        self.operands: dict[str, storel.Tensor] = {}

    @property
    def is_plain(self) -> bool:
        return self.semiring == "plus_times"

    def one_of(self, *choices: Any) -> Any:
        return self._draw(st.sampled_from(choices))

    def happens(self, percent: int) -> bool:
        return self._draw(st.integers(1, 100)) <= percent

    def fresh(self, hint: str) -> str:
        self._bound += 1
        return f"{hint}{self._bound}"

    def program(self) -> Program:
        over = "" if self.is_plain else f" OVER {self.semiring}"
        rank = self.one_of(0, 1, 1, 2, 2, 3)
        script = f"CREATE TENSOR R{over} AS {self.of_rank(rank, Context(), DEPTH)}"
        if self.happens(25):
            above, rank = Context().with_name("R", rank), self.one_of(0, 1, 2)
            script += f"\nCREATE TENSOR S{over} AS {self.of_rank(rank, above, DEPTH - 1)}"
        wanted = self.one_of(*FORMATS[rank]) if rank and self.happens(50) else None
        return Program(script, self.operands, wanted)

    def of_rank(self, rank: int, context: Context, depth: int) -> str:
        return self.dictionary(rank, context, depth) if rank else self.scalar(context, depth)

    def scalar(self, context: Context, depth: int) -> str:
        if depth == 0:
            return self.atom(context)
        plain = ("function", "comparison", "reduction") if self.is_plain else ()
        kinds = ("atom", "product", "sum", "loop", "loop", "range", "if", "let", "lookup", *plain)
        match self.one_of(*kinds):
            case "product":
                return f"({self.scalar(context, depth - 1)} * {self.scalar(context, depth - 1)})"
            case "sum":
                return f"({self.scalar(context, depth - 1)} + {self.scalar(context, depth - 1)})"
            case "loop":
                generators, inner = self.generators(context, depth - 1)
                return f"(sum({generators}) {self.scalar(inner, depth - 1)})"
            case "range":
                generator, inner = self.range(context)
                return f"(sum({generator}) {self.scalar(inner, depth - 1)})"
            case "if":
                return self.conditional(context, depth, self.scalar)
            case "let":
                return self.named(context, depth, self.scalar)
            case "lookup":
                rank = self.one_of(1, 2)
                return f"({self.dictionary(rank, context, depth - 1)})({self.reads(rank, context)})"
            case "function":
                return self.one_of(*FUNCTIONS).format(*(self.scalar(context, depth - 1) for _ in range(2)))
            case "comparison":
                return self.condition(context, depth - 1)
            case "reduction":
                return self.reduction(context, depth)
            case _:
                return self.atom(context)

    def atom(self, context: Context) -> str:
        rank = self.one_of(1, 2)
        read = f"{self.tensor(rank)}({self.reads(rank, context)})"
        numbers = ("1", "2", "2.5", "0", "true", "-1", *context.keys) if self.is_plain else ()
        values = context.values or (read,)
        return self.one_of(read, *values, *values, *numbers[: len(values) + 1])

    def reduction(self, context: Context, depth: int) -> str:
        generators, inner = self.generators(context, depth - 1)
        match self.one_of("min", "max", "prod", "any", "all", "count"):
            case "count":
                return f"count({generators})"
            case ("any" | "all") as monoid:
                return f"({monoid}({generators}) {self.condition(inner, depth - 1)})"
            case "prod":
                return f"(prod({generators}) {self.atom(inner)})"
            case monoid:  # of nothing there is none
                body = f"{monoid}({generators}) {self.scalar(inner, depth - 1)}"
                return f"(if count({generators}) > 0 then {body} else 0)"

    def dictionary(self, rank: int, context: Context, depth: int) -> str:
        known = context.of_rank(rank)
        if depth == 0:
            return self.one_of(*known, *known, self.tensor(rank))
        plain = ("difference",) if self.is_plain else ()
        kinds = (
            "atom",
            "sum",
            "product",
            "multiple",
            "entry",
            "loop",
            "loop",
            "loop",
            "range",
            "if",
            "let",
            "slice",
        )
        match self.one_of(*kinds, *plain):
            case ("sum" | "product" | "difference") as kind:
                sign = {"sum": "+", "product": "*", "difference": "-"}[kind]
                left, right = (self.dictionary(rank, context, depth - 1) for _ in range(2))
                return f"({left} {sign} {right})"
            case "multiple":
                return f"({self.scalar(context, depth - 1)} * {self.dictionary(rank, context, depth - 1)})"
            case "entry":
                return self.entry(rank, context, depth)
            case "loop":
                generators, inner = self.generators(context, depth - 1)
                entry = self.entry(rank, inner, depth - 1)
                if self.happens(30):
                    entry = f"(if {self.condition(inner, depth - 1)} then {entry})"
                return f"(sum({generators}) {entry})"
            case "range":
                generator, inner = self.range(context)
                return f"(sum({generator}) {self.entry(rank, inner, depth - 1)})"
            case "if":
                return self.conditional(context, depth, partial(self.dictionary, rank))
            case "let":
                return self.named(context, depth, partial(self.dictionary, rank))
            case "slice" if rank < 3:
                return f"({self.dictionary(rank + 1, context, depth - 1)})({self.reads(1, context)})"
            case _:
                return self.one_of(*known, self.tensor(rank))

    def entry(self, rank: int, context: Context, depth: int) -> str:
        """Write a dictionary of one key, or of one key tuple."""
        below = self.one_of(*range(1, rank)) if rank > 1 and self.happens(40) else 0
        keys = tuple_of([self.key(context) for _ in range(rank - below)])
        return f"{{ {keys} -> {self.of_rank(below, context, max(depth - 1, 0))} }}"

    def conditional(self, context: Context, depth: int, part: Callable[[Context, int], str]) -> str:
        otherwise = f" else {part(context, depth - 1)}" if self.happens(45) else ""
        return f"(if {self.condition(context, depth - 1)} then {part(context, depth - 1)}{otherwise})"

    def named(self, context: Context, depth: int, part: Callable[[Context, int], str]) -> str:
        name, rank = self.fresh("u"), self.one_of(0, 1, 2)
        value = self.of_rank(rank, context, depth - 1)
        return f"(let {name} = {value} in {part(context.with_name(name, rank), depth - 1)})"

    def generators(self, context: Context, depth: int) -> tuple[str, Context]:
        """Write loops that share keys; the last value of some is a dictionary of the keys left over."""
        written: list[str] = []
        shared: list[str] = []
        for _ in range(self.one_of(1, 1, 2, 2, 3)):
            rank = self.one_of(1, 2, 2, 3)
            known = context.of_rank(rank)
            source = (
                self.one_of(*known)
                if known and self.happens(60)
                else f"({self.dictionary(rank, context, depth)})"
            )
            count = rank if self.happens(75) else self.one_of(*range(1, rank + 1))
            keys: list[str] = []
            for _ in range(count):
                free = [key for key in shared if key not in keys]
                keys.append(self.one_of(*free) if free and self.happens(60) else self.fresh("k"))
            shared += [key for key in keys if key not in shared]
            value = self.fresh("v")
            written.append(f"<{tuple_of(keys)}, {value}> in {source}")
            context = context.with_keys(*keys).with_name(value, rank - count)
        return ", ".join(written), context

    def range(self, context: Context) -> tuple[str, Context]:
        key = self.fresh("k")
        low, high = (
            self.one_of("0", "1", *context.keys),
            self.one_of(str(self.extent), "2", "0", *context.keys),
        )
        return f"<{key}, _> in {low}:{high}", context.with_keys(key)

    def condition(self, context: Context, depth: int) -> str:
        comparison, keys = self.one_of(*COMPARISONS), context.keys
        match self.one_of("keys", "keys", "values", "and", "not", "known"):
            case "keys" if keys:
                return f"({self.one_of(*keys)} {comparison} {self.one_of(*keys, '1', '2')})"
            case "values" if self.is_plain and depth > 0:
                return f"({self.scalar(context, depth - 1)} {comparison} {self.one_of('0', '1')})"
            case "and" if depth > 0:
                both = self.condition(context, depth - 1), self.condition(context, depth - 1)
                return f"({both[0]} {self.one_of('and', 'or')} {both[1]})"
            case "not" if depth > 0:
                return f"(not {self.condition(context, depth - 1)})"
            case _:
                return self.one_of("true", "false", *(f"({value} > 0)" for value in context.values))

    def key(self, context: Context) -> str:
        """Write a key that is not negative."""
        if not context.keys:
            return str(self._draw(st.integers(0, self.extent - 1)))
        key, other = self.one_of(*context.keys), self.one_of(*context.keys, "1", "2")
        return self.one_of(
            *[key] * 6, f"({key} + {other})", f"({key} // 2)", f"({key} % 3)", f"(2 * {key} + 1)"
        )

    def reads(self, count: int, context: Context) -> str:
        """Write keys that are looked up: there may be none such."""
        keys = [self.key(context) for _ in range(count)]
        return ", ".join(f"({key} - 1)" if context.keys and self.happens(20) else key for key in keys)

    def tensor(self, rank: int) -> str:
        """Add an operand, or reuse one."""
        known = [name for name, operand in self.operands.items() if len(operand.shape) == rank]
        if known and self.happens(45):
            return self.one_of(*known)
        name = f"T{len(self.operands)}"
        shape = (self.extent,) * rank
        count = self._draw(st.integers(0, 2 * self.extent))
        places = [st.integers(0, self.extent - 1) for _ in range(rank)]
        coordinates = [[self._draw(place) for _ in range(count)] for place in places]
        values, stored = self.values(count), self.one_of(*FORMATS[rank])
        entries = (np.array(coordinates, dtype=np.int64).reshape(rank, count), values)
        self.operands[name] = storel.tensor(entries, stored, shape=shape, semiring=self.semiring)
        return name

    def values(self, count: int) -> np.ndarray[Any, Any]:
        dtype = "bool" if self.semiring == "or_and" else self.one_of(*TYPES)
        choices: tuple[Any, ...] = (
            (False, True) if dtype == "bool" else INTEGERS if dtype.startswith("int") else REALS
        )
        drawn = self._draw(st.lists(st.sampled_from(choices), min_size=count, max_size=count))
        values = np.array(drawn, dtype=dtype)
        return np.abs(values) if self.semiring == "max_times" else values
