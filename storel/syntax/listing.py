"""Statements and scripts to text: ``parse(render_script(s)) == s``."""

from __future__ import annotations

from storel.syntax.nodes.declarations import (
    ArrayDeclaration,
    Ascending,
    DistinctElements,
    FromTo,
    Increasing,
    IncreasingTuple,
    InRange,
    Pad,
    ParameterDeclaration,
    PartDeclaration,
    Property,
    Taking,
)
from storel.syntax.nodes.statements import (
    CreateFormat,
    CreateTensor,
    Explain,
    Include,
    LoadArray,
    LoadArrays,
    LoadTensor,
    Parameter,
    Save,
    Script,
    Statement,
)
from storel.syntax.printer import quoted, render, render_binders, render_format, render_operand, render_type


def render_script(script: Script) -> str:
    """Return the script as text, a statement on each line."""
    return "".join(f"{render_statement(statement)}\n" for statement in script.statements)


def render_statement(statement: Statement) -> str:
    """Return a statement as text."""
    match statement:
        case CreateTensor(name, type_, semiring, format_, expression):
            annotation = f": {render_type(type_)}" if type_ else ""
            over, stored = _over(semiring), f" STORED AS {render_format(format_)}" if format_ else ""
            return f"CREATE TENSOR {name}{annotation}{over}{stored} AS {render(expression)}"
        case CreateFormat():
            return _create_format(statement)
        case LoadTensor(name, type_, semiring, path, format_):
            annotation = f": {render_type(type_)}" if type_ else ""
            stored = f" STORED AS {render_format(format_)}" if format_ else ""
            return f"LOAD TENSOR {name}{annotation}{_over(semiring)} FROM {quoted(path)}{stored}"
        case LoadArray(array, path):
            return f"LOAD ARRAY {_array(array)} FROM {quoted(path)}"
        case LoadArrays(path):
            return f"LOAD ARRAYS FROM {quoted(path)}"
        case Save(name, path):
            return f"SAVE {name} TO {quoted(path)}"
        case Explain(name, analyze):
            return f"EXPLAIN {'ANALYZE ' if analyze else ''}{name}"
        case Include(path):
            return f"INCLUDE {quoted(path)}"
        case Parameter(declaration):
            return f"PARAMETER {_parameter(declaration)}"


def _over(semiring: str | None) -> str:
    return f" OVER {semiring}" if semiring else ""


def _create_format(statement: CreateFormat) -> str:
    parameters = ", ".join(map(_parameter, statement.parameters))
    head = f"{statement.name}({statement.tensor}: {render_type(statement.type)}"
    head += f"; {parameters})" if parameters else ")"
    if statement.requirements:
        head += f"\n  WHERE {', '.join(map(render, statement.requirements))}"
    declared = [*map(_array, statement.arrays), *map(_part, statement.parts)]
    mapping = render(statement.mapping)
    return f"CREATE FORMAT {head}\n  USING " + ",\n        ".join(declared) + f"\n  AS {mapping}"


def _parameter(declaration: ParameterDeclaration) -> str:
    default = "" if declaration.default is None else f" = {render(declaration.default)}"
    return f"{declaration.name}: {render_type(declaration.type)}{default}"


def _array(array: ArrayDeclaration) -> str:
    properties = "".join(f" {_property(each)}" for each in array.properties)
    return f"{array.name}: {render_type(array.type)}{properties}"


def _part(part: PartDeclaration) -> str:
    return f"{part.name}: {render_format(part.format)}{_taking(part.taking)}"


def _taking(taking: Taking | None) -> str:
    if taking is None:
        return ""
    binders = render_binders(taking.keys, taking.value)
    return f" TAKES {binders} WHERE {render(taking.condition)}"


def _property(declared: Property) -> str:
    match declared:
        case InRange(low, high):
            return f"IN {render_operand(low)}:{render_operand(high)}"
        case Ascending():
            return "ASCENDING"
        case Increasing(None):
            return "INCREASING"
        case Increasing(within):
            return f"INCREASING WITHIN {within}"
        case IncreasingTuple(arrays):
            return f"INCREASING ({', '.join(arrays)})"
        case DistinctElements():
            return "UNIQUE"
        case FromTo(first, last):
            return f"FROM {render_operand(first)} TO {render_operand(last)}"
        case Pad(value):
            return f"PAD {render_operand(value)}"
