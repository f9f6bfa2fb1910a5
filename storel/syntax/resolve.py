"""Names: every one is bound, and no binder hides another name.

``resolve`` renames binders that would hide an outer name (``i`` becomes ``i_2``), so that whoever goes on
may substitute without capture; a key bound twice in one ``sum`` stays one name, since it is an
equality. ``where`` clauses go to the blank ranges they settle.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import count

from storel.errors import ProgramSyntaxError, UnknownNameError, nearest
from storel.syntax.free_names import free_names
from storel.syntax.nodes.expressions import (
    Binary,
    Binder,
    BlankRange,
    Call,
    Comprehension,
    EmptyDictionary,
    Expression,
    Extent,
    Generator,
    If,
    Let,
    Mapped,
    Merge,
    Name,
    Number,
    Range,
    Singleton,
    Sum,
    Text,
    Truth,
    Unary,
    Unique,
    Where,
    Window,
)
from storel.syntax.spelling import CALLS
from storel.syntax.walk import NONE, scoped_children
from storel.syntax.words import as_elsewhere, over_entries


def resolve(expression: Expression, known: Collection[str], later: Collection[str] = ()) -> Expression:
    """Return ``expression`` with binders renamed apart; its free names are all ``known``.

    ``later`` are names that are defined further down. Raises ``UnknownNameError``.

    >>> from storel.source import Source
    >>> from storel.syntax.parser import parse_expression
    >>> from storel.syntax.printer import render
    >>> text = "sum(<i, A> in A) { i -> sum(<i, x> in B) A * x }"
    >>> render(resolve(parse_expression(Source("", text)), {"A", "B"}))
    'sum(<i, A_2> in A) { i -> sum(<i_2, x> in B) A_2 * x }'
    """
    scope = {name: name for name in known}
    return _Resolver(frozenset(known), frozenset(later), _bound(expression)).visit(expression, scope)


def canonical(expression: Expression) -> Expression:
    """Return ``expression``, which has been resolved once, with its variables numbered.

    Two of them are equal that differ in the names of variables only.

    >>> from storel.source import Source
    >>> from storel.syntax.parser import parse_expression
    >>> texts = "sum(<i, v> in x) v", "sum(<k, a> in x) a", "sum(<k, a> in y) a"
    >>> one, same, other = (canonical(parse_expression(Source("", text))) for text in texts)
    >>> one == same, one == other
    (True, False)
    """
    scope = {name: name for name in free_names(expression)}
    return _Numberer(frozenset(scope), frozenset(), NONE).visit(expression, scope)


def _bound(expression: Expression) -> frozenset[str]:
    """Return all names that an expression binds somewhere."""
    found = (names | _bound(child) for child, names in scoped_children(expression))
    return frozenset[str]().union(*found)


Scope = Mapping[str, str]
"""The unique name of each name in scope."""


@dataclass(frozen=True, slots=True)
class _Resolver:
    known: frozenset[str]
    later: frozenset[str]
    bound: frozenset[str]

    def visit(self, expression: Expression, scope: Scope) -> Expression:
        """Return ``expression`` with the names that ``scope`` gives."""

        def inside(child: Expression) -> Expression:
            return self.visit(child, scope)

        match expression:
            case Number() | Truth() | Text() | EmptyDictionary() | BlankRange() | Mapped():
                return expression
            case Name():
                return self.name(expression, scope)
            case Sum(generators, body, where):
                settled, inner = self.generators(generators, where, scope)
                return replace(expression, generators=settled, body=self.visit(body, inner), where=())
            case Comprehension(_, generators, body):
                settled, inner = self.generators(generators, (), scope)
                body = None if body is None else self.visit(body, inner)
                return replace(expression, generators=settled, body=body)
            case Singleton(keys, value):
                return replace(expression, keys=tuple(map(inside, keys)), value=inside(value))
            case Call(function, arguments):
                arguments = tuple(map(inside, arguments))
                return replace(expression, function=self.function(function, scope), arguments=arguments)
            case Range(low, high):
                return replace(expression, low=inside(low), high=inside(high))
            case Let(binder, value, body):
                inner = self.bind([binder], scope)
                binder, body = _renamed(binder, inner), self.visit(body, inner)
                return replace(expression, binder=binder, value=inside(value), body=body)
            case If(condition, positive, negative):
                negative = None if negative is None else inside(negative)
                return If(inside(condition), inside(positive), negative, expression.span)
            case Binary(_, left, right):
                return replace(expression, left=inside(left), right=inside(right))
            case Unary(_, operand):
                return replace(expression, operand=inside(operand))
            case Merge(p, q, k, left, right, body):
                _require_distinct((p, q, k))
                inner = self.bind((p, q, k), scope)
                p, q, k = (_renamed(binder, inner) for binder in (p, q, k))
                body = self.visit(body, inner)
                return Merge(p, q, k, inside(left), inside(right), body, expression.span)
            case Window():
                raise ProgramSyntaxError(
                    "WITHIN is only for the entries that a part of a format takes", span=expression.span
                )
            case Unique(key):
                return Unique(inside(key), expression.span)
            case Extent(tensor):
                return replace(expression, tensor=inside(tensor))

    def name(self, name: Name, scope: Scope) -> Name:
        """Return the name that ``scope`` gives; raises ``UnknownNameError``."""
        if name.name in scope:
            return Name(scope[name.name], name.span)
        if name.name in self.later:
            hint = "it is defined further down: move its definition up"
        elif name.name in self.bound:
            hint = f"what binds '{name.name}' has ended: write its body in parentheses, sum(…) (…)"
        else:
            hint = nearest(name.name, scope)
        raise UnknownNameError(f"unknown name '{name.name}'", span=name.span, hint=hint)

    def function(self, function: Expression, scope: Scope) -> Expression:
        """Return what is applied: a pointwise function's name stays unless something hides it."""
        if not isinstance(function, Name):
            return self.visit(function, scope)
        if function.name in scope or function.name in self.later:
            return self.name(function, scope)
        if function.name in CALLS:
            return function
        raise UnknownNameError(
            f"unknown tensor or function '{function.name}'",
            span=function.span,
            hint=over_entries(function.name)
            or as_elsewhere(function.name)
            or nearest(function.name, [*scope, *CALLS]),
        )

    def generators(
        self, generators: tuple[Generator, ...], where: tuple[Where, ...], scope: Scope
    ) -> tuple[tuple[Generator, ...], Scope]:
        """Bind the generators of one loop from left to right; return them with the scope of the body."""
        settled: list[Generator] = []
        ranges: dict[str, Where] = {}
        for clause in where:
            if clause.name in ranges:
                raise UnknownNameError(
                    f"the range of '{clause.name}' is settled twice",
                    span=clause.span,
                    hint="keep one of them",
                )
            ranges[clause.name] = clause
        keys: set[str] = set()
        values: set[str] = set()
        for generator in generators:
            source = self.settled(generator, ranges)
            source = self.visit(source, scope)
            _check_binders(generator, keys, values)
            new = {key.name: key for key in generator.keys if key.name not in keys}.values()
            scope = self.bind([*new, generator.value], scope)
            keys |= {key.name for key in generator.keys if key.name}
            values |= {generator.value.name} if generator.value.name else set()
            settled.append(
                Generator(
                    tuple(_renamed(key, scope) for key in generator.keys),
                    _renamed(generator.value, scope),
                    source,
                    generator.span,
                )
            )
        for unused in ranges.values():
            raise UnknownNameError(
                f"'{unused.name}' has no blank range to settle",
                expected=f"a source <{unused.name}, _> in _",
                span=unused.span,
                hint=(None if unused.name in keys else nearest(unused.name, keys))
                or "a range that is given needs no where: entries are left out by if (…) then",
            )
        return tuple(settled), scope

    def settled(self, generator: Generator, ranges: dict[str, Where]) -> Expression:
        """Return the source of a generator, from its ``where`` clause if it has one."""
        if isinstance(generator.source, BlankRange) and len(generator.keys) == 1:
            clause = ranges.pop(generator.keys[0].name or "", None)
            return generator.source if clause is None else clause.range
        return generator.source

    def bind(self, binders: Iterable[Binder], scope: Scope) -> Scope:
        """Return ``scope`` with unique names for ``binders``."""
        inner = dict(scope)
        for binder in binders:
            if binder.name is not None:
                inner[binder.name] = self.fresh(binder.name, inner)
        return inner

    def fresh(self, name: str, scope: Scope) -> str:
        taken = self.known | set(scope.values())
        if name not in taken:
            return name
        return next(f"{name}_{n}" for n in count(2) if f"{name}_{n}" not in taken)


class _Numberer(_Resolver):
    """A resolver that gives variables the numbers that no variable around them has."""

    def fresh(self, name: str, scope: Scope) -> str:
        taken = set(scope.values())
        return next(str(n) for n in count() if str(n) not in taken)


def _renamed(binder: Binder, scope: Scope) -> Binder:
    return Binder(None if binder.name is None else scope[binder.name], binder.span)


def _check_binders(generator: Generator, keys: set[str], values: set[str]) -> None:
    """Within one loop a key may be bound again (an equality), a value may not."""
    for binder in (*generator.keys, generator.value):
        is_bound_key = binder.name in keys or any(
            binder is not key and binder.name == key.name for key in generator.keys
        )
        if binder.name is None:
            continue
        if binder.name in values or (binder is generator.value and is_bound_key):
            raise UnknownNameError(
                f"'{binder.name}' is bound twice in one loop, as a value",
                expected="a key, which two sources may share, or a new name for the value",
                span=binder.span,
                hint="to compare values, write if (x == y) then …",
            )


def _require_distinct(binders: tuple[Binder, ...]) -> None:
    seen: set[str] = set()
    for binder in binders:
        if binder.name in seen:
            raise UnknownNameError(
                f"'{binder.name}' is bound twice in one merge",
                span=binder.span,
                hint="give each of the three a name of its own",
            )
        seen |= {binder.name} if binder.name else set()
