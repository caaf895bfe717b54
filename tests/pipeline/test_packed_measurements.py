"""Measurements that wait packed are the same when they are looked up, here or elsewhere."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from numpy.typing import NDArray

from reportgen.pipeline.packed_measurements import PackedMeasurements
from reportgen.results import RuleId
from reportgen.results.packed_columns import pack

FIRST, SECOND = RuleId("First"), RuleId("Second")


def test_measurements_are_unpacked_when_they_are_looked_up() -> None:
    found = PackedMeasurements.of({FIRST: np.arange(9), SECOND: b"raw"})

    assert list(found) == [FIRST, SECOND]
    assert found[FIRST].tolist() == list(range(9))
    assert found[SECOND] == b"raw"
    assert found[FIRST] is not found[FIRST]


def test_measurements_travel_uncompressed_and_rest_compressed() -> None:
    plain = np.zeros(50_000)
    travelling = pickle.dumps(PackedMeasurements.of({FIRST: plain}))

    assert len(travelling) > plain.nbytes
    assert pickle.loads(travelling)[FIRST].tolist() == plain.tolist()


def test_a_measurement_that_cannot_be_pickled_stays_as_it_is() -> None:
    def strange() -> None: ...

    assert PackedMeasurements.of({FIRST: strange})[FIRST] is strange


def test_measurements_aside_are_the_same_and_stay_there_when_they_travel(tmp_path: Path) -> None:
    here = PackedMeasurements.of({FIRST: [1, 2], SECOND: "b"})
    there = here.aside(tmp_path / "part")
    came = pickle.loads(pickle.dumps(there))

    assert there == here == came
    assert there.aside(tmp_path / "again") is there
    assert there.file == came.file == tmp_path / "part"
    assert FIRST in there
    assert RuleId("Another") not in there


NUMBERS = st.sampled_from(["<i8", ">i4", "|i1", "<u8", "<u2", "<f8", "<f4", "|b1", "<M8[ns]"])


@given(NUMBERS.flatmap(lambda kind: npst.arrays(kind, npst.array_shapes(min_dims=0, min_side=0))))
def test_any_array_comes_back_bit_by_bit(values: NDArray[np.generic]) -> None:
    found = PackedMeasurements.of({FIRST: values})[FIRST]

    assert (found.dtype, found.shape) == (values.dtype, values.shape)
    assert found.tobytes() == values.tobytes()
    assert found.flags.writeable


@given(
    st.lists(st.integers(-(10**9), 10**9) | st.none(), min_size=1), st.sampled_from([1, 10, 100])
)
def test_decimals_and_absent_values_come_back(numbers: list[int | None], scale: int) -> None:
    values = np.array([np.nan if n is None else n / scale for n in numbers])
    assert PackedMeasurements.of({FIRST: values})[FIRST].tobytes() == values.tobytes()


@pytest.mark.parametrize(
    "values",
    [
        1_774_260_000_000_000_000 + 60_000_000_000 * np.arange(2_000),  # minutes
        np.round(50 + 20 * np.sin(np.arange(2_000) ** 2), 2),  # per cents
    ],
)
def test_clocks_and_decimals_take_a_third_of_their_bytes(values: NDArray[np.generic]) -> None:
    packed = PackedMeasurements.of({FIRST: values})
    assert sum(map(len, packed.packed.values())) < values.nbytes / 3


def test_a_packed_column_travels_unpacked_and_comes_back() -> None:
    table = pack("steps", {"start_ns": np.arange(500) * 7, "duration_ns": np.arange(500) % 9})
    packed = PackedMeasurements.of({FIRST: table})

    assert packed[FIRST] == table
    assert len(pickle.dumps(packed)) > 500 * 2 * 8
