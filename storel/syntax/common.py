"""What several definitions of a script compute, each for itself, named before the first of them.

    CREATE TENSOR s AS (sum(<i, v> in x) v * v) / 2          CREATE TENSOR common_1 AS sum(<i, v> in x) v * v
    CREATE TENSOR t AS 1 + (sum(<k, a> in x) a * a)     =    CREATE TENSOR s AS common_1 / 2
                                                             CREATE TENSOR t AS 1 + common_1

Only what has a loop and no variable of another one around it is named, and the largest such expressions. As
any tensor that others use it is a view: whether it is stored or inlined again is decided by cost.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import count

from storel.errors import StorelError
from storel.syntax.analyze import Analysis, analyze
from storel.syntax.free_names import free_names
from storel.syntax.nodes.expressions import Comprehension, Expression, Merge, Name, Sum
from storel.syntax.nodes.statements import CreateTensor, Script, Statement
from storel.syntax.resolve import canonical
from storel.syntax.signatures import Signatures
from storel.syntax.walk import NONE, Names, children, map_scoped, scoped_children


@dataclass(frozen=True, slots=True)
class Computed:
    """An expression whose variables are numbered, over a semiring; it is equal to others of this meaning."""

    expression: Expression
    semiring: str | None


def with_common(
    analysis: Analysis,
    script: Script,
    among: Collection[str],
    signatures: Signatures,
    formats: Collection[str] | None = None,
) -> Analysis:
    """Return the analysis of a script with what the definitions ``among`` have in common named.

    It is the given ``analysis``, made of the other arguments, where there is nothing, or where the extents of
    that cannot be told without what is around it.
    """
    named, names = named_apart(script, among, signatures)
    try:
        found = analyze(named, signatures, formats) if names else analysis
    except StorelError:
        return analysis
    return replace(found, ranks=analysis.ranks, warnings=analysis.warnings, unnamed=names)


def named_apart(
    script: Script, among: Collection[str], known: Collection[str] = ()
) -> tuple[Script, frozenset[str]]:
    """Return a script that has been analyzed with what definitions ``among`` have in common named.

    These names are returned, too. They are like no other name in its definitions, nor a ``known`` one.
    """
    statements, made = list(script.statements), set[str]()
    taken = {*known, *(name for each in _definitions(statements) for name in _names(each))}
    fresh = (name for number in count(1) if (name := f"common_{number}") not in taken)
    while shared := _shared(statements, {*among, *made}):
        name = next(fresh)
        place = next(n for n, each in enumerate(statements) if _computes(each, shared))
        first = statements[place]
        assert isinstance(first, CreateTensor)
        expression = next(each for each in _closed(first.expression) if _of(each, first) == shared)
        statements = [
            _using(each, shared, name) if _is_among(each, {*among, *made}) else each for each in statements
        ]
        named = CreateTensor(name, None, first.semiring, None, expression, first.span, first.semiring_span)
        statements.insert(place, named)
        made.add(name)
    return (replace(script, statements=tuple(statements)) if made else script), frozenset(made)


def _definitions(statements: list[Statement]) -> list[CreateTensor]:
    return [each for each in statements if isinstance(each, CreateTensor)]


def _names(definition: CreateTensor) -> Iterator[str]:
    yield definition.name
    yield from _named(definition.expression)


def _named(expression: Expression) -> Iterator[str]:
    """Yield all names in an expression, those that are bound included."""
    if isinstance(expression, Name):
        yield expression.name
    for child, bound in scoped_children(expression):
        yield from bound
        yield from _named(child)


def _is_among(statement: Statement, names: Collection[str]) -> bool:
    return isinstance(statement, CreateTensor) and statement.name in names


def _shared(statements: list[Statement], among: Collection[str]) -> Computed | None:
    """Return a largest expression that several definitions compute, the first in the order of the text."""
    users: dict[Computed, set[str]] = {}
    for definition in _definitions(statements):
        if definition.name in among:
            for each in _closed(definition.expression):
                users.setdefault(_of(each, definition), set()).add(definition.name)
    found = [computed for computed, names in users.items() if len(names) > 1]
    return max(found, key=lambda computed: _nodes(computed.expression), default=None)


def _computes(statement: Statement, shared: Computed) -> bool:
    return isinstance(statement, CreateTensor) and any(
        _of(each, statement) == shared for each in _closed(statement.expression)
    )


def _of(expression: Expression, definition: CreateTensor) -> Computed:
    return Computed(canonical(expression), definition.semiring)


def _closed(expression: Expression, bound: Names = NONE) -> Iterator[Expression]:
    """Yield what is computed by loops in an expression that needs no variable, from the outside in."""
    if _has_loop(expression):
        if bound.isdisjoint(free_names(expression)):
            yield expression
        for child, own in scoped_children(expression):
            yield from _closed(child, bound | own)


def _has_loop(expression: Expression) -> bool:
    return isinstance(expression, Sum | Comprehension | Merge) or any(map(_has_loop, children(expression)))


def _nodes(expression: Expression) -> int:
    return 1 + sum(map(_nodes, children(expression)))


def _using(statement: Statement, shared: Computed, name: str) -> Statement:
    """Return a statement in which the name stands for what it computes."""
    if not isinstance(statement, CreateTensor):
        return statement

    def visit(expression: Expression, bound: Names) -> Expression:
        if not _has_loop(expression):
            return expression
        if bound.isdisjoint(free_names(expression)) and _of(expression, statement) == shared:
            return Name(name, expression.span)
        return map_scoped(expression, bound, visit)

    return replace(statement, expression=visit(statement.expression, NONE))
