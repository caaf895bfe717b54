"""Exports of Weights & Biases are samples of what was recorded, and say so."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from reportgen import intake
from reportgen.profile import Clock, NodeProfile, Quality, SeriesKind
from tests.builders import START_S, known, read_job

ROWS = [(START_S + 15.5 * at, 10.0 * at, 1000.0 * at, 7 * at) for at in range(4)]
TITLES = '"","system.gpu.0.gpu","_timestamp","system.network.recv","_wandb","global_step"\n'
CSV = TITLES + "".join(
    f"{at},{use},{time_s},{received},True,{step}\n"
    for at, (time_s, use, received, step) in enumerate(ROWS)
)


def check(node: NodeProfile) -> None:
    assert node.system.matrix(SeriesKind.GPU_UTILIZATION)[:, 0].tolist() == [0, 10, 20, 30]
    assert node.system.first_ns == START_S * 1_000_000_000
    received = node.system.matrix(SeriesKind.RECEIVE_ALGORITHM)[1:, 0]
    assert received == pytest.approx([1000 / 15.5] * 3)
    (progress,) = known(node.monitoring).progress
    assert progress.step.tolist() == [0, 7, 14, 21]
    assert any("500 rows unless more" in note.text for note in node.notes)


def test_csv_and_parquet_hold_the_same(tmp_path: Path) -> None:
    (tmp_path / "history.csv").write_text(CSV)
    check(read_job(tmp_path / "history.csv"))
    check(read_job(tmp_path))
    packed = tmp_path / "other" / "history.parquet"
    packed.parent.mkdir()
    duckdb.sql(f"COPY (FROM '{tmp_path}/history.csv') TO '{packed}'")
    check(read_job(packed))


def test_a_chart_counts_from_the_start_and_names_its_runs(tmp_path: Path) -> None:
    (tmp_path / "chart.csv").write_text(
        '"Relative Time (Process)","my - run - system/gpu.0.gpu",'
        '"my - run - system/gpu.0.gpu__MIN","other - system/gpu.0.gpu"\n'
        '"0","50","1","2"\n"30","60","1","2"\n'
    )
    job = intake.discover(str(tmp_path))
    assert job.info.clock is Clock.RELATIVE
    node = intake.read_node(job.parts[0])
    assert node.system.matrix(SeriesKind.GPU_UTILIZATION).tolist() == [[50.0], [60.0]]
    assert any("several runs" in note.text for note in node.notes)


def test_parquet_of_others_and_broken_ones_hold_nothing(tmp_path: Path) -> None:
    duckdb.sql(f"COPY (SELECT 1 AS a) TO '{tmp_path}/a.parquet'")
    assert not read_job(tmp_path / "a.parquet").system.n_ticks
    (tmp_path / "b.parquet").write_bytes(b"PAR1" + bytes(100))
    assert not read_job(tmp_path / "b.parquet").system.n_ticks
    assert [note.counts for note in read_job(tmp_path / "b.parquet").notes][:1] == [
        {Quality.FILES_SKIPPED: 1}
    ]
