"""Building blocks of statements, with fresh names for locals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager

from storel.calculus.verify import Type, with_zero
from storel.loops.nodes import (
    Assign,
    Binary,
    Cast,
    Constant,
    Declare,
    Expression,
    Fail,
    Failure,
    For,
    If,
    Local,
    Role,
    Select,
    Statement,
    Store,
    Unary,
    Update,
    While,
)
from storel.loops.types import type_of
from storel.loops.walk import substituted
from storel.scalars import ScalarType

INDEX = ScalarType.INT64

RUN = 8
"""How many elements a search for the end of a run passes over at once."""

BEYOND = 2**63
"""The extent of what may have any key: it is beyond all integers, and asked for nowhere."""

ALWAYS, NEVER = Constant(True, ScalarType.BOOL), Constant(False, ScalarType.BOOL)


class Emitter:
    """A cursor in a procedure under construction: statements go to the innermost open block."""

    def __init__(self, taken: Iterable[str] = (), failures: list[Failure] | None = None) -> None:
        """Start at the beginning of a procedure; ``taken`` are names that no local may have.

        Procedures of one kernel share the ``failures`` that they may end with.
        """
        self.failures: list[Failure] = [] if failures is None else failures
        self._blocks: list[list[Statement]] = [[]]
        self._taken = set(taken)
        self._uses: Counter[str] = Counter()

    @property
    def statements(self) -> tuple[Statement, ...]:
        return tuple(self._blocks[-1])

    @property
    def depth(self) -> int:
        """How many blocks enclose the cursor."""
        return len(self._blocks) - 1

    def emit(self, *statements: Statement) -> None:
        self._blocks[-1].extend(statements)

    @contextmanager
    def block(self) -> Generator[list[Statement]]:
        """Collect what is emitted inside; the caller puts it into a loop or a branch."""
        collected: list[Statement] = []
        self._blocks.append(collected)
        yield collected
        self._blocks.pop()

    def fresh(self, hint: str, scalar_type: ScalarType = INDEX) -> Local:
        """Return a local whose name is ``hint``, numbered from its second use on."""
        name = hint
        while name in self._taken:
            self._uses[hint] += 1
            name = f"{hint}_{self._uses[hint] + 1}"
        self._taken.add(name)
        return Local(name, scalar_type)

    def pass_over(
        self, position: Local, stop: Expression, is_key: Callable[[Expression], Expression]
    ) -> None:
        """Emit steps that move a position past a run of elements equal to a key, no further than ``stop``.

        ``is_key`` tests the element at a position; all elements between two that equal the key equal it, too.
        """
        for step in (RUN, 1):
            last = plus(position, index(step - 1))
            goes_on = Binary("and", Binary("less", last, stop), is_key(last))
            self.emit(While(goes_on, (Assign(position, plus(position, index(step))),), Role.INDEX))

    def declare(self, hint: str, value: Expression, scalar_type: ScalarType | None = None) -> Local:
        """Introduce a local that holds ``value``, converted to ``scalar_type`` if given."""
        local = self.fresh(hint, scalar_type or type_of(value))
        self.emit(Declare(local, convert(value, local.type)))
        return local

    def declare_before(self, depth: int, hint: str, value: Expression) -> Local:
        """Introduce a local in the block that ``depth`` blocks enclose, before what is emitted there next."""
        local = self.fresh(hint, type_of(value))
        self._blocks[depth].append(Declare(local, value))
        return local

    def advance(self, local: Local, by: Expression) -> None:
        """Emit ``local += by`` for an index."""
        self.emit(Assign(local, Binary("add", local, convert(by, local.type))))

    def iteration(self, loop: For, place: Expression) -> tuple[Statement, ...]:
        """Return what a loop without others inside does at ``place``, with locals of its own."""
        values: dict[Local, Expression] = {loop.local: place}
        made: list[Statement] = []
        for statement in loop.body:
            match statement:
                case Declare(local, value):
                    own = self.fresh(local.name, local.type)
                    made.append(Declare(own, substituted(value, values)))
                    values[local] = own
                case Assign(local, value):
                    target = values.get(local, local)
                    assert isinstance(target, Local), "a loop's variable is never assigned"
                    made.append(Assign(target, substituted(value, values)))
                case Update(buffer, at, operator, value):
                    made.append(Update(buffer, substituted(at, values), operator, substituted(value, values)))
                case Store(buffer, at, value):
                    made.append(Store(buffer, substituted(at, values), substituted(value, values)))
                case _:
                    raise AssertionError(f"not in a loop that is copied: {type(statement).__name__}")
        return tuple(made)

    def fail_unless(self, condition: Expression, failure: Failure, detail: Expression) -> None:
        """Emit a check that ends the kernel with ``failure``."""
        if failure not in self.failures:
            self.failures.append(failure)
        code = self.failures.index(failure)
        self.emit(If(Unary("not", condition), (Fail(code, convert(detail, INDEX)),)))

    def combine(self, local: Local, operator: str, value: Expression) -> None:
        """Emit ``local = local operator value`` for a tensor value."""
        self.emit(Assign(local, Binary(operator, local, convert(value, local.type), Role.VALUE)))


def convert(expression: Expression, scalar_type: ScalarType) -> Expression:
    """Return ``expression`` as a value of ``scalar_type``."""
    if type_of(expression) is scalar_type:
        return expression
    if isinstance(expression, Constant):
        value = expression.value
        match scalar_type:
            case ScalarType.BOOL:
                return Constant(bool(value), scalar_type)
            case ScalarType.INT32 | ScalarType.INT64:
                return Constant(int(value), scalar_type)
            case ScalarType.FLOAT32 | ScalarType.FLOAT64:
                return Constant(float(value), scalar_type)
    return Cast(scalar_type, expression)


def holding_zero(value: Expression, semiring: str) -> Expression:
    """Return ``value`` in a type that holds the zero of ``semiring``, too."""
    return convert(value, with_zero(Type(type_of(value)), semiring).scalar)


def widened(value: Expression, operator: str, wanted: ScalarType) -> Expression:
    """Return ``value`` as an operand of a real sum or product; a nested one of integers is of reals, too.

    Where x * a * b became x * (a * b), an integer product a * b that was not written might overflow.
    """
    if (
        wanted.is_real
        and not type_of(value).is_real
        and isinstance(value, Binary)
        and value.operator == operator
    ):
        left, right = (widened(each, operator, wanted) for each in (value.left, value.right))
        return Binary(operator, left, right, value.role)
    return convert(value, wanted)


def arithmetic(operator: str, left: Expression, right: Expression, role: Role) -> Expression:
    """Return two numbers combined in their joined type; truths are added up as integers."""
    if operator in ("or", "and"):
        joined = ScalarType.BOOL
    else:
        joined = type_of(left).join(type_of(right))
        if joined is ScalarType.BOOL or (role is Role.INDEX and joined is ScalarType.INT32):
            joined = INDEX
    return Binary(operator, widened(left, operator, joined), widened(right, operator, joined), role)


def index(value: int) -> Constant:
    """Return an int64 constant."""
    return Constant(value, INDEX)


def plus(left: Expression, right: Expression) -> Expression:
    """Return the index ``left + right``."""
    if isinstance(right, Constant) and right.value == 0:
        return convert(left, INDEX)
    if isinstance(left, Constant) and left.value == 0:
        return convert(right, INDEX)
    return Binary("add", convert(left, INDEX), convert(right, INDEX))


def times(left: Expression, right: Expression) -> Expression:
    """Return the index ``left * right``."""
    if isinstance(left, Constant) and left.value in (0, 1):
        return index(0) if left.value == 0 else convert(right, INDEX)
    return Binary("multiply", convert(left, INDEX), convert(right, INDEX))


def both(left: Expression, right: Expression) -> Expression:
    """Return whether two conditions hold."""
    if left == ALWAYS or right == NEVER:
        return right
    return left if right == ALWAYS or left == NEVER else Binary("and", left, right)


def chosen(condition: Expression, value: Expression, otherwise: Expression) -> Expression:
    """Return ``value`` where the condition, which cannot be foreseen, holds; both may be evaluated."""
    if condition in (ALWAYS, NEVER):
        return value if condition == ALWAYS else otherwise
    return Select(condition, value, otherwise, branchless=True)


def compare(operator: str, left: Expression, right: Expression) -> Expression:
    """Return the comparison of two indices or two values, joined to one type."""
    joined = type_of(left).join(type_of(right))
    return Binary(operator, convert(left, joined), convert(right, joined))


def between(position: Expression, extent: Expression) -> Expression:
    """Return whether ``0 <= position < extent``."""
    is_natural = Binary("greater_equal", position, index(0))
    if extent == index(BEYOND):
        return is_natural
    return Binary("and", is_natural, Binary("less", position, extent))
