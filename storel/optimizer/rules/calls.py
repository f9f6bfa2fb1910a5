"""The functions that patterns hold: those with a sign, and those that are called by a name.

    ?a // ?b    floor_divide        min(?a, ?b)    minimum        bit_and(?a, ?b)    bit_and

Names are those that programs use, and those of terms. What a program may call but lowering writes out
is in no term, and so in no pattern: ``bits``, ``interleave``.
"""

from __future__ import annotations

from storel.functions import FUNCTIONS, Function
from storel.syntax.spelling import CALLS, OPERATORS

COMPARISONS = {sign: OPERATORS[sign].name for sign in ("==", "!=", "<", "<=", ">", ">=")}

FACTORS = {sign: OPERATORS[sign].name for sign in ("/", "//", "%")}

CALLED: dict[str, Function] = {
    **FUNCTIONS,
    **{name: function for name, function in CALLS.items() if function.name in FUNCTIONS},
}
"""The functions that a pattern may call, by each of their names."""

_SPELLED = {function.name: name for name, function in CALLS.items()}

_WITH_A_SIGN = {*COMPARISONS.values(), *FACTORS.values(), "subtract", "negate", "and", "or", "not"}


def spelled(name: str) -> str:
    """Return how a program calls the function that terms call ``name``, or ``name``.

    >>> spelled("minimum"), spelled("bit_and")
    ('min', 'bit_and')
    """
    return _SPELLED.get(name, name)


NAMES = tuple(sorted(spelled(name) for name in FUNCTIONS if name not in _WITH_A_SIGN))
"""What a message says that may be called."""

WRITTEN_OUT = "a program may call it, but before a rule meets it, it is written out in shifts and masks"
"""What is said of a function that programs may call, and rules may not."""
