"""The committed TensorFlow job is what its generator makes, and shows what was planted."""

from __future__ import annotations

from pathlib import Path

import pytest

from reportgen.rules import dataloader, overall_framework_metrics
from sample_data import tensorflow_job as sample
from tests.builders import known, read_job
from tests.rules.framework_jobs import finding, rows_of
from tests.rules.samples import run

ORIGIN = "ORIGIN.md"


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ORIGIN
    }


def test_the_committed_files_are_those_of_the_generator(tmp_path: Path) -> None:
    committed = files_of(sample.FOLDER)

    assert files_of(sample.make(tmp_path)) == committed
    assert sum(map(len, committed.values())) < 500_000
    assert (sample.FOLDER / ORIGIN).is_file()


def test_its_waits_passes_and_traced_steps_are_found() -> None:
    node = read_job(sample.FOLDER)
    found = known(finding(run(dataloader.RULE, node), "DL-5"))

    loop_s = (sample.N_STEPS - 1) * sample.STEP_S + sample.STEP_S - 0.01
    assert found.measured == pytest.approx(100 * sample.N_STEPS * sample.WAIT_S / loop_s, abs=0.01)
    recorded = {
        row["what"]: row for row in rows_of(run(overall_framework_metrics.RULE, node), "recorded")
    }
    assert recorded["steps (TRAIN)"]["count"] == recorded["wait for a batch"]["count"] == 105
    for what, count in (("forward", 3), ("backward", 6)):
        entry = recorded[what]
        assert (entry["count"], entry["first_step"], entry["last_step"]) == (count, 40, 42)
