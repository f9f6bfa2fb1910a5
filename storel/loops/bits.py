"""Sets of places: one bit for each, in integers of a buffer, that of place p in the element p / width."""

from __future__ import annotations

from storel.loops.emitter import convert, index, plus
from storel.loops.nodes import Binary, Buffer, Cast, Constant, Expression, Load, Update
from storel.loops.types import type_of
from storel.scalars import ScalarType


def words_of(count: Expression, of: ScalarType) -> Expression:
    """Return how many words of type ``of`` hold ``count`` bits."""
    width = _width(of)
    return Binary("shift_right", plus(count, index(width - 1)), index(width.bit_length() - 1))


def word_at(words: Buffer, place: Expression) -> Expression:
    """Return which word holds the bit of a place."""
    width = Constant(_width(words.type).bit_length() - 1, type_of(place))
    return Binary("shift_right", place, width)


def bit_at(words: Buffer, place: Expression) -> Expression:
    """Return the bit of a place, 0 or 1, as a word.

    A place that was made longer is taken as it was, since more short integers fit into a vector.
    """
    match place:
        case Cast(ScalarType.INT64, shorter) if type_of(shorter) is ScalarType.INT32:
            place = shorter
        case _:
            pass
    shifted = Binary("shift_right", Load(words, word_at(words, place)), _number_in_word(words, place))
    return Binary("bit_and", shifted, Constant(1, words.type))


def set_bit(words: Buffer, place: Expression) -> Update:
    """Return what adds a place to the set."""
    mask = Binary("shift_left", Constant(1, words.type), _number_in_word(words, place))
    return Update(words, convert(word_at(words, place), ScalarType.INT64), "bit_or", mask)


def _number_in_word(words: Buffer, place: Expression) -> Expression:
    return Binary("bit_and", place, Constant(_width(words.type) - 1, type_of(place)))


def _width(of: ScalarType) -> int:
    return 8 * of.itemsize
