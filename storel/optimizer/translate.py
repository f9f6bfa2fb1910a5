"""Rules to egglog: scopes on both sides are compared, and what must not be captured is guarded.

With named binders a term may move across a binder only where it does not depend on it:

    a binder that is left behind     sum(R) a * b => a * sum(R) b     k, v not free in a
    a binder that is entered         the same, read backwards         k, v not free in a
    two binders of one pattern       sum(R) sum(S) b => sum(S) sum(R) b    they differ

``let x = e in b`` on the right is a substitution. Addresses and values differ in their semiring
(``encoding.INDEX``); a pattern inside a key matches either spelling and is written as ``index``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from storel.errors import ProgramSyntaxError
from storel.optimizer.analyses import GUARDS
from storel.optimizer.encoding import INDEX, LAYOUTS
from storel.optimizer.rulefile import SEMIRING, Bound, Guard, Hole, Node, Pattern, Rule
from storel.optimizer.substitution import rule
from storel.semiring import SEMIRINGS

_LOGICAL = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "and", "or", "not")
_ROOT = "root"


def translate(source: Rule) -> str:
    """Return the egglog rules of ``source``, one for each phase that it takes part in."""
    facts, actions = _Translation(source).run()
    return "\n".join(rule(facts, actions, source.name, phase) for phase in source.phases)


@dataclass
class _Translation:
    source: Rule
    facts: list[str] = field(default_factory=list[str])
    fresh: int = 0
    scopes: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])

    def run(self) -> tuple[str, str]:
        left, right = self.source.left, self.source.right
        index = "index" in self.source.tags or _is_logical(left)
        matched = self._match(left, index, top=True)
        self.facts.insert(0, f"(= {_ROOT} {matched})")
        self.scopes = dict(_scopes(left))
        self.facts += self._moved(right)
        binders = sorted(_binders(left))
        self.facts += [f"(!= {_b(a)} {_b(b)})" for i, a in enumerate(binders) for b in binders[i + 1 :]]
        self.facts += [self._guard(guard) for guard in self.source.guards]
        self.facts += self._about_semiring(matched)
        built = self._build(right, index)
        actions = f"(union {_ROOT} {built})"
        if self.source.is_eager:
            actions += f" (subsume {matched})"
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

    def _match(self, pattern: Pattern, index: bool, *, top: bool = False) -> str:
        match pattern:
            case Hole(name):
                return _h(name)
            case Bound(name):
                return f"(Var {_b(name)})"
            case Node("zero" | "one" as unit, _):
                variable = self._variable()
                self.facts.append(f"(is-{unit} {variable} {SEMIRING})")
                return variable
            case Node(constructor, arguments):
                texts: list[str] = []
                for argument, kind in zip(arguments, LAYOUTS[constructor], strict=True):
                    match argument:
                        case str() if (
                            argument == SEMIRING and index and constructor in ("Add", "Mul", "Look")
                        ):
                            texts.append(f'"{INDEX}"' if top else self._variable())
                        case str() | int():
                            texts.append(_plain(constructor, argument))
                        case Bound(name) if kind == "b":
                            texts.append(_b(name))
                        case Hole() | Bound() | Node():
                            texts.append(self._match(argument, _inner(pattern, kind, index)))
                return f"({constructor} {' '.join(texts)})"

    def _build(self, pattern: Pattern, index: bool) -> str:
        match pattern:
            case Hole(name):
                return _h(name)
            case Bound(name):
                return f"(Var {_b(name)})"
            case Node("zero" | "one", _):
                self.facts.append(f"(= {_ROOT}-rank (rank {_ROOT}))")
                return f"(Zero {SEMIRING} {0 if index else f'{_ROOT}-rank'})"
            case Node("Let", (value, Bound(name), body)) if not isinstance(value, str | int):
                inner = body if isinstance(body, Hole | Bound | Node) else Hole("")
                return f"(Subst {_b(name)} {self._build(value, index)} {self._build(inner, index)})"
            case Node(constructor, arguments):
                texts: list[str] = []
                for argument, kind in zip(arguments, LAYOUTS[constructor], strict=True):
                    match argument:
                        case str() if (
                            argument == SEMIRING and index and constructor in ("Add", "Mul", "Look")
                        ):
                            texts.append('"plus_times"' if constructor == "Look" else f'"{INDEX}"')
                        case str() | int():
                            texts.append(_plain(constructor, argument))
                        case Bound(name) if kind == "b":
                            texts.append(_b(name))
                        case Hole() | Bound() | Node():
                            texts.append(self._build(argument, _inner(pattern, kind, index)))
                return f"({constructor} {' '.join(texts)})"

    def _guard(self, guard: Guard) -> str:
        texts = [
            _b(argument.name) if isinstance(argument, Bound) else self._match(argument, False)
            for argument in guard.arguments
        ]
        return GUARDS[guard.name][1].format(*texts)

    def _moved(self, right: Pattern) -> Iterator[str]:
        """Yield that a term which leaves or enters the scope of a binder does not depend on it."""
        for name, scope in _scopes(right):
            if name not in self.scopes:
                raise ProgramSyntaxError(f"rule {self.source.name}: ?{name} occurs on the right only")
            for binder in sorted(scope ^ self.scopes[name]):
                yield f"(independent {_h(name)} {_b(binder)})"
        unbound = sorted(_binders(right) - _binders(self.source.left))
        if unbound:
            raise ProgramSyntaxError(f"rule {self.source.name}: {unbound[0]} is bound on the right only")


def _scopes(pattern: Pattern, scope: frozenset[str] = frozenset()) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield each occurrence of a hole with the binders that it stands under."""
    match pattern:
        case Hole(name):
            yield name, scope
        case Bound():
            return
        case Node(constructor, arguments):
            layout = LAYOUTS.get(constructor, "")
            bound = scope | {
                argument.name
                for argument, kind in zip(arguments, layout, strict=True)
                if kind == "b" and isinstance(argument, Bound)
            }
            for argument, kind in zip(arguments, layout, strict=True):
                if isinstance(argument, Hole | Node):
                    yield from _scopes(argument, bound if kind == "B" else scope)


def _binders(pattern: Pattern) -> set[str]:
    if not isinstance(pattern, Node) or pattern.constructor not in LAYOUTS:
        return set()
    found: set[str] = set()
    for argument, kind in zip(pattern.arguments, LAYOUTS[pattern.constructor], strict=True):
        if kind == "b" and isinstance(argument, Bound):
            found.add(argument.name)
        elif isinstance(argument, Node):
            found |= _binders(argument)
    return found


def _is_logical(pattern: Pattern) -> bool:
    return isinstance(pattern, Node) and pattern.arguments[:1] != () and pattern.arguments[0] in _LOGICAL


def _inner(pattern: Node, kind: str, index: bool) -> bool:
    return kind == "k" or (kind == "v" and index)


def _plain(constructor: str, argument: str | int) -> str:
    if isinstance(argument, int):
        return str(argument)
    return f'"{argument}"' if constructor.startswith("Apply") else argument


def _h(hole: str) -> str:
    return f"h-{hole}"


def _b(binder: str) -> str:
    return f"b-{binder}"
