from __future__ import annotations

from typing import Any

import pytest

from reportgen.profile import NodeProfile
from reportgen.results import Counters, ExhibitKind, Status
from reportgen.rules.overall_system_usage import RULE
from tests.builders import START_S, known, node_profile
from tests.rules.framework_jobs import TRAIN, finding, rows_of, sampled_again
from tests.rules.samples import run


def node(
    name: str = "algo-1", *, loop: tuple[float, float] | None = None, **columns: Any
) -> NodeProfile:
    rows = [(TRAIN, TRAIN, START_S + loop[0], START_S + loop[1])] if loop else []
    return node_profile(columns, rows, interval_s=1, node=name)


def steady(
    name: str = "algo-1", *, gpu: float | None = 80.0, cpu: float | None = 50.0
) -> NodeProfile:
    levels = {"cpu0": cpu, "gpu0": gpu}
    columns: dict[str, Any] = {
        key: [level] * 10 for key, level in levels.items() if level is not None
    }
    return node(name, **columns)


def test_statistics_are_written_as_aws_writes_them() -> None:
    result = run(
        RULE,
        node(
            gpu0=[0.0, 100.0, 50.0],
            gpu1=[0.0, 50.0, 25.0],
            gpu0_memory=[10.0, 10.0, 10.0],
            gpu1_memory=[20.0, 20.0, 20.0],
            cpu0=[None, 10.0, 20.0],
            cpu1=[None, 30.0, 20.0],
            cpu0_iowait=[None, 0.0, 1.0],
            cpu1_iowait=[None, 0.0, 0.0],
            memory=[5.125, 6.0, 7.0],
            receive=[None, 1000.0, 0.0],
            transmit=[None, 500.5, 0.0],
            receive_platform=[9e9, 9e9, 9e9],
        ),
    )

    assert result.status is Status.OK
    assert result.counters == Counters(datapoints=2)
    assert list(result.details) == ["Network", "GPU", "CPU", "CPU memory", "GPU memory", "I/O"]
    assert result.details["GPU"] == {
        "algo-1": {"max": 75.0, "p99": 74.25, "p95": 71.25, "p50": 37.5, "min": 0}
    }
    assert result.details["CPU"] == {
        "algo-1": {"max": 20.0, "p99": 20.0, "p95": 20.0, "p50": 20.0, "min": 20.0}
    }
    assert result.details["Network"] == {
        "algo-1": {"max": 1500.5, "p99": 1485.5, "p95": 1425.48, "p50": 750.25, "min": 0}
    }
    assert str(result.details["I/O"]) == (
        "{'algo-1': {'max': 0.5, 'p99': 0.5, 'p95': 0.48, 'p50': 0.25, 'min': 0}}"
    )
    assert result.details["GPU memory"]["algo-1"]["max"] == 15.0  # type: ignore[index, call-overload]


def test_the_usage_table_is_the_details_with_units() -> None:
    rows = rows_of(run(RULE, steady(), steady("algo-2")), "usage")

    assert [(row["node"], row["metric"], row["unit"]) for row in rows] == [
        ("algo-1", "GPU", "%"),
        ("algo-2", "GPU", "%"),
        ("algo-1", "CPU", "%"),
        ("algo-2", "CPU", "%"),
    ]
    assert [row["p95"] for row in rows] == [80.0, 80.0, 50.0, 50.0]


def test_resources_that_stay_below_seventy_percent_are_named_as_idle() -> None:
    nodes = node(gpu0=[70.0] * 9, cpu0=[50.0] * 9), node("algo-2", gpu0=[69.0] * 9, cpu0=[9.0] * 9)
    usage = known(run(RULE, *nodes).exhibit("usage"))
    said = "Idle resources (95th percentile below 70 %): GPU on algo-2; CPU on all nodes."
    assert said in usage.caption

    busy = run(RULE, node(gpu0=[70.0] * 9, cpu0=[70.0] * 9))
    assert "Idle" not in known(busy.exhibit("usage")).caption


def test_a_cpu_only_job_has_empty_gpu_members() -> None:
    result = run(RULE, steady(gpu=None))

    assert (result.details["GPU"], result.details["GPU memory"]) == ({}, {})


def test_traffic_of_the_platform_is_no_network_of_the_job() -> None:
    result = run(RULE, node(cpu0=[1.0, 1.0], receive_platform=[7.0, 9.0]))

    assert result.details["Network"] == {}
    assert result.exhibit("network_over_time") is not None


def test_samples_at_zero_and_below_fifty_are_counted_per_gpu_per_core_and_in_all() -> None:
    part = node(
        loop=(1, 4),
        gpu0=[0.0, 0.0, 49.9, 50.0, 0.0, 99.0],
        gpu1=[0.0, 10.0, 99.0, 99.0, 99.0, 99.0],
        cpu0=[0.0, 49.0, 50.0, 99.0, 0.0, 0.0],
        cpu1=[100.0] * 6,
    )
    rows = rows_of(run(RULE, part), "sample_counts")

    assert [tuple(row.values())[1:5] for row in rows] == [
        ("gpu0", 6, 3, 4),
        ("gpu1", 6, 1, 2),
        ("all cores", 12, 3, 4),
        ("all GPUs", 12, 4, 6),
    ]
    # Strictly inside the loop: the ticks of seconds 2 and 3.
    assert [tuple(row.values())[5:] for row in rows] == [
        (2, 0, 1), (2, 0, 0), (4, 0, 0), (4, 0, 1),
    ]  # fmt: skip


def test_histograms_lose_no_sample_and_show_the_loop_apart() -> None:
    part = node(loop=(1, 4), gpu0=[0.0, 98.0, 99.0, 100.0, 99.0, 2.0], cpu0=[5.0] * 6)
    rows = rows_of(run(RULE, part), "gpu_histogram")

    assert len(rows) == 50
    assert sum(row["whole job"] for row in rows) == 6
    assert (rows[49]["whole job"], rows[49]["training loop"]) == (4, 2)
    assert (rows[49]["bin_start"], rows[49]["bin_end"]) == (98, 100)
    assert (rows[0]["whole job"], rows[1]["whole job"]) == (1, 1)


def test_without_steps_there_is_no_histogram_of_the_loop() -> None:
    bins = known(run(RULE, steady()).exhibit("cpu_histogram"))

    assert [column.name for column in bins.columns] == ["bin_start", "bin_end", "whole job"]


def test_a_single_dip_stays_visible_in_a_long_curve() -> None:
    values = [90.0] * 20_000
    values[12_345] = 0.0
    curve = known(run(RULE, node(gpu0=values, cpu0=values)).exhibit("gpu_over_time"))

    assert curve.kind is ExhibitKind.BAND
    assert [column.name for column in curve.columns] == [
        "time_s", "gpu0_min", "gpu0_mean", "gpu0_max",
    ]  # fmt: skip
    assert curve.n_rows <= 600
    assert min(curve.columns[1].values) == 0.0  # type: ignore[type-var]
    assert "Reduced from 20,000 samples" in curve.caption
    assert curve.columns[0].values[0] == START_S


def test_disk_and_network_have_a_curve_for_each_direction() -> None:
    rates = {
        "receive": 5e6, "transmit": 2e6, "receive_platform": 7e5, "transmit_platform": 1e5,
        "read": 3e7, "write": 4e6, "iops": 120.5,
    }  # fmt: skip
    columns: dict[str, Any] = {
        name: [rate + tick for tick in range(300)] for name, rate in rates.items()
    }
    shown = {item.id: item for item in run(RULE, node(**columns, cpu0=[5.0] * 300)).exhibits}
    expected = {
        "network_over_time": {
            "received": "receive",
            "sent": "transmit",
            "received by the platform": "receive_platform",
            "sent by the platform": "transmit_platform",
        },
        "disk_over_time": {"read": "read", "written": "write"},
        "disk_operations_over_time": {"operations": "iops"},
    }

    for exhibit_id, lines in expected.items():
        curves = {column.name: column for column in shown[exhibit_id].columns}
        assert set(curves) == {"time_s"} | {
            f"{line}_{mark}" for line in lines for mark in ("min", "mean", "max")
        }
        for line, name in lines.items():
            highest, lowest = (
                [float(value) for value in curves[f"{line}_{mark}"].values if value is not None]
                for mark in ("max", "min")
            )
            assert max(highest) == pytest.approx(rates[name] + 299, abs=0.5)
            assert min(lowest) == pytest.approx(rates[name], abs=0.5)
            assert curves[f"{line}_mean"].unit == ("1/s" if name == "iops" else "bytes/s")
        place = known(shown[exhibit_id].place.timeline)
        assert place.kind == "panel"


def test_many_nodes_and_gpus_stay_drawable_while_tables_stay_complete() -> None:
    parts = [
        node(f"algo-{index}", gpu0=[float(index)] * 900, gpu1=[float(index)] * 900)
        for index in range(1, 31)
    ]
    result = run(RULE, *parts)
    curve = known(result.exhibit("gpu_over_time"))

    assert len(curve.columns) == 1 + 3 * 16
    names = [column.name.removesuffix("_min") for column in curve.columns[1::3]]
    assert names == [f"algo-{index}" for index in (*range(1, 9), *range(23, 31))]
    assert curve.n_rows <= 300
    assert "16 of 30 curves" in curve.caption
    assert len(rows_of(result, "usage")) == 30
    assert len(rows_of(result, "sample_counts")) == 61


def test_datapoints_are_those_of_the_node_with_most_cpu_samples() -> None:
    result = run(RULE, node("algo-1", cpu0=[1.0] * 5), node("algo-2", cpu0=[1.0] * 9))

    assert result.counters == Counters(datapoints=9)


def test_one_reader_among_many_cores_is_not_lost_in_their_mean() -> None:
    work = [0.0] * 10 + [90.0] * 20
    read = [0.0] * 10 + [80.0, 40.0] * 10
    rest = {f"cpu{core}_iowait": [0.0] * 30 for core in range(1, 32)}
    parts = [
        node_profile({"gpu0": work, "cpu0_iowait": waits, **rest}, node=name)
        for name, waits in (("algo-1", read), ("algo-2", [0.0] * 30))
    ]
    metrics = run(RULE, *parts).metrics

    assert metrics["io_wait_one_core_pct"] == 60.0
    assert metrics["io_wait_mean_pct"] == pytest.approx(40 / 64, abs=1e-4)
    assert "io_wait_one_core_pct" not in run(RULE, node_profile({"gpu0": work})).metrics


def test_a_job_without_system_metrics_is_skipped() -> None:
    result = run(RULE, node_profile())

    assert result.status is Status.SKIPPED
    assert (
        known(result.reason).text
        == "The use of CPUs, GPUs, memory, disks and network was not sampled."
    )
    assert all(member == {} for member in result.details.values())


def test_every_gpu_has_a_row_over_time_and_the_least_used_node_comes_first() -> None:
    parts = [
        node(f"algo-{at}", gpu0=[level] * 100, gpu1=[level + 10] * 100)
        for at, level in ((1, 60.0), (2, 20.0), (3, 80.0))
    ]
    heat = known(run(RULE, *parts).exhibit("device_heatmap"))

    assert heat.kind is ExhibitKind.HEATMAP
    rows, _, values, nodes = (column.values for column in heat.columns)
    assert list(dict.fromkeys(rows)) == [
        "algo-2 gpu0", "algo-2 gpu1", "algo-1 gpu0", "algo-1 gpu1", "algo-3 gpu0", "algo-3 gpu1",
    ]  # fmt: skip
    assert list(dict.fromkeys(values)) == [20.0, 30.0, 60.0, 70.0, 80.0, 90.0]
    assert nodes[0] == "algo-2"


def test_one_device_alone_has_no_heat_map() -> None:
    assert run(RULE, node(gpu0=[50.0] * 100)).exhibit("device_heatmap") is None


def test_active_and_idle_samples_add_up_to_the_whole_job() -> None:
    gpus: dict[str, Any] = {"gpu0": [0.0] * 6 + [1.0] * 4, "gpu1": [0.0] * 10}
    result = run(RULE, node(**gpus, cpu0=[0.0] * 5 + [50.0] * 5, loop=(5.5, 9.5)))
    found = known(result.exhibit("gpu_active"))

    assert found.kind is ExhibitKind.SHARES
    assert rows_of(result, "gpu_active") == [
        {"part": "active (above 0 %)", "samples": 4, "pct": 20.0},
        {"part": "idle (0 %)", "samples": 16, "pct": 80.0},
    ]
    assert "20 samples of the whole job" in found.caption
    assert "within the training loop, 50.0 % are active" in found.caption
    assert "kernel" in found.caption, "the other definition is named"
    assert [row["pct"] for row in rows_of(result, "cpu_active")] == [50.0, 50.0]


def sampled(name: str, first_s: int, last_s: int) -> NodeProfile:
    """Return a node with a sample each second."""
    columns = {"cpu0": [50.0] * (last_s - first_s + 1)}
    return node_profile(columns, start_s=START_S + first_s, interval_s=1, node=name)


def test_a_node_that_comes_late_and_goes_early_is_told_with_its_times() -> None:
    result = run(RULE, sampled("algo-1", 0, 1000), sampled("algo-2", 200, 800))
    found = known(finding(result, "SYS-7"))

    assert found.title == "algo-2 was not sampled for 6 min 40 s of the job"
    assert "40.0 % of the time" in found.text
    assert "in 2 intervals, the longest of 3 min 20 s before its first sample" in found.text
    assert "1 of 2 nodes" in found.text
    assert (found.measured, found.where.node) == (40.0, "algo-2")
    assert rows_of(result, "not_sampled") == [
        {
            "node": "algo-2",
            "part": part,
            "start_s": START_S + start_s,
            "end_s": START_S + start_s + 200,
            "duration_s": 200.0,
        }
        for part, start_s in (("before its first sample", 0), ("after its last sample", 800))
    ]


@pytest.mark.parametrize(("pause_s", "is_told"), [(179, False), (180, True)])
def test_samples_that_pause_for_more_than_three_minutes_are_told(pause_s, is_told) -> None:
    result = run(RULE, sampled_again(sampled("algo-1", 0, 200), after_s=100.5, pause_s=pause_s))
    found = finding(result, "SYS-7")

    assert (found is not None) is is_told
    assert (result.exhibit("not_sampled") is not None) is is_told
    if found is not None:
        assert "in 1 interval, the longest of 3 min 01 s between its samples" in found.text
        assert "concerns" not in found.text


def test_nodes_that_begin_and_end_within_three_minutes_are_sampled_all_the_time() -> None:
    result = run(RULE, sampled("algo-1", 0, 1000), sampled("algo-2", 180, 820))
    assert finding(result, "SYS-7") is None


@pytest.mark.parametrize(
    ("rest_pct", "levels", "told"),
    [
        (40.0, [80.0], "Cores are short of work: 16."),
        (60.0, [80.0], ""),
        (40.0, [80.0, 30.0], ""),
        (40.0, [19.0], "Cores are hardly used: 0.8 of 4 on algo-1"),
    ],
)
def test_cores_that_train_and_miss_a_part_of_their_usual_use(rest_pct, levels, told) -> None:
    start = [levels[0] / 3] * 60  # a download
    work = [level if at % 3 else rest_pct * level / 80 for level in levels for at in range(60)]
    columns: dict[str, Any] = {f"cpu{core}": start + work for core in range(4)}
    found = finding(run(RULE, node(**columns)), "SYS-8")
    assert (found is not None) is bool(told)
    if found:
        assert found.title.startswith(told)
        assert found.where.start_s == START_S + 61
    assert finding(run(RULE, node(gpu0=start + work, **columns)), "SYS-8") is None


def test_cores_that_only_wait_for_the_disk_do_not_work() -> None:
    result = run(RULE, node(cpu0=[60.0] * 60, cpu0_iowait=[60.0] * 60))
    assert (result.status, finding(result, "SYS-8")) == (Status.OK, None)


@pytest.mark.parametrize(
    ("job_cores", "n_full", "is_told"),
    [(1.4, 30, True), (1.6, 30, False), (1.4, 29, False), (None, 60, False)],
)
def test_other_programs_that_have_cores_which_the_job_lacks(job_cores, n_full, is_told) -> None:
    used = [100.0] * n_full + [70.0] * (60 - n_full)
    columns: dict[str, Any] = {"cpu0": used, "cpu1": used, "job_cores": [job_cores] * 60}
    found = finding(run(RULE, node(loop=(0, 59), **columns)), "SYS-9")
    assert (found is not None) is is_told
    if found:
        title = "Other programs use 0.6 of 2 cores, which are used up for 50.8 % of the loop"
        assert (found.title, found.estimate) == (title, None)
