"""What another program sampled is a node's samples, with its words and its limits."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reportgen import intake
from reportgen.errors import AmbiguousJobError, FormatError
from reportgen.profile import SeriesKind, TimeRange
from tests.builders import START_S, known, note_texts, read_job, write_system
from tests.monitoring_files import (
    gpu_values,
    history,
    run_exit,
    samples,
    told_samples,
    wandb_log,
    wandb_run,
    write_wandb,
)
from tests.shared_data import SHARED_DATA, needs_shared_data

GIB = 1 << 30


def test_a_run_has_samples_gpus_exit_code_and_progress(tmp_path: Path) -> None:
    node = read_job(write_wandb(tmp_path, wandb_run(10)))
    assert node.node == "run-abc123"
    assert node.system.n_ticks == 10
    assert node.system.interval_ns == 15_000_000_000
    assert node.system.matrix(SeriesKind.GPU_UTILIZATION)[:, 0].tolist() == [95.0] * 5 + [30.0] * 5
    assert node.system.matrix(SeriesKind.GPU_TOTAL_BYTES)[:, 0].tolist() == [80 * GIB] * 10
    monitoring = known(node.monitoring)
    assert (monitoring.exit_code, monitoring.is_ended) == (0, True)
    assert [gpu.name for gpu in monitoring.gpus] == ["NVIDIA A100-SXM4-80GB"]
    (progress,) = monitoring.progress
    assert progress.counter == "train/global_step"
    assert progress.step.tolist()[:3] == [0, 10, 20]
    assert list(progress.logged) == ["train/tokens_per_second"]
    assert note_texts(node)[-1] == (
        "Weights & Biases kept one value of each metric every 15 s: a pause or a dip that is "
        "shorter cannot be seen here."
    )


def test_counters_become_rates_and_a_new_start_gives_none(tmp_path: Path) -> None:
    counts = [100.0, 160.0, 220.0, 10.0, 70.0]
    counters: dict[str, object] = {"memory_percent": 10.0, "disk.sdb.in": 0}
    records = [
        samples(START_S + 30 * at, counters | {"network.recv": count, "disk.sda.in": at})
        for at, count in enumerate(counts)
    ]
    system = read_job(write_wandb(tmp_path, records)).system
    received = system.matrix(SeriesKind.RECEIVE_ALGORITHM)[:, 0]
    np.testing.assert_array_equal(received, [np.nan, 2.0, 2.0, np.nan, 2.0])
    np.testing.assert_allclose(system.matrix(SeriesKind.READ_RATE)[1:], [[0.0, (1 << 20) / 30]] * 4)


def test_old_and_new_forms_of_values_are_read(tmp_path: Path) -> None:
    from tests.monitoring_files import message, number

    old = samples(START_S, {"memory": 50.0, "network": {"sent": 1, "recv": 1}})
    later = samples(START_S + 30, {"memory": 60.0, "network": {"sent": 61, "recv": 1}})
    typed = b"".join(
        message(1, message(1, key) + value)
        for key, value in (
            ("_timestamp", b"\x31" + np.float64(START_S).tobytes()),
            ("_step", number(5, 7)),
        )
    )
    node = read_job(write_wandb(tmp_path, [old, later, message(2, typed)]))
    assert node.system.matrix(SeriesKind.HOST_MEMORY)[:, 0].tolist() == [50.0, 60.0]
    assert node.system.matrix(SeriesKind.TRANSMIT_ALGORITHM)[1, 0] == 2.0
    (progress,) = known(node.monitoring).progress
    assert (progress.counter, progress.step.tolist()) == ("_step", [7.0])


def test_values_that_cannot_be_are_counted_and_left_out(tmp_path: Path) -> None:
    records = [
        samples(START_S, gpu_values(50.0)),
        samples(START_S + 15, {"gpu.0.gpu": "NaN", "memory_percent": 140.0}),
        samples(12.0, {"gpu.0.gpu": 50.0}),
        b"\x3a\x05\xff\xff\xff\xff\xff",
    ]
    node = read_job(write_wandb(tmp_path, records))
    assert node.system.n_ticks == 1
    texts = note_texts(node)
    assert "2 samples without a finite value were left out." in texts
    assert any(text.startswith("1 sample outside what can be") for text in texts)
    assert "1 record cannot be read and was skipped." in texts


def test_a_run_that_is_cut_off_or_damaged_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    run = write_wandb(tmp_path, wandb_run(2_000, exit_code=None))
    (file,) = run.glob("*.wandb")
    content = bytearray(file.read_bytes())
    content[40_000] ^= 0xFF
    file.write_bytes(content[:-9])
    node = read_job(run)
    assert 1_800 < node.system.n_ticks < 2_000
    assert node.monitoring is not None
    assert (node.monitoring.exit_code, node.monitoring.is_ended) == (None, False)
    texts = note_texts(node)
    assert any(text.startswith("1 block of 32 KiB is damaged") for text in texts)
    assert any("breaks off, as of a run that is still going" in text for text in texts)


@pytest.mark.parametrize(("own", "is_told"), [((), False), ((0, 1), False), ((1,), True)])
def test_gpus_of_others_are_told(tmp_path: Path, own: tuple[int, ...], is_told: bool) -> None:
    values = gpu_values(50.0) | gpu_values(60.0, gpu=1)
    values |= {f"gpu.process.{gpu}.gpu": 50.0 for gpu in own}
    node = read_job(write_wandb(tmp_path, [samples(START_S, values)]))
    assert len(node.system.names(SeriesKind.GPU_UTILIZATION)) == 2
    assert any("ran on gpu1 alone" in text for text in note_texts(node)) == is_told


def test_memory_and_steps_that_cannot_be_are_left_out(tmp_path: Path) -> None:
    odd = {"gpu.0.memoryAllocatedBytes": "NaN", "gpu.0.memoryAllocated": 5.0}
    large = {"gpu.0.memoryAllocatedBytes": 1e300, "gpu.0.memoryAllocated": 5.0}
    steps = [{"_timestamp": START_S + at, "_step": step} for at, step in enumerate((1, 2, 1e300))]
    records = [samples(START_S, odd), samples(START_S + 15, large), *map(history, steps)]
    node = read_job(write_wandb(tmp_path, records))
    assert not node.system.names(SeriesKind.GPU_TOTAL_BYTES)
    assert known(node.monitoring).progress[0].step.tolist() == [1, 2]


def test_a_failed_run_says_its_code(tmp_path: Path) -> None:
    monitoring = known(
        read_job(write_wandb(tmp_path, [samples(START_S, {}), run_exit(-9)])).monitoring
    )
    assert monitoring.exit_code == -9


def test_older_versions_name_gpus_beside_the_run(tmp_path: Path) -> None:
    run = write_wandb(tmp_path, [samples(START_S, gpu_values(1.0))])
    said = {"gpu": "Tesla V100", "gpu_count": 2, "email": "me@example.com", "args": ["--secret"]}
    (run / "files" / "wandb-metadata.json").write_text(json.dumps(said))
    monitoring = known(read_job(run).monitoring)
    assert [gpu.name for gpu in monitoring.gpus] == ["Tesla V100", "Tesla V100"]


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no run"])
def test_a_file_that_is_no_run_is_refused_by_its_name(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "run-x.wandb").write_bytes(content)
    for path in (tmp_path, tmp_path / "run-x.wandb"):
        with pytest.raises(FormatError, match=r"run-x\.wandb (is empty|does not begin)"):
            intake.discover(str(path))


def test_files_of_monitors_beside_a_job_are_told_and_left_out(tmp_path: Path) -> None:
    write_wandb(tmp_path, wandb_run(3))
    write_system(tmp_path, {"gpu0": [50.0] * 3})
    job = intake.discover(str(tmp_path))
    assert [part.node for part in job.parts] == ["algo-1"]
    assert [note.text for note in job.notes if note.counts] == [
        "1 file of other monitors lies beside it and was left out: pass it alone."
    ]


def test_samples_are_there_for_analysis_by_hand_and_a_range_cuts_all(tmp_path: Path) -> None:
    (part,) = intake.discover(str(write_wandb(tmp_path, wandb_run(10)))).parts
    table = intake.read_samples(
        part, wants=lambda series: series.kind is SeriesKind.GPU_UTILIZATION
    )
    assert table.value.tolist() == [95.0] * 5 + [30.0] * 5
    end_ns = int(START_S + 61) * 1_000_000_000
    node = intake.read_node(replace(part, kept=TimeRange(to_ns=end_ns)))
    assert node.system.n_ticks == 5
    assert node.monitoring is not None
    assert node.monitoring.n_reached == 5
    (log,) = node.monitoring.progress
    assert log.logged
    assert all(time_ns.max() <= end_ns for time_ns, _ in log.logged.values())


def test_files_of_one_run_of_several_machines_are_not_joined(tmp_path: Path) -> None:
    for node in ("node1", "node2"):
        write_wandb(tmp_path / node, wandb_run(3))
    with pytest.raises(AmbiguousJobError, match="2 files of one W&B run") as caught:
        intake.discover(str(tmp_path))
    assert "reportgen index" in caught.value.hint


def test_several_runs_are_several_jobs(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_wandb(tmp_path, wandb_run(3), name=name)
    with pytest.raises(AmbiguousJobError) as caught:
        intake.discover(str(tmp_path))
    assert "reportgen index" in str(caught.value.hint)
    assert caught.value.details["jobs"] == (
        "run-20260703_093100-one/run-one.wandb",
        "run-20260703_093100-two/run-two.wandb",
    )


def test_hostile_names_and_sizes_cost_little(tmp_path: Path) -> None:
    names = {f"gpu.{at}.gpu": 1.0 for at in range(1_000)} | {f"n{at}": 1 for at in range(40_000)}
    huge = history({"_timestamp": START_S, "_step": 1, "text": "x" * (20 << 20)})
    node = read_job(
        write_wandb(tmp_path, [samples(START_S, names), huge, samples(START_S + 1, {})])
    )
    assert len(node.system.series) == 256
    assert not known(node.monitoring).progress


@needs_shared_data
def test_every_sample_of_a_real_run_is_in_the_table() -> None:
    path = SHARED_DATA / "wandb" / "run-qnolswhj.wandb"
    system = read_job(path).system
    columns = dict(zip(system.series, system.columns, strict=True))
    named = {
        f"gpu{gpu}/{ours}": f"gpu.{gpu}.{theirs}"
        for gpu in (0, 1)
        for ours, theirs in (
            ("GPUUtilization", "gpu"),
            ("GPUMemoryUtilization", "memory"),
            ("GPUMemoryUsedBytes", "memoryAllocatedBytes"),
            ("GPUPowerWatts", "powerWatts"),
            ("GPUTemperatureCelsius", "temp"),
        )
    } | {f"cpu{core}/CPUUtilization": f"cpu.{core}.cpu_percent" for core in range(128)}
    samples = list(told_samples(path.read_bytes()))
    for series, column in columns.items():
        theirs = named.get(f"{series.name}/{series.dimension}")
        if theirs is not None:
            expected = [value for _, key, value in samples if key == theirs]
            assert column[~np.isnan(column)].tolist() == expected
    assert len(columns) == 145
    assert wandb_log([]) == path.read_bytes()[:7]
