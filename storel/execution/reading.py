"""Which names a script reads: those of its own tensors, those that its caller binds, and those of arrays."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from storel.arrays import Array
from storel.compilation.environment import Environment
from storel.errors import UnknownNameError, nearest
from storel.source import Span
from storel.syntax.analyze import Definition
from storel.syntax.free_names import free_names, free_occurrences
from storel.syntax.nodes.declarations import TypeAnnotation
from storel.syntax.nodes.expressions import Expression, Let, Name, Range, Singleton
from storel.syntax.nodes.statements import (
    CreateTensor,
    LoadArray,
    LoadArrays,
    LoadTensor,
    Parameter,
    Save,
    Statement,
)
from storel.syntax.roles import Remark
from storel.syntax.walk import scoped_children
from storel.syntax.words import as_name, is_name

LIKE_A_KEYWORD = 0.8
"""How much alike a name and a keyword must be to be meant: ``thread`` is ``threads``, not so ``ls``."""


def names_needed(wanted: Iterable[str], definitions: Iterable[Definition]) -> set[str]:
    """Return the names of the definitions that ``wanted`` depend on, themselves included."""
    by_name = {definition.name: definition for definition in definitions}
    found: set[str] = set()
    pending = list(wanted)
    while pending:
        name = pending.pop()
        if name in by_name and name not in found:
            found.add(name)
            pending.extend(sorted(free_names(by_name[name].expression)))
    return found


def names_in_sizes(statements: Iterable[Statement]) -> frozenset[str]:
    """Return the names that the extents, ranges and keys of the created tensors depend on."""
    found: set[str] = set()
    for statement in statements:
        if isinstance(statement, CreateTensor):
            found |= _in_sizes(statement.expression)
            for extent in () if statement.type is None else statement.type.extents:
                found |= free_names(extent)
    return frozenset(found)


def _in_sizes(expression: Expression) -> frozenset[str]:
    inside = [(_in_sizes(child), bound) for child, bound in scoped_children(expression)]
    names = frozenset[str]().union(*(found - bound for found, bound in inside))
    match expression:
        case Range():
            return free_names(expression)
        case Singleton(keys):
            return names.union(*map(free_names, keys))
        case Let(binder, value) if binder.name in inside[-1][0]:
            return names | free_names(value)
        case _:
            return names


def require_read(
    given: Iterable[str], statements: Iterable[Statement], environment: Environment, keywords: Collection[str]
) -> None:
    """Raise UnknownNameError unless the statements read everything that was given, as a whole or an array.

    ``keywords`` are what a caller may have meant instead of a name of the script.
    """
    read = _names(statements)
    known = {
        name: name in read or any(f"{name}_{array}" in read for array in tensor.arrays)
        for name, tensor in environment.tensors.items()
    } | {name: name in read for name in (*environment.parameters, *environment.sizes)}
    expected = sorted(name for name, is_read in known.items() if is_read)
    for name in sorted(given):
        if not known[name]:
            raise UnknownNameError(
                f"the script reads no '{name}'",
                expected=", ".join(expected) or "nothing: all its names are its own",
                hint=nearest(name, expected) or nearest(name, keywords, LIKE_A_KEYWORD),
            )


def require_no_keyword(statements: Collection[Statement], keywords: Collection[str]) -> None:
    """Raise UnknownNameError if the statements leave to their caller what a keyword of its own is called.

    What such a keyword is given would never reach them; what they create may have its name.
    """
    created = {each.name for each in statements if isinstance(each, CreateTensor)}
    for statement in statements:
        for name, span in _left_to_the_caller(statement):
            if name in keywords and name not in created:
                raise UnknownNameError(
                    f"'{name}' is an option of storel.run: no keyword can give it to a program",
                    span=span,
                    hint="give it another name in the program",
                )


def nameable(arrays: Mapping[str, Array], loading: LoadArrays) -> tuple[dict[str, Array], tuple[str, ...]]:
    """Return those of the loaded arrays that a script can name, and a warning of each that it cannot."""
    named = {name: array for name, array in arrays.items() if is_name(name)}
    remarks = (
        Remark(
            f"{loading.path}: array '{name}' is left out, since no program can write its name; "
            f"save it under another one, such as {as_name(name)}",
            loading.span,
        )
        for name in arrays.keys() - named.keys()
    )
    return named, tuple(sorted(map(str, remarks)))


def _names(statements: Iterable[Statement]) -> frozenset[str]:
    """Return the names that the expressions, types, parameters and SAVEs of a script mention."""
    found: set[str] = set()
    for statement in statements:
        match statement:
            case CreateTensor(_, annotation, _, _, expression):
                found |= free_names(expression) | _extents(annotation)
            case LoadTensor(_, annotation):
                found |= _extents(annotation)
            case Parameter(declaration):
                found.add(declaration.name)
            case Save(name):
                found.add(name)
            case _:
                pass
    return frozenset(found)


def _left_to_the_caller(statement: Statement) -> Iterator[tuple[str, Span]]:
    """Yield the names that a statement loads, declares or reads, and where it does."""
    match statement:
        case CreateTensor(_, annotation, _, _, expression):
            read = (expression, *(() if annotation is None else annotation.extents))
            yield from ((each.name, each.span) for part in read for each in free_occurrences(part))
        case LoadTensor(name, annotation, span=span):
            yield name, span
            extents = () if annotation is None else annotation.extents
            yield from ((each.name, each.span) for part in extents for each in free_occurrences(part))
        case LoadArray(declaration, span=span) | Parameter(declaration, span):
            yield declaration.name, span
        case Save(name, name_span=span):
            yield name, span
        case _:
            pass


def _extents(annotation: TypeAnnotation | None) -> frozenset[str]:
    extents = () if annotation is None else annotation.extents
    return frozenset(each.name for each in extents if isinstance(each, Name))
