"""From lark's parse trees to statements."""

from __future__ import annotations

from typing import TypeAlias

from storel.source import Span
from storel.syntax.expressions import ExpressionBuilder, Word, checked_type
from storel.syntax.nodes.declarations import (
    ArrayDeclaration,
    Ascending,
    DistinctElements,
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
    TypeAnnotation,
)
from storel.syntax.nodes.expressions import Binder, Expression
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
from storel.syntax.signatures import SCALAR_TYPES

Declaration: TypeAlias = ArrayDeclaration | PartDeclaration


class ProgramBuilder(ExpressionBuilder):
    """Builds statements and scripts."""

    def script(self, _: Span, *statements: Statement) -> Script:
        return Script(statements, self.source)

    def create_tensor(
        self,
        span: Span,
        name: Word,
        annotation: TypeAnnotation | None,
        semiring: Word | None,
        stored: FormatReference | None,
        expression: Expression,
    ) -> CreateTensor:
        over, place = _named(semiring, span)
        return CreateTensor(name.text, annotation, over, stored, expression, span, place)

    def create_format(
        self,
        span: Span,
        name: Word,
        tensor: Word,
        type_: TypeAnnotation,
        parameters: tuple[ParameterDeclaration, ...] | None,
        requirements: tuple[Expression, ...] | None,
        declarations: tuple[Declaration, ...],
        mapping: Expression,
    ) -> CreateFormat:
        arrays = tuple(each for each in declarations if isinstance(each, ArrayDeclaration))
        parts = tuple(each for each in declarations if isinstance(each, PartDeclaration))
        return CreateFormat(
            name.text,
            tensor.text,
            checked_type(type_),
            parameters or (),
            requirements or (),
            arrays,
            parts,
            mapping,
            span,
        )

    def load_tensor(
        self,
        span: Span,
        name: Word,
        annotation: TypeAnnotation | None,
        semiring: Word | None,
        path: Word,
        stored: FormatReference | None,
    ) -> LoadTensor:
        over, place = _named(semiring, span)
        return LoadTensor(name.text, annotation, over, path.text, stored, span, place)

    def load_array(self, span: Span, name: Word, type_: TypeAnnotation, *rest: Property | Word) -> LoadArray:
        properties = tuple(each for each in rest if not isinstance(each, Word))
        path = next(each.text for each in rest if isinstance(each, Word))
        return LoadArray(ArrayDeclaration(name.text, checked_type(type_), properties, span), path, span)

    def load_arrays(self, span: Span, path: Word) -> LoadArrays:
        return LoadArrays(path.text, span)

    def save(self, span: Span, name: Word, path: Word) -> Save:
        return Save(name.text, path.text, span, name.span, path.span)

    def explain(self, span: Span, analyze: Word | None, name: Word) -> Explain:
        return Explain(name.text, analyze is not None, span, name.span)

    def include(self, span: Span, path: Word) -> Include:
        return Include(path.text, span)

    def parameter_statement(self, span: Span, declaration: ParameterDeclaration) -> Parameter:
        return Parameter(declaration, span)

    def annotation(self, _: Span, type_: TypeAnnotation) -> TypeAnnotation:
        return checked_type(type_)

    def over(self, _: Span, name: Word) -> Word:
        return name

    def stored(self, _: Span, reference: FormatReference) -> FormatReference:
        return reference

    def parameter(
        self, span: Span, name: Word, type_: TypeAnnotation, default: Expression | None
    ) -> ParameterDeclaration:
        return ParameterDeclaration(name.text, checked_type(type_), default, span)

    def array(
        self, span: Span, name: Word, type_: TypeAnnotation, properties: tuple[Property, ...]
    ) -> Declaration:
        """Build an array, or a part: only the name after the colon tells ``b: coo`` from ``n: int``."""
        if type_.extents or properties or type_.scalar in SCALAR_TYPES:
            return ArrayDeclaration(name.text, checked_type(type_), properties, span)
        return PartDeclaration(name.text, FormatReference(type_.scalar, span=type_.span), None, span)

    def part(self, span: Span, name: Word, reference: FormatReference, taking: Taking) -> PartDeclaration:
        return PartDeclaration(name.text, reference, taking, span)

    def taking(self, _: Span, keys: tuple[Binder, ...], value: Binder, condition: Expression) -> Taking:
        return Taking(keys, value, condition)

    def bare_part(self, span: Span, name: Word, reference: FormatReference) -> PartDeclaration:
        return PartDeclaration(name.text, reference, None, span)

    parameters = declarations = properties = ExpressionBuilder.sequence

    def requirements(self, _: Span, conditions: tuple[Expression, ...]) -> tuple[Expression, ...]:
        return conditions

    def in_range(self, _: Span, low: Expression, high: Expression) -> InRange:
        return InRange(low, high)

    def ascending(self, _: Span) -> Ascending:
        return Ascending()

    def increasing(self, _: Span, within: Word | None) -> Increasing:
        return Increasing(None if within is None else within.text)

    def increasing_tuple(self, _: Span, *names: Word) -> IncreasingTuple:
        return IncreasingTuple(tuple(name.text for name in names))

    def distinct_elements(self, _: Span) -> DistinctElements:
        return DistinctElements()

    def from_to(self, _: Span, first: Expression, last: Expression) -> FromTo:
        return FromTo(first, last)

    def pad(self, _: Span, value: Expression) -> Pad:
        return Pad(value)


def _named(semiring: Word | None, statement: Span) -> tuple[str | None, Span]:
    """Return what ``OVER`` names, and where; without it the statement is to blame for what it lacks."""
    return (None, statement) if semiring is None else (semiring.text, semiring.span)
