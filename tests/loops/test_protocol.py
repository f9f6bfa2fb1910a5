from __future__ import annotations

import pytest

from storel.errors import Cause, EvaluationError, MemoryLimitError
from storel.loops.nodes import Allocation, Buffer, Failure, Kernel, Procedure
from storel.loops.protocol import capacities, failure, length_count
from storel.scalars import ScalarType

VALUES = Buffer("values", ScalarType.FLOAT64)


def test_capacities_share_what_the_limit_leaves() -> None:
    workspace = Buffer("workspace", ScalarType.INT32)
    allocations = (
        Allocation(VALUES, 1, is_output=True, used=0, overflow=0),
        Allocation(workspace, 0),
        Allocation(Buffer("idx", ScalarType.INT64), 2, is_output=True, used=1, overflow=0),
    )
    nothing = Procedure("nothing", (), (), ())
    kernel = Kernel(nothing, nothing, allocations, (Failure(Cause.CAPACITY, "full at {}"),))
    assert capacities(kernel, [10, 100, 100], None) == (100, 10, 100)
    assert capacities(kernel, [10, 100, 100], 1640) == (100, 10, 100)
    assert capacities(kernel, [10, 100, 100], 840) == (50, 10, 50)
    with pytest.raises(MemoryLimitError, match="more memory") as caught:
        capacities(kernel, [10, 100, 100], 39)
    assert "a temporary workspace" in str(caught.value)


def test_failures() -> None:
    nothing = Procedure("nothing", (), (), ())
    failures = (Failure(Cause.READ, "beyond {}", "idx"), Failure(Cause.CAPACITY, "full"))
    kernel = Kernel(nothing, nothing, (Allocation(VALUES, 0, used=2, overflow=1),), failures)
    error = failure(kernel, 0, -3)
    assert isinstance(error, EvaluationError)
    assert (error.message, error.cause, error.subject) == ("beyond -3", Cause.READ, "idx")
    assert isinstance(failure(kernel, 1, 0), MemoryLimitError)
    assert length_count(kernel) == 3
