from __future__ import annotations

from dataclasses import replace

import pytest

from reportgen.results import Counters, ReasonCode, Severity, Status
from reportgen.rules.max_initialization_time import RULE
from tests.builders import START_S, known, node_profile, system_table
from tests.rules.framework_jobs import EVAL, TRAIN, finding, node, rows_of, step_rows
from tests.rules.samples import run

LOOP = [1.0] * 100


def started_after(init_s: float, *, loop_s: int = 100, after_s: float = 0.0, first: int = 0):
    return node(
        step_rows([1.0] * loop_s, start_s=START_S + init_s, first=first),
        cores=1,
        duration_s=init_s + loop_s + after_s,
    )


@pytest.mark.parametrize(("init_s", "times"), [(120.0, 0), (121.0, 1)])
def test_a_first_step_later_than_the_threshold_fires_once(init_s: float, times: int) -> None:
    result = run(RULE, started_after(init_s, loop_s=2400), threshold=2)

    assert result.counters == Counters(rule_triggered=times, violations=times, datapoints=2400)
    assert (finding(result, "INIT-1") is not None) == bool(times)
    assert result.status is (Status.TRIGGERED if times else Status.OK)


def test_the_finding_tells_time_share_and_threshold() -> None:
    found = known(finding(run(RULE, started_after(150.0, loop_s=450), threshold=2), "INIT-1"))

    assert found.severity is Severity.WARNING
    assert (found.measured, found.threshold, found.unit) == (150.0, 120.0, "s")
    assert found.where.start_s == START_S
    assert found.where.end_s == START_S + 150
    assert known(found.estimate).share_ratio == pytest.approx(145 / 600, abs=1e-6)


@pytest.mark.parametrize(
    ("init_s", "loop_s", "severity", "status"),
    [(200.0, 100, Severity.CRITICAL, Status.TRIGGERED), (19.0, 10, Severity.INFO, Status.OK)],
    ids=["longer than the loop", "below 20 seconds"],
)
def test_start_up_is_a_fault_below_the_threshold_or_only_told(init_s, loop_s, severity, status):
    result = run(RULE, started_after(init_s, loop_s=loop_s))

    assert result.counters.rule_triggered == 0
    assert known(finding(result, "INIT-1")).severity is severity
    assert result.status is status


@pytest.mark.parametrize(
    ("init_s", "loop_s", "is_told"),
    [
        (149.0, 500, False),
        (150.0, 500, True),
        (150.0, 849, True),
        (150.0, 852, False),
        (60.0, 62, False),
    ],
)
def test_start_up_that_takes_much_of_the_job_is_told(init_s, loop_s, is_told) -> None:
    found = finding(run(RULE, started_after(init_s, loop_s=loop_s)), "INIT-1")

    assert (found is not None) == is_told
    if found is not None:
        assert found.severity is Severity.WARNING
        assert "which a job of this length may take" in found.text


@pytest.mark.parametrize(("after_s", "is_told"), [(140.0, False), (200.0, True)])
def test_without_gpus_what_passes_after_the_last_step_is_told(after_s, is_told) -> None:
    found = finding(run(RULE, started_after(10.0, loop_s=1000, after_s=after_s)), "INIT-2")

    assert (found is not None) == is_told
    if found is not None:
        assert found.severity is Severity.INFO
        assert found.title.startswith(
            "The job went on for 3 min 20 s after the last recorded training step: 16.5"
        )


@pytest.mark.parametrize(("n_idle", "is_told"), [(3, False), (4, True)])
def test_a_start_is_long_by_the_last_sample_in_which_no_gpu_works(n_idle, is_told) -> None:
    """Samples a minute apart: GPUs that are seen to work after 180 s may have begun after 121 s."""
    use = [0.0] * n_idle + [95.0] * 12
    system = system_table({"gpu0": use}, interval_s=60)

    assert (finding(run(RULE, node_profile(system=system)), "INIT-1") is not None) is is_told


def test_without_gpus_the_start_lasts_until_the_cores_work() -> None:
    busy = [60.0 if 400 <= tick < 1790 else 2.0 for tick in range(1800)]
    cores = node_profile(system=system_table({"cpu0": busy, "cpu1": busy}))
    found = known(finding(run(RULE, cores), "INIT-1"))

    assert found.title == "Start-up took 3 min 20 s before the cores worked"
    # Five seconds are what no start can do without.
    assert known(found.estimate).share_ratio == pytest.approx(195 / 899.5, abs=1e-6)


def test_training_before_the_first_recorded_step_is_no_start() -> None:
    part = started_after(120.0, loop_s=600)
    busy = system_table({"gpu0": [95.0] * 1440})
    assert finding(run(RULE, replace(part, system=busy)), "INIT-1") is None


def test_phases_add_up_to_a_hundred_percent_of_the_job() -> None:
    result = run(RULE, started_after(30.0, loop_s=120, after_s=60.0))

    assert [(row["part"], row["time_s"], row["pct"]) for row in rows_of(result, "phases")] == [
        ("initialization", 30.0, 14.3),
        ("training loop", 120.0, 57.1),
        ("finalization", 60.0, 28.6),
    ]
    assert result.details == {
        "step_num": {"first": round((START_S + 30) * 1e6), "last": round((START_S + 150) * 1e6)},
        "job_start": START_S,
        "job_end": START_S + 210,
    }


def test_a_loop_that_outlives_the_samples_leaves_no_finalization() -> None:
    part = node(step_rows(LOOP, start_s=START_S + 10), cores=1, duration_s=100)

    assert [row["time_s"] for row in rows_of(run(RULE, part), "phases")] == [10.0, 100.0, 0.0]


def test_the_job_spans_all_nodes_and_the_loop_all_workers() -> None:
    early = node(step_rows(LOOP, start_s=START_S + 50), cores=1, duration_s=200)
    late = node(
        step_rows(LOOP, start_s=START_S + 30, worker="algo-2-27"),
        name="algo-2",
        cores=1,
        start_s=START_S + 5,
        duration_s=300,
    )
    details = run(RULE, early, late).details

    assert details["job_start"] == START_S
    assert details["job_end"] == START_S + 305
    assert details["step_num"] == {
        "first": round((START_S + 30) * 1e6),
        "last": round((START_S + 150) * 1e6),
    }


def test_without_system_metrics_the_events_bound_the_job() -> None:
    part = node([("Forward", "Net", START_S, START_S + 1), *step_rows(LOOP, start_s=START_S + 9)])
    result = run(RULE, part)

    assert result.details["job_start"] == START_S
    assert result.details["job_end"] == START_S + 109


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ([], ReasonCode.NO_FRAMEWORK_METRICS),
        ([("Forward", "Net", START_S, START_S + 1)], ReasonCode.NO_STEPS),
    ],
)
def test_without_steps_it_is_skipped_but_tells_the_job(rows, code: ReasonCode) -> None:
    result = run(RULE, node(rows, cores=1, duration_s=90))

    assert result.status is Status.SKIPPED
    assert known(result.reason).code is code
    assert result.details == {"step_num": {}, "job_start": START_S, "job_end": START_S + 90}


@pytest.mark.parametrize(
    ("first", "told_s"),
    [(0, 300.0), (130, 170.0), (150, 150.0), (151, None), (300, None), (301, None)],
)
def test_the_number_of_the_first_recorded_step_shows_when_the_training_began(first, told_s) -> None:
    # A short window of 50 steps in the middle. An earlier run has counted to 301.
    result = run(RULE, started_after(300.0, loop_s=50, after_s=400.0, first=first))
    found = finding(result, "INIT-1")

    assert (found and found.measured) == told_s
    if found is not None:
        assert ("Earlier steps were not recorded" in found.text) is (first > 0)
        assert rows_of(result, "phases")[0]["time_s"] == found.measured


def test_steps_that_were_not_recorded_were_slow_as_often_as_the_others() -> None:
    # Each tenth step takes 11 s: 100 steps before the first recorded one took 200 s, not 100.
    rows = step_rows([1.0] * 100, every_s=2.0, start_s=START_S + 350, first=100)
    rows = [
        (
            *row[:2],
            START_S + 350 + 20 * (at // 10) + at % 10,
            START_S + 351 + 20 * (at // 10) + at % 10 + 10 * (at % 10 == 9),
            row[4],
        )
        for at, row in enumerate(rows)
    ]
    found = known(finding(run(RULE, node(rows, cores=1, duration_s=600)), "INIT-1"))
    assert found.measured == pytest.approx(150, abs=2)


def test_stops_that_leave_no_room_for_earlier_steps_do_not_make_the_start_long() -> None:
    """250 steps of 1 s ran before; a stop of 100 s makes the mean of those recorded 2 s."""
    rows = step_rows([1.0] * 100, start_s=START_S + 260, first=250)
    rows = [
        (*row[:2], *(at_s + 100 * (at >= 50) for at_s in row[2:4]), row[4])
        for at, row in enumerate(rows)
    ]
    assert finding(run(RULE, node(rows, cores=1, duration_s=480)), "INIT-1") is None


@pytest.mark.parametrize(("first", "is_told"), [(20, False), (0, True)])
def test_gpus_that_worked_before_the_first_recorded_step_ran_the_earlier_ones(first, is_told):
    """They work for 30 s, and pause for long before the window."""
    part = started_after(500.0, loop_s=300, first=first)
    use = [95.0 if 20 <= tick < 80 or tick >= 1000 else 0.0 for tick in range(1600)]
    found = finding(run(RULE, replace(part, system=system_table({"gpu0": use}))), "INIT-1")

    assert (found is not None) is is_told


def fed(received: float | None, read: float | None, *, init_s: int = 100, loop_s: int = 50):
    """Return a node with these rates in bytes/s before its first step, a tenth of them after."""
    columns = {"cpu0": [10.0] * (init_s + loop_s)}
    for name, rate in (("receive", received), ("receive_platform", received), ("read", read)):
        if rate is not None:
            columns[name] = [rate] * init_s + [rate / 10] * loop_s
    rows = step_rows([1.0] * loop_s, start_s=START_S + init_s)
    return node_profile(columns, rows, interval_s=1)


def test_network_and_disk_rates_before_the_first_step_are_told_where_they_are_known() -> None:
    found = known(finding(run(RULE, fed(50e6, 4e6)), "INIT-1"))

    assert "algo-1 had on average: received 100 MB/s" in found.text
    assert "read from disk 4 MB/s" in found.text
    assert "Meanwhile" not in known(finding(run(RULE, fed(None, None)), "INIT-1")).text


def test_validation_before_and_after_training_is_no_part_of_the_loop() -> None:
    rows = step_rows([1.0] * 2, start_s=START_S + 20, phase=EVAL)
    rows += step_rows([1.0] * 100, start_s=START_S + 50)
    rows += step_rows([0.5] * 3, start_s=START_S + 70.5, phase=EVAL)
    rows += step_rows([1.0] * 4, start_s=START_S + 160, phase=EVAL)
    result = run(RULE, node(rows, cores=1, duration_s=200))
    trained = [row for row in rows if row[0] == TRAIN]
    first_s, last_s = min(row[2] for row in trained), max(row[3] for row in trained)

    assert [row["time_s"] for row in rows_of(result, "phases")] == [
        first_s - START_S,
        last_s - first_s,
        START_S + 200 - last_s,
    ]
    # AWS's members speak of the steps of all phases.
    assert result.details["step_num"] == {
        "first": round((START_S + 20) * 1e6),
        "last": round((START_S + 164) * 1e6),
    }


def test_the_share_of_the_finding_is_that_of_the_phases() -> None:
    # 200.6 + 399.7 + 399.7 s: rounded alone the first is 20.1 %, with the others it is 20.0 %.
    rows = step_rows([9.7] * 40, start_s=START_S + 200.6, every_s=10.0)
    result = run(RULE, node(rows, cores=1, duration_s=1000))
    found = known(finding(result, "INIT-1"))

    assert [row["pct"] for row in rows_of(result, "phases")] == [20.0, 40.0, 40.0]
    assert "Start-up is 20 % of the job" in found.text or "Start-up is 20.0 %" in found.text
