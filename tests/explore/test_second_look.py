"""The oracle jobs by ``reportgen.open`` and by the second computation: the same numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

import reportgen
from reportgen.explore import Job, causes, compare, selections, statistics, utilization_within
from tests.explore import second_look
from tests.explore.second_look import Sums
from tests.shared_data import ORACLE_JOBS, SHARED_DATA, needs_shared_data

pytestmark = [needs_shared_data, pytest.mark.slow]


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """A job read by the package, and its files read plainly."""

    job: Job
    samples: pd.DataFrame
    events: pd.DataFrame


@pytest.fixture(scope="module", params=ORACLE_JOBS)
def looked(request: pytest.FixtureRequest) -> Looked:
    path = SHARED_DATA / "oracle" / request.param
    return Looked(
        job=reportgen.open(str(path)),
        samples=second_look.raw_samples(path),
        events=second_look.raw_events(path),
    )


def sums_of(frame: pd.DataFrame) -> Sums:
    names = frame["function"] + "|" + frame["process"]
    return {
        name: (int(count), round(total_us))
        for name, count, total_us in zip(names, frame["count"], frame["total_us"], strict=True)
    }


def test_frames_hold_every_line_and_every_event(looked: Looked) -> None:
    system, framework = looked.job.system_metrics(), looked.job.framework_metrics()

    assert len(system) == len(looked.samples)
    assert sorted(system["timestamp_us"] + looked.job.origin_us) == sorted(looked.samples["us"])
    assert len(framework) == len(looked.events)
    columns = ["name", "phase", "worker", "start", "end", "step"]
    ours = framework.assign(
        name=framework["framework_metric"],
        phase=framework["process"],
        worker=framework["nodeID"],
        start=framework["start_time_us"] + looked.job.origin_us,
        end=framework["end_time_us"] + looked.job.origin_us,
    )[columns]
    assert sorted(map(tuple, ours.to_numpy())) == sorted(
        map(tuple, looked.events[columns].to_numpy())
    )


def test_bottlenecks_and_classes_of_gpu_samples(looked: Looked) -> None:
    system, framework = looked.job.system_metrics(), looked.job.framework_metrics()
    found = selections.cpu_bottlenecks(system)
    at_us = found["timestamp_us"] + looked.job.origin_us
    expected = second_look.bottlenecks(looked.samples)

    assert set(zip(found["nodeID"], found["gpu"], at_us, strict=True)) == expected
    assert len(found) == len(expected)
    counted = selections.gpu_classes(system, framework, found)
    assert {
        (row[0], row[1]): list(row[2:]) for row in counted.itertuples(index=False)
    } == second_look.classes(looked.samples, looked.events)
    steps = second_look.training_steps(looked.events)
    if len(steps):
        in_loop = at_us.between(steps["start"].min(), steps["end"].max())
        places = selections.places_in_job(found, framework)
        assert (places == "training loop").tolist() == in_loop.tolist()


def test_distances_between_gpus_are_those_of_scipy(looked: Looked) -> None:
    scipy_distance = pytest.importorskip("scipy.spatial.distance")
    edges = [*np.arange(0, 100, 2), 100]
    use = looked.samples[looked.samples["Dimension"] == "GPUUtilization"]
    for row in statistics.workload_distances(looked.job.system_metrics()).itertuples():
        of_node = use[use["NodeId"] == row.nodeID]
        one, other = (
            np.histogram(of_node.loc[of_node["Name"] == gpu, "Value"], bins=edges)[0]
            for gpu in (row.gpu, row.other_gpu)
        )
        assert row.distance == pytest.approx(scipy_distance.jensenshannon(one, other), abs=1e-12)


def test_what_ran_at_bottlenecks_and_at_work(looked: Looked) -> None:
    system = looked.job.system_metrics()
    for rows in (selections.cpu_bottlenecks(system), selections.busy_moments(system)):
        instants = set(
            zip(rows["nodeID"], rows["timestamp_us"] + looked.job.origin_us, strict=True)
        )
        for steps, ours in (
            (False, causes.functions_at_rows(looked.job, rows)),
            (True, causes.phases_at_rows(looked.job, rows)),
        ):
            assert sums_of(ours) == second_look.sums_at(looked.events, instants, steps=steps)


def test_slow_steps_and_what_ran_in_them(looked: Looked) -> None:
    slow, normal = selections.split_steps(looked.job.framework_metrics())
    expected_slow, expected_normal = second_look.split_steps(looked.events)

    sums = []
    for ours, expected in ((slow, expected_slow), (normal, expected_normal)):
        keys = zip(ours["nodeID"], ours["start_time_us"] + looked.job.origin_us, strict=True)
        assert set(keys) == set(zip(expected["worker"], expected["start"], strict=True))
        functions = causes.functions_in_rows(looked.job, ours)
        assert sums_of(functions) == second_look.sums_in(looked.events, expected)
        sums.append(functions)
    joined = compare(*sums)
    for row in joined[joined["factor"].notna()].itertuples():
        one, other = (
            table[(table["function"] == row.function) & (table["process"] == row.process)].iloc[0]
            for table in sums
        )
        assert row.factor == pytest.approx(
            (one["total_us"] / one["count"]) / (other["total_us"] / other["count"])
        )


def test_use_inside_slow_and_normal_steps(looked: Looked) -> None:
    slow, normal = selections.split_steps(looked.job.framework_metrics())
    both = second_look.split_steps(looked.events)
    use = utilization_within.utilization_inside(
        looked.job.system_metrics(), {"slow": slow, "normal": normal}
    ).set_index(["group", "metric"])

    for group, steps in zip(("slow", "normal"), both, strict=True):
        for metric, dimension in (
            ("GPU", "GPUUtilization"), ("CPU", "CPUUtilization"), ("I/O wait", "I/OWaitPercentage"),
        ):  # fmt: skip
            values = second_look.values_in(looked.samples, steps, dimension)
            assert use.loc[(group, metric), "samples"] == len(values)
            if values:
                median = use.loc[(group, metric), "median_pct"]
                assert median == pytest.approx(float(np.median(values)))
