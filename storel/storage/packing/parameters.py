"""Parameters of formats that the data determines, by comprehensions over the tensor in their defaults.

    lower: int = max(<(i, j), v> in T) (i - j)
    width: int = max(<i, row> in T) count(<j, v> in row)
    mean: int = (sum(<i, row> in T) min(count(<j, v> in row), 8)) // max(m, 1)
    depth: int = max(<j, column> in sum(<(i, j), v> in T) { (j, i) -> v }) count(<i, v> in column)

The last one goes through the tensor with its keys in another order. Each is at least 0; of no entries all of
these reductions are 0. ``count`` counts distinct keys.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from storel.arrays import Array
from storel.errors import FormatError
from storel.storage.coordinates import sorted_entries, starts
from storel.storage.entries import Entries
from storel.storage.formats.format import Format
from storel.storage.formats.sizes import evaluate_size
from storel.storage.unpacking.vectors import evaluate_vector
from storel.syntax.free_names import free_names
from storel.syntax.nodes.expressions import (
    Binder,
    Comprehension,
    Expression,
    Generator,
    Name,
    Singleton,
    Sum,
)
from storel.syntax.spelling import CALLS
from storel.syntax.walk import map_children

_REDUCTIONS = {"max": np.maximum, "min": np.minimum, "count": np.add, "sum": np.add}

_TURNED = "T turned"
"""What no text calls the tensor with its keys in another order."""


def with_parameters_of(storage: Format, entries: Entries) -> Format:
    """Return the format with a value for every parameter that was left to the data.

    Raises FormatError where a default is no comprehension that is understood.
    """
    open_parameters = [each for each in storage.parameters if each.name not in storage.arguments]
    if not open_parameters:
        return storage
    entries = entries.combined()
    coordinates = entries.coordinates
    found = dict(storage.arguments)
    extents = dict(zip(storage.extents, entries.shape, strict=True))
    for parameter in open_parameters:
        assert parameter.default is not None
        data = _Data(coordinates, {**extents, **found})
        data.groups[storage.declaration.tensor] = _Group(0, starts(coordinates[:0]))
        found[parameter.name] = int(np.asarray(data.value(parameter.default)).max(initial=0))
    return storage.bound({each.name: found[each.name] for each in storage.parameters})


def with_parameters_of_extents(storage: Format, shape: tuple[int, ...]) -> Format:
    """Return the format with a value for each parameter whose default is computed without the tensor."""
    found, extents = dict(storage.arguments), dict(zip(storage.extents, shape, strict=True))
    for parameter in storage.parameters:
        known = {**extents, **found}
        if parameter.name in found or parameter.default is None:
            continue
        if free_names(parameter.default) <= known.keys() | CALLS.keys():
            found[parameter.name] = max(0, evaluate_size(parameter.default, known))
    if len(found) == len(storage.arguments):
        return storage
    return storage.bound({each.name: found[each.name] for each in storage.parameters if each.name in found})


@dataclass(frozen=True, slots=True)
class _Group:
    """The tensor in parts that agree in the first ``depth`` keys, and at which entries a part starts."""

    depth: int
    starts: Array


@dataclass
class _Data:
    """The sorted entries, and what each name stands for at each of them."""

    coordinates: Array
    names: dict[str, Any]
    groups: dict[str, _Group] = field(default_factory=dict[str, _Group])

    def value(self, expression: Expression) -> Any:
        """Return the value of ``expression`` for each entry."""
        return evaluate_vector(self._reduced(expression), self.names, {})

    def _reduced(self, expression: Expression) -> Expression:
        """Replace comprehensions by names of their values."""
        match expression:
            case Comprehension(monoid, (Generator(_, _, Name(source)) as generator,), body) if (
                monoid in _REDUCTIONS and self._has(generator)
            ):
                return self._named(monoid, self.groups[source], generator, body)
            case Sum((Generator(_, _, Name(source)) as generator,), body, ()) if self._has(generator):
                return self._named("sum", self.groups[source], generator, body)
            case Comprehension(_, (Generator(_, _, Sum() as source) as generator,)) | Sum(
                (Generator(_, _, Sum() as source) as generator,), _, ()
            ) if (turned := self._turned(source)) is not None:
                name = f"reduced {len(self.names)}"
                inner = replace(generator, source=Name(_TURNED))
                self.names[name] = turned.value(replace(expression, generators=(inner,)))
                return Name(name)
            case Comprehension() | Sum():
                raise FormatError(
                    "a default is computed from the tensor by max, min, sum and count over its keys",
                    span=expression.span,
                )
            case Name(name) if name in self.groups:
                raise FormatError(
                    f"a default is computed from keys, and '{name}' is none",
                    expected="max, min, sum and count over the tensor's keys",
                    span=expression.span,
                )
            case _:
                return map_children(expression, self._reduced)

    def _turned(self, source: Sum) -> _Data | None:
        """Return the data for ``sum(<(i, j), v> in T) { (j, i) -> v }``: its keys are in another order.

        What is reduced over it is a number: it knows nothing of the entries that it may stand between.
        """
        match source:
            case Sum((Generator(keys, value, Name(tensor)),), Singleton(turned, Name(found)), ()):
                names = [key.name for key in keys]
                order = [
                    names.index(key.name) for key in turned if isinstance(key, Name) and key.name in names
                ]
            case _:
                return None
        group, rank = self.groups.get(tensor), len(self.coordinates)
        is_whole = group is not None and group.depth == 0 and len(names) == len(turned) == rank
        if not is_whole or value.name != found or sorted(order) != list(range(rank)):
            return None
        coordinates = self.coordinates[order]
        extents = tuple(int(keys.max(initial=-1)) + 1 for keys in coordinates)
        coordinates, _, _ = sorted_entries(coordinates, np.arange(coordinates.shape[1]), extents)
        numbers = {name: number for name, number in self.names.items() if not np.ndim(number)}
        return _Data(coordinates, numbers, {_TURNED: _Group(0, starts(coordinates[:0]))})

    def _has(self, generator: Generator) -> bool:
        """Return whether a generator is over the tensor, or a part of it that has as many keys."""
        match generator:
            case Generator(keys, _, Name(source)) if source in self.groups:
                return self.groups[source].depth + len(keys) <= len(self.coordinates)
            case _:
                return False

    def _named(self, reduction: str, outer: _Group, generator: Generator, body: Expression | None) -> Name:
        """Return a name of what is reduced for each part of ``outer``."""
        inner = self._enter(outer, generator.keys, generator.value)
        name = f"reduced {len(self.names)}"
        reduced = inner.starts if body is None else self.value(body)
        if reduction == "sum":  # once for each part, not for each of its entries
            reduced = np.where(inner.starts, reduced, 0)
        self.names[name] = self._reduce(reduction, reduced, outer)
        return Name(name)

    def _enter(self, outer: _Group, keys: tuple[Binder, ...], value: Binder) -> _Group:
        depth = outer.depth + len(keys)
        for number, key in enumerate(keys):
            if key.name is not None:
                self.names[key.name] = self.coordinates[outer.depth + number].astype(np.int64, copy=False)
        inner = _Group(depth, starts(self.coordinates[:depth]))
        if value.name is not None:
            self.groups[value.name] = inner
        return inner

    def _reduce(self, monoid: str, values: Any, group: _Group) -> Any:
        """Reduce ``values`` in each part, and repeat the result for its entries."""
        vector = np.broadcast_to(values, group.starts.shape)
        if group.depth == 0:
            return _REDUCTIONS[monoid].reduce(vector) if len(vector) else 0
        first = np.flatnonzero(group.starts)
        reduced = _REDUCTIONS[monoid].reduceat(vector, first)
        return np.repeat(reduced, np.diff(first, append=len(vector)))
