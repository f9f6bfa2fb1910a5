"""What can be said of a format from its text alone: its names and its rank."""

from __future__ import annotations

from collections.abc import Iterator

from storel.errors import TypeMismatchError, UnknownNameError
from storel.semiring import PLUS_TIMES
from storel.syntax.free_names import free_names
from storel.syntax.indices import marked
from storel.syntax.infer import Inference
from storel.syntax.nodes.declarations import FromTo, InRange, Pad
from storel.syntax.nodes.expressions import Expression, Let
from storel.syntax.nodes.statements import CreateFormat
from storel.syntax.resolve import resolve
from storel.syntax.signatures import SCALAR_TYPES
from storel.syntax.spelling import CALLS
from storel.syntax.types import INTEGER, Role, Type, Variable
from storel.syntax.walk import children


def check_format(declaration: CreateFormat) -> None:
    """Check the mapping of a format against its declarations.

    Names that are free in lengths are sizes. Raises ``UnknownNameError``, ``TypeMismatchError``.
    """
    kind, _ = _typed(declaration)
    rank = len(declaration.type.extents)
    if not kind.is_zero and kind.rank != rank:
        raise TypeMismatchError(
            f"the mapping of format '{declaration.name}' has another rank than its tensor",
            expected=str(Type(SCALAR_TYPES[declaration.type.scalar], rank)),
            found=str(kind),
            span=declaration.mapping.span,
        )


def marked_mapping(declaration: CreateFormat) -> Expression:
    """Return the mapping of a format, in which the ``let``s that name keys are marked, as in programs."""
    return _typed(declaration)[1] if _has_names(declaration.mapping) else declaration.mapping


def _has_names(expression: Expression) -> bool:
    return isinstance(expression, Let) or any(map(_has_names, children(expression)))


def _typed(declaration: CreateFormat) -> tuple[Type, Expression]:
    """Return the type of a format's mapping, and the mapping itself, its ``let``s marked."""
    scope = dict(_declared(declaration))
    mapping = resolve(declaration.mapping, scope)
    inference = Inference()
    kind = inference.value(mapping, scope, PLUS_TIMES)
    return kind, marked(mapping, inference.indices)


def _declared(declaration: CreateFormat) -> Iterator[tuple[str, Variable]]:
    """Yield what the mapping may name; raises ``UnknownNameError`` for a name that stands for two things."""
    seen: set[str] = set()
    for each in (*declaration.parameters, *declaration.arrays, *declaration.parts):
        if each.name in seen:
            raise UnknownNameError(f"'{each.name}' is declared twice in one format", span=each.span)
        seen.add(each.name)
    no_sizes = {each.name for each in (*declaration.arrays, *declaration.parts)}
    for size in _sizes(declaration):
        for name in sorted(free_names(size) - CALLS.keys()):
            if name in no_sizes:
                raise UnknownNameError(f"'{name}' is a part of the format, and no size", span=size.span)
            yield name, Variable(INTEGER, Role.KEY)
    for parameter in declaration.parameters:
        yield parameter.name, Variable(Type(SCALAR_TYPES[parameter.type.scalar]), Role.KEY)
    for array in declaration.arrays:
        scalar = SCALAR_TYPES[array.type.scalar]
        is_array = bool(array.type.extents) and not array.type.is_hash
        yield array.name, Variable(Type(scalar, len(array.type.extents), is_array))
    for part in declaration.parts:
        scalar = SCALAR_TYPES[declaration.type.scalar]
        yield part.name, Variable(Type(scalar, len(declaration.type.extents)))


def _sizes(declaration: CreateFormat) -> Iterator[Expression]:
    """Yield what is computed of sizes: extents, lengths of arrays, and numbers in their properties."""
    yield from declaration.type.extents
    for array in declaration.arrays:
        yield from array.type.extents
        for each in array.properties:
            match each:
                case InRange(one, two) | FromTo(one, two):
                    yield from (one, two)
                case Pad(value):
                    yield value
                case _:
                    pass
