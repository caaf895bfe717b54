"""Moments, intervals and what ran in them, counted by hand.

Source of the definitions: docs/rules.md, Slow against normal.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import reportgen
from reportgen.explore import Job, causes, compare, selections, statistics, utilization_within
from tests.builders import START_S, Row, timeline_lines, write_system, write_timeline

TRAIN, EVAL = "Step:ModeKeys.TRAIN", "Step:ModeKeys.EVAL"
N_TICKS = 40


def job_of(folder: Path, rows: list[Row], **columns: list[float]) -> Job:
    """A job whose minute files begin with its first sample: microseconds count from there."""
    write_system(folder, columns, start_s=START_S)
    if rows:
        write_timeline(folder, timeline_lines(rows))
    return reportgen.open(str(folder))


def ticks(**values: float) -> list[float]:
    """50 % at every tick (each 0.5 s) but some: ``t3=0.0``."""
    found = [50.0] * N_TICKS
    for name, value in values.items():
        found[int(name[1:])] = value
    return found


def shifted(frame: pd.DataFrame, kind: str, by_us: int) -> pd.DataFrame:
    """The same samples with the stamps of one kind moved."""
    moved = frame["timestamp_us"] + by_us * (frame["type"] == kind)
    return frame.assign(timestamp_us=moved)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    rows: list[Row] = [
        (TRAIN, TRAIN, START_S + 5, START_S + 7, {"step": 0}),
        (TRAIN, TRAIN, START_S + 7, START_S + 9, {"step": 1}),
        (TRAIN, TRAIN, START_S + 9, START_S + 15, {"step": 2}),
        (EVAL, EVAL, START_S + 15, START_S + 16, {"step": 0}),
        ("Step:ModeKeys.PREDICT", "Step:ModeKeys.PREDICT", START_S + 9, START_S + 9.5),
        ("DataLoaderIter", "It::GetNext", START_S + 5, START_S + 5.5),
        ("DataLoaderIter", "It::GetNext", START_S + 9, START_S + 13.5),
        ("Forward", "conv", START_S + 5.5, START_S + 6.5),
        ("Forward", "conv", START_S + 7.5, START_S + 8.5),
        ("Forward", "conv", START_S + 13.5, START_S + 14.5),
    ]
    return job_of(
        tmp_path,
        rows,
        # 0.5 s a tick: tick 2 lies at 1 s (initialization), 20 to 26 in the slow step, 34 after it
        gpu0=ticks(t2=0.0, t20=10.0, t22=0.0, t24=10.01, t26=3.0, t13=95.0, t14=90.0, t34=0.0),
        gpu1=ticks(t22=5.0),
        cpu0=ticks(t2=99.0, t20=90.01, t22=100.0, t24=100.0, t26=90.0, t34=95.0),
        cpu1=ticks(t22=91.0),
    )


def test_a_low_gpu_beside_a_hot_core_is_a_bottleneck(job: Job) -> None:
    found = selections.cpu_bottlenecks(job.system_metrics())

    # gpu0 at tick 24 is above 10 %, and at tick 26 no core is above 90 %.
    assert found[["timestamp_us", "gpu", "hot_cores", "cpu_pct"]].to_numpy().tolist() == [
        [1_000_000, "gpu0", 1, 99.0],
        [10_000_000, "gpu0", 1, 90.01],
        [11_000_000, "gpu0", 2, 100.0],
        [11_000_000, "gpu1", 2, 100.0],
        [17_000_000, "gpu0", 1, 95.0],
    ]
    assert found["timestamp"].iloc[0].endswith(":01:000000")


@pytest.mark.parametrize("by_us", [-249_000, -20_000, 20_000, 249_000])
def test_stamps_may_differ_by_half_an_interval(job: Job, by_us: int) -> None:
    system = job.system_metrics()
    found = selections.cpu_bottlenecks(shifted(system, "cpu", by_us))

    assert found.equals(selections.cpu_bottlenecks(system))


def test_a_core_further_away_than_half_an_interval_belongs_to_no_sample(tmp_path: Path) -> None:
    job = job_of(tmp_path, [], gpu0=[0.0] * 4, cpu0=[50.0, 50.0, 50.0, 99.0])
    assert selections.cpu_bottlenecks(shifted(job.system_metrics(), "cpu", 260_000)).empty


def test_thresholds_can_be_chosen(job: Job) -> None:
    system = job.system_metrics()
    assert len(selections.cpu_bottlenecks(system, gpu_at_most_pct=10.01)) == 6
    assert len(selections.cpu_bottlenecks(system, gpu_at_most_pct=9.99)) == 4  # the rule's < 10
    assert len(selections.cpu_bottlenecks(system, cpu_above_pct=89.0)) == 6


def test_bottlenecks_are_told_by_their_place_in_the_job(job: Job) -> None:
    found = selections.cpu_bottlenecks(job.system_metrics())
    framework = job.framework_metrics()

    assert selections.places_in_job(found, framework).tolist() == [
        "initialization", *["training loop"] * 3, "finalization",
    ]  # fmt: skip
    assert selections.describe_places(found, framework, what="bottlenecks") == (
        "5 bottlenecks: 3 in the training loop, 1 in the initialization, 1 in the finalization."
    )


def test_validation_bounds_no_loop_and_without_steps_there_is_none(job: Job) -> None:
    found = selections.cpu_bottlenecks(job.system_metrics())
    framework = job.framework_metrics()
    early, late = found["timestamp_us"].min() - 1, found["timestamp_us"].max() + 1
    validation = framework.iloc[[0, 0]].assign(
        process="Step:ModeKeys.EVAL", start_time_us=[early, late], end_time_us=[early, late]
    )
    with_validation = pd.concat([framework, validation])
    without_steps = framework[~framework["process"].str.startswith("Step:")]

    expected = selections.places_in_job(found, framework).tolist()
    assert selections.places_in_job(found, with_validation).tolist() == expected
    assert set(selections.places_in_job(found, without_steps)) == {"unknown"}
    assert selections.describe_places(found, without_steps, what="bottlenecks") == (
        "5 bottlenecks; without steps it is unknown how many are in a training loop."
    )


def test_every_gpu_sample_is_in_one_class(job: Job) -> None:
    system, framework = job.system_metrics(), job.framework_metrics()
    bottlenecks = selections.cpu_bottlenecks(system)
    found = selections.gpu_classes(system, framework, bottlenecks).set_index("gpu")

    # The loop is [5 s, 15 s]: ticks 10 to 30, both edges included; 95 % is above, 90 % is not.
    assert found.loc["gpu0"].tolist()[1:] == [10, 9, 1, 17, 2, 1]
    assert found.loc["gpu1"].tolist()[1:] == [10, 9, 0, 20, 1, 0]


def test_the_distance_of_two_gpus_is_largest_when_one_idles(tmp_path: Path) -> None:
    job = job_of(
        tmp_path, [], gpu0=[100.0] * 8, gpu1=[100.0] * 8, gpu2=[0.0] * 8, gpu10=[100.0, 0.0] * 4
    )
    found = statistics.workload_distances(job.system_metrics())

    distances = {(row.gpu, row.other_gpu): row.distance for row in found.itertuples()}
    # Half a half: p = (1/2, 1/2), q = (0, 1), m = (1/4, 3/4) by the definition.
    half = np.sqrt((np.log(2) / 2 + np.log(2 / 3) / 2 + np.log(4 / 3)) / 2)
    assert distances["gpu0", "gpu1"] == 0.0
    assert distances["gpu0", "gpu2"] == pytest.approx(np.sqrt(np.log(2)))
    assert distances["gpu0", "gpu10"] == pytest.approx(half)
    assert len(found) == 6
    assert found["distance"].is_monotonic_decreasing


def test_a_step_of_exactly_twice_the_median_is_normal(tmp_path: Path) -> None:
    lengths_s = [1.0, 1.0, 2.0, 1.0, 2.5, 1.0]
    rows: list[Row] = [
        (TRAIN, TRAIN, START_S + 10 * k, START_S + 10 * k + length, {"step": k})
        for k, length in enumerate(lengths_s)
    ]
    slow, normal = selections.split_steps(job_of(tmp_path, rows, gpu0=[1.0]).framework_metrics())

    assert slow[["step", "duration_us", "factor_of_median"]].to_numpy().tolist() == [
        [4, 2_500_000, 2.5]
    ]
    assert normal["step"].tolist() == [0, 1, 2, 3, 5]


def test_modes_have_medians_of_their_own(job: Job) -> None:
    slow, normal = selections.split_steps(job.framework_metrics())

    assert slow[["step", "process", "factor_of_median"]].to_numpy().tolist() == [[2, TRAIN, 3.0]]
    assert len(normal) == 4


def rows_of(frame: pd.DataFrame) -> dict[str, tuple[int, float, float]]:
    return {
        row[0]: (row[1], row[2], row[3])
        for row in frame[["function", "count", "total_us", "mean_us"]].itertuples(index=False)
    }


def test_what_ran_at_bottlenecks_counts_once_and_steps_stand_apart(job: Job) -> None:
    bottlenecks = selections.cpu_bottlenecks(job.system_metrics())

    # Three moments lie in the one slow GetNext (10 s, twice 11 s); none in a conv.
    assert rows_of(causes.functions_at_rows(job, bottlenecks)) == {"It::GetNext": (1, 4.5e6, 4.5e6)}
    assert rows_of(causes.phases_at_rows(job, bottlenecks)) == {TRAIN: (1, 6e6, 6e6)}
    busy = selections.busy_moments(job.system_metrics())
    assert busy["timestamp_us"].tolist() == [6_500_000]  # the end of the first conv belongs to it
    assert rows_of(causes.functions_at_rows(job, busy)) == {"conv": (1, 1e6, 1e6)}


def test_slow_steps_are_compared_with_normal_ones(job: Job) -> None:
    slow, normal = selections.split_steps(job.framework_metrics())
    in_slow, in_normal = (causes.functions_in_rows(job, rows) for rows in (slow, normal))

    assert rows_of(in_slow) == {"It::GetNext": (1, 4.5e6, 4.5e6), "conv": (1, 1e6, 1e6)}
    # 7 to 9 s touches the GetNext that starts at 9 s: overlap is closed at both ends.
    assert rows_of(in_normal) == {"It::GetNext": (2, 5e6, 2.5e6), "conv": (2, 2e6, 1e6)}
    joined = compare(in_slow, in_normal).set_index("function")
    assert joined.loc["It::GetNext", "factor"] == pytest.approx(4.5 / 2.5)
    assert joined.loc["conv", "factor"] == 1.0


def test_functions_of_any_range_are_listed_longest_first(job: Job) -> None:
    found = causes.functions_between(job, START_S + 6, START_S + 10)

    assert found["function"].tolist() == ["It::GetNext", "conv"]
    assert found["total_us"].tolist() == [4.5e6, 2e6]
    assert found["inside_us"].tolist() == [1e6, 0.5e6 + 1e6]


def test_a_range_beyond_all_time_holds_every_function_whole(job: Job) -> None:
    found = causes.functions_between(job, "0001-01-01", "9999-12-31")

    is_step = job.framework_metrics()["process"].str.startswith("Step:")
    assert found["count"].sum() == (~is_step).sum()
    assert found["inside_us"].tolist() == found["total_us"].tolist()


def test_a_thin_comparison_names_no_cause(job: Job) -> None:
    slow, normal = selections.split_steps(job.framework_metrics())
    said = causes.describe_cause(
        causes.functions_in_rows(job, slow),
        causes.functions_in_rows(job, normal),
        at="in slow steps",
        against="in normal ones",
    )
    assert said.startswith("No cause is named: ")


def test_use_inside_slow_steps_says_how_many_samples_it_rests_on(job: Job) -> None:
    system = job.system_metrics()
    slow, normal = selections.split_steps(job.framework_metrics())
    use = utilization_within.utilization_inside(system, {"slow": slow, "normal": normal})
    by_group = use.set_index(["group", "metric"])

    # [9 s, 15 s] holds ticks 18 to 30, of two GPUs; cpu0 and cpu1.
    assert by_group.loc[("slow", "GPU"), "samples"] == 26
    gpu = [50.0] * 13 + [50.0, 50, 10, 50, 0, 50, 10.01, 50, 3, 50, 50, 50, 50]
    gpu[4] = 5.0
    assert by_group.loc[("slow", "GPU"), "mean_pct"] == pytest.approx(np.mean(gpu))
    assert by_group.loc[("slow", "I/O wait"), "samples"] == 0
    found = utilization_within.samples_inside(system, slow)
    assert len(found) == 4 * 13
    assert found["timestamp_us"].between(9_000_000, 15_000_000).all()


@pytest.mark.parametrize(("gpu", "cpu", "is_stall"), [(40, 40, True), (40, 41, False)])
def test_a_stall_is_named_when_both_medians_are_lower(tmp_path: Path, gpu, cpu, is_stall) -> None:
    rows: list[Row] = [
        (TRAIN, TRAIN, START_S, START_S + 4.9, {"step": 0}),
        (TRAIN, TRAIN, START_S + 5, START_S + 6.9, {"step": 1}),
        (TRAIN, TRAIN, START_S + 7, START_S + 8.9, {"step": 2}),
    ]
    columns = {"gpu0": [gpu] * 10 + [50.0] * 10, "cpu0": [cpu] * 10 + [50.0] * 10}
    job = job_of(tmp_path, rows, **columns)
    slow, normal = selections.split_steps(job.framework_metrics())
    use = utilization_within.utilization_inside(
        job.system_metrics(), {"slow": slow, "normal": normal}
    )

    said = utilization_within.describe_stall(use, slow="slow", normal="normal")
    assert bool(said) is is_stall
    if is_stall:
        assert "medians lower by 10.0 and 10.0 points" in said


def loader(lengths_s: list[float]) -> list[Row]:
    starts = np.concatenate([[0.0], np.cumsum(lengths_s)])
    more: dict[str, Any] = {"worker_id": 0, "os_pid": 27}
    return [
        ("DataLoaderIter", "It::GetNext", START_S + start, START_S + start + 0.5, more)
        for start in starts.tolist()
    ]


def test_each_slow_batch_has_its_use_and_its_functions(tmp_path: Path) -> None:
    rows = [
        *loader([2.0, 2.0, 2.0, 4.0, 2.0]),  # the fourth batch, from 6 s to 10 s, is twice as long
        ("cpu_functions", "print", START_S + 7, START_S + 9.5),
        ("cpu_functions", "conv", START_S + 6.5, START_S + 7),
    ]
    gpu = [80.0] * 12 + [0.0] * 9 + [80.0] * 9
    job = job_of(tmp_path, rows, gpu0=gpu, cpu0=[20.0] * 12 + [60.0] * 18)
    batches = selections.batch_spans(job.dataloader_metrics())
    slow = utilization_within.utilization_of_each(job.system_metrics(), batches["slow batches"])

    columns = ["start_time_us", "end_time_us", "batch_time_s", "GPU_pct", "CPU_pct"]
    assert slow[columns].to_numpy().tolist() == [[6e6, 10e6 - 1, 4.0, 0.0, 60.0]]
    assert slow["I/O wait_pct"].isna().all()
    assert len(batches["other batches"]) == 4
    calls = causes.functions_in_rows(job, batches["slow batches"]).set_index("function")["count"]
    assert calls["It::GetNext"] == 1
    longest = causes.longest_in_each(job, batches["slow batches"], n=2)
    assert longest[["function", "inside_us"]].to_numpy().tolist() == [
        ["print", 2.5e6], ["It::GetNext", 0.5e6],
    ]  # fmt: skip


def test_the_window_lies_around_the_first_row_or_at_the_first_event(job: Job, tmp_path: Path):
    rows = selections.cpu_bottlenecks(job.system_metrics())
    around = selections.window_of(job, rows.iloc[1:], seconds=4)
    assert around["since"] == np.datetime64(job.origin_us + 8_000_000, "us")
    assert around["until"] == np.datetime64(job.origin_us + 12_000_000, "us")
    first = selections.window_of(job, rows.iloc[:0], seconds=4)
    assert first["since"] == np.datetime64(job.origin_us + 5_000_000, "us")
    assert first["until"] == np.datetime64(job.origin_us + 9_000_000, "us")
    whole = selections.window_of(job, rows.iloc[:0], seconds=400)
    assert whole["until"] == np.datetime64(job.origin_us + 16_000_000, "us")

    write_system(tmp_path / "late", {"gpu0": [1.0] * 9}, start_s=START_S + 50)
    late = reportgen.open(str(tmp_path / "late"))
    nothing = selections.window_of(late, rows.iloc[:0], seconds=4)
    assert nothing["since"] == np.datetime64(late.origin_us + 50_000_000, "us")


def test_without_samples_or_events_nothing_is_found(tmp_path: Path) -> None:
    samples = job_of(tmp_path / "samples", [], gpu0=[0.0] * 4, cpu0=[99.0] * 4)
    write_timeline(tmp_path / "events", timeline_lines([("Forward", "conv", START_S, START_S + 1)]))
    events = reportgen.open(str(tmp_path / "events"))

    bottlenecks = selections.cpu_bottlenecks(samples.system_metrics())
    assert len(bottlenecks) == 4
    assert causes.functions_at_rows(samples, bottlenecks).empty
    nothing = events.system_metrics()
    assert selections.cpu_bottlenecks(nothing).empty
    assert selections.gpu_classes(nothing, events.framework_metrics(), bottlenecks).empty
    assert statistics.workload_distances(nothing).empty
    slow, normal = selections.split_steps(events.framework_metrics())
    assert (len(slow), len(normal)) == (0, 0)
    assert causes.functions_in_rows(events, slow).empty
    assert causes.longest_in_each(events, slow).empty
    assert utilization_within.samples_inside(nothing, slow).empty
    use = utilization_within.utilization_inside(nothing, {"slow": slow, "normal": normal})
    assert use["samples"].tolist() == [0] * 6
    assert utilization_within.describe_stall(use, slow="slow", normal="normal") == ""
