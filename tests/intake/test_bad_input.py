"""Poor or odd jobs: read as far as they can be, and said to be so."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import numpy as np
import pytest

from reportgen import intake
from reportgen.profile import NodeProfile, Quality, SeriesKind
from tests.builders import (
    START_S,
    counted,
    ns,
    read_job,
    system_line,
    values_of,
    write_minute,
    write_system,
    write_timeline,
)

pytestmark = pytest.mark.usefixtures("each_reader")


def skipped(profile: NodeProfile) -> list[str]:
    return [note.text for note in profile.notes if Quality.FILES_SKIPPED in note.counts]


def test_a_job_of_one_sample_is_one_tick(tmp_path: Path) -> None:
    write_system(tmp_path, {"gpu0": [42.0]})
    table = read_job(tmp_path).system
    assert (table.n_ticks, table.n_samples, table.interval_ns) == (1, 1, None)
    assert table.first_ns == table.last_ns == ns(START_S)


def test_a_job_without_gpus_has_no_gpu_series(tmp_path: Path) -> None:
    write_system(tmp_path, {"cpu0": [1.0] * 20, "memory": [2.0] * 20})
    table = read_job(tmp_path).system
    assert table.names(SeriesKind.GPU_UTILIZATION) == ()
    assert table.matrix(SeriesKind.GPU_UTILIZATION).shape == (20, 0)
    assert table.n_ticks == 20


def test_a_zero_byte_file_is_skipped_and_the_rest_is_read(tmp_path: Path) -> None:
    write_system(tmp_path, {"gpu0": [1.0] * 20})
    write_minute(tmp_path, b"", minute_s=START_S + 60)
    profile = read_job(tmp_path)
    assert profile.system.n_samples == 20
    assert skipped(profile) == ["1 file was empty."]


@pytest.mark.parametrize("content", [b"\n", b"garbage", b"[]", b"\x00" * 4096, b"\xff\xfe", b"{}"])
def test_a_file_without_a_single_sample_is_an_empty_table(tmp_path: Path, content: bytes) -> None:
    write_minute(tmp_path, content)
    table = read_job(tmp_path).system
    assert (table.n_ticks, table.first_ns, values_of(table).shape[0]) == (0, None, 0)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_skipped(tmp_path: Path) -> None:
    write_system(tmp_path, {"gpu0": [1.0] * 20})
    write_minute(tmp_path, [system_line("gpu0", 1, START_S + 60)], minute_s=START_S + 60).chmod(0)
    write_timeline(tmp_path, b"[]").chmod(0)
    profile = read_job(tmp_path)
    assert profile.system.n_samples == 20
    assert skipped(profile) == ["1 file cannot be opened.", "1 file cannot be opened."]


def test_a_file_that_vanishes_between_listing_and_reading_is_skipped(tmp_path: Path) -> None:
    write_system(tmp_path, {"gpu0": [1.0] * 20})
    gone = write_minute(tmp_path, [system_line("gpu0", 1, START_S + 60)], minute_s=START_S + 60)
    (part,) = intake.discover(str(tmp_path)).parts
    gone.unlink()
    profile = intake.read_node(part)
    assert profile.system.n_samples == 20
    assert skipped(profile) == ["1 file cannot be opened."]


def test_names_from_data_may_hold_html_and_quotes(tmp_path: Path) -> None:
    node = "<img src=x onerror='alert(1)'>\"&"
    write_minute(tmp_path, [system_line("gpu0", 1, START_S, node="x")], node=node)
    profile = read_job(tmp_path)
    assert profile.node == node
    assert profile.system.n_samples == 1


def test_thousands_of_made_up_metrics_do_not_make_a_giant_table(tmp_path: Path) -> None:
    lines = [
        f'{{"Type":"x{index}","Name":"n","Dimension":"","Value":1,"Timestamp":{START_S}}}'
        for index in range(5_000)
    ]
    write_minute(tmp_path, lines)
    profile = read_job(tmp_path)
    assert len(profile.system.series) == 4_096
    assert counted(profile, Quality.LINES_BROKEN) == 904
    assert np.count_nonzero(~np.isnan(values_of(profile.system))) == 4_096


def test_a_huge_number_of_distinct_times_stays_a_table(tmp_path: Path) -> None:
    lines = [system_line("cpu0", 5, START_S + index / 1000) for index in range(5_000)]
    write_minute(tmp_path, lines)
    table = read_job(tmp_path).system
    assert table.n_samples == 5_000
    assert (np.diff(table.tick_ns) > 0).all()


def test_ctrl_c_while_parsing_is_ctrl_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from reportgen.formats.sagemaker import system_metrics

    def interrupted(*_: object) -> None:
        raise RuntimeError("Query interrupted")

    write_system(tmp_path, {"gpu0": [1.0] * 20})
    monkeypatch.setattr(system_metrics, "_read_fast", interrupted)
    monkeypatch.setattr(importlib.import_module("reportgen.intake.system"), "SMALL_BYTES", 0)
    with pytest.raises(KeyboardInterrupt):
        read_job(tmp_path)
