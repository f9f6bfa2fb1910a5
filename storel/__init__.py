"""storel: a compiler and cost-based optimizer for tensor programs over declarative storage."""

from storel.advice.rows import Advice
from storel.api import advise, compile, declare, einsum, explain, read, run, tensor, tune  # noqa: A004
from storel.errors import StorelError
from storel.kernels import Kernel
from storel.storage.tensor import Tensor
from storel.tuning.rows import Tuning

__all__ = [
    "Advice",
    "Kernel",
    "StorelError",
    "Tensor",
    "Tuning",
    "advise",
    "compile",
    "declare",
    "einsum",
    "explain",
    "read",
    "run",
    "tensor",
    "tune",
]
