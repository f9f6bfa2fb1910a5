"""What each form of expression means, node by node; ``interpret.py`` is the way in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from storel.errors import EvaluationError
from storel.functions import Function
from storel.semiring import PLUS_TIMES, SEMIRINGS, Semiring
from storel.source import NOWHERE
from storel.syntax.infer import Inference
from storel.syntax.iteration import Bindings, Environment, Meaning, bound_entries, total_of
from storel.syntax.nodes.expressions import (
    Binary,
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
    Window,
)
from storel.syntax.roles import Scope, body_semiring, is_index
from storel.syntax.signatures import ArraySignature, Signatures, TensorSignature
from storel.syntax.spelling import CALLS, NEGATION, NOT, OPERATORS
from storel.syntax.types import Type
from storel.syntax.walk import children
from storel.values import (
    Value,
    converted,
    entries,
    integers,
    plus,
    put,
    reduce_all,
    rounded,
    times,
    zero_of,
)


@dataclass(frozen=True, slots=True)
class Interpreter:
    """Translates expressions whose free names have ``signatures``; ``outer`` are the types of those names."""

    signatures: Signatures
    outer: Scope

    def type_of(self, expression: Expression, types: Scope, ring: Semiring) -> Type:
        return Inference().of(expression, types, ring)

    def meaning(self, expression: Expression, types: Scope, ring: Semiring) -> Meaning:
        """Return the function from environments to values of ``expression``, computed in ``ring``."""
        inner = self.node(expression, types, ring)
        if isinstance(expression, Name | Number | Truth) or expression.span == NOWHERE:
            return inner  # it cannot fail, or what it was made of says where it did

        def located(environment: Environment) -> Value:
            try:
                return inner(environment)
            except EvaluationError as error:
                error.span = error.span or expression.span
                raise

        return located

    def node(self, expression: Expression, types: Scope, ring: Semiring) -> Meaning:
        match expression:
            case Name(name):
                return lambda environment: environment.values[name]
            case Number(value) | Truth(value):
                return lambda _: value
            case EmptyDictionary():
                return lambda _: {}
            case Sum(generators, body):
                kind = self.type_of(expression, types, ring)
                bindings, inner = self.loop(generators, types, ring)
                return total_of(kind, ring, bindings, self.fitting(body, kind, inner, ring))
            case Comprehension():
                return self.comprehension(expression, types, ring)
            case Singleton():
                return self.singleton(expression, types, ring)
            case Call():
                return self.call(expression, types, ring)
            case Range(low, high):
                first, end = self.key(low, types), self.key(high, types)
                return lambda environment: integers(first(environment), end(environment))
            case Let():
                return self.let(expression, types, ring)
            case If():
                return self.conditional(expression, types, ring)
            case Binary():
                return self.binary(expression, types, ring)
            case Unary("not", operand):
                return self.apply(NOT, (operand,), types, PLUS_TIMES)
            case Unary(_, operand):
                return self.negation(operand, types, ring)
            case Merge():
                return self.merge(expression, types, ring)
            case Unique(key):
                return self.unique(expression, self.key(key, types))
            case Extent(tensor, dimension):
                size = self.extent(tensor, dimension)
                return lambda _: size
            case Mapped(_, mapping, own):
                return self.meaning(mapping, self.outer, SEMIRINGS[own])
            case BlankRange() | Text() | Window():
                raise EvaluationError("this has no value before it is analysed", span=expression.span)

    def own(self, expression: Expression, types: Scope, ring: Semiring) -> Meaning:
        """Return the meaning of what is no part of the dictionary that is being built."""
        return _apart(expression, self.meaning(expression, types, ring))

    def fitting(self, expression: Expression, kind: Type, types: Scope, ring: Semiring) -> Meaning:
        """Return the meaning of ``expression`` where a value of type ``kind`` is wanted: {} is any zero."""
        inner, own = self.meaning(expression, types, ring), self.type_of(expression, types, ring)
        if own == kind:
            return inner
        if kind.rank != 0:
            return lambda environment: converted(inner(environment), kind.scalar)

        zero = zero_of(kind.scalar, kind.rank, ring)

        def fitted(environment: Environment) -> Value:
            value = inner(environment)
            return zero if isinstance(value, dict) else rounded(value, kind.scalar)

        return fitted

    def scalar(self, expression: Expression, types: Scope, ring: Semiring) -> Meaning:
        kind = Type(Inference().scalar(expression, types, ring))
        return _apart(expression, self.fitting(expression, kind, types, ring))

    def key(self, expression: Expression, types: Scope) -> Meaning:
        """Return the meaning of a key; it is part of the dictionary that it is a key of."""
        return self.meaning(expression, types, PLUS_TIMES)

    def loop(self, generators: tuple[Generator, ...], types: Scope, ring: Semiring) -> tuple[Bindings, Scope]:
        """Return the function to all environments that the generators make of one, and the new types."""
        steps: list[tuple[Generator, Meaning, frozenset[str]]] = []
        bound: frozenset[str] = frozenset()
        for generator in generators:
            steps.append((generator, self.own(generator.source, types, ring), bound))
            types = Inference().bind((generator,), types, ring)
            bound |= {key.name for key in generator.keys if key.name}

        def run(environment: Environment, step: int) -> Iterator[Environment]:
            if step == len(steps):
                yield environment
                return
            generator, source, known = steps[step]
            for inner in bound_entries(
                generator.keys, generator.value, source(environment), environment, known
            ):
                yield from run(inner, step + 1)

        return lambda environment: run(environment, 0), types

    def comprehension(self, node: Comprehension, types: Scope, ring: Semiring) -> Meaning:
        bindings, inner = self.loop(node.generators, types, ring)
        within = body_semiring(node.monoid, ring)
        body = self.scalar(Number(1) if node.body is None else node.body, inner, within)
        scalar = self.type_of(node, types, ring).scalar

        def comprehended(environment: Environment) -> Value:
            return reduce_all(node.monoid, (body(each) for each in bindings(environment)), scalar)

        return comprehended

    def singleton(self, node: Singleton, types: Scope, ring: Semiring) -> Meaning:
        kind = self.type_of(node, types, ring)
        value = self.meaning(node.value, types, ring)
        keys = [(self.key(key, types), key.span) for key in node.keys]

        def built(environment: Environment, depth: int) -> Value:
            if depth == len(keys):
                return converted(value(environment), kind.scalar)
            key, span = keys[depth]
            found = key(environment)
            inner = environment.under(found)
            dictionary: dict[int, Value] = {}
            put(dictionary, found, built(inner, depth + 1), ring)
            if found < 0 and dictionary:  # a zero is no entry, whatever its key
                raise EvaluationError(f"a negative key in a result: {found}", span=span)
            return dictionary

        return lambda environment: built(environment, 0)

    def call(self, node: Call, types: Scope, ring: Semiring) -> Meaning:
        function = node.function
        if isinstance(function, Name) and function.name not in types:
            return self.apply(CALLS[function.name], node.arguments, types, ring)
        mapping = self.own(function, types, ring)
        kind = self.type_of(node, types, ring)
        match node.arguments:
            case (Range(low, high),):
                first, end = self.key(low, types), self.key(high, types)
                return lambda environment: mapping(environment).part(first(environment), end(environment))
            case arguments:
                keys = [self.key(argument, types) for argument in arguments]
        source = self.type_of(function, types, ring)
        if source.is_array:
            return lambda environment: mapping(environment).at(keys[0](environment))
        zero = zero_of(kind.scalar, kind.rank, ring)

        def looked_up(environment: Environment) -> Value:
            value = mapping(environment)
            for key in keys:
                value = value.get(key(environment))
                if value is None:
                    return zero
            return value if source.scalar is kind.scalar else converted(value, kind.scalar)

        return looked_up

    def let(self, node: Let, types: Scope, ring: Semiring) -> Meaning:
        value = self.own(node.value, types, PLUS_TIMES if is_index(node.value, types) else ring)
        bound = (
            {} if node.binder.name is None else {node.binder.name: Inference().named(node.value, types, ring)}
        )
        body = self.meaning(node.body, {**types, **bound}, ring)
        return lambda environment: body(environment.bind(node.binder, value(environment)))

    def conditional(self, node: If, types: Scope, ring: Semiring) -> Meaning:
        kind = self.type_of(node, types, ring)
        condition = self.scalar(node.condition, types, PLUS_TIMES)
        positive = self.fitting(node.positive, kind, types, ring)
        zero = zero_of(kind.scalar, kind.rank, ring)
        negative = None if node.negative is None else self.fitting(node.negative, kind, types, ring)

        def chosen(environment: Environment) -> Value:
            if condition(environment):
                return positive(environment)
            return zero if negative is None else negative(environment)

        return chosen

    def binary(self, node: Binary, types: Scope, ring: Semiring) -> Meaning:
        left, right = node.left, node.right
        match node.operator:
            case "+":
                kind = self.type_of(node, types, ring)
                one, two = self.fitting(left, kind, types, ring), self.fitting(right, kind, types, ring)
                return lambda environment: plus(one(environment), two(environment), kind.scalar, ring)
            case "*":
                kind = self.type_of(node, types, ring)
                one, two = self.own(left, types, ring), self.own(right, types, ring)
                return lambda environment: times(one(environment), two(environment), kind.scalar, ring)
            case "and" | "or":
                return self.connective(node.operator, left, right, types)
            case "-" if self.type_of(node, types, ring).rank != 0:
                return self.node(Binary("+", left, Unary("-", right)), types, ring)
            case operator:
                inner = ring if operator in ("-", "/", "//", "%") else PLUS_TIMES
                return self.apply(OPERATORS[operator], (left, right), types, inner)

    def connective(self, operator: str, left: Expression, right: Expression, types: Scope) -> Meaning:
        """Return ``and`` or ``or``: the right side is computed only if the left does not decide."""
        one, two = self.scalar(left, types, PLUS_TIMES), self.scalar(right, types, PLUS_TIMES)
        if operator == "and":
            return lambda environment: bool(one(environment)) and bool(two(environment))
        return lambda environment: bool(one(environment)) or bool(two(environment))

    def negation(self, operand: Expression, types: Scope, ring: Semiring) -> Meaning:
        kind = self.type_of(Unary("-", operand), types, ring)
        if kind.is_zero:
            return self.own(operand, types, ring)
        if kind.is_scalar:
            return self.apply(NEGATION, (operand,), types, ring)
        inner = self.own(operand, types, ring)
        return lambda environment: times(-1, inner(environment), kind.scalar, ring)

    def apply(
        self, function: Function, arguments: tuple[Expression, ...], types: Scope, ring: Semiring
    ) -> Meaning:
        scalars = [Inference().scalar(argument, types, ring) for argument in arguments]
        operand, result = function.operand_type(*scalars), function.result_type(*scalars)
        assert operand is not None and result is not None  # inference has checked the arguments
        parts = [self.scalar(argument, types, ring) for argument in arguments]

        def applied(environment: Environment) -> Value:
            return rounded(function.meaning(*(rounded(part(environment), operand) for part in parts)), result)

        return applied

    def merge(self, node: Merge, types: Scope, ring: Semiring) -> Meaning:
        """Return the meaning of ``sum(<p, k> in left) sum(<q, y> in right) if (k == y) then body``."""
        left, right = self.own(node.left, types, PLUS_TIMES), self.own(node.right, types, PLUS_TIMES)
        kind = self.type_of(node, types, ring)
        inner = Inference().merged(node, types)
        body = self.fitting(node.body, kind, inner, ring)

        def matches(environment: Environment) -> Iterator[Environment]:
            second = list(entries(right(environment)))
            for p, k in entries(left(environment)):
                for q, y in second:
                    if k == y:
                        bound = environment.bind(node.left_position, p).bind(node.right_position, q)
                        yield bound.bind(node.key, k)

        return total_of(kind, ring, matches, body)

    def unique(self, node: Unique, key: Meaning) -> Meaning:
        """Return the key after a check that it is new among those of the same dictionary."""

        def checked(environment: Environment) -> Value:
            found = key(environment)
            promise = (id(node), environment.path, found)
            if promise in environment.seen:
                raise EvaluationError(f"unique({found}) is broken: the key comes again")
            environment.seen.add(promise)
            return found

        return checked

    def extent(self, tensor: Expression, dimension: int) -> int:
        """Return the size of a dimension of a tensor or array; of other values analysis has done it."""
        assert isinstance(tensor, Name)
        match self.signatures[tensor.name]:
            case TensorSignature(_, extents):
                return extents[dimension].size
            case ArraySignature(_, length):
                return length
            case _:
                raise EvaluationError(f"'{tensor.name}' has no dimension {dimension}", span=tensor.span)


def _apart(expression: Expression, meaning: Meaning) -> Meaning:
    """Return ``meaning`` with keys of its own, which only matters to a promise in ``expression``."""
    return (lambda environment: meaning(environment.fresh())) if _promises(expression) else meaning


def _promises(expression: Expression) -> bool:
    return isinstance(expression, Unique) or any(map(_promises, children(expression)))
