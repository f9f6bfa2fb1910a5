"""Compiled programs with and without a profile, for every way to explain them."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import scipy.sparse
from strategies.plans import Planned, planned

import storel
from storel.execution.profile import Profile, profile

MATRIX = np.array([[1.0, 0, 2, 0], [0, 0, 0, 0], [0, 3, 0, 4]])

PROGRAMS = {
    "scaled": "CREATE TENSOR r AS sum(<(i, j), a> in A) { i -> a * 2 }",
    "product": "CREATE TENSOR r AS sum(<(i, j), a> in A, <(k, j), b> in B) { (i, k) -> a * b }",
    "common": "CREATE TENSOR r AS sum(<(i, j), a> in A, <(i, j), b> in B) { (i, j) -> a * b }",
    "union": "CREATE TENSOR r STORED AS csr AS A + B",
    "searched": (
        "CREATE TENSOR r AS sum(<(i, j), a> in A, <(i, j), c> in C) if (a > 1.5) then { (i, j) -> a * c }"
    ),
    "scalar": "CREATE TENSOR r AS sum(<(i, j), a> in A) a * a",
    "normed": "CREATE TENSOR r AS let s = sum(<(_, _), a> in A) a in sum(<(i, j), a> in A) { j -> a / s }",
}
"""Programs over A and B in csr and C in coo, so that every kind of operator occurs."""


@cache
def program(name: str) -> Planned:
    """Compile a program over small matrices."""
    matrices = {"A": (MATRIX, "csr"), "B": (MATRIX[::-1], "csr"), "C": (MATRIX, "coo")}
    text = PROGRAMS[name]
    used = set(re.findall(r"\b[ABC]\b", text))
    return planned(text, **{key: storel.tensor(*matrices[key]) for key in sorted(used)})


def measured(this: Planned) -> Profile:
    return profile(this.compilation, this.environment)


@cache
def large() -> Planned:
    """Return a product that is large enough for its counts to come from machine code."""
    left = scipy.sparse.random(1000, 800, density=0.01, format="csr", rng=np.random.default_rng(0))
    right = scipy.sparse.random(800, 900, density=0.01, format="csr", rng=np.random.default_rng(1))
    text = "CREATE TENSOR r AS sum(<(i, j), a> in A, <(j, k), b> in B) { (i, k) -> a * b }"
    return planned(text, A=storel.tensor(left), B=storel.tensor(right))
