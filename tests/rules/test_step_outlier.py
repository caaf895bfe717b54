from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from reportgen.results import Cause, Counters, ReasonCode, Severity, Status
from reportgen.results.packed_columns import unpack
from reportgen.rules.step_outlier import RULE, named_worker
from tests.builders import START_S, known, ns, system_table
from tests.rules.framework_jobs import EVAL, TRAIN, finding, node, rows_of, step_rows
from tests.rules.samples import run

GLOBAL = "Step:ModeKeys.GLOBAL"
AT_RANDOM = [9, 17, 33, 43, 61, 62, 81, 99, 112, 126, 154, 171, 187, 201, 218, 233, 270, 289]
"""Eighteen of 300 steps in no rhythm."""


def with_slow(n_steps: int, slow: list[int], *, usual_s: float = 0.1, slow_s: float = 0.9):
    """Durations of which those at some places are slow."""
    durations = [usual_s] * n_steps
    for index in slow:
        durations[index] = slow_s
    return durations


def every(period: int, count: int) -> list[int]:
    return [period * (index + 1) - 1 for index in range(count)]


@pytest.mark.parametrize(("n_slow", "times"), [(10, 0), (11, 1)])
def test_it_triggers_with_more_outliers_than_allowed(n_slow: int, times: int) -> None:
    # All steps end within one minute, so that there is one judgement.
    result = run(RULE, node(step_rows(with_slow(500, every(40, n_slow), slow_s=0.2), every_s=0.1)))

    assert result.counters == Counters(rule_triggered=times, violations=11 * times, datapoints=500)
    assert result.status is (Status.TRIGGERED if times else Status.OK)
    details: Any = result.details["step_details"]
    assert details["algo-1-27"]["number_of_outliers"] == n_slow


@pytest.mark.parametrize(("n_slow", "is_told"), [(3, False), (4, True)])
def test_a_few_costly_steps_are_told_and_a_handful_is_not(n_slow: int, is_told: bool) -> None:
    slow = [17, 60, 111, 260][:n_slow]
    found = finding(run(RULE, node(step_rows(with_slow(300, slow, slow_s=9.0)))), "STEP-1")

    assert (found is not None) == is_told
    if found is not None:
        assert found.severity is Severity.WARNING
        assert (found.where.start_s, found.where.end_s) == (START_S + 17, START_S + 269)
        assert known(found.estimate).share_ratio == pytest.approx(4 * 8.9 / 299.1, abs=1e-4)


def test_slow_steps_and_steps_that_grow_slower_are_told_in_jobs_too_short_for_aws() -> None:
    result = run(RULE, node(step_rows(with_slow(60, [9, 17, 25, 40, 45, 58]))))
    found = known(finding(result, "STEP-1"))

    assert (result.status, result.details["step_details"]) == (Status.TRIGGERED, {})
    assert "that take at least 1.5 times as long as the steps around them" in found.text
    assert found.title.startswith("6 of 60 ")
    assert (found.threshold, found.unit) == (4.5, "%")
    assert found.measured == pytest.approx(9, abs=1)
    assert result.metrics["slow_steps"] == 6
    caption = next(item for item in result.exhibits if item.id == "step_percentiles").caption
    assert caption.startswith("6 slow of ")
    assert finding(growing(1.0, n_steps=60), "STEP-2") is not None


@pytest.mark.parametrize("clock_s", [0, 7])
@pytest.mark.parametrize(("late", "is_input"), [(0, True), (4, False)])
def test_steps_that_last_until_the_batch_of_another_worker_is_there_wait_for_input(
    late, is_input, clock_s
):
    slow, start_s = [9, 17, 25, 40, 45, 58], START_S + clock_s
    waits = [
        ("DataLoaderIter", "It::GetNext", start_s + at, start_s + at + 0.8, {"worker": "algo-2-27"})
        for at in (step + late + 0.05 for step in slow)
    ]
    steps = step_rows([0.1] * 60, worker="algo-2-27", start_s=start_s)
    other = node([*steps, *waits], name="algo-2")
    found = known(finding(run(RULE, node(step_rows(with_slow(60, slow))), other), "STEP-1"))

    assert found.cause == (Cause.SLOW_INPUT if is_input else Cause.RANDOM_SLOW_STEPS)
    assert ("some training process waits for its batch" in found.text) == is_input


@pytest.mark.parametrize(("n_steps", "is_judged"), [(100, False), (101, True)])
def test_a_series_is_judged_with_more_than_a_hundred_steps(n_steps: int, is_judged: bool) -> None:
    result = run(RULE, node(step_rows([0.1] * n_steps)))

    assert bool(result.details["step_details"]) == is_judged
    assert result.status is (Status.OK if is_judged else Status.SKIPPED)
    if not is_judged:
        assert result.reason is not None
        assert result.reason.code is ReasonCode.TOO_FEW_SAMPLES
        assert "100 training steps" in result.reason.text


def test_the_details_are_those_aws_writes() -> None:
    durations = with_slow(200, [49, 99, 149, 199], slow_s=0.5)
    details: Any = run(RULE, node(step_rows(durations))).details["step_details"]
    normal = np.full(196, 0.1)

    assert list(details) == ["algo-1-27"]
    entry = details["algo-1-27"]
    assert list(entry) == [
        *("step_stats", "number_of_outliers", "phase", "stddev"),
        *("probs", "binedges", "step_numbers"),
    ]
    assert entry["step_stats"] == {
        "mean": pytest.approx(np.mean(durations), rel=1e-12),
        "max": 0.5,
        "p99": pytest.approx(np.percentile(durations, 99), rel=1e-12),
        "p95": 0.1,
        "p50": 0.1,
        "min": 0.1,
    }
    assert entry["stddev"] == round(float(np.std(durations)), 2)
    assert entry["phase"] == TRAIN
    assert entry["step_numbers"] == ["49", "99", "149", "199"]
    assert entry["probs"] == np.histogram(normal, bins=100)[0].tolist()
    assert len(entry["binedges"]) == 101


def test_each_minute_with_new_steps_is_a_judgement_of_every_series() -> None:
    # TRAIN: 11 outliers among 240 steps in minutes 0-3; EVAL runs alone in minute 5. In minutes
    # 1-3 and 5 TRAIN has over 100 steps; the 11th outlier comes in minute 3.
    train = step_rows(with_slow(240, [*range(5, 15), 200], usual_s=0.3, slow_s=0.9))
    result = run(RULE, node([*train, *step_rows([0.5] * 20, phase=EVAL, start_s=START_S + 301)]))

    assert result.counters == Counters(rule_triggered=2, violations=11, datapoints=260)


def test_a_step_belongs_to_the_minute_in_which_it_ends() -> None:
    # The last of 101 steps begins in minute 1 and ends in minute 2: judged once, there.
    rows = step_rows([0.1] * 100) + step_rows([30.0], start_s=START_S + 110, first=100)

    assert run(RULE, node(rows), n_outliers=0).counters.rule_triggered == 1
    ended = step_rows([0.1] * 100) + step_rows([5.0], start_s=START_S + 110, first=100)
    later = step_rows([0.1], start_s=START_S + 125, first=101)
    assert run(RULE, node([*ended, *later]), n_outliers=0).counters.rule_triggered == 2


def test_the_same_number_of_train_and_eval_are_different_steps() -> None:
    train = step_rows(with_slow(150, [7]))
    evaluation = step_rows(with_slow(150, [7], slow_s=0.5), phase=EVAL, start_s=START_S + 200)
    rows = rows_of(run(RULE, node([*train, *evaluation])), "outliers")

    assert [(row["phase"], row["step"], row["duration_s"]) for row in rows] == [
        ("EVAL", 7, 0.5),
        ("TRAIN", 7, 0.9),
    ]
    assert rows[1]["start_s"] == START_S + 7
    assert rows[1]["factor_of_median"] == 9.0


@pytest.mark.parametrize(
    ("phases", "kept"),
    [
        ({TRAIN: 101, EVAL: 300}, TRAIN),
        ({GLOBAL: 101, EVAL: 300}, GLOBAL),
        ({EVAL: 101, "Step:ModeKeys.PREDICT": 300}, "Step:ModeKeys.PREDICT"),
        ({TRAIN: 100, EVAL: 101}, EVAL),
    ],
)
def test_the_one_entry_of_a_worker_is_about_its_main_phase(phases, kept) -> None:
    rows = [row for phase, count in phases.items() for row in step_rows([0.1] * count, phase=phase)]
    result = run(RULE, node(rows))
    entry: Any = result.details["step_details"]

    assert entry["algo-1-27"]["phase"] == kept
    assert len(rows_of(result, "steps")) == 2


@pytest.mark.parametrize("mode", ["EVAL", "ModeKeys.EVAL"])
def test_a_mode_restricts_to_its_phase(mode: str) -> None:
    train = step_rows(with_slow(400, every(20, 15)))
    part = node([*train, *step_rows([0.1] * 150, phase=EVAL, start_s=START_S + 500)])
    result = run(RULE, part, mode=mode)
    entry: Any = result.details["step_details"]

    assert run(RULE, part).counters.rule_triggered > 0
    assert result.counters == Counters(datapoints=550)
    assert entry["algo-1-27"]["phase"] == EVAL
    assert result.rule_parameters == f"threshold:3\nmode:{mode}\nn_outliers:10\nstddev:3"


def test_a_mode_that_never_ran_is_skipped() -> None:
    result = run(RULE, node(step_rows([0.1] * 150)), mode="PREDICT")

    assert result.status is Status.SKIPPED
    assert "PREDICT" in known(result.reason).text
    assert result.details == {"step_details": {}}


def test_plain_scatter_of_many_steps_and_slow_steps_that_cost_little_are_no_finding() -> None:
    rng = np.random.default_rng(3)
    scattered = run(RULE, node(step_rows(rng.normal(0.4, 0.006, 12_000).clip(0.3).tolist())))
    cheap = run(RULE, node(step_rows(with_slow(3600, AT_RANDOM, usual_s=1.0, slow_s=1.6))))

    assert scattered.findings == cheap.findings == ()
    assert scattered.counters.rule_triggered > 0
    assert cheap.metrics["slow_steps"] == 18


@pytest.mark.parametrize("is_apart", [True, False])
def test_the_tail_of_lengths_that_scatter_is_no_exception(is_apart: bool) -> None:
    """Batches of unequal size make some steps long, and twice as many nearly as long."""
    rng = np.random.default_rng(8)
    lengths = rng.lognormal(0.0, 0.03 if is_apart else 0.45, 600) * 0.3
    if is_apart:
        lengths[rng.choice(600, 30, replace=False)] += 0.6
    found = finding(run(RULE, node(step_rows(lengths.tolist(), every_s=2.0))), "STEP-1")
    packed = finding(one_after_the_other(lengths.tolist(), [0.01] * 600), "STEP-1")

    assert found is None, "the loop is long"
    assert (packed is not None) is is_apart


def test_dear_steps_are_told_beside_the_tail_of_lengths_that_scatter() -> None:
    lengths = np.random.default_rng(8).lognormal(0.0, 0.45, 600) * 0.3
    lengths[[*AT_RANDOM[:8]]] += 6.0
    found = known(finding(one_after_the_other(lengths.tolist(), [0.01] * 600), "STEP-1"))

    assert found.title.startswith("9 of 600 training steps are slow")  # and the longest other one


def test_steps_in_a_rhythm_are_no_tail_of_those_that_come_at_random() -> None:
    """Those in the rhythm exceed the others by two thirds of what those at random do."""
    lengths = with_slow(600, every(20, 30), slow_s=0.5)
    for place in AT_RANDOM[:10]:
        lengths[place] += 0.6
    assert finding(one_after_the_other(lengths, [0.01] * 600), "STEP-1") is not None


def test_slow_steps_in_a_rhythm_are_left_to_the_rule_about_rhythms() -> None:
    assert finding(run(RULE, node(step_rows(with_slow(650, every(50, 13))))), "STEP-1") is None


@pytest.mark.parametrize("waits", [True, False])
def test_pauses_until_another_worker_got_its_batch_and_ran_its_step_wait_for_input(waits) -> None:
    """Steps are exchanged behind them: there all wait for the one that began its step late."""
    slow = np.isin(np.arange(300), AT_RANDOM[:12])
    starts_s = START_S + np.cumsum([0.0, *(0.72 + slow)])[:-1]
    rows, others = list[tuple[Any, ...]](), list[tuple[Any, ...]]()
    for step, (at, late_s) in enumerate(zip(starts_s.tolist(), slow.tolist(), strict=True)):
        rows.append((TRAIN, TRAIN, at, at + 0.7, {"step": step}))
        other = {"step": step, "worker": "algo-2-27"}
        others.append((TRAIN, TRAIN, at + late_s, at + late_s + 0.7, other))
        if late_s and waits:
            others.append(("DataLoaderIter", "It::GetNext", at, at + 1.0, {"worker": "algo-2-27"}))
    found = known(finding(run(RULE, node(rows), node(others, name="algo-2")), "STEP-1"))

    assert (found.cause == Cause.SLOW_INPUT) is waits


@pytest.mark.parametrize(("n_long", "is_told"), [(4, False), (5, True), (12, True)])
def test_long_times_between_steps_at_random_are_told(n_long: int, is_told: bool) -> None:
    pauses_s = with_slow(300, AT_RANDOM[:n_long], usual_s=0.02, slow_s=1.02)
    found = finding(one_after_the_other([0.28] * 300, pauses_s), "STEP-1")

    assert (found is not None) == is_told
    if found is not None:
        assert found.cause == Cause.RANDOM_SLOW_STEPS
        assert f"{n_long} of 300 training steps are followed by a long pause" in found.title
        assert "which were not recorded for all steps, may be part of them" in found.text
        share = n_long / (300 * 0.3 + n_long)
        assert known(found.estimate).share_ratio == pytest.approx(share, abs=0.002)


def test_a_worker_that_is_late_between_its_steps_is_named_and_not_those_that_wait_for_it() -> None:
    rows: list[tuple[Any, ...]] = []
    at_s = START_S
    for step in range(300):
        late_s = 1.0 if step in AT_RANDOM[:12] else 0.0
        for worker, begin_s in (("algo-1-27", at_s + late_s), ("algo-1-28", at_s)):
            more = {"step": step, "worker": worker}
            rows.append((TRAIN, TRAIN, begin_s, at_s + late_s + 0.28, more))
        at_s += late_s + 0.3
    found = known(finding(run(RULE, node(rows)), "STEP-1"))

    assert found.where.device == "algo-1-27"
    assert "are followed by a long pause" in found.title


@pytest.mark.parametrize(("first", "is_told"), [(0, False), (100, True)])
def test_slow_steps_at_the_start_are_warm_up(first: int, is_told: bool) -> None:
    """Unlike some of as many later ones; those in between may be as fast as the others."""
    slow = np.random.default_rng(2).choice(np.arange(first, first + 30), 22, replace=False)
    steps_s = with_slow(300, slow.tolist(), usual_s=0.28, slow_s=1.0)

    assert (finding(one_after_the_other(steps_s, [0.02] * 300), "STEP-1") is not None) is is_told


def test_long_times_between_steps_in_which_gpus_work_on_are_no_finding() -> None:
    pauses_s = with_slow(300, AT_RANDOM[:20], usual_s=0.02, slow_s=1.02)

    assert finding(one_after_the_other([0.28] * 300, pauses_s, use_pct=97.0), "STEP-1") is None


@pytest.mark.parametrize("is_even", [False, True])
def test_waits_and_unrecorded_steps_do_not_hide_the_rhythm_of_what_lies_between_steps(is_even):
    rng = np.random.default_rng(3)
    rows: list[tuple[Any, ...]] = []
    at_s, random = START_S, rng.choice(3000, 500, replace=False)
    for step in range(3000):
        is_recorded = step % 1000 < 250
        if is_recorded:
            rows.append((TRAIN, TRAIN, at_s, at_s + 0.28, {"step": step}))
        is_long = step % 6 == 0 if is_even else step in random
        at_s += 0.284 + 0.288 * is_long
        if step % 8 == 3:
            wait_s = float(rng.uniform(0.1, 1.5))
            if is_recorded:
                rows.append(("DataLoaderIter", "It::GetNext", at_s, at_s + wait_s, {}))
            at_s += wait_s
    assert (finding(run(RULE, node(rows)), "STEP-1") is None) is is_even


@pytest.mark.parametrize(
    ("n_crowded", "job_cores", "cause"),
    [
        (18, 1.5, Cause.OTHER_PROGRAMS),
        (18, 1.6, Cause.RANDOM_SLOW_STEPS),
        (18, None, Cause.RANDOM_SLOW_STEPS),
        (5, 1.5, Cause.RANDOM_SLOW_STEPS),
        (300, 1.5, Cause.RANDOM_SLOW_STEPS),
    ],
    ids=["others have half a core", "they have less", "nobody knows", "in few", "all the time"],
)
def test_steps_that_are_slow_while_others_use_the_cores_are_no_fault_of_the_job(
    n_crowded: int, job_cores: float | None, cause: str
) -> None:
    rows = step_rows(with_slow(300, AT_RANDOM))
    crowded = AT_RANDOM[:n_crowded] if n_crowded <= len(AT_RANDOM) else range(300)
    edges_s = [(rows[at][2], rows[at][3]) for at in crowded]
    ticks_s = START_S + 0.5 * np.arange(2 * 300)
    used = [100.0 if any(a < at <= b + 0.5 for a, b in edges_s) else 50.0 for at in ticks_s]
    cores = system_table({"cpu0": used, "cpu1": used, "job_cores": [job_cores] * len(used)})
    found = known(finding(run(RULE, replace(node(rows), system=cores)), "STEP-1"))

    assert found.cause == cause
    assert ("while other programs use the cores" in found.title) is (cause == "other_programs")
    assert ("All the time other programs" in found.text) is (n_crowded == 300)


@pytest.mark.parametrize(("takes_s", "is_named"), [(0.35, False), (0.5, True)])
def test_a_function_is_named_that_fills_more_than_half_of_the_extra_time(takes_s, is_named) -> None:
    extra = [("Callback", "log", START_S + k + 0.1, START_S + k + 0.1 + takes_s) for k in AT_RANDOM]
    steps = step_rows(with_slow(300, AT_RANDOM))
    found = known(finding(run(RULE, node([*steps, *extra])), "STEP-1"))

    assert ("log takes" in found.text, "log" in found.advice.split()) == (is_named, is_named)


def test_waits_for_batches_are_no_long_times_between_steps() -> None:
    steps = in_turn([0.28] * 300, with_slow(300, AT_RANDOM, usual_s=0.02, slow_s=1.02))
    starts_s = [steps[at][2] for at in AT_RANDOM]
    waits = [("DataLoaderIter", "It::GetNext", at_s + 0.29, at_s + 1.29) for at_s in starts_s]

    assert finding(run(RULE, node([*steps, *waits])), "STEP-1") is None


def test_all_workers_of_all_nodes_are_judged_apart() -> None:
    slow = with_slow(300, AT_RANDOM)
    first = node(step_rows(slow, every_s=0.1))
    second = node(step_rows([0.1] * 300, every_s=0.1, worker="algo-2-27"), name="algo-2")
    third = node(step_rows(slow, every_s=0.1, worker="algo-3-27"), name="algo-3")
    result = run(RULE, first, second, third)
    found = known(finding(result, "STEP-1"))

    assert result.counters == Counters(rule_triggered=2, violations=36, datapoints=900)
    details: Any = result.details["step_details"]
    assert list(details) == ["algo-1-27", "algo-2-27", "algo-3-27"]
    assert "The same holds for algo-1-27 training" in found.text


@pytest.mark.parametrize(
    ("outliers", "named"),
    [
        ([20, 2, 2, 2], "algo-1-0"),  # 20 of 26; the fair share is 6.5
        ([12, 4, 4, 4], None),  # 12 is exactly twice the fair share of 6
        ([15, 15, 0, 0], None),
        ([12, 0], "algo-1-0"),
        ([12, 1], None),
        ([12], None),
    ],
)
def test_a_worker_is_named_above_twice_its_fair_share(outliers, named) -> None:
    parts = [
        node(
            step_rows(with_slow(400, every(20, count), slow_s=0.8), worker=f"algo-1-{index}"),
            name=f"algo-{index}",
        )
        for index, count in enumerate(outliers)
    ]
    series = [one for part in parts for one in RULE.measure(part, RULE.params()).series]

    assert [len(item.outliers) for item in series] == outliers
    assert named_worker(series) == named


def test_what_ran_in_slow_steps_counts_each_event_once() -> None:
    # Two slow steps that one long event spans: 100 s of it, not 200 s.
    steps = step_rows(with_slow(200, [100, 101]))
    long_event = ("DataLoaderWorker", "DataLoaderWorker", START_S + 50, START_S + 150)
    short = [("Forward", "Net", START_S + 100, START_S + 100.9)]
    before = [("Forward", "Net", START_S + 10, START_S + 10.1)]
    other_worker = [("Forward", "Net", START_S + 100, START_S + 190, {"worker": "algo-1-9"})]
    result = run(RULE, node([*steps, long_event, *short, *before, *other_worker]), n_outliers=1)

    assert list(result.details) == ["step_details", "ratio", "phase", "phase_time", "general"]
    assert result.details["phase"] == {TRAIN: 100.0}
    general: Any = result.details["general"]
    assert general == {
        "DataLoaderWorker": pytest.approx(100 * 100 / 100.9),
        "Forward": pytest.approx(100 * 0.9 / 100.9),
    }
    shown = rows_of(result, "outlier_general")
    # The life of a loader process runs beside the loop.
    assert [(row["part"], row["time_s"]) for row in shown] == [("Forward", 0.9)]


def test_functions_in_slow_steps_are_compared_with_those_in_the_others() -> None:
    slow_steps = list(range(100, 112))
    steps = step_rows(with_slow(200, slow_steps))
    usual = [("Forward", "Net", START_S + k + 0.02, START_S + k + 0.08) for k in range(60)]
    extra = [("Callback", "log", START_S + k + 0.1, START_S + k + 0.5) for k in slow_steps]
    result = run(RULE, node([*steps, *usual, *extra]), n_outliers=1)

    found = {row["function"]: row for row in rows_of(result, "outlier_functions")}
    assert (found["log"]["count"], found["log"]["other_count"]) == (12, 0)
    assert (found["log"]["mean_s"], found["log"]["times_as_long"]) == (pytest.approx(0.4), None)
    assert (found["Net"]["count"], found["Net"]["other_count"]) == (0, 60)


def test_mean_durations_in_slow_steps_stand_beside_the_others_largest_excess_first() -> None:
    slow_steps = list(range(100, 112))
    steps = step_rows(with_slow(200, slow_steps))
    both = [("Forward", "Net", START_S + k + 0.02, START_S + k + 0.08) for k in range(60)]
    both += [("Forward", "Net", START_S + k + 0.02, START_S + k + 0.12) for k in slow_steps]
    extra = [("Callback", "log", START_S + k + 0.1, START_S + k + 0.5) for k in slow_steps]
    usual = [("Backward", "loss", START_S + k + 0.1, START_S + k + 0.2) for k in range(60)]
    rows = rows_of(
        run(RULE, node([*steps, *both, *extra, *usual]), n_outliers=1), "outlier_functions_means"
    )
    assert [(row["function"], row["mean_s"], row["other_mean_s"]) for row in rows] == [
        ("log (Callback)", pytest.approx(0.4), None),
        ("Net (Forward)", pytest.approx(0.1), pytest.approx(0.06)),
    ]


def test_steps_above_twice_the_median_are_listed_apart_and_equality_is_normal() -> None:
    durations = [0.1] * 120
    durations[30], durations[60] = 0.2, 0.200001
    result = run(RULE, node(step_rows(durations)))

    assert [row["step"] for row in rows_of(result, "median_outliers")] == [60]
    assert rows_of(result, "steps")[0]["above_twice_median"] == 1


def test_the_pace_counts_the_time_between_steps() -> None:
    (line,) = rows_of(run(RULE, node(step_rows([1.0] * 121, every_s=2.0))), "steps")

    assert line["steps_per_s"] == pytest.approx(121 / 241, abs=1e-4)  # 120 pairs, one step more
    assert line["mean_s"] == 1.0


def test_the_histogram_puts_outliers_into_a_marked_last_bin() -> None:
    result = run(RULE, node(step_rows(with_slow(300, [50, 150], slow_s=5.0))))
    exhibit = known(result.exhibit("step_histogram"))
    rows = rows_of(result, "step_histogram")

    assert rows[-1]["algo-1-27"] == 2
    assert sum(row["algo-1-27"] for row in rows) == 300
    assert "The last bin is open" in exhibit.caption
    assert rows[-1]["bin_end"] < 1.0  # drawn beside the others, not out to 5 s


def test_the_curve_over_time_is_short_and_keeps_the_slowest_step() -> None:
    part = node(step_rows(with_slow(20_000, [12_345], slow_s=0.77), every_s=0.1))
    exhibit = known(run(RULE, part).exhibit("step_series"))

    assert exhibit.n_rows <= 660
    highest = next(column for column in exhibit.columns if column.name == "algo-1-27_max")
    assert max(value for value in highest.values if isinstance(value, float)) == 0.77
    assert "20,000 steps" in exhibit.caption


def test_many_workers_become_one_band() -> None:
    parts = [
        node(step_rows([0.1 + 0.01 * index] * 110, worker=f"algo-{index}-27"), name=f"algo-{index}")
        for index in range(1, 10)
    ]
    exhibit = known(run(RULE, *parts).exhibit("step_series"))

    assert [column.name for column in exhibit.columns] == [
        *("time_s", "all workers_min", "all workers_mean", "all workers_max")
    ]
    lows, highs = (
        [value for value in exhibit.columns[place].values if isinstance(value, float)]
        for place in (1, 3)
    )
    assert (min(lows), max(highs)) == (0.11, 0.19)


@pytest.mark.parametrize("n_steps", [20, 2_000])
def test_steps_end_on_the_time_axis_where_a_validation_begins(n_steps: int) -> None:
    rows = step_rows([0.9] * n_steps)
    rows += step_rows([0.9] * 5, phase=EVAL, start_s=START_S + n_steps)
    rows += step_rows([0.9] * n_steps, first=n_steps, start_s=START_S + n_steps + 5)
    exhibit = known(run(RULE, node(rows)).exhibit("step_numbers"))

    time_s, _, end_s = (np.array(column.values, float) for column in exhibit.columns)
    assert time_s.size <= 400
    pauses_s = time_s[1:] - end_s[:-1]
    assert pauses_s[pauses_s > 0.001].tolist() == pytest.approx([5.0])


def test_the_curve_over_time_lasts_from_the_first_step_to_the_last() -> None:
    exhibit = known(run(RULE, node(step_rows([3.0] * 40, every_s=3.5))).exhibit("step_series"))

    time_s, *curves = (column.values for column in exhibit.columns)
    assert (time_s[0], time_s[-1]) == (START_S, START_S + 39 * 3.5 + 3)
    assert {curve[-1] for curve in curves} == {None}


def in_turn(lengths_s: Sequence[float], pauses_s: Sequence[float]) -> list[tuple[Any, ...]]:
    """Return steps that follow each other after some pauses."""
    starts_s = START_S + np.cumsum([0.0, *(np.add(lengths_s, pauses_s)[:-1])])
    return [
        (TRAIN, TRAIN, float(begin), float(begin + length), {"step": step})
        for step, (begin, length) in enumerate(zip(starts_s, lengths_s, strict=True))
    ]


def one_after_the_other(
    lengths_s: Sequence[float], pauses_s: Sequence[float], *, use_pct: float | None = None
) -> Any:
    """Return the result of a worker whose steps follow each other after some pauses.

    ``use_pct`` is that of a GPU, sampled ten times a second.
    """
    part = node(in_turn(lengths_s, pauses_s))
    if use_pct is not None:
        use = {"gpu0": [use_pct] * round(10 * (sum(lengths_s) + sum(pauses_s)))}
        part = replace(part, system=system_table(use, interval_s=0.1))
    return run(RULE, part)


def growing(growth: float, *, n_steps: int = 240, is_between: bool = False) -> Any:
    """Return a worker whose steps, or pauses, grow in all by a share of the usual cycle."""
    grown = [0.3 * growth * step / n_steps for step in range(n_steps)]
    steady = [0.0] * n_steps
    longer, later = (steady, grown) if is_between else (grown, steady)
    return one_after_the_other(
        [0.28 + extra for extra in longer], [0.02 + extra for extra in later]
    )


@pytest.mark.parametrize("is_between", [False, True])
@pytest.mark.parametrize(("growth", "is_told"), [(0.09, False), (0.1, True), (0.4, True)])
def test_steps_that_grow_slower_are_told(growth: float, is_told: bool, is_between: bool) -> None:
    found = finding(growing(growth, is_between=is_between), "STEP-2")

    assert (found is not None) == is_told
    if found is not None:
        words = (
            "The pauses behind training steps" if is_between else "The training steps grow slower"
        )
        assert found.title.startswith(words)
        share = growth / 2 / (1 + growth / 2)
        assert known(found.estimate).share_ratio == pytest.approx(share, abs=0.003)


def test_steps_that_grow_faster_or_make_up_for_it_between_them_are_no_loss() -> None:
    lengths = [0.3 + step / 1000 for step in range(240)]

    assert finding(growing(-0.5), "STEP-2") is None
    assert finding(run(RULE, node(step_rows(lengths, every_s=2.0))), "STEP-2") is None


def test_too_few_steps_and_steps_that_jump_about_do_not_grow_slower() -> None:
    restless = [float(value) for value in np.random.default_rng(3).uniform(0.2, 0.9, 400)]

    assert finding(growing(2.0, n_steps=23), "STEP-2") is None
    assert finding(one_after_the_other(restless, [0.02] * 400), "STEP-2") is None


def test_a_slow_warm_up_does_not_hide_that_steps_grow_slower() -> None:
    lengths = [5.0] * 10 + [0.3 + step / 400 for step in range(230)]
    found = known(finding(one_after_the_other(lengths, [0.02] * 240), "STEP-2"))

    assert found.severity is Severity.WARNING


def test_steps_that_become_slow_at_once_were_not_shorter_before_than_they_were() -> None:
    rng = np.random.default_rng(2)
    lengths = [float(value) for value in rng.normal([0.25] * 140 + [0.75] * 100, 0.01)]
    found = known(finding(one_after_the_other(lengths, [0.0] * 240), "STEP-2"))

    assert found.title.startswith("The training steps grow slower: from 25")
    assert known(found.estimate).share_ratio == pytest.approx(50 / 110, abs=0.02)


@pytest.mark.parametrize(
    ("begins", "cause"), [(120, Cause.WORK_BETWEEN_STEPS), (0, Cause.SLOWING_DOWN)]
)
def test_pauses_that_become_longer_at_once_are_work_between_steps(begins, cause) -> None:
    pauses = [0.02 + (0.1 if begins else step / 2400) * (step >= begins) for step in range(240)]
    assert known(finding(one_after_the_other([0.28] * 240, pauses), "STEP-2")).cause == cause


def test_all_steps_are_data_whatever_is_drawn_or_judged() -> None:
    rows = [
        *step_rows(with_slow(300, [7]), worker="algo-1-9"),
        *step_rows([0.1] * 5, worker="algo-1-10", first=3),
        *step_rows([0.2] * 4, phase=EVAL, worker="algo-1-9", start_s=START_S + 400),
    ]
    data = run(RULE, node(rows), mode="TRAIN").data

    assert [(table.id, table.of["worker"], table.of["phase"], table.n_rows) for table in data] == [
        ("steps", "algo-1-9", EVAL, 4),
        ("steps", "algo-1-9", TRAIN, 300),
        ("steps", "algo-1-10", TRAIN, 5),
    ]
    steps = unpack(data[1])
    assert steps["duration_ns"].tolist() == [
        900_000_000 if step == 7 else 100_000_000 for step in range(300)
    ]
    assert steps["start_ns"].tolist() == [ns(START_S + step) for step in range(300)]
    assert unpack(data[2])["step"].tolist() == [3, 4, 5, 6, 7]


def test_steps_without_numbers_are_data_without_numbers() -> None:
    rows = [(TRAIN, TRAIN, START_S + at, START_S + at + 0.5) for at in range(3)]
    (data,) = run(RULE, node(rows)).data

    waits = ["input_wait_ns", "inside_wait_ns"]
    assert list(unpack(data)) == ["start_ns", "duration_ns", "cycle_ns", *waits]
    assert run(RULE, node([])).data == ()


@pytest.mark.parametrize(
    ("job_cores", "used_pct", "cause"),
    [
        ((0.8, 0.4), 100.0, Cause.OTHER_PROGRAMS),
        ((0.8, 0.8), 100.0, Cause.SLOWING_DOWN),
        ((0.8, 0.65), 100.0, Cause.SLOWING_DOWN),
        ((0.8, 0.4), 80.0, Cause.SLOWING_DOWN),
        (None, 100.0, Cause.SLOWING_DOWN),
    ],
    ids=["the same work", "more work", "others gain little", "cores are free", "nobody knows"],
)
def test_steps_that_do_no_more_work_beside_other_programs_do_not_grow_slower_themselves(
    job_cores: tuple[float, float] | None, used_pct: float, cause: str
) -> None:
    lengths_s = np.linspace(0.3, 0.6, 240).tolist()
    n_ticks = int(2 * sum(lengths_s)) + 2
    columns: dict[str, Sequence[float | None]] = {f"cpu{at}": [used_pct] * n_ticks for at in (0, 1)}
    if job_cores is not None:
        columns["job_cores"] = np.linspace(*job_cores, n_ticks).tolist()
    part = replace(node(in_turn(lengths_s, [0.0] * 240)), system=system_table(columns))
    assert known(finding(run(RULE, part), "STEP-2")).cause == cause
