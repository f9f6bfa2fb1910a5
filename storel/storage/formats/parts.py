"""Composed formats: a sum of parts, each in a format of its own, written out as one mapping.

    USING near: ell(width) TAKES <(i, j), _> WHERE rank(j WITHIN i) < width, rest: coo  AS near + rest

is the sum of both mappings, with the array ``idx`` of ``near`` called ``near_idx``. Parts take entries in the
order of the sum: what does not fit the first may fit the second. The idea is SparseTIR's (Ye, Lai, Shao,
Chen, Ceze, ASPLOS 2023), "format decomposition".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from storel.errors import FormatError
from storel.storage.formats.arguments import arguments_by_name
from storel.storage.formats.format import Format
from storel.storage.formats.levels import CONSTRUCTOR, parameters_of
from storel.syntax.free_names import free_names
from storel.syntax.nodes.declarations import (
    ArrayDeclaration,
    FormatReference,
    FromTo,
    Increasing,
    IncreasingTuple,
    InRange,
    Pad,
    ParameterDeclaration,
    PartDeclaration,
    Property,
    Taking,
    TupleArgument,
)
from storel.syntax.nodes.expressions import Expression, Name
from storel.syntax.nodes.statements import CreateFormat
from storel.syntax.spelling import CALLS
from storel.syntax.substitution import substitute_all

Find = Callable[[FormatReference, int], Format]
"""Returns the format of a part, its own parts written out, for tensors of a rank."""


def written_out(composed: CreateFormat, find: Find) -> Format:
    """Return a composed format as one mapping.

    Raises FormatError for a part whose parameters are not all given.
    """
    arrays, takings = list(composed.arrays), dict[str, tuple[Taking, ...]]()
    requirements = list(composed.requirements)
    mappings: dict[str, Expression] = {}
    parts = [find(part.format, len(composed.type.extents)) for part in composed.parts]
    for part, storage in zip(composed.parts, parts, strict=True):
        declaration = storage.declaration
        values = _values(composed, part, declaration)
        renamed = [_renamed(array, part.name, values) for array in declaration.arrays]
        _require_new(renamed, arrays, part)
        arrays += renamed
        requirements += (substitute_all(each, values) for each in declaration.requirements)
        mappings[part.name] = substitute_all(declaration.mapping, values)
        own = () if part.taking is None else (part.taking,)
        for array, new in zip(declaration.arrays, renamed, strict=True):
            within = (_taking(each, values) for each in storage.takings.get(array.name, ()))
            if limits := (*own, *within):
                takings[new.name] = limits
    mapping = substitute_all(composed.mapping, mappings)
    written = replace(
        composed,
        requirements=tuple(dict.fromkeys(requirements)),
        arrays=tuple(arrays),
        parts=(),
        mapping=mapping,
    )
    return Format(composed.name, written, takings=takings, parts=tuple(parts))


def _require_new(
    arrays: list[ArrayDeclaration], others: list[ArrayDeclaration], part: PartDeclaration
) -> None:
    names = {other.name for other in others}
    for array in arrays:
        if array.name in names:
            raise FormatError(
                f"the part {part.name} has an array {array.name}, and so has the format",
                hint="call one of them otherwise",
                span=part.span,
            )


def _values(
    composed: CreateFormat, part: PartDeclaration, declaration: CreateFormat
) -> dict[str, Expression]:
    """Return what the names of a part's format stand for in the composed one."""
    extents = zip(declaration.type.extents, composed.type.extents, strict=True)
    values = {own.name: outer for own, outer in extents if isinstance(own, Name)}
    values |= _arguments(part, declaration, values)
    arrays = {array.name for array in declaration.arrays}
    lengths = {name for array in declaration.arrays for e in array.type.extents for name in free_names(e)}
    for name in sorted(arrays | lengths - CALLS.keys() - values.keys()):
        values[name] = Name(f"{part.name}_{name}")
    return values


def _arguments(
    part: PartDeclaration, declaration: CreateFormat, extents: Mapping[str, Expression]
) -> dict[str, Expression]:
    """Return the value of each parameter of a part's format."""
    reference = parameters_of(part.format) if part.format.name == CONSTRUCTOR else part.format
    given = arguments_by_name(declaration.name, declaration.parameters, reference)
    values: dict[str, Expression] = {}
    for parameter in declaration.parameters:
        known = {**extents, **values}
        value = given.get(parameter.name) or _default(parameter, known)
        if value is None or isinstance(value, TupleArgument | FormatReference):
            raise FormatError(
                f"the part {part.name} needs a value of {parameter.name}",
                hint=f"write {part.name}: {declaration.name}({parameter.name}=…)",
                span=part.span,
            )
        values[parameter.name] = value
    return values


def _default(parameter: ParameterDeclaration, known: Mapping[str, Expression]) -> Expression | None:
    """Return the default of a part's parameter, None where it would need the data."""
    if parameter.default is None or free_names(parameter.default) - CALLS.keys() - known.keys():
        return None
    return substitute_all(parameter.default, known)


def _renamed(array: ArrayDeclaration, part: str, values: Mapping[str, Expression]) -> ArrayDeclaration:
    extents = tuple(substitute_all(extent, values) for extent in array.type.extents)
    properties = tuple(_property(each, part, values) for each in array.properties)
    return ArrayDeclaration(
        f"{part}_{array.name}", replace(array.type, extents=extents), properties, array.span
    )


def _taking(taking: Taking, values: Mapping[str, Expression]) -> Taking:
    """Return what a part of a part may take, in the names of the whole.

    Names of keys and of the value become such as nobody can write, so that they hide none of these.
    """
    binders = (*taking.keys, taking.value)
    own = {each.name: Name(f"own {each.name}") for each in binders if each.name is not None}
    *keys, value = (replace(each, name=own[each.name].name) if each.name else each for each in binders)
    return Taking(tuple(keys), value, substitute_all(taking.condition, {**values, **own}))


def _property(declared: Property, part: str, values: Mapping[str, Expression]) -> Property:
    match declared:
        case InRange(low, high):
            return InRange(substitute_all(low, values), substitute_all(high, values))
        case FromTo(first, last):
            return FromTo(substitute_all(first, values), substitute_all(last, values))
        case Pad(value):
            return Pad(substitute_all(value, values))
        case Increasing(str() as within):
            return Increasing(f"{part}_{within}")
        case IncreasingTuple(arrays):
            return IncreasingTuple(tuple(f"{part}_{name}" for name in arrays))
        case _:
            return declared
