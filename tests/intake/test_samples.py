"""Samples of some series alone: what is held grows with what is asked for, not with the job."""

from __future__ import annotations

from pathlib import Path

import pytest

from reportgen.intake import discover, read_node, read_samples, samples, system
from tests.builders import START_S, system_line, values_of, write_minute, write_system

N_MINUTES, TICKS_A_MINUTE, N_CORES = 12, 120, 16


@pytest.fixture
def job(tmp_path: Path) -> Path:
    n_ticks = N_MINUTES * TICKS_A_MINUTE
    cores = {f"cpu{core}": [50.0] * n_ticks for core in range(N_CORES)}
    write_system(tmp_path, {"gpu0": [7.0] * n_ticks, **cores})
    return tmp_path


def test_one_metric_is_kept_block_by_block(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "BLOCK_BYTES", 1)  # a block is one minute file
    passed: list[tuple[int, int]] = []
    wanted = samples._wanted

    def counted(rows, *more):
        kept = wanted(rows, *more)
        passed.append((rows.n_rows, kept.n_rows))
        return kept

    monkeypatch.setattr(samples, "_wanted", counted)
    (part,) = discover(str(job)).parts
    found = read_samples(part, wants=lambda series: series.name == "gpu0")

    assert found.value.size == N_MINUTES * TICKS_A_MINUTE
    # No more than a minute of all series was a table at once, and of it the one series stayed.
    assert passed == [(TICKS_A_MINUTE * (N_CORES + 1), TICKS_A_MINUTE)] * N_MINUTES


@pytest.mark.parametrize("values", [(30.0, 60.0), (60.0, 30.0)])
def test_of_two_values_at_one_instant_the_smaller_stays_as_in_the_report(
    values: tuple[float, float], tmp_path: Path
) -> None:
    write_minute(tmp_path, [system_line("gpu0", value, START_S) for value in values])
    (part,) = discover(str(tmp_path)).parts
    assert read_samples(part).value.tolist() == [30.0]
    assert values_of(read_node(part).system).tolist() == [[30.0]]
