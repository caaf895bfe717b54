"""Samples of some series alone: what is held grows with what is asked for, not with the job."""

from __future__ import annotations

from pathlib import Path

import pytest

from reportgen.intake import discover, read_node, read_samples
from tests.builders import START_S, system_line, values_of, write_minute, write_system

N_MINUTES, TICKS_A_MINUTE, N_CORES = 12, 120, 16


@pytest.fixture
def job(tmp_path: Path) -> Path:
    n_ticks = N_MINUTES * TICKS_A_MINUTE
    cores = {f"cpu{core}": [50.0] * n_ticks for core in range(N_CORES)}
    write_system(tmp_path, {"gpu0": [7.0] * n_ticks, **cores})
    return tmp_path


@pytest.mark.parametrize("values", [(30.0, 60.0), (60.0, 30.0)])
def test_of_two_values_at_one_instant_the_smaller_stays_as_in_the_report(values, tmp_path: Path):
    write_minute(tmp_path, [system_line("gpu0", value, START_S) for value in values])
    (part,) = discover(str(tmp_path)).parts
    assert read_samples(part).value.tolist() == [30.0]
    assert values_of(read_node(part).system).tolist() == [[30.0]]
