"""From a parsed script to definitions that can be compiled: names, types, extents, results.

What analysis promises for every ``Definition``: each free name of its expression is a tensor, array,
parameter, size or pointwise function; no binder hides another name; blank ranges are filled in;
``extent(A, d)`` occurs only of tensors by name; ranks, types and semirings fit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from storel.errors import ExtentError, ProgramSyntaxError, TypeMismatchError, UnknownNameError, nearest
from storel.scalars import ScalarType
from storel.semiring import PLUS_TIMES, SEMIRINGS, Semiring
from storel.source import Span
from storel.syntax.bits import expand_bits
from storel.syntax.circles import require_no_circle
from storel.syntax.declarations import declared_extents, declared_type, require_default, typed_zero
from storel.syntax.expressions import LARGEST_INTEGER
from storel.syntax.extents import Inferred, infer_extents
from storel.syntax.format_check import check_format, unknown_format
from storel.syntax.free_names import free_names
from storel.syntax.indices import marked
from storel.syntax.infer import Inference
from storel.syntax.nodes.declarations import FormatReference, TypeAnnotation
from storel.syntax.nodes.expressions import Binary, Expression, Truth
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
from storel.syntax.resolve import resolve
from storel.syntax.signatures import (
    ArraySignature,
    Extent,
    ParameterSignature,
    Signature,
    Signatures,
    SizeSignature,
    TensorSignature,
)
from storel.syntax.types import Type, variable_of, with_zero


@dataclass(frozen=True, slots=True)
class Definition:
    """A tensor that a script creates, analysed.

    ``extents`` are those of the result; ``sizes`` the values of the size names in ``expression``;
    ``signatures`` say what its other names are.
    """

    name: str
    expression: Expression
    type: ScalarType
    extents: tuple[Extent, ...]
    semiring: str
    format: FormatReference | None
    sizes: Mapping[str, int]
    signatures: Signatures = field(repr=False)

    @property
    def rank(self) -> int:
        return len(self.extents)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(extent.size for extent in self.extents)

    @property
    def signature(self) -> TensorSignature:
        return TensorSignature(self.type, self.extents, self.semiring)


@dataclass(frozen=True, slots=True)
class Analysis:
    """The definitions in order, the names of the results, all tensors' ranks, and warnings with places.

    ``unnamed`` are definitions that the script does not have: what its own have in common.
    """

    definitions: tuple[Definition, ...]
    results: tuple[str, ...]
    ranks: Mapping[str, int]
    warnings: tuple[str, ...]
    unnamed: frozenset[str] = frozenset()


def analyze(script: Script, signatures: Signatures, formats: Collection[str] | None = None) -> Analysis:
    """Check a script whose included files are spliced in and whose data have ``signatures``.

    ``signatures`` has everything that is given or loaded; ``formats`` the names that may follow
    ``STORED AS`` beside those that the script creates, None if any may. Raises the errors of
    ``resolve``, ``infer`` and ``extents``, and for an empty script or a name defined twice.
    """
    created = {each.name: each for each in script.statements if isinstance(each, CreateTensor)}
    saved = tuple(dict.fromkeys(each.name for each in script.statements if isinstance(each, Save)))
    if not created and not saved:
        raise ProgramSyntaxError("the script defines no tensor", expected="CREATE TENSOR name AS expression")
    analyzer = _Analyzer(dict(signatures), None if formats is None else set(formats), created)
    for statement in script.statements:
        analyzer.statement(statement)
    definitions = tuple(analyzer.definitions)
    results = saved or (definitions[-1].name,)
    ranks = {
        name: len(each.extents)
        for name, each in analyzer.signatures.items()
        if isinstance(each, TensorSignature)
    }
    return Analysis(definitions, results, ranks, tuple(dict.fromkeys(analyzer.warnings)))


@dataclass(slots=True)
class _Analyzer:
    """``signatures`` grows with the script; ``pending`` are tensors that it creates further down."""

    signatures: dict[str, Signature]
    formats: set[str] | None
    pending: dict[str, CreateTensor]
    defined: dict[str, Span] = field(default_factory=dict[str, Span])
    definitions: list[Definition] = field(default_factory=list[Definition])
    warnings: list[str] = field(default_factory=list[str])

    def statement(self, statement: Statement) -> None:
        """Check one statement and take up what it defines."""
        match statement:
            case CreateTensor():
                self.create_tensor(statement)
            case CreateFormat(name):
                check_format(statement)
                if self.formats is not None:
                    self.formats.add(name)
            case LoadTensor(name, type_, semiring, _, format_, span, place):
                self.define(name, span)
                self.semiring(semiring, place, type_)
                self.require_format(format_)
                if type_ is not None:
                    self.declare_tensor(name, type_)
            case LoadArray(array, _, span):
                self.define(array.name, span)
                self.declare_array(array.name, array.type)
            case Parameter(declaration, span):
                self.define(declaration.name, span)
                if declaration.default is not None:
                    require_default(declaration.type, Inference().of(declaration.default, {}, PLUS_TIMES))
            case Save(name) | Explain(name):
                self.require_tensor(name, statement.name_span)
            case LoadArrays() | Include():
                pass

    def define(self, name: str, span: Span) -> None:
        """Note that the script defines ``name`` here; raises ``UnknownNameError`` if it did before."""
        if name in self.defined:
            first = self.defined[name]
            line, _, _ = first.source.line_at(first.start)
            raise UnknownNameError(
                f"'{name}' is defined twice",
                span=span,
                hint=f"the first is in {first.source.name}, line {line}",
            )
        self.defined[name] = span

    def resolved(self, expression: Expression) -> Expression:
        """Return a definition's expression with the names that its scopes give; a name may be a tensor's."""
        try:
            return resolve(expression, self.signatures, self.pending)
        except UnknownNameError as error:
            error.hint = error.hint or "LOAD it, or give it: -b NAME=FILE, from Python NAME=…"
            raise

    def create_tensor(self, statement: CreateTensor) -> None:
        """Analyse a definition."""
        name, span = statement.name, statement.span
        self.define(name, span)
        if name in self.signatures:
            raise UnknownNameError(
                f"'{name}' is defined twice: it is given or loaded already",
                span=span,
                hint="give the new tensor another name",
            )
        self.pending.pop(name, None)
        require_no_circle(statement, self.pending)
        self.require_format(statement.format)
        semiring = self.semiring(statement.semiring, statement.semiring_span, statement.type)
        expression = self.resolved(statement.expression)
        if statement.semiring is None:
            self.require_ordinary_tensors(expression, span)
        kind, expression = self.typed(expression, semiring)
        inferred = infer_extents(expand_bits(expression, self.signatures), self.signatures)
        scalar, extents = self.result(statement, kind, inferred)
        value = typed_zero(scalar, len(extents)) if kind.is_zero else inferred.expression
        used = free_names(value)
        sizes = {
            each: signature.value
            for each, signature in self.signatures.items()
            if isinstance(signature, SizeSignature) and each in used
        }
        signatures = {each: own for each, own in self.signatures.items() if each in used}
        definition = Definition(
            name, value, scalar, extents, semiring.name, statement.format, sizes, signatures
        )
        self.definitions.append(definition)
        self.signatures[name] = definition.signature

    def typed(self, expression: Expression, semiring: Semiring) -> tuple[Type, Expression]:
        """Return the type of a definition's value, and its expression; ``let``s that name keys are marked.

        A value of numbers where numbers are truths is multiplied by the one, which makes truths of them.
        What may lack entries has a type that holds the semiring's zero.
        """
        inference = Inference()
        scope = {name: variable_of(signature) for name, signature in self.signatures.items()}
        kind = inference.value(expression, scope, semiring)
        if semiring.has_truths and kind.scalar is not ScalarType.BOOL:
            expression = Binary("*", Truth(True), expression)
            kind = replace(kind, scalar=ScalarType.BOOL)
        if kind.rank > 0:
            kind = with_zero(kind, semiring)
        self.warnings += map(str, inference.remarks)
        return kind, marked(expression, inference.indices)

    def result(
        self, statement: CreateTensor, kind: Type, inferred: Inferred
    ) -> tuple[ScalarType, tuple[Extent, ...]]:
        """Return the scalar type and the extents of a result; those that are declared are closed."""
        found = [
            None if each.size is None else Extent(each.size, each.is_closed) for each in inferred.dimensions
        ]
        if statement.type is not None:
            scalar = declared_type(statement.type, kind, SEMIRINGS[statement.semiring or PLUS_TIMES.name])
            found += [None] * (len(statement.type.extents) - len(found))
            extents, bound = declared_extents(statement.type, found, self.signatures)
            if statement.name in bound:
                raise UnknownNameError(
                    f"'{statement.name}' is defined twice: as a tensor and as its size",
                    span=statement.type.span,
                    hint="give the size another name",
                )
            self.signatures |= {name: SizeSignature(size) for name, size in bound.items()}
            return scalar, extents
        if kind.is_zero:
            raise TypeMismatchError(
                "this zero may be of any rank",
                span=statement.expression.span,
                hint=f"declare the type: CREATE TENSOR {statement.name}: real[m, n] AS …",
            )
        for dimension, extent in enumerate(found):
            if extent is None:
                raise ExtentError(
                    f"the extent of dimension {dimension} of '{statement.name}' cannot be inferred",
                    found=self._negative(statement.expression),
                    span=statement.expression.span,
                    hint=f"declare the type: CREATE TENSOR {statement.name}: real[…] AS …",
                )
            if extent.size > LARGEST_INTEGER:
                raise ExtentError(
                    f"keys of dimension {dimension} of '{statement.name}' may not fit into 64 bits",
                    expected=f"keys below {LARGEST_INTEGER}",
                    found=f"keys up to {extent.size - 1}",
                    span=statement.expression.span,
                    hint=f"declare the type: CREATE TENSOR {statement.name}: real[…] AS …",
                )
        return kind.scalar, tuple(Extent(each.size, is_closed=False) for each in found if each is not None)

    def _negative(self, expression: Expression) -> str | None:
        """Say which integers an expression asks for that are no sizes, if it does: negative parameters."""
        names = [
            f"'{name}'"
            for name in sorted(free_names(expression))
            if self.signatures.get(name) == ParameterSignature(ScalarType.INT64)
        ]
        return f"negative parameters, which bound no keys: {', '.join(names)}" if names else None

    def declare_tensor(self, name: str, annotation: TypeAnnotation) -> None:
        """Check a loaded tensor against its declared type, whose names become sizes."""
        loaded = self.signatures.get(name)
        if isinstance(loaded, TensorSignature):
            scalar = declared_type(annotation, Type(loaded.type, len(loaded.extents)))
            extents, bound = declared_extents(annotation, loaded.extents, self.signatures)
            for declared, found in zip(extents, loaded.extents, strict=True):
                if found.size > declared.size:
                    raise ExtentError(
                        f"the data of '{name}' does not fit its declared type",
                        expected=str(declared.size),
                        found=str(found.size),
                        span=annotation.span,
                    )
            self.signatures |= {each: SizeSignature(size) for each, size in bound.items()}
            self.signatures[name] = TensorSignature(scalar, extents, loaded.semiring)

    def declare_array(self, name: str, annotation: TypeAnnotation) -> None:
        """Check a loaded array against its declared type, whose name becomes a size."""
        loaded = self.signatures.get(name)
        if isinstance(loaded, ArraySignature):
            declared_type(annotation, Type(loaded.type, 1))
            _, bound = declared_extents(annotation, [Extent(loaded.length)], self.signatures)
            self.signatures |= {each: SizeSignature(size) for each, size in bound.items()}

    def require_tensor(self, name: str, span: Span) -> None:
        if not isinstance(self.signatures.get(name), TensorSignature):
            tensors = [each for each, own in self.signatures.items() if isinstance(own, TensorSignature)]
            later = "it is defined further down" if name in self.pending else None
            raise UnknownNameError(
                f"unknown tensor '{name}'", span=span, hint=later or nearest(name, tensors)
            )

    def semiring(self, name: str | None, span: Span, declared: TypeAnnotation | None) -> Semiring:
        """Return the semiring that ``OVER`` names, for a tensor of a declared type if there is one."""
        if name is not None and name not in SEMIRINGS:
            raise UnknownNameError(
                f"unknown semiring '{name}'",
                expected=", ".join(SEMIRINGS),
                span=span,
                hint=nearest(name, SEMIRINGS),
            )
        found = PLUS_TIMES if name is None else SEMIRINGS[name]
        if found.has_truths and declared is not None and declared.scalar != "bool":
            raise TypeMismatchError(
                f"values over {name} are truths", expected="bool", found=declared.scalar, span=declared.span
            )
        return found

    def require_format(self, reference: FormatReference | None) -> None:
        if reference is not None and self.formats is not None and reference.name not in self.formats:
            raise unknown_format(reference.name, self.formats, reference.span)

    def require_ordinary_tensors(self, expression: Expression, span: Span) -> None:
        """A definition that does not say OVER what takes no tensor of another semiring."""
        for name in sorted(free_names(expression)):
            signature = self.signatures.get(name)
            if isinstance(signature, TensorSignature) and signature.semiring != PLUS_TIMES.name:
                raise TypeMismatchError(
                    "semirings disagree",
                    expected=f"tensors over {PLUS_TIMES.name}, the default",
                    found=f"'{name}' over {signature.semiring}",
                    span=span,
                    hint=f"say OVER {signature.semiring}, or OVER {PLUS_TIMES.name} to use its entries",
                )
