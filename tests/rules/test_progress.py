"""Progress: the pace between entries of a log, never that of single steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from reportgen.profile import NodeProfile
from reportgen.profile.monitoring import Monitoring, Progress
from reportgen.results import Cause, ReasonCode, Status
from reportgen.rules.progress import RULE
from tests.builders import START_S, known, node_profile, system_table
from tests.rules.samples import column, run

EVERY_S = 10


def log(paces: Sequence[float], *, every_s: float = EVERY_S, from_s: float = START_S) -> Progress:
    """A log with an entry every ten seconds, by the steps a second between two entries."""
    step = np.cumsum([0.0, *[pace * every_s for pace in paces]])
    time_ns = np.rint((from_s + every_s * np.arange(step.size)) * 1e9).astype(np.int64)
    return Progress(counter="train/step", time_ns=time_ns, step=step)


def node(*logs: Progress, use: Sequence[float] = ()) -> NodeProfile:
    monitoring = Monitoring(source="a monitor", progress=logs)
    system = system_table({"gpu0": list(use)} if use else {}, interval_s=5.0)
    return replace(node_profile(system=system), monitoring=monitoring)


def test_a_steady_pace_is_shown_and_accuses_nothing() -> None:
    result = run(RULE, node(log([2.0, 2.2] * 20)))
    assert result.status is Status.OK
    assert column(result, "progress", "steps_per_s") == [2.1]
    assert column(result, "progress", "logging_intervals") == [40]
    assert len(column(result, "pace", "steps_per_s")) == 40


@pytest.mark.parametrize(("last", "is_told"), [(1.61, False), (1.59, True), (0.5, True)])
def test_a_pace_that_falls_by_a_fifth_is_reported(last: float, is_told: bool) -> None:
    result = run(RULE, node(log([2.0] * 20 + [last] * 20)))
    assert [finding.cause for finding in result.findings] == [Cause.SLOWING_DOWN] * is_told
    if is_told:
        assert result.findings[0].measured == pytest.approx(100 * (1 - last / 2))


def test_a_pace_that_only_scatters_is_not_a_fall() -> None:
    scattered = [3.0, 1.0, 2.0, 0.5, 1.5] * 8
    assert not run(RULE, node(log(scattered + [0.8 * pace for pace in scattered]))).findings
    assert not run(RULE, node(log([2.0] * 30 + [1.0] * 8 + [2.0] * 2))).findings


def test_entries_of_two_kinds_are_one_pace() -> None:
    result = run(RULE, node(log([4.0, 2.0] * 40 + [2.0, 1.0] * 40)))
    assert [finding.id for finding in result.findings] == ["PROG-1"]


def test_pauses_are_counted_apart_from_the_pace_and_with_the_gpus() -> None:
    steady = log([2.0] * 30)
    time_ns = steady.time_ns.copy()
    time_ns[16:] += 100 * 1_000_000_000
    use = [90.0] * 31 + [10.0] * 21 + [90.0] * 28
    result = run(RULE, node(replace(steady, time_ns=time_ns), use=use))
    (finding,) = result.findings
    assert finding.id == "PROG-2"
    assert finding.measured == pytest.approx(100 * 100 / 400)
    assert finding.text.endswith("are used 14 % in slow intervals, and 90 % in others.")
    assert column(result, "progress", "longest_pause_s") == [110.0]
    assert column(result, "progress", "steps_per_s_at_last") == [2.0]
    short = time_ns.copy()
    short[16:] -= 71 * 1_000_000_000
    assert not run(RULE, node(replace(steady, time_ns=short))).findings


def test_the_log_of_validation_beside_that_of_training_is_no_restart() -> None:
    result = run(RULE, node(log([2.0] * 40), log([0.01] * 4, every_s=90, from_s=START_S + 5)))
    assert column(result, "progress", "restarts") == [0]
    assert column(result, "progress", "steps_per_s") == [2.0]
    assert not result.findings


def test_logs_of_a_restarted_job_are_one() -> None:
    first, second = log([2.0] * 20), log([2.0] * 20, from_s=START_S + 300)
    result = run(RULE, node(second, first))
    assert column(result, "progress", "restarts") == [1]
    assert column(result, "progress", "logging_intervals") == [40]


def test_numbers_of_the_job_are_shown_as_its_own() -> None:
    progress = log([2.0] * 20)
    logged = {"tokens_per_sec": (progress.time_ns, np.arange(21.0))}
    result = run(RULE, node(replace(progress, logged=logged)))
    assert column(result, "logged", "logged_by_the_job") == ["tokens_per_sec"]
    assert column(result, "logged", "median") == [10.0]


def test_few_intervals_are_shown_and_not_judged() -> None:
    assert run(RULE, node(log([2.0] * 11 + [0.5] * 10))).findings
    assert not run(RULE, node(log([2.0] * 9 + [0.5] * 9))).findings


def test_without_a_log_nothing_is_said() -> None:
    for part in (node(), node_profile(), node(log([]))):
        result = run(RULE, part)
        assert result.status is Status.SKIPPED
        assert known(result.reason).code is ReasonCode.NO_EVENTS


def test_numbers_that_the_job_logged_are_joined_over_its_restarts() -> None:
    first, second = log([2.0] * 3), log([2.0] * 3, from_s=START_S + 100)
    speeds = {"tokens_per_sec": (second.time_ns, np.array([30.0, 30.0, 30.0, 40.0]))}
    before = {"tokens_per_sec": (first.time_ns, np.array([10.0, 20.0, 20.0, 20.0]))}
    result = run(RULE, node(replace(second, logged=speeds), replace(first, logged=before)))
    assert [column(result, "logged", name) for name in ("values", "first", "last")] == [
        [8],
        [10.0],
        [40.0],
    ]
