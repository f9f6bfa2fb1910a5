"""What can be said of a format from its text alone: its names and its rank."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Set

from storel.errors import FormatError, TypeMismatchError, UnknownNameError, nearest
from storel.semiring import PLUS_TIMES
from storel.source import Span
from storel.syntax.free_names import free_names
from storel.syntax.indices import marked
from storel.syntax.infer import Inference
from storel.syntax.nodes.declarations import FormatReference, FromTo, InRange, Pad, TupleArgument
from storel.syntax.nodes.expressions import Expression, Let, Name
from storel.syntax.nodes.statements import CreateFormat
from storel.syntax.resolve import resolve
from storel.syntax.signatures import SCALAR_TYPES
from storel.syntax.spelling import CALLS
from storel.syntax.types import INTEGER, TRUTH, Role, Type, Variable
from storel.syntax.walk import children, scoped_children

OWN_FORMATS = "if it is your own: --formats DIR, from Python formats=…, or CREATE FORMAT further up"


def unknown_format(name: str, known: Collection[str], span: Span | None = None) -> FormatError:
    """Return an error for a format that is not known: a name that is misspelt, or one of the reader's own."""
    return FormatError(f"unknown format '{name}'", span=span, hint=nearest(name, known) or OWN_FORMATS)


def check_format(declaration: CreateFormat) -> None:
    """Check the mapping of a format against its declarations.

    Names that are free in lengths are sizes. Raises ``UnknownNameError``, ``TypeMismatchError``.
    """
    _check_arrays(declaration)
    _check_parameters(declaration)
    _check_requirements(declaration)
    _check_takings(declaration)
    kind, _ = _typed(declaration)
    _check_uses(declaration)
    rank = len(declaration.type.extents)
    if not kind.is_zero and kind.rank != rank:
        raise TypeMismatchError(
            f"the mapping of format '{declaration.name}' has another rank than its tensor",
            expected=str(Type(SCALAR_TYPES[declaration.type.scalar], rank)),
            found=str(kind),
            span=declaration.mapping.span,
        )
    _check_parameters_matter(declaration)


def marked_mapping(declaration: CreateFormat) -> Expression:
    """Return the mapping of a format, in which the ``let``s that name keys are marked, as in programs."""
    return _typed(declaration)[1] if _has_names(declaration.mapping) else declaration.mapping


def _check_arrays(declaration: CreateFormat) -> None:
    for array in declaration.arrays:
        if array.type.is_hash or len(array.type.extents) != 1:
            raise TypeMismatchError(
                f"the array '{array.name}' of a format needs one length",
                expected=f"{array.name}: {array.type.scalar}[length]",
                span=array.span,
                hint=f"the place of (i, j) is {array.name}(i * n + j)"
                if len(array.type.extents) > 1
                else None,
            )


def _check_uses(declaration: CreateFormat) -> None:
    """Check that the mapping reads all that the format stores: what it does not, nothing could fill."""
    used = free_names(declaration.mapping)
    for each in (*declaration.arrays, *declaration.parts):
        if each.name not in used:
            raise UnknownNameError(
                f"the mapping does not read '{each.name}'", span=each.span, hint="leave it out of USING"
            )


def _check_parameters_matter(declaration: CreateFormat) -> None:
    used = free_names(declaration.mapping)
    for number, parameter in enumerate(declaration.parameters):
        if parameter.name not in used.union(*map(free_names, _asking(declaration, number))):
            raise UnknownNameError(
                f"nothing depends on the parameter '{parameter.name}'",
                expected="a name in the mapping, a length, a property, a part, or a later default",
                span=parameter.span,
                hint="leave it out",
            )


def _asking(declaration: CreateFormat, number: int) -> Iterator[Expression]:
    """Yield what may name a parameter of this number, beside the mapping."""
    yield from _sizes(declaration)
    for later in declaration.parameters[number + 1 :]:
        if later.default is not None:
            yield later.default
    for part in declaration.parts:
        yield from _arguments(part.format)
        if part.taking is not None:
            yield part.taking.condition


def _arguments(reference: FormatReference) -> Iterator[Expression]:
    for argument in (*reference.arguments, *(value for _, value in reference.keywords)):
        match argument:
            case FormatReference():
                yield from _arguments(argument)
            case TupleArgument(items):
                yield from items
            case _:
                yield argument


def _check_parameters(declaration: CreateFormat) -> None:
    """Check that defaults name nothing but the tensor, its extents and earlier parameters."""
    names = [parameter.name for parameter in declaration.parameters]
    known = _extents(declaration) | {declaration.tensor} | CALLS.keys()
    for number, parameter in enumerate(declaration.parameters):
        if parameter.name in _extents(declaration):
            raise UnknownNameError(
                f"'{parameter.name}' is an extent of the tensor, and no parameter", span=parameter.span
            )
        if parameter.default is not None:
            _require_known(parameter.default, known | set(names[:number]), later=set(names[number + 1 :]))


def _check_requirements(declaration: CreateFormat) -> None:
    """Check that requirements are conditions of the tensor's extents and the parameters."""
    sizes = _extents(declaration) | {parameter.name for parameter in declaration.parameters}
    scope = {name: Variable(INTEGER, Role.KEY) for name in sizes}
    for requirement in declaration.requirements:
        _require_known(requirement, sizes | CALLS.keys())
        kind = Inference().value(resolve(requirement, scope), scope, PLUS_TIMES)
        if kind != TRUTH:
            raise TypeMismatchError(
                f"the format '{declaration.name}' requires what is neither true nor false",
                expected="a condition of extents and parameters, such as r >= 1",
                found=str(kind),
                span=requirement.span,
            )


def _check_takings(declaration: CreateFormat) -> None:
    """Check that conditions of parts name nothing but keys, the value, extents and parameters."""
    sizes = _extents(declaration) | {parameter.name for parameter in declaration.parameters} | CALLS.keys()
    for part in declaration.parts:
        if part.taking is None:
            continue
        named = [each.name for each in (*part.taking.keys, part.taking.value) if each.name is not None]
        if len(set(named)) < len(named):
            raise UnknownNameError(
                "keys and value of an entry are called the same",
                expected="a name for each, or _",
                span=part.span,
            )
        _require_known(part.taking.condition, sizes | set(named))


def _extents(declaration: CreateFormat) -> frozenset[str]:
    return frozenset(each.name for each in declaration.type.extents if isinstance(each, Name))


def _require_known(expression: Expression, known: Set[str], later: Set[str] = frozenset[str]()) -> None:
    """Raise UnknownNameError for a free name that is none of these."""
    match expression:
        case Name(name, span) if name not in known:
            hint = "it is declared further down" if name in later else nearest(name, known - CALLS.keys())
            raise UnknownNameError(f"unknown name '{name}'", span=span, hint=hint)
        case _:
            for child, bound in scoped_children(expression):
                _require_known(child, known | bound, later - bound)


def _has_names(expression: Expression) -> bool:
    return isinstance(expression, Let) or any(map(_has_names, children(expression)))


def _typed(declaration: CreateFormat) -> tuple[Type, Expression]:
    """Return the type of a format's mapping, and the mapping itself, its ``let``s marked."""
    scope = dict(_declared(declaration))
    try:
        mapping = resolve(declaration.mapping, scope)
    except UnknownNameError as error:
        if error.span is not None and error.span.text == declaration.name:
            error.hint = "a mapping reads the arrays and parts of USING; no format is a part of itself"
        raise
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
