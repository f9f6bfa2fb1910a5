"""Rules to egglog: a pattern variable is followed from the scope it is matched in to those it is built in.

    a binder that is left behind     sum(R) a * b => a * sum(R) b     k, v not free in a
    a binder that is entered         the same, read backwards
    two binders of one pattern       sum(R) sum(S) b => sum(S) sum(R) b

What each of these takes, the encoding says: a guard with names, an operator with indices. Where a variable is
matched in two scopes, what it is in the second must be in the graph already: a rule of its own asks for it.
Another one asks whether a body is linear in a variable of a loop over no dictionary, which nothing else does.

``let x = e in b`` on the right is a substitution. Addresses and values differ in their semiring
(``encoding.INDEX``); a pattern inside a key matches either spelling and is written as ``index``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce

from storel.errors import ProgramSyntaxError
from storel.optimizer.encoding.binders import Encoding, Scope
from storel.optimizer.encoding.constructors import replaced, rule
from storel.optimizer.encoding.layouts import ARITHMETIC, INDEX, LAYOUTS, is_index
from storel.optimizer.encoding.named import NAMED
from storel.optimizer.rules.analyses import ANSWERED, GUARDS
from storel.optimizer.rules.patterns import SEMIRING, Bound, Hole, Node, Pattern
from storel.optimizer.rules.rulefile import Guard, Rule
from storel.semiring import SEMIRINGS

VISITORS, ARRAYS = ("Sum", "Reduce", "Look"), ("Range", "Slice")
"""What loops over its first child, or looks something up in it, and which nodes of patterns are arrays."""

_ROOT = "root"
_WORD = re.compile(r'[^\s()"]+(?![^\s()])')


def translate(source: Rule, encoding: Encoding = NAMED) -> str:
    """Return the egglog rules of ``source``, one for each phase that it takes part in."""
    translation = _Translation(source, encoding)
    facts, actions = translation.run()
    rules = [rule(facts, actions, source.name, source.ruleset(phase)) for phase in source.phases]
    unanswered = reduce(lambda text, guard: text.replace(guard, ""), translation.asking, facts)
    for number, guard in enumerate(translation.asking):
        asked = f"(asked {guard.partition(' ')[2]}"
        rules.append(rule(unanswered, asked, f"{source.name}-asks-{number}", "analysis"))
    for number, wanted in enumerate(translation.wanted):
        others = facts.replace(f"(= {wanted})", "")
        term = wanted.partition(" ")[2]
        rules.append(rule(others, term, f"{source.name}-wants-{number}", "operators"))
    return "\n".join(rules)


@dataclass
class _Translation:
    source: Rule
    encoding: Encoding
    facts: list[str] = field(default_factory=list[str])
    crossed: list[str] = field(default_factory=list[str])
    wanted: list[str] = field(default_factory=list[str])
    asking: list[str] = field(default_factory=list[str])
    fresh: int = 0
    scopes: dict[str, Scope] = field(default_factory=dict[str, Scope])

    def run(self) -> tuple[str, str]:
        left, right = self.source.left, self.source.right
        index = self.source.is_about_keys
        matched = self._match(left, index, (), top=True)
        self.facts.insert(0, f"(= {_ROOT} {matched})")
        bound = {each.name for each in _binders(left)}
        for unbound in (each for each in _binders(right) if each.name not in bound):
            name = "_" if unbound.name.startswith("_") else unbound.name
            raise ProgramSyntaxError(
                f"rule {self.source.name}: {name} is bound on the right only",
                span=unbound.span,
                hint="give the loop's variable one name on both sides" if name == "_" else None,
            )
        guards = [self._guard(guard) for guard in self.source.guards]
        semirings = list(self._about_semiring(matched))
        matching = len(self.facts)
        known = _words(*self.facts)
        built = self._build(right, index, ())
        unknown = _words(built, *guards, *semirings) - known
        if unknown & {SEMIRING, *_semirings(left), *_semirings(right)}:
            raise ProgramSyntaxError(
                f"rule {self.source.name}: nothing on the left says over which semiring the right is",
                span=right.span,
                hint="match a sum, a product, zero or one, or tag the rule @index",
            )
        distinct = self.encoding.distinct(sorted(bound))
        self.facts[matching:matching] = [*self.crossed, *distinct, *guards, *semirings]
        actions = f"(union {_ROOT} {built})"
        if self.source.is_eager:
            actions += f" {replaced(matched)}"
        return " ".join(dict.fromkeys(self.facts)), actions

    def _about_semiring(self, matched: str) -> Iterator[str]:
        if f" {SEMIRING} " in matched:
            yield f'(!= {SEMIRING} "{INDEX}")'
        if "ring" in self.source.tags:
            for name, semiring in SEMIRINGS.items():
                if not semiring.has_negation:
                    yield f'(!= {SEMIRING} "{name}")'

    def _variable(self) -> str:
        self.fresh += 1
        return f"any{self.fresh}"

    def _match(self, pattern: Pattern, index: bool, scope: Scope, *, top: bool = False) -> str:
        match pattern:
            case Hole(name):
                return self._matched(name, scope)
            case Bound(name):
                return self.encoding.bound(name, scope)
            case Node("zero" | "one" as unit, _):
                variable = self._variable()
                self.facts.append(f"(is-{unit} {variable} {SEMIRING})")
                return variable
            case Node(constructor, arguments):
                if constructor in VISITORS and self._is_dictionary(arguments[1]):
                    self.facts.append("(visits)")
                texts: list[str] = []
                inner = _entered(pattern, scope)
                for argument, kind in zip(arguments, LAYOUTS[constructor], strict=True):
                    match argument:
                        case str() if argument == SEMIRING and index and constructor in ARITHMETIC:
                            texts.append(f'"{INDEX}"' if top else self._variable())
                        case str() | int():
                            texts.append(_plain(constructor, argument))
                        case Bound(name) if kind == "b":
                            texts.append(f"b-{name}")
                        case Hole() | Bound() | Node():
                            below = inner if kind == "B" else scope
                            texts.append(self._match(argument, is_index(kind, index), below))
                return f"({constructor} {' '.join(texts)})"

    def _is_dictionary(self, pattern: str | int | Pattern) -> bool:
        """Return whether what is visited, a term of rank 1 or more, is a dictionary, whatever matches."""
        match pattern:
            case Hole():
                return Guard("dictionary", (pattern,)) in self.source.guards
            case Node(constructor):
                return constructor not in ARRAYS
            case _:
                return False

    def _matched(self, name: str, scope: Scope) -> str:
        """Return the class that a pattern variable is matched with, the same one in every scope."""
        first = self.scopes.setdefault(name, scope)
        text, facts = self.encoding.moved(_h(name), first, scope)
        self.crossed += facts
        if text == _h(name):
            return text
        self.fresh += 1
        same = f"{_h(name)}-{self.fresh}"
        self.facts.append(f"(= {same} {text})")
        self.wanted.append(f"{same} {text}")
        return same

    def _build(self, pattern: Pattern, index: bool, scope: Scope) -> str:
        match pattern:
            case Hole(name):
                if name not in self.scopes:
                    raise ProgramSyntaxError(
                        f"rule {self.source.name}: ?{name} occurs on the right only", span=pattern.span
                    )
                text, facts = self.encoding.moved(_h(name), self.scopes[name], scope)
                self.crossed += facts
                return text
            case Bound(name):
                return self.encoding.bound(name, scope)
            case Node("one", _):
                raise ProgramSyntaxError(
                    f"rule {self.source.name}: the right side has no one of its own",
                    span=pattern.span,
                    hint="each semiring has another; use what was matched on the left",
                )
            case Node("zero", _):
                self.facts.append(f"(= {_ROOT}-rank (rank {_ROOT}))")
                return f"(Zero {SEMIRING} {0 if index else f'{_ROOT}-rank'})"
            case Node("Let", (value, Bound(name), body)) if not isinstance(value, str | int):
                assert not isinstance(body, str | int)
                inside = self._build(body, index, _entered(pattern, scope))
                return self.encoding.let(name, self._build(value, index, scope), inside)
            case Node(constructor, arguments):
                texts: list[str] = []
                inner = _entered(pattern, scope)
                for argument, kind in zip(arguments, LAYOUTS[constructor], strict=True):
                    match argument:
                        case str() if argument == SEMIRING and index and constructor in ARITHMETIC:
                            texts.append('"plus_times"' if constructor == "Look" else f'"{INDEX}"')
                        case str() | int():
                            texts.append(_plain(constructor, argument))
                        case Bound(name) if kind == "b":
                            texts.append(f"b-{name}")
                        case Hole() | Bound() | Node():
                            below = inner if kind == "B" else scope
                            texts.append(self._build(argument, is_index(kind, index), below))
                return f"({constructor} {' '.join(texts)})"

    def _guard(self, guard: Guard) -> str:
        named = [argument.name for argument in guard.arguments if isinstance(argument, Hole)]
        scope = self.scopes[named[0]] if named else ()
        texts = [
            self.encoding.place(argument.name, scope)
            if isinstance(argument, Bound)
            else _h(argument.name)
            if isinstance(argument, Hole)
            else self._match(argument, False, scope)
            for argument in guard.arguments
        ]
        text = GUARDS[guard.name][1].format(*texts)
        if guard.name in ANSWERED and not self._is_of_an_entry(guard.arguments[1], self.source.left):
            self.asking.append(text)
        return text

    def _is_of_an_entry(self, variable: Pattern, pattern: Pattern) -> bool:
        """Return whether a variable of a pattern is the key or the value of a loop over a dictionary."""
        match pattern:
            case Node("Sum", (_, source, key, value, _)) if variable in (key, value):
                return self._is_dictionary(source)
            case Node(_, arguments):
                parts = (part for part in arguments if isinstance(part, Node))
                return any(self._is_of_an_entry(variable, part) for part in parts)
            case _:
                return False


def _semirings(pattern: Pattern) -> set[str]:
    """Return the variables for semirings in a pattern."""
    if not isinstance(pattern, Node):
        return set()
    found = {SEMIRING} if pattern.constructor in ("zero", "one") else set[str]()
    for argument in pattern.arguments:
        if not isinstance(argument, str | int):
            found |= _semirings(argument)
        elif isinstance(argument, str) and argument != INDEX and not pattern.constructor.startswith("Apply"):
            found.add(argument)
    return found


def _words(*texts: str) -> set[str]:
    return {word for text in texts for word in _WORD.findall(text)}


def _entered(pattern: Node, scope: Scope) -> Scope:
    """Return the scope of a node's bodies."""
    layout = LAYOUTS[pattern.constructor]
    names = [
        argument.name
        for argument, kind in zip(pattern.arguments, layout, strict=True)
        if kind == "b" and isinstance(argument, Bound)
    ]
    return (*reversed(names), *("" if name in names else name for name in scope))


def _binders(pattern: Pattern) -> Iterator[Bound]:
    if not isinstance(pattern, Node) or pattern.constructor not in LAYOUTS:
        return
    for argument, kind in zip(pattern.arguments, LAYOUTS[pattern.constructor], strict=True):
        if kind == "b" and isinstance(argument, Bound):
            yield argument
        elif isinstance(argument, Node):
            yield from _binders(argument)


def _plain(constructor: str, argument: str | int) -> str:
    if isinstance(argument, int):
        return str(argument)
    return f'"{argument}"' if constructor.startswith("Apply") or argument == INDEX else argument


def _h(hole: str) -> str:
    return f"h-{hole}"
