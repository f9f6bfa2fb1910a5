"""Whether a rule that can be read also means something: every name in it stands for something.

What is built on the right must have been matched on the left, the semiring included:

    ?a - ?b => ?a + ?b                   nothing on the left says in which semiring + adds
    foo(?a) => ?a                        foo is no function, and the variable of no loop
    sum(<k, v> in ?R) ?a => ?R * ?b      ?b is matched nowhere

A rule that a program makes may also be none that a text could say: ``Node("Mul", ("s", Hole("a")))``. Such
a rule has no place in a text, and functions by the names that terms have for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import nullcontext
from functools import lru_cache
from typing import Any

from storel.errors import ProgramSyntaxError, TypeMismatchError, UnknownNameError, nearest, placed_at
from storel.functions import FUNCTIONS, Function
from storel.optimizer.encoding.layouts import LAYOUTS, TERMS
from storel.optimizer.rules.analyses import GUARDS
from storel.optimizer.rules.calls import CALLED, NAMES, WRITTEN_OUT, spelled
from storel.optimizer.rules.patterns import Bound, Hole, Node, Pattern
from storel.optimizer.rules.rulefile import RULE_NAME, Guard, Rule, RuleSet, collect, require_known
from storel.optimizer.rules.translate import translate
from storel.source import Span
from storel.syntax.spelling import CALLS

_WORD = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_OF_ONE_TERM = ("Var", "Const")
"""What holds the numbers of the binders and the literals of one term, so that no rule can name them."""


def require_rules(rules: RuleSet) -> None:
    """Raise StorelError for rules that a program has made and that no file could hold."""
    given: Any = rules.rules
    if not isinstance(given, tuple):
        raise TypeMismatchError("a RuleSet holds a tuple of rules", found=type(given).__name__)
    for rule in rules.rules:
        _require_shape(rule)
    _require_meanings(rules)


@lru_cache(maxsize=8)
def _require_meanings(rules: RuleSet) -> None:
    collect(rules.rules)
    for rule in rules.rules:
        require_known(rule.name, rule.tags, rule.guards)
        _require_meaning(rule)


def require_meaning(rule: Rule) -> None:
    """Raise StorelError, with its place, for a rule of a file with a name that stands for nothing."""
    with placed_at(rule.span) if rule.span is not None else nullcontext():
        _require_shape(rule)
        _require_meaning(rule)


def _require_shape(rule: object) -> None:
    """Raise TypeMismatchError for what is no rule, or holds what is no pattern."""
    match rule:
        case Rule(str(name), left, right, tuple(), frozenset()) if RULE_NAME.fullmatch(name):
            for side in (left, right):
                _require_pattern(name, side)
            for guard in rule.guards:
                _require_guard(name, guard)
        case Rule():
            raise TypeMismatchError(
                f"rule {rule.name}: its name, its guards or its tags are none",
                expected="a name such as my-rule, a tuple of guards, a frozenset of tags",
                found=f"{rule.name!r}, {rule.guards!r}, {rule.tags!r}",
            )
        case _:
            raise TypeMismatchError("a RuleSet holds rules", expected="Rule", found=type(rule).__name__)


def _require_guard(name: str, guard: object) -> None:
    match guard:
        case Guard(str(), tuple()):
            for argument in guard.arguments:
                _require_pattern(name, argument)
        case _:
            raise TypeMismatchError(f"rule {name}: this is no guard", expected="Guard", found=repr(guard))


def _require_pattern(name: str, pattern: object) -> None:
    match pattern:
        case Hole(str(word)) | Bound(str(word)) if _WORD.fullmatch(word):
            return
        case Node("zero" | "one", ()):
            return
        case Node(str(constructor), tuple()) if constructor in LAYOUTS and constructor not in _OF_ONE_TERM:
            layout = LAYOUTS[constructor]
            if len(pattern.arguments) != len(layout):
                raise TypeMismatchError(
                    f"rule {name}: {constructor} has the wrong number of arguments",
                    expected=str(len(layout)),
                    found=str(len(pattern.arguments)),
                )
            for argument, kind in zip(pattern.arguments, layout, strict=True):
                _require_argument(name, pattern, argument, kind)
        case _:
            constructors = ", ".join(each for each in LAYOUTS if each not in _OF_ONE_TERM)
            raise TypeMismatchError(
                f"rule {name}: this is no pattern",
                expected=f"Hole, Bound, or Node of {constructors}",
                found=repr(pattern),
            )


def _require_argument(name: str, node: Node, argument: object, kind: str) -> None:
    match argument:
        case str(word) if kind == "s" and _WORD.fullmatch(word):
            return
        case int(number) if kind == "i" and -(1 << 63) <= number < 1 << 63:
            return
        case Bound() if kind == "b":
            _require_pattern(name, argument)
        case Hole() | Bound() | Node() if kind in TERMS:
            _require_pattern(name, argument)
        case _:
            raise TypeMismatchError(
                f"rule {name}: {node.constructor} holds something else",
                expected=_ARGUMENTS.get(kind, "a pattern"),
                found=repr(argument),
                span=node.span,
            )


_ARGUMENTS = {"s": "a word", "i": "an integer of 64 bits", "b": "a variable, Bound"}


def _require_meaning(rule: Rule) -> None:
    _require_known(rule)
    translate(rule)


def _require_known(rule: Rule) -> None:
    if not isinstance(rule.left, Node):
        raise ProgramSyntaxError(f"rule {rule.name}: the left side matches every term", span=rule.left.span)
    matched = frozenset(_holes(rule.left))
    bound = _binders(rule.left)
    for side in (rule.left, rule.right):
        for unbound in _free(side, frozenset()):
            if unbound.span is not None and _is_looked_up(unbound, side):
                raise _no_call(rule, unbound)
            raise UnknownNameError(
                f"rule {rule.name}: {unbound.name} is bound by no loop",
                expected="?x for any term, or a variable of the rule's loops",
                span=unbound.span,
            )
        _require_functions(rule, side)
    for again in _bound_again(rule.left, frozenset()):
        raise UnknownNameError(
            f"rule {rule.name}: {again.name} is bound twice on the left",
            expected="a name of its own for each variable: no term binds one twice",
            span=again.span,
        )
    for guard in rule.guards:
        for argument in guard.arguments:
            unmatched = (hole for hole in _holes(argument) if hole not in matched)
            for each in (*unmatched, *_free(argument, bound)):
                name = f"?{each.name}" if isinstance(each, Hole) else each.name
                raise UnknownNameError(
                    f"rule {rule.name}: {name} of {guard.name} is not on the left", span=each.span
                )
        for argument, kind in zip(guard.arguments, GUARDS[guard.name][0], strict=True):
            if (kind == "b") is not isinstance(argument, Bound):
                raise TypeMismatchError(
                    f"rule {rule.name}: {guard.name} is not asked of this",
                    expected="a variable of the rule's loops" if kind == "b" else "a term",
                    span=argument.span,
                )


def _is_looked_up(name: Bound, side: Pattern) -> bool:
    """Return whether a text may mean the name for that of a function, since ``(?a)`` stands behind it."""
    return any(node.arguments[1] is name for node in _nodes(side) if node.constructor == "Look")


def _no_call(rule: Rule, name: Bound) -> UnknownNameError | TypeMismatchError:
    """Return an error about ``name(?a)``, where no loop binds the name and no function of one term has it."""
    function = CALLED.get(name.name)
    if function is not None:
        return _wrong_number(rule, function, 1, name.span)
    return _no_function(rule, name.name, name.span, ", and no loop binds it")


def _no_function(rule: Rule, name: str, span: Span | None, more: str = "") -> UnknownNameError:
    known, asked = (NAMES, CALLED) if span is not None else (tuple(FUNCTIONS), FUNCTIONS)
    likely = CALLED[name].name if name in CALLED else name
    return UnknownNameError(
        f"rule {rule.name}: there is no function {name}{more}",
        expected=f"one of {', '.join(known)}",
        span=span,
        hint=WRITTEN_OUT if name in CALLS and name not in CALLED else nearest(likely, asked, 0.7),
    )


def _wrong_number(rule: Rule, function: Function, found: int, span: Span | None) -> TypeMismatchError:
    name = spelled(function.name) if span is not None else function.name
    return TypeMismatchError(
        f"rule {rule.name}: {name} has the wrong number of arguments",
        expected=str(function.arity),
        found=str(found),
        span=span,
    )


def _require_functions(rule: Rule, pattern: Pattern) -> None:
    for node in _nodes(pattern):
        name = node.arguments[0] if node.constructor.startswith("Apply") else None
        if not isinstance(name, str):
            continue
        if name not in FUNCTIONS:
            raise _no_function(rule, name, node.span)
        if FUNCTIONS[name].arity != len(node.arguments) - 1:
            raise _wrong_number(rule, FUNCTIONS[name], len(node.arguments) - 1, node.span)


def _nodes(pattern: Pattern) -> Iterator[Node]:
    if isinstance(pattern, Node):
        yield pattern
        for argument in pattern.arguments:
            if isinstance(argument, Node):
                yield from _nodes(argument)


def _holes(pattern: Pattern) -> Iterator[Hole]:
    """Yield what stands for any term."""
    if isinstance(pattern, Hole):
        yield pattern
    for node in _nodes(pattern):
        yield from (each for each in node.arguments if isinstance(each, Hole))


def _binders(pattern: Pattern) -> frozenset[str]:
    """Return the variables that a pattern binds somewhere."""
    return frozenset(
        argument.name
        for node in _nodes(pattern)
        for argument, kind in _arguments(node)
        if kind == "b" and isinstance(argument, Bound)
    )


def _free(pattern: Pattern, bound: frozenset[str]) -> Iterator[Bound]:
    """Yield the variables that are used where no loop of the pattern binds them."""
    if isinstance(pattern, Bound) and pattern.name not in bound:
        yield pattern
    if not isinstance(pattern, Node):
        return
    arguments = _arguments(pattern)
    inner = bound.union(each.name for each, kind in arguments if kind == "b" and isinstance(each, Bound))
    for argument, kind in arguments:
        if kind != "b" and not isinstance(argument, str | int):
            yield from _free(argument, inner if kind == "B" else bound)


def _bound_again(pattern: str | int | Pattern, outer: frozenset[str]) -> Iterator[Bound]:
    """Yield the variables that a loop binds twice, or that one around it binds, too."""
    if not isinstance(pattern, Node):
        return
    bound = outer
    for argument, kind in _arguments(pattern):
        if kind == "b" and isinstance(argument, Bound):
            if argument.name in bound:
                yield argument
            bound |= {argument.name}
    for argument, _ in _arguments(pattern):
        yield from _bound_again(argument, bound)


def _arguments(node: Node) -> list[tuple[str | int | Pattern, str]]:
    """Return the arguments of a node, and what kind of argument each is."""
    layout = LAYOUTS.get(node.constructor, "")
    return list(zip(node.arguments, layout, strict=True))
