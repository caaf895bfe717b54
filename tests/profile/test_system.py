"""The table of samples: what its columns are called and how they are picked."""

from __future__ import annotations

import pytest

from reportgen.profile import Series, SeriesKind
from reportgen.profile.system import empty_system
from tests.builders import system_table


def test_a_kind_is_picked_in_device_order() -> None:
    table = system_table({"gpu10": [1.0], "gpu2": [2.0], "gpu2_memory": [3.0], "cpu0": [4.0]})
    assert table.names(SeriesKind.GPU_UTILIZATION) == ("gpu2", "gpu10")
    assert table.matrix(SeriesKind.GPU_UTILIZATION).tolist() == [[2.0, 1.0]]
    assert table.matrix(SeriesKind.GPU_MEMORY).tolist() == [[3.0]]


def test_a_kind_that_is_absent_is_a_matrix_without_columns() -> None:
    assert system_table({"cpu0": [1.0, 2.0]}).matrix(SeriesKind.IOPS).shape == (2, 0)
    assert empty_system().matrix(SeriesKind.IOPS).shape == (0, 0)


@pytest.mark.parametrize(
    ("series", "kind"),
    [
        (Series("cpu", "cpu3", "I/OWaitPercentage"), SeriesKind.IO_WAIT),
        (Series("memory", "MemoryUsedPercent", ""), SeriesKind.HOST_MEMORY),
        (Series("i/o", "IOPS", ""), SeriesKind.IOPS),
        (Series("network", "ReceiveBytesPerSecond", "Algorithm"), SeriesKind.RECEIVE_ALGORITHM),
        (Series("network", "TransmitBytesPerSecond", "Platform"), SeriesKind.TRANSMIT_PLATFORM),
        (Series("network", "TransmitBytesPerSecond", ""), None),
        (Series("tpu", "tpu0", "TPUUtilization"), None),
    ],
)
def test_series_know_their_kind(series: Series, kind: SeriesKind | None) -> None:
    assert series.kind is kind


def test_percentages_are_those_of_devices_and_memory() -> None:
    percent = {kind for kind in SeriesKind if kind.is_percent}
    assert SeriesKind.HOST_MEMORY in percent
    assert SeriesKind.IOPS not in percent
    assert len(percent) == 8
