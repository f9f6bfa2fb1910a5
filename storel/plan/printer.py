"""Plans as readable text: one line per action, names instead of indices.

result <- place (A_m)
  loop i in 0:A_m
    enter i
      loop p, j in A_idx(A_pos(i):A_pos(i + 1))
        accumulate A_val(p) * x_val(j)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from storel.calculus.nodes import Term
from storel.calculus.printer import show
from storel.plan.nodes import (
    ANY_KEY,
    Accumulate,
    Action,
    Append,
    Bind,
    Coordinates,
    Destination,
    Elements,
    Enter,
    Entries,
    Gather,
    Guard,
    HashStore,
    Intersection,
    Level,
    Levels,
    ListStore,
    Loop,
    Matches,
    Place,
    Plan,
    Positions,
    RowsStore,
    ScalarStore,
    Source,
    Store,
    StreamStore,
    TableStore,
    Together,
    Unite,
)

Names = tuple[str, ...]


def render(plan: Plan) -> str:
    """Return ``plan`` as text, one action per line."""
    actions = (f"  {line}" for line in _Printer().lines(plan.action, ()))
    return "\n".join((destination_line(plan), *actions))


def destination_line(plan: Plan) -> str:
    """Return the line that says where the result goes."""
    return f"result <- {_destination(plan.destination)}"


def action_lines(plan: Plan) -> tuple[str, ...]:
    """Return the line of each action, in preorder and not indented."""
    return tuple(line.lstrip() for line in _Printer().lines(plan.action, ()))


def source_text(source: Source) -> str:
    """Return the text of a source that stands in no other loop."""
    return _Printer().source(source, ())[0]


def _destination(destination: Destination) -> str:
    match destination:
        case Coordinates(rank, leaf):
            return f"coordinates of rank {rank} ({leaf.operator})"
        case Levels((), leaf):
            return f"scalar ({leaf.operator})"
        case Levels(levels, leaf, order=order):
            keys = f" of keys {', '.join(map(str, order))}" if order else ""
            return f"{', '.join(_level(level) for level in levels)}{keys} ({leaf.operator})"


def _level(level: Level) -> str:
    match level:
        case Place(extent):
            return f"place {show(extent)}"
        case Append(repeats):
            return "append, keys repeat" if repeats else "append"
        case Gather(extent, by_bitmap):
            return f"gather {show(extent)} by {'bitmap' if by_bitmap else 'list'}"


@dataclass
class _Printer:
    uses: Counter[str] = field(default_factory=Counter[str])

    def fresh(self, hint: str) -> str:
        self.uses[hint] += 1
        return hint if self.uses[hint] == 1 else f"{hint}{self.uses[hint]}"

    def lines(self, action: Action, names: Names) -> Iterator[str]:
        match action:
            case Accumulate(value):
                yield f"accumulate {show(value, names)}"
            case Enter(key, body):
                yield f"enter {show(key, names)}"
                yield from self.indented(body, names)
            case Loop(source, body):
                text, bound = self.source(source, names)
                yield f"loop {', '.join(reversed(bound))} in {text}"
                yield from self.indented(body, bound + names)
            case Guard(condition, body):
                yield f"guard {show(condition, names)}"
                yield from self.indented(body, names)
            case Bind(store, value, body):
                name = self.fresh("t")
                yield f"bind {name}: {_store(store)} <-"
                yield from self.indented(value, names)
                yield from self.lines(body, (name, *names))
            case Together(actions):
                yield "together"
                for part in actions:
                    yield from self.indented(part, names)
            case Unite(branches):
                yield "unite"
                for branch in branches:
                    yield from self.indented(branch, names)

    def indented(self, action: Action, names: Names) -> Iterator[str]:
        for line in self.lines(action, names):
            yield f"  {line}"

    def source(self, source: Source, names: Names) -> tuple[str, Names]:
        """Return the text of a source, and the names that it binds, the innermost first."""

        def shown(term: Term) -> str:
            return show(term, names)

        def part(elements: Elements) -> str:
            return f"{elements.array}({shown(elements.low)}:{shown(elements.high)})"

        match source:
            case Positions(low, high):
                name = self.fresh("i")
                return f"{shown(low)}:{shown(high)}", (name, name)
            case Elements():
                return part(source), (self.fresh("k"), self.fresh("p"))
            case Entries(store):
                return f"entries of {shown(store)}", (self.fresh("v"), self.fresh("k"))
            case Matches(array, low, high, key, is_unique):
                how = "the match" if is_unique else "matches"
                text = f"{how} in {array}({shown(low)}:{shown(high)}) at {shown(key)}"
                return text, (self.fresh("p"),)
            case Intersection(left, right):
                bound = (self.fresh("k"), self.fresh("q"), self.fresh("p"))
                return f"the intersection of {part(left)} and {part(right)}", bound


def _store(store: Store) -> str:
    match store:
        case ScalarStore(scalar_type, operator):
            return f"{scalar_type.value} ({operator})"
        case TableStore(scalar_type, operator, _, extents):
            places = ", ".join(show(extent) for extent in extents)
            return f"table of {scalar_type.value}[{places}] ({operator})"
        case ListStore(scalar_type, operator, _, extent):
            return f"list of {scalar_type.value}[{show(extent)}] ({operator})"
        case StreamStore(scalar_type, operator, _, extent):
            return f"stream of {scalar_type.value}[{show(extent)}] ({operator})"
        case RowsStore(scalar_type, operator, _, extents):
            places = ", ".join(show(extent) for extent in extents)
            return f"rows of {scalar_type.value}[{places}] ({operator})"
        case HashStore(scalar_type, operator, _, extents):
            keys = ", ".join("any" if extent == ANY_KEY else show(extent) for extent in extents)
            return f"hash of {scalar_type.value}[{keys}] ({operator})"
