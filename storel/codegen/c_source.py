"""Loop IR to one C translation unit.

The text needs no header but ``stdint.h``, since headers cost more time than kernels. It exports
``storel_NAME`` for each procedure, ``int64_t (const int64_t *slots, int64_t *detail)``: the slots
are 8 bytes for each scalar and each buffer's address, in the order of the procedure's parameters; the
result is 0, or 1 + the code of the ``Fail`` that was executed, with its detail written. Signed overflow
must wrap (``-fwrapv``). Only loops that say ``reductions`` or ``partial`` have their sums reordered.
"""

from __future__ import annotations

from storel.codegen import c_helpers, c_masks, c_sums
from storel.codegen.c_body import Body
from storel.codegen.c_helpers import C_TYPES
from storel.codegen.identifiers import Identifiers
from storel.loops.nodes import (
    Kernel,
    Procedure,
)
from storel.scalars import ScalarType

_KEYWORDS = (
    "asm auto break case char const continue default do double else enum extern float for goto if inline",
    "int long main register restrict return short signed sizeof static struct switch typedef typeof union",
    "unsigned void volatile while int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t linux",
    "unix bound compute detail divide lane slots storel_bound storel_compute storel_divide",
    "scaled reduced exp_less_one mask LANES",
)
_HELPERS = [
    c_helpers.name(operator, of)
    for operator in (*sorted(c_helpers.HELPED), "lanes", "marks", "vector")
    for of in ScalarType
]
_RESERVED = (*" ".join(_KEYWORDS).split(), *_HELPERS)

_SCALAR = '__attribute__((optimize("no-tree-vectorize")))'
"""For procedures that count: GCC takes longer than for all the rest to make vectors that gain nothing."""


def render(kernel: Kernel, *, is_numbered: bool = False, is_strict: bool = False) -> str:
    """Return the C source of ``kernel``.

    If it ``is_numbered``, parameters are called by their places, so that kernels that differ in names have
    one text. If it ``is_strict``, all functions give the bits that the C library's do.
    """
    helpers: set[tuple[str, ScalarType]] = set()
    inputs = frozenset(buffer.name for buffer in kernel.inputs)
    procedures = [_procedure(each, inputs, helpers, is_numbered) for each in kernel.procedures]
    return "\n".join(["#include <stdint.h>\n", *c_helpers.texts(helpers, is_strict=is_strict), *procedures])


def _procedure(
    procedure: Procedure, inputs: frozenset[str], helpers: set[tuple[str, ScalarType]], is_numbered: bool
) -> str:
    """Return the static function and the exported one that unpacks its arguments.

    The static function is not inlined, because gcc forgets ``restrict`` when it inlines.
    """
    name, names = procedure.name, Identifiers(_RESERVED)
    if is_numbered:
        names.number(each.name for each in (*procedure.scalars, *procedure.buffers))
    parameters = [f"{C_TYPES[local.type]} {names[local.name]}" for local in procedure.scalars]
    arguments = [
        f"*(const {C_TYPES[local.type]} *)(slots + {n})" for n, local in enumerate(procedure.scalars)
    ]
    for slot, buffer in enumerate(procedure.buffers, len(arguments)):
        pointer = f"{'const ' if buffer.name in inputs else ''}{C_TYPES[buffer.type]} *"
        parameters.append(f"{pointer}restrict {names[buffer.name]}")
        arguments.append(f"({pointer})slots[{slot}]")
    body = Body(names, helpers)
    body.block(procedure.body)
    separator, attributes = ",\n    ", "__attribute__((noinline))"
    if name == "divide":
        attributes = f"{attributes} {_SCALAR}"
    else:
        asked = ((c_masks.may_be_confused, c_masks.WITHOUT), (c_sums.may_count_twice, c_sums.WITHOUT))
        attributes = " ".join([attributes, *(without for is_met, without in asked if is_met(procedure.body))])
    return "\n".join(
        [
            f"static {attributes} int64_t {name}(",
            f"    {separator.join([*parameters, 'int64_t *restrict detail'])})",
            "{",
            *body.lines,
            "    return 0;",
            "}\n",
            f"int64_t storel_{name}(const int64_t *slots, int64_t *detail) {{",
            f"    return {name}(",
            f"    {separator.join([*arguments, 'detail'])});",
            "}\n",
        ]
    )
