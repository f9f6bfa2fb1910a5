"""Actions of a plan to statements: each is run on a target (destination passing).

The plan has made every choice; here each is carried out.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from storel.calculus.nodes import Term, Variable
from storel.errors import Cause
from storel.loops.emitter import ALWAYS, BEYOND, between, index
from storel.loops.lowering.bindings import BindingLowering
from storel.loops.lowering.coiteration import Part
from storel.loops.lowering.expressions import ExpressionLowering
from storel.loops.lowering.iteration import IterationLowering
from storel.loops.lowering.profile import Profile
from storel.loops.lowering.scope import Scope
from storel.loops.lowering.targets import (
    NowhereTarget,
    Target,
    add_where,
)
from storel.loops.lowering.unconditional import added, are_added_anyway
from storel.loops.nodes import Expression, Failure, Role
from storel.loops.nodes import If as Branch
from storel.plan.binding import as_loop
from storel.plan.nodes import (
    Accumulate,
    Action,
    Bind,
    Enter,
    Guard,
    Loop,
    Together,
    Unite,
)
from storel.plan.single import adds_one_value

MOST_IN_REGIONS = 4
"""Branches up to which a union is a loop for each set of them, of which there are 2ⁿ - 1."""


@dataclass
class ActionLowering:
    """Lowers actions at the emitter's cursor; their arithmetic counts as ``role``."""

    expressions: ExpressionLowering
    role: Role = Role.VALUE
    profile: Profile | None = None

    def __post_init__(self) -> None:
        self.emitter = self.expressions.emitter
        self.iteration = IterationLowering(self.expressions)
        self.bindings = BindingLowering(self.expressions, self.run)

    def run(self, action: Action, target: Target, scope: Scope) -> None:
        """Emit ``action`` on ``target``."""
        count = self._counter()
        if not isinstance(action, Loop | Guard | Unite):
            count()
        match action:
            case Accumulate(value):
                target.add(self.expressions.lower(value, scope, self.role))
            case Enter(key, body):
                child = self.expressions.key(key, scope)

                def fill(child: Target) -> None:
                    self.run(body, child, scope)

                self._enter(target, child, fill, ((key, scope),), is_simple=adds_one_value(body))
            case Loop(source, body):

                def iterate(inner: Scope) -> None:
                    count()
                    self.run(body, target, inner)

                self.iteration.loop(source, scope, iterate)
            case Guard(condition, body) if self.expressions.holds(condition, scope):
                count()
                self.run(body, target, scope)
            case Guard(condition, body):
                test = self.expressions.condition(condition, scope)
                inner = scope.narrowed(condition, self.expressions.symbols)
                with self.emitter.block() as statements:
                    count()
                    self.run(body, target, inner)
                self.emitter.emit(Branch(test, tuple(statements)))
            case Bind():
                self.bindings.bind(action, target, scope)
            case Together(actions):
                for part in actions:
                    self.run(part, target, scope)
            case Unite(branches):
                self._unite(branches, target, scope, count)

    def _enter(
        self,
        target: Target,
        key: Expression,
        fill: Callable[[Target], None],
        terms: Iterable[tuple[Term, Scope]],
        *,
        is_simple: bool,
    ) -> None:
        """Emit ``fill`` of the child at ``key``, which is one of ``terms``, each in its scope.

        Unless all are proved to be within the target's limit, the kernel checks the key. A value outside is
        still computed: it is an error unless it is zero.
        """
        limit = target.limit
        is_within = self.expressions.is_within
        if limit is None or all(is_within(term, limit.extent, inner) for term, inner in terms):
            target.enter(key, fill, is_simple=is_simple)
            return
        key = self.emitter.declare("key", key)
        message = f"a key of the result is {{}}, {self._why_refused(limit.extent, terms)}"
        failure = Failure(Cause.KEY, message)

        def require(is_zero: Expression) -> None:
            self.emitter.fail_unless(is_zero, failure, key)

        with self._again(), self.emitter.block() as outside:
            fill(NowhereTarget(self.emitter, limit.zero, require))
        with self.emitter.block() as inside:
            target.enter(key, fill, is_simple=is_simple)
        self.emitter.emit(Branch(between(key, index(limit.extent)), tuple(inside), tuple(outside)))

    def _why_refused(self, extent: int, terms: Iterable[tuple[Term, Scope]]) -> str:
        highs = [self.expressions.interval(term, inner).high for term, inner in terms]
        is_negative = extent == BEYOND or all(high is not None and high < 0 for high in highs)
        return "but keys are not negative" if is_negative else f"outside 0:{extent}"

    @contextmanager
    def _again(self) -> Generator[None]:
        """Emit code that is emitted again afterwards: both use the same workspaces, stores and counters."""
        counters = 0 if self.profile is None else self.profile.length
        with self.bindings.again():
            yield
        if self.profile is not None:
            self.profile.length = counters

    def _counter(self) -> Callable[[], None]:
        """Return what emits the count of the next action, in preorder; it emits nothing without a profile."""
        return _uncounted if self.profile is None else self.profile.counter(self.emitter)

    def _unite(
        self, branches: tuple[Loop | Enter, ...], target: Target, scope: Scope, count: Callable[[], None]
    ) -> None:
        loops = [as_loop(branch) for branch in branches]
        sources = [loop.source for loop in loops]
        is_simple = self.profile is None and len(loops) <= MOST_IN_REGIONS
        if is_simple and are_added_anyway(loops, scope, self.expressions, self.role):
            self._unite_values(loops, target, scope)
            return

        def step(key: Expression, present: list[tuple[Expression, Scope]]) -> None:
            def fill(child: Target) -> None:
                for branch, loop, (is_here, inner) in zip(branches, loops, present, strict=True):
                    assert isinstance(loop.body, Enter)
                    with self.emitter.block() as statements:
                        if branch is loop:
                            self._counter()()
                        self._counter()()
                        self.run(loop.body.body, child, inner)
                    self.emitter.emit(Branch(is_here, tuple(statements)))

            count()
            terms = [(Variable(0), inner) for _, inner in present]
            self._enter(target, key, fill, terms, is_simple=False)

        self.iteration.coiteration.union(sources, scope, step)

    def _unite_values(self, loops: Sequence[Loop], target: Target, scope: Scope) -> None:
        """Emit a union whose branches each add a value that is as well computed where it is not needed."""

        def step(key: Expression, parts: Sequence[Part]) -> None:
            found = list(added(loops, parts, self.expressions, self.role))

            def fill(child: Target) -> None:
                for each in found:
                    add_where(self.emitter, child, each.condition, each.value)

            terms = [(Variable(0), part.scope) for part in parts]
            is_simple = len(found) == 1 and found[0].condition == ALWAYS
            self._enter(target, key, fill, terms, is_simple=is_simple)

        self.iteration.coiteration.regions([loop.source for loop in loops], scope, step)


def _uncounted() -> None:
    """Emit no count."""
