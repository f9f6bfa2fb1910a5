"""Which definitions are inlined where they are used, as views, and which are stored first.

A view that is used in several definitions is written out in each of them, and so is one whose values are used
several times in one: views of views can be as many times as long as there are paths between them. One that is
used once is optimized together with its user; but where its entries are sums, the user may look them up time
and again, and the time of a chain of such views grows exponentially. So where much is at stake, both ways are
planned.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from storel.calculus.safety import is_safe
from storel.compilation.alternatives import with_dense_products
from storel.compilation.compiled import Compilation
from storel.compilation.compiler import Options, Task, view_of
from storel.compilation.environment import Environment
from storel.compilation.expectation import expected_time, foreseen
from storel.compilation.scheduling import compile_first, planned
from storel.errors import MemoryLimitError
from storel.host import memory
from storel.storage.compose import View
from storel.syntax.analyze import Definition
from storel.syntax.free_names import free_names
from storel.syntax.nodes.expressions import Call, Comprehension, Expression, Merge, Name, Singleton, Sum
from storel.syntax.walk import children, scoped_children

CHEAP = 3.0
"""Nanoseconds per entry up to which a view is enumerated again rather than stored."""

LONGEST = 200
"""Nodes of all that is written out of a view up to which that is done."""

TOGETHER = 60
"""The same where its entries are sums: a search takes far longer for more, and finds less."""

SAVING = 1.5
"""How many times as long its only user must be expected to take with a view inlined, for it to be stored."""

AT_STAKE = 20e6
"""The nanoseconds that must be saved then: a definition of its own is planned, and called, by itself."""

BYTES, SHARE = 16, 4
"""Of an entry, and the part of all memory that such a view may take: its user may need little at a time."""


@dataclass
class Inlining:
    """The views among ``definitions``, all that are needed, as they are found one by one.

    Those that are ``unnamed`` are no user's own, and need save more to be stored.
    """

    definitions: Sequence[Definition]
    environment: Environment
    options: Options
    unnamed: frozenset[str] = frozenset()
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
        users = [each for each in self.definitions if definition.name in free_names(each.expression)]
        if definition.name in self.unnamed:
            return self._saves_much(definition, len(users))
        if self.outgrows(definition):
            return True
        match users:
            case []:
                return False
            case [user]:
                are_sums = self._adds_up(definition)
                if self._length(definition) > (TOGETHER if are_sums else LONGEST):
                    return self._fits(self._planned(definition))
                return are_sums and self._saves(definition, user)
            case _:
                cost = self._planned(definition).optimized.cost
                return cost.nanoseconds > CHEAP * max(1.0, cost.entries)

    def outgrows(self, definition: Definition) -> bool:
        """Return whether a definition would be written out more than once, and is long."""
        times = sum(uses(definition.name, each.expression) for each in self.definitions)
        return times > 1 and times * self._length(definition) > LONGEST

    def _saves(self, definition: Definition, user: Definition) -> bool:
        """Return whether the only user of a definition fails with it inlined, or should take far longer."""
        others = self._views_before(user)
        try:
            inlined = self._time(user, others, self.environment)
        except MemoryLimitError:  # its keys may have no bound but its type, which holds for what is stored
            return True
        if inlined <= AT_STAKE:
            return False
        compilation = self._planned(definition)
        alone = expected_time(compilation)
        if inlined <= max(SAVING * alone, AT_STAKE + alone) or not self._fits(compilation):
            return False
        stored = foreseen(compilation, self.environment.formats)
        tensors = {**self.environment.tensors, definition.name: stored}
        del others[definition.name]
        together = alone + self._time(user, others, replace(self.environment, tensors=tensors))
        return inlined > max(SAVING * together, AT_STAKE + together)

    def _saves_much(self, definition: Definition, times: int) -> bool:
        """Return whether what is computed several times saves much if it is stored, and cannot fail.

        Where it stands it may never be computed: under a condition, or in a loop that does not run.
        """
        compilation = self._planned(definition)
        cost = compilation.optimized.cost
        saved = (times - 1) * cost.nanoseconds - times * CHEAP * cost.entries
        is_certain = is_safe(compilation.optimized.term, compilation.symbols, (), ())
        return saved > AT_STAKE and is_certain and self._fits(compilation)

    def _fits(self, compilation: Compilation) -> bool:
        """Return whether a view is small beside the memory that may be used."""
        limit = self.options.memory_limit
        expected = BYTES * compilation.optimized.cost.entries
        return expected <= (memory.available() if limit is None else limit) / SHARE

    def _planned(self, definition: Definition) -> Compilation:
        return planned(Task(definition, self.views, self.environment, options=self.options))

    def _time(self, definition: Definition, views: Mapping[str, View], environment: Environment) -> float:
        task = Task(definition, views, environment, options=self.options)
        return expected_time(with_dense_products(compile_first(task)))

    def _adds_up(self, definition: Definition) -> bool:
        """Return whether entries are sums, by the text of a definition and of the views that it uses."""
        used = free_names(definition.expression)
        return adds_up(definition.expression) or any(
            self._adds_up(each)
            for each in self.definitions
            if each.name in used and each.name not in self.environment
        )

    def _views_before(self, user: Definition) -> dict[str, View]:
        """Return the views, and what is not decided of before ``user`` as if it were one."""
        before = itertools.takewhile(lambda each: each is not user, self.definitions)
        undecided = (each for each in before if each.name not in self.environment)
        return {**{each.name: view_of(each) for each in undecided}, **self.views}

    def _length(self, definition: Definition) -> int:
        return written_out(definition.expression, self._lengths)


def uses(name: str, expression: Expression) -> int:
    """Return how often ``expression`` mentions ``name``; a loop over it counts for each use of its value.

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


def adds_up(expression: Expression) -> bool:
    """Return whether several iterations of a loop in ``expression`` may make one entry, or one number.

    >>> from storel.source import Source
    >>> from storel.syntax.parser import parse_expression
    >>> texts = "sum(<i, v> in x) { i -> 2 * v }", "sum(<(i, j), v> in A) { j -> v }"
    >>> [adds_up(parse_expression(Source("text", text))) for text in texts]
    [False, True]
    """
    match expression:
        case Comprehension() | Merge():
            return True
        case Sum(generators, body):
            bound = {key.name for generator in generators for key in generator.keys}
            if not bound <= _names_in_keys(body):
                return True
        case _:
            pass
    return any(map(adds_up, children(expression)))


def _names_in_keys(expression: Expression) -> set[str | None]:
    """Return the names that the keys of dictionaries inside are made of, but for what is looked up."""
    keys = expression.keys if isinstance(expression, Singleton) else ()
    return set[str | None]().union(*map(_not_looked_up, keys), *map(_names_in_keys, children(expression)))


def _not_looked_up(key: Expression) -> frozenset[str]:
    """Return the names that a key is made of, but for those in what is looked up."""
    match key:
        case Call():
            return frozenset()
        case Name(name):
            return frozenset((name,))
        case _:
            return frozenset[str]().union(*map(_not_looked_up, children(key)))


def written_out(expression: Expression, views: Mapping[str, int]) -> int:
    """Return how many nodes an expression has where a use of a view stands for as many as ``views`` says."""
    used = free_names(expression) & views.keys()
    return _nodes(expression) + sum(uses(name, expression) * views[name] for name in used)


def _nodes(expression: Expression) -> int:
    return 1 + sum(map(_nodes, children(expression)))
