"""Which definitions are inlined where they are used, as views, and which are stored first.

A view that is used in several definitions is written out in each of them, and so is one whose values are used
several times in one: views of views can be as many times as long as there are paths between them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from storel.compilation.compiler import Options, Task, view_of
from storel.compilation.environment import Environment
from storel.compilation.scheduling import planned
from storel.optimizer.estimation.cardinality import entries
from storel.storage.compose import View
from storel.syntax.analyze import Definition
from storel.syntax.free_names import free_names
from storel.syntax.nodes.expressions import Comprehension, Expression, Name, Sum
from storel.syntax.walk import children, scoped_children

CHEAP = 3.0
"""Nanoseconds per entry up to which a view is enumerated again rather than stored."""

LONGEST = 200
"""Nodes of all that is written out of a view up to which that may be done more than once."""


@dataclass
class Inlining:
    """The views among ``definitions``, all that are needed, as they are found one by one."""

    definitions: Sequence[Definition]
    environment: Environment
    options: Options
    views: dict[str, View] = field(default_factory=dict[str, View])
    _lengths: dict[str, int] = field(default_factory=dict[str, int])

    def add(self, definition: Definition) -> None:
        """Make a definition a view."""
        self.views[definition.name] = view_of(definition)
        self._lengths[definition.name] = self._length(definition)

    def is_stored(self, definition: Definition) -> bool:
        """Return whether an intermediate definition is run first instead of being inlined."""
        if definition.format is not None or self.options.backend == "interpret":
            return True
        if self.outgrows(definition):
            return True
        if sum(definition.name in free_names(each.expression) for each in self.definitions) < 2:
            return False
        compilation = planned(Task(definition, self.views, self.environment, options=self.options))
        estimate = entries(compilation.optimized.term, compilation.symbols)
        return compilation.optimized.cost.nanoseconds > CHEAP * max(1.0, estimate)

    def outgrows(self, definition: Definition) -> bool:
        """Return whether a definition would be written out more than once, and is long."""
        times = sum(uses(definition.name, each.expression) for each in self.definitions)
        return times > 1 and times * self._length(definition) > LONGEST

    def _length(self, definition: Definition) -> int:
        return written_out(definition.expression, self._lengths)


def uses(name: str, expression: Expression) -> int:
    """Return how often ``expression`` says ``name``, or else what a loop over it takes its values for.

    >>> from storel.source import Source
    >>> from storel.syntax.parser import parse_expression
    >>> uses("a", parse_expression(Source("text", "sum(<i, v> in a) v * (1 - v)")))
    2
    """
    match expression:
        case Name(found):
            return int(found == name)
        case Sum((first, *others)) | Comprehension(_, (first, *others)):
            rest = replace(expression, generators=tuple(others))
            value = 0 if first.value.name is None else uses(first.value.name, rest)
            is_hidden = name in [binder.name for binder in (*first.keys, first.value)]
            return uses(name, first.source) * max(1, value) + (0 if is_hidden else uses(name, rest))
        case _:
            inside = scoped_children(expression)
            return sum(uses(name, child) for child, bound in inside if name not in bound)


def written_out(expression: Expression, views: Mapping[str, int]) -> int:
    """Return how many nodes an expression has where a use of a view stands for as many as ``views`` says."""
    used = free_names(expression) & views.keys()
    return _nodes(expression) + sum(uses(name, expression) * views[name] for name in used)


def _nodes(expression: Expression) -> int:
    return 1 + sum(map(_nodes, children(expression)))
