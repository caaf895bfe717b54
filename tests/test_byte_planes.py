"""Numbers are the same again, whatever their type, their shape and their size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy
from numpy.typing import NDArray

from reportgen.byte_planes import differences, from_planes, in_planes, summed

TYPES = st.sampled_from(["<i8", "<i4", "<i2", "i1", "u1", "<u8"])
SHAPES = st_numpy.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=6)


@given(TYPES.flatmap(lambda kind: st_numpy.arrays(kind, SHAPES)))
def test_numbers_and_their_differences_come_back(numbers: NDArray[Any]) -> None:
    steps = differences(numbers)
    again = summed(from_planes(in_planes(steps), steps.dtype).reshape(numbers.shape))

    assert again.dtype == numbers.dtype
    assert np.array_equal(again, numbers)


def test_planes_that_lack_a_byte_are_refused() -> None:
    with pytest.raises(ValueError, match="reshape"):
        from_planes(b"\x01\x02\x03", "<i2")
