"""Terms as readable text, in two spellings.

``show`` gives every binder a name, in the syntax of the language: what ``explain`` prints.

    sum(<i, r> in 0:n) { i -> sum(<p, v> in A_val(A_pos(i):A_pos(i + 1))) v * x(A_idx(p)) }

``show_indices`` prints De Bruijn indices, ``%0`` for the innermost binder: equal terms, equal texts. A
semiring other than ``plus_times`` is written after the operator: ``sum[min_plus]``, ``+[min_plus]``.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import count

from storel.calculus.binding import occurs
from storel.calculus.nodes import (
    Add,
    Apply,
    Empty,
    Find,
    If,
    Let,
    Literal,
    Lookup,
    Merge,
    Multiply,
    Range,
    Reduce,
    Singleton,
    Slice,
    Sum,
    Symbol,
    Term,
    Unique,
    Variable,
)
from storel.calculus.walk import names_in

Names = tuple[str, ...]

# binding strengths, loosest first: those of the language
_LOOSEST, _OR, _AND, _NOT, _COMPARISON, _RANGE, _BIT_OR, _BIT_XOR, _BIT_AND, _SHIFT = range(10)
_ADDITIVE, _LOOP, _MULTIPLICATIVE, _PREFIX, _APPLICATION = range(10, 15)

_INFIX: dict[str, tuple[str, int]] = {
    "or": ("or", _OR), "and": ("and", _AND),
    "equal": ("==", _COMPARISON), "not_equal": ("!=", _COMPARISON),
    "less": ("<", _COMPARISON), "less_equal": ("<=", _COMPARISON),
    "greater": (">", _COMPARISON), "greater_equal": (">=", _COMPARISON),
    "bit_or": ("|", _BIT_OR), "bit_xor": ("^", _BIT_XOR), "bit_and": ("&", _BIT_AND),
    "shift_left": ("<<", _SHIFT), "shift_right": (">>", _SHIFT),
    "subtract": ("-", _ADDITIVE),
    "divide": ("/", _MULTIPLICATIVE), "floor_divide": ("//", _MULTIPLICATIVE),
    "modulo": ("%", _MULTIPLICATIVE),
}  # fmt: skip
_CALLED = {"minimum": "min", "maximum": "max", "power": "pow", "truncate": "int"}

_KEYS, _POSITIONS, _VALUES = ("i", "j", "k", "l", "m"), ("p", "q", "r", "s"), ("v", "w", "x", "y", "z")
_NAMED = ("t", "u")


def show(term: Term, context: Names = ()) -> str:
    """Return ``term`` with generated names; ``context`` names its free variables, the innermost first.

    >>> show(Sum(Symbol("a"), Singleton(Variable(1), Multiply(Variable(0), Variable(0)))))
    'sum(<p, v> in a) { p -> v * v }'
    """
    return _Printer(True, names_in(term) | set(context)).text(term, context, _LOOSEST)


def show_indices(term: Term) -> str:
    """Return ``term`` with De Bruijn indices.

    >>> show_indices(Sum(Symbol("a"), Singleton(Variable(1), Variable(0))))
    'sum(a) { %1 -> %0 }'
    """
    return _Printer(False, set()).text(term, (), _LOOSEST)


@dataclass(frozen=True, slots=True)
class _Printer:
    names_binders: bool
    reserved: AbstractSet[str]

    def text(self, term: Term, scope: Names, strength: int) -> str:
        """Return ``term``, in parentheses if it binds more loosely than ``strength``."""
        text, own = self._spelled(term, scope)
        return f"({text})" if own < strength else text

    def _spelled(self, term: Term, scope: Names) -> tuple[str, int]:
        """Return the text of ``term`` and how strongly it binds."""

        def of(child: Term, strength: int = _LOOSEST) -> str:
            return self.text(child, scope, strength)

        match term:
            case Variable(index):
                return (scope[index] if index < len(scope) else f"%{index - len(scope)}"), _APPLICATION
            case Literal(value, _):
                negative = value != value or value < 0
                return _number(value), _PREFIX if negative else _APPLICATION
            case Symbol(name):
                return name, _APPLICATION
            case Empty(rank, _):
                return "{}" if rank == 1 else f"{{}}_{rank}", _APPLICATION
            case Singleton(key, value, semiring):
                return f"{{ {of(key)} ->{_over(semiring)} {of(value)} }}", _APPLICATION
            case Lookup(mapping, key, semiring):
                return f"{of(mapping, _APPLICATION)}{_over(semiring)}({of(key)})", _APPLICATION
            case Range(low, high):
                return f"{of(low, _BIT_OR)}:{of(high, _BIT_OR)}", _RANGE
            case Slice(array, low, high):
                return f"{of(array, _APPLICATION)}({of(low, _BIT_OR)}:{of(high, _BIT_OR)})", _APPLICATION
            case If(condition, body, semiring):
                return f"if{_over(semiring)} ({of(condition)}) then {of(body)}", _LOOSEST
            case Add(left, right, semiring):
                return f"{of(left, _ADDITIVE)} +{_over(semiring)} {of(right, _LOOP)}", _ADDITIVE
            case Multiply(left, right, semiring):
                factors = of(left, _MULTIPLICATIVE), of(right, _MULTIPLICATIVE + 1)
                return f"{factors[0]} *{_over(semiring)} {factors[1]}", _MULTIPLICATIVE
            case Apply(function, arguments):
                return self._application(function, arguments, scope)
            case Unique(key):
                return f"unique({of(key)})", _APPLICATION
            case Sum() | Reduce() | Let() | Merge() | Find():
                return self._binding(term, scope)

    def _application(self, function: str, arguments: tuple[Term, ...], scope: Names) -> tuple[str, int]:
        match function, arguments:
            case "negate", (operand,):
                return f"-{self.text(operand, scope, _APPLICATION)}", _PREFIX
            case "not", (operand,):
                return f"not {self.text(operand, scope, _NOT)}", _NOT
            case name, (left, right) if name in _INFIX:
                operator, strength = _INFIX[name]
                first = strength + 1 if strength == _COMPARISON else strength  # comparisons do not chain
                texts = self.text(left, scope, first), self.text(right, scope, strength + 1)
                return f"{texts[0]} {operator} {texts[1]}", strength
            case _:
                inside = ", ".join(self.text(argument, scope, _LOOSEST) for argument in arguments)
                return f"{_CALLED.get(function, function)}({inside})", _APPLICATION

    def _binding(self, term: Sum | Reduce | Let | Merge | Find, scope: Names) -> tuple[str, int]:
        match term:
            case Sum(source, body, semiring):
                return self._loop(f"sum{_over(semiring)}", source, body, scope), _LOOP
            case Reduce(monoid, source, body):
                return self._loop(monoid, source, body, scope), _LOOP
            case Let(value, body):
                (name,), inner = self._bind(scope, body, (_NAMED,))
                head = f"let {name} = " if self.names_binders else "let "
                text = f"{head}{self.text(value, scope, _OR)} in {self.text(body, inner, _LOOSEST)}"
                return text, _LOOSEST
            case Merge(left, right, body, semiring):
                (p, q, k), inner = self._bind(scope, body, (_POSITIONS, _POSITIONS, _KEYS))
                sources = f"{self.text(left, scope, _RANGE)}, {self.text(right, scope, _RANGE)}"
                binders = f"<{p}, {q}, {k}> in " if self.names_binders else ""
                head = f"merge{_over(semiring)}({binders}<{sources}>)"
            case Find(source, key, body, semiring):
                (p,), inner = self._bind(scope, body, (_POSITIONS,))
                place = f"{self.text(source, scope, _RANGE)} at {self.text(key, scope, _BIT_OR)}"
                binders = f"<{p}> in " if self.names_binders else ""
                head = f"find{_over(semiring)}({binders}{place})"
        return f"{head} {self.text(term.body, inner, _LOOP)}", _LOOP

    def _loop(self, head: str, source: Term, body: Term, scope: Names) -> str:
        keys = _POSITIONS if isinstance(source, Symbol | Slice) else _KEYS
        (key, value), inner = self._bind(scope, body, (keys, _VALUES))
        binders = f"<{key}, {value}> in " if self.names_binders else ""
        inside = self.text(source, scope, _RANGE)
        return f"{head}({binders}{inside}) {self.text(body, inner, _LOOP)}"

    def _bind(self, scope: Names, body: Term, families: tuple[Names, ...]) -> tuple[list[str], Names]:
        """Return names for new binders, the outermost first, and the scope inside them; ``_`` if unused."""
        chosen: list[str] = []
        for position, family in enumerate(families):
            used = {*scope, *chosen, *self.reserved}
            is_used = occurs(body, len(families) - 1 - position)
            chosen.append(_fresh(family, used) if is_used else "_")
        if not self.names_binders:
            return chosen, ()
        return chosen, (*reversed(chosen), *scope)


def _fresh(family: Names, used: set[str]) -> str:
    candidates = (f"{name}{number or ''}" for number in count() for name in family)
    return next(name for name in candidates if name not in used)


def _over(semiring: str) -> str:
    return "" if semiring == "plus_times" else f"[{semiring}]"


def _number(value: bool | int | float) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)
