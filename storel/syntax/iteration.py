"""How the reference interpreter binds names: environments, and the loops that extend them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from storel.semiring import Semiring
from storel.syntax.nodes.expressions import Binder
from storel.syntax.types import Type
from storel.values import Value, add_into, entries, found_at, zero_of


@dataclass(frozen=True, slots=True)
class Environment:
    """The values of the names in scope; ``path`` are the keys of the dictionaries being built.

    ``seen`` holds what ``unique`` has promised about the outermost of them.
    """

    values: Mapping[str, Value]
    path: tuple[int, ...]
    seen: set[tuple[object, ...]]

    def bind(self, binder: Binder, value: Value) -> Environment:
        if binder.name is None:
            return self
        return Environment({**self.values, binder.name: value}, self.path, self.seen)

    def under(self, key: int) -> Environment:
        """Return the environment for the value of an entry that is being made."""
        return Environment(self.values, (*self.path, key), self.seen)

    def fresh(self) -> Environment:
        """Return the environment for a value of its own, with keys of its own."""
        return Environment(self.values, (), set())


Meaning: TypeAlias = Callable[[Environment], Value]
"""What an expression becomes: a function of the names in scope."""

Bindings: TypeAlias = Callable[[Environment], Iterator[Environment]]
"""What the generators of a loop become: all the environments in which the body counts."""


def total_of(kind: Type, ring: Semiring, bindings: Bindings, body: Meaning) -> Meaning:
    """Return the function to the sum of ``body`` in the environments that ``bindings`` yields."""

    def total(environment: Environment) -> Value:
        result = zero_of(kind.scalar, kind.rank, ring)
        for inner in bindings(environment):
            result = add_into(result, body(inner), kind.scalar, ring)
        return result

    return total


def bound_entries(
    keys: tuple[Binder, ...], value: Binder, source: Value, environment: Environment, bound: frozenset[str]
) -> Iterator[Environment]:
    """Yield an environment for each entry of ``source`` whose keys agree with those already ``bound``."""
    if not keys:
        yield environment.bind(value, source)
        return
    key, rest = keys[0], keys[1:]
    if key.name in bound:
        found = found_at(source, environment.values[key.name])
        if found is not None:
            yield from bound_entries(rest, value, found, environment, bound)
        return
    now_bound = bound if key.name is None else bound | {key.name}
    for position, item in entries(source):
        yield from bound_entries(rest, value, item, environment.bind(key, position), now_bound)
