"""What two statements of a loop compute is computed once.

    for p in l:h { t = t + a[p] * b[p]; y[idx[p]] += a[p] * b[p] * c }

    =  for p in l:h { v = a[p] * b[p]; t = t + v; y[idx[p]] += v * c }

Value numbering (Muchnick, "Advanced Compiler Design and Implementation", 1997, section 12.4), of what is
written alike: a product in another order is another one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from storel.loops.dependence import declared, keep_values
from storel.loops.emitter import Emitter
from storel.loops.nodes import (
    Binary,
    Declare,
    Expression,
    For,
    If,
    Kernel,
    Role,
    Statement,
    Unary,
    While,
)
from storel.loops.types import type_of
from storel.loops.walk import certain, evaluated, parts, replaced, rewritten, walk


def compute_once(kernel: Kernel) -> Kernel:
    """Return the same kernel, whose innermost loops compute nothing twice in an iteration."""
    compute = kernel.compute
    emitter = Emitter([local.name for local in (*compute.scalars, *declared(compute.body))])
    return replace(kernel, compute=replace(compute, body=_block(compute.body, emitter)))


def _block(body: tuple[Statement, ...], emitter: Emitter) -> tuple[Statement, ...]:
    return tuple(_statement(each, emitter) for each in body)


def _statement(statement: Statement, emitter: Emitter) -> Statement:
    match statement:
        case For(body=body) if not any(isinstance(each, For | While) for each in walk(body)):
            return replace(statement, body=_computed_once(body, emitter))
        case For(body=body) | While(body=body):
            return replace(statement, body=_block(body, emitter))
        case If(_, body, otherwise):
            branches = _block(body, emitter), _block(otherwise, emitter)
            return replace(statement, body=branches[0], otherwise=branches[1])
        case _:
            return statement


def _computed_once(body: tuple[Statement, ...], emitter: Emitter) -> tuple[Statement, ...]:
    value = _in_two(body)
    if value is None:
        return body
    place = next(place for place, each in enumerate(body) if value in _computed(each))
    local = emitter.fresh("value", type_of(value))
    using = rewritten(body[place:], lambda each: replaced(each, value, local))
    return _computed_once((*body[:place], Declare(local, value), *using), emitter)


def _in_two(body: tuple[Statement, ...]) -> Expression | None:
    """Return the largest value that two statements compute, None if there is none."""
    computed = Counter(value for each in body for value in _computed(each) if keep_values((value,), body))
    shared = [value for value, uses in computed.items() if uses > 1]
    return max(shared, key=lambda value: len(list(parts(value)))) if shared else None


def _computed(statement: Statement) -> dict[Expression, None]:
    """Return the values that a statement computes in any case."""
    found = (part for each in evaluated(statement) for part in certain(each))
    return dict.fromkeys(
        part for part in found if isinstance(part, Binary | Unary) and part.role is Role.VALUE
    )
