"""Bounds of integers, as egglog rules: the least and greatest value that a term may have.

They follow interval arithmetic, as ``calculus/bounds.py`` does for terms, within what an i64 holds.
"""

from __future__ import annotations

import re

_ARITHMETIC = re.compile(r"\(([-+*]) (\w+) (\w+)\)")

BOUNDS = """
(= e (Int n)) => (set (low e) n) (set (high e) n) (set (rank e) 0)
(= e (Truth n)) => (set (low e) n) (set (high e) n) (set (rank e) 0)
(= e (Add s a b)) (index-like s) (= x (low a)) (= y (low b)) => (set (low e) (+ x y))
(= e (Add s a b)) (index-like s) (= x (high a)) (= y (high b)) => (set (high e) (+ x y))
(= e (Mul s a b)) (index-like s) (= x (low a)) (= y (low b)) (natural a) (natural b) => (set (low e) (* x y))
(= e (Mul s a b)) (index-like s) (= x (high a)) (= y (high b)) (natural a) (natural b)
  => (set (high e) (* x y))
(= e (Mul s a b)) (index-like s) (= c (low a)) (= c (high a)) (< c 0) (= y (high b)) => (set (low e) (* c y))
(= e (Mul s a b)) (index-like s) (= c (low a)) (= c (high a)) (< c 0) (= y (low b)) => (set (high e) (* c y))
(= e (Apply1 "negate" a)) (= x (low a)) => (set (high e) (- 0 x))
(= e (Apply1 "negate" a)) (= x (high a)) => (set (low e) (- 0 x))
(= e (Apply2 "subtract" a b)) (= x (low a)) (= y (high b)) => (set (low e) (- x y))
(= e (Apply2 "subtract" a b)) (= x (high a)) (= y (low b)) => (set (high e) (- x y))
(= e (Apply2 "floor_divide" a b)) (= x (low a)) (natural a) (= y (high b)) (< 0 (low b))
  => (set (low e) (/ x y))
(= e (Apply2 "floor_divide" a b)) (= x (high a)) (natural a) (= y (low b)) (< 0 y) => (set (high e) (/ x y))
(= e (Apply2 "floor_divide" a b)) (= x (low a)) (< x 0) (< 0 (low b)) => (set (low e) x)
(= e (Apply2 "floor_divide" a b)) (= x (high a)) (= _r (low a)) (< 0 (low b)) => (set (high e) (max x 0))
(= e (Apply2 "modulo" a b)) (= _r (low a)) (< 0 (low b)) (= y (high b))
  => (set (low e) 0) (set (high e) (- y 1))
(= e (Apply2 "bit_and" a b)) (natural a) (= x (high a)) => (set (low e) 0) (set (high e) x)
(= e (Apply2 "bit_and" a b)) (natural b) (= y (high b)) => (set (low e) 0) (set (high e) y)
(= e (Apply2 "minimum" a b)) (= x (low a)) (= y (low b)) => (set (low e) (min x y))
(= e (Apply2 "minimum" a b)) (= x (high a)) (= _r (low b)) => (set (high e) x)
(= e (Apply2 "minimum" a b)) (= y (high b)) (= _r (low a)) => (set (high e) y)
(= e (Apply2 "maximum" a b)) (= x (high a)) (= y (high b)) => (set (high e) (max x y))
(= e (Apply2 "maximum" a b)) (= x (low a)) (= _r (low b)) => (set (low e) x)
(= e (Apply2 "maximum" a b)) (= y (low b)) (= _r (low a)) => (set (low e) y)
(= e (Look s a k)) (= x (element-low a)) => (set (low e) x)
(= e (Look s a k)) (= x (element-high a)) => (set (high e) x)
(= e (Apply1 "int64" a)) (= x (low a)) => (set (low e) x)
(= e (Apply1 "int64" a)) (= x (high a)) => (set (high e) x)
(= e (Uniq a)) (= x (low a)) => (set (low e) x)
(= e (Uniq a)) (= x (high a)) => (set (high e) x)
(= e (Slice a l h)) (= x (element-low a)) => (set (element-low e) x)
(= e (Slice a l h)) (= x (element-high a)) => (set (element-high e) x)
"""


def fitting(actions: str) -> str:
    """Return the facts under which the arithmetic of ``actions`` stays within an i64.

    >>> fitting("(set (high e) (* x y))")
    '(< -2147483648 x) (< x 2147483648) (< -2147483648 y) (< y 2147483648)'
    """
    return " ".join(
        f"(< -{limit} {name}) (< {name} {limit})"
        for operator, *operands in _ARITHMETIC.findall(actions)
        for name in operands
        if name.isalpha() and (limit := 1 << (31 if operator == "*" else 62))
    )
