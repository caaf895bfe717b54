"""LongPause: one stall, several, whose they are, what went on, and all that is no pause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from reportgen.profile import NodeProfile, SystemTable
from reportgen.results import Cause, Finding, ReasonCode, RuleResult, Severity, Status
from reportgen.rules import step_outlier
from reportgen.rules.long_pause import RULE
from reportgen.rules.long_pause.measure import Params
from tests.builders import START_S, known, node_profile, span_table, system_table
from tests.rules.framework_jobs import EVAL, TRAIN, rows_of, steps_alone
from tests.rules.samples import only, run

GAP_S = 0.01
STEP_S = 0.19


def job(
    n_steps: int = 500,
    *,
    inside: Mapping[int, float] | None = None,
    behind: Mapping[int, float] | None = None,
    worker: str = "algo-1-27",
    events: Mapping[int, tuple[str, str]] | None = None,
    evaluations: Mapping[int, float] | None = None,
    spread: float = 0.03,
    system: SystemTable | None = None,
    first: int = 0,
) -> NodeProfile:
    """Return a node with one worker whose steps take 0.19 s, with 0.01 s between them.

    Args:
        inside, behind: by step, what its step, or the time behind it, takes longer.
        events: by step, phase and name of an event that fills the time behind it.
        evaluations: by step, how long a step of the EVAL phase runs behind it.
        spread: relative deviation of the steps, log-normal.
        first: number of the first step.
    """
    rng = np.random.default_rng(5)
    sigma = np.sqrt(np.log1p(spread**2))
    step_s = STEP_S * rng.lognormal(-(sigma**2) / 2, sigma, n_steps)
    rows: list[tuple[Any, ...]] = []
    at_s = START_S + 5
    for step in range(n_steps):
        end_s = at_s + float(step_s[step]) + (inside or {}).get(step, 0.0)
        rows.append((TRAIN, TRAIN, at_s, end_s, {"step": first + step, "worker": worker}))
        at_s = end_s + GAP_S + (behind or {}).get(step, 0.0)
        if events and step in events:
            rows.append((*events[step], end_s, at_s, {"worker": worker}))
        if evaluations and step in evaluations:
            rows.append((EVAL, EVAL, at_s, at_s + evaluations[step], {"step": 0, "worker": worker}))
            at_s += evaluations[step] + GAP_S
    spans = span_table(rows, worker=worker)
    return node_profile(spans=spans, system=system, node=worker.rpartition("-")[0])


def samples(
    *idle: tuple[float, float],
    length_s: float = 600.0,
    node: str = "algo-1",
    busy_pct: float = 90.0,
    **more: Any,
) -> NodeProfile:
    """Return a node without steps whose GPU idles in some stretches, and at both ends."""
    ticks_s = np.arange(0.0, length_s, 0.5)
    use = np.where((ticks_s < 20) | (ticks_s >= length_s - 10), 0.0, busy_pct)
    for first_s, last_s in idle:
        use[(ticks_s >= first_s) & (ticks_s < last_s)] = 0.0
    return node_profile({"gpu0": use.tolist(), **more}, node=node)


def share_of(result: RuleResult) -> float:
    return known(only(result).estimate).share_ratio


def loop_s(part: NodeProfile) -> float:
    steps = part.spans.steps()
    return float(steps.end_ns.max() - steps.start_ns.min()) / 1e9


# One pause


@pytest.mark.parametrize("part", ["inside", "behind"])
def test_one_stall_is_reported_with_its_place_its_time_and_its_share(part: str) -> None:
    stall = {300: 30.0}
    node = job(inside=stall) if part == "inside" else job(behind=stall)
    result = run(RULE, node)
    found = only(result)
    steps = node.spans.steps()
    start_ns, end_ns = int(steps.start_ns[300]), int(steps.end_ns[300])
    if part == "behind":
        start_ns, end_ns = end_ns, int(steps.start_ns[301])
    assert (found.id, found.severity, found.cause) == ("PAUSE-1", Severity.WARNING, "long_pause")
    assert (found.where.node, found.where.device) == ("algo-1", "algo-1-27")
    assert found.where.start_s == pytest.approx(start_ns / 1e9, abs=1e-6)
    assert found.where.end_s == pytest.approx(end_ns / 1e9, abs=1e-6)
    assert share_of(result) == pytest.approx(30.0 / loop_s(node), rel=0.01)


def test_a_pause_below_the_threshold_is_a_reading_and_a_cheap_one_is_only_in_the_table() -> None:
    reading = run(RULE, job(2000, behind={900: 5.0}))
    assert only(reading).severity is Severity.INFO
    assert reading.status is Status.OK
    cheap = run(RULE, job(2000, behind={900: 1.5}))
    assert cheap.findings == ()
    assert len(rows_of(cheap, "pauses")) == 1
    exact = 100 * share_of(reading)
    above = run(RULE, job(2000, behind={900: 5.0}), params=Params(threshold_pct=exact + 0.01))
    below = run(RULE, job(2000, behind={900: 5.0}), params=Params(threshold_pct=exact - 0.01))
    assert (above.status, below.status) == (Status.OK, Status.TRIGGERED)


@pytest.mark.parametrize(("pause_s", "is_told"), [(61.0, True), (58.0, False)])
def test_a_minute_without_progress_is_told_however_long_the_job_is(pause_s, is_told) -> None:
    # Of a job of many hours it would be less than the share from which pauses are told.
    params = Params(min_share_pct=50, threshold_pct=60)

    findings = run(RULE, job(behind={250: pause_s}), params=params).findings

    assert [item.severity for item in findings] == [Severity.INFO] * is_told


def test_a_stop_of_less_than_five_cycles_is_none() -> None:
    assert run(RULE, job(behind={100: 0.95})).exhibit("pauses") is None
    assert len(rows_of(run(RULE, job(behind={100: 1.1})), "pauses")) == 1


# Several


def test_several_pauses_without_a_rhythm_are_one_finding_with_their_sum() -> None:
    node = job(1000, behind={113: 6.0, 407: 9.0, 890: 8.0})
    result = run(RULE, node)
    found = only(result)
    assert found.id == "PAUSE-2"
    assert found.title.startswith("3 long pauses cost")
    assert share_of(result) == pytest.approx(23.0 / loop_s(node), rel=0.01)
    assert result.metrics["pauses"] == 3


@pytest.mark.parametrize("part", ["inside", "behind"])
@pytest.mark.parametrize(
    ("steps", "said"), [((60, 151, 333), ["LongPause"]), ((60, 151, 333, 421), ["StepOutlier"])]
)
def test_a_few_long_steps_or_times_between_them_are_pauses_and_more_are_slow_steps(
    steps: Sequence[int], said: list[str], part: str
) -> None:
    def is_loud(found: Finding) -> bool:
        return found.severity is not Severity.INFO

    longer = dict.fromkeys(steps, 8.0)
    node = job(inside=longer) if part == "inside" else job(behind=longer)
    rules = (RULE, step_outlier.RULE)

    assert [rule.id for rule in rules if any(map(is_loud, run(rule, node).findings))] == said


def test_a_pause_that_costs_most_of_all_is_reported_alone() -> None:
    node = job(1000, behind={113: 6.0, 407: 60.0})
    result = run(RULE, node)
    assert only(result).id == "PAUSE-1"
    assert share_of(result) == pytest.approx(60.0 / loop_s(node), rel=0.01)
    assert len(rows_of(result, "pauses")) == 2


def test_pauses_in_a_rhythm_are_left_to_the_rule_about_rhythms() -> None:
    assert run(RULE, job(1000, behind=dict.fromkeys(range(99, 1000, 100), 6.0))).findings == ()


def test_a_stall_at_the_place_of_a_checkpoint_is_a_pause_all_the_same() -> None:
    behind = dict.fromkeys(range(99, 1000, 100), 2.0) | {499: 40.0}
    result = run(RULE, job(1000, behind=behind))
    assert only(result).id == "PAUSE-1"
    assert [row["step"] for row in rows_of(result, "pauses")] == [499]


# What is no pause


@pytest.mark.parametrize("spread", [0.1, 0.3, 0.6])
def test_steps_with_a_heavy_tail_are_no_pauses(spread: float) -> None:
    assert run(RULE, job(3000, spread=spread)).exhibit("pauses") is None


def test_the_first_steps_belong_to_the_start() -> None:
    assert run(RULE, job(inside={0: 60.0, 1: 20.0}, behind={0: 9.0})).exhibit("pauses") is None


def test_evaluation_whose_steps_were_recorded_is_no_pause() -> None:
    assert run(RULE, job(evaluations={249: 30.0, 400: 20.0})).exhibit("pauses") is None


def test_input_that_comes_in_bursts_is_no_pause() -> None:
    rng = np.random.default_rng(3)
    behind = {step: 1.6 * float(rng.uniform(0.7, 1.3)) for step in range(7, 500, 8)}
    assert run(RULE, job(behind=behind)).exhibit("pauses") is None


def test_steps_that_were_not_recorded_are_no_pause() -> None:
    rows = steps_alone(job(250)) + steps_alone(job(250, first=900), later_s=120)
    assert run(RULE, node_profile(rows=rows)).exhibit("pauses") is None


def test_time_in_which_every_gpu_works_on_is_no_pause() -> None:
    n_ticks = int(loop_s(job(behind={300: 30.0})) / 0.5) + 20
    busy = system_table({"gpu0": [80.0] * n_ticks, "gpu1": [80.0] * n_ticks})
    one_idle = system_table(
        {
            "gpu0": [80.0] * n_ticks,
            "gpu1": [0.0 if 131 <= tick <= 190 else 80.0 for tick in range(n_ticks)],
        }
    )
    assert run(RULE, job(behind={300: 30.0}, system=busy)).findings == ()
    assert only(run(RULE, job(behind={300: 30.0}, system=one_idle))).id == "PAUSE-1"


# Several workers


def test_the_worker_that_holds_up_the_others_is_named() -> None:
    waits = job(inside={300: 30.0})
    result = run(RULE, waits, job(behind={299: 30.0}, worker="algo-2-27"))
    found = only(result)
    assert (found.where.node, found.where.device) == ("algo-2", "algo-2-27")
    assert "1 other training process waited for it" in found.text
    assert share_of(result) == pytest.approx(30.0 / loop_s(waits), rel=0.01)


def test_workers_that_pause_together_are_one_pause_of_no_single_worker() -> None:
    parts = [job(behind={299: 30.0}, worker=f"algo-{number}-27") for number in (1, 2, 3)]
    found = only(run(RULE, *parts))
    assert (found.where.node, found.where.device) == (None, None)
    assert "3 training processes paused together" in found.text


def test_clocks_that_differ_do_not_double_a_pause() -> None:
    late = job(behind={299: 30.0}, worker="algo-2-27")
    shifted = node_profile(rows=steps_alone(late, later_s=45), worker="algo-2-27", node="algo-2")
    result = run(RULE, job(behind={299: 30.0}), shifted)
    assert only(result).id == "PAUSE-1"
    assert share_of(result) == pytest.approx(30.0 / 130.0, rel=0.02)


# What went on


def test_the_function_that_filled_the_pause_is_named(snapshot: SnapshotAssertion) -> None:
    events = {300: ("Checkpoint", "save_checkpoint")}
    found = only(run(RULE, job(behind={300: 30.0}, events=events)))
    assert (found.title, found.text, found.advice) == snapshot


def test_a_wait_for_a_batch_is_named_as_such() -> None:
    events = {300: ("DataLoaderIter", "It::GetNext")}
    found = only(run(RULE, job(behind={300: 30.0}, events=events)))
    assert "It::GetNext takes" in found.text
    assert "loader" in found.advice


@pytest.mark.parametrize(
    ("series", "inside", "usual", "words"),
    [
        ("receive", 5e7, 1e6, "received"),
        ("write", 5e7, 0.0, "written to disk"),
        ("transmit", 5e7, 0.0, "sent"),
    ],
)
def test_what_the_node_did_is_told(series: str, inside: float, usual: float, words: str) -> None:
    ticks = np.arange(0, 1200)
    values = np.where((ticks >= 400) & (ticks < 460), inside, usual).tolist()
    assert words in only(run(RULE, samples((200, 230), **{series: values}))).text


# Samples alone


def test_without_steps_a_stretch_in_which_all_gpus_idle_is_a_pause(snapshot: SnapshotAssertion):
    ticks = np.arange(0, 1200)
    cpu = np.where((ticks >= 400) & (ticks < 460), 2.0, 60.0).tolist()
    result = run(RULE, samples((200, 230), cpu0=cpu))
    found = only(result)
    assert (found.id, found.severity) == ("PAUSE-1", Severity.WARNING)
    assert (found.where.start_s, found.where.end_s) == (START_S + 200, START_S + 230)
    assert share_of(result) == pytest.approx(30 / 570, abs=1e-6)
    assert found.possible_causes
    assert (found.title, found.text, found.advice) == snapshot


@pytest.mark.parametrize(
    "idle",
    [
        [],
        [(200.0, 203.0)],
        [(100.0 * number, 100.0 * number + 8) for number in range(1, 6)],
        [(30.0 + 40 * number, 50.0 + 40 * number) for number in range(13)],
    ],
    ids=["none", "short", "in a rhythm", "swinging"],
)
def test_short_regular_or_alternating_idleness_is_no_pause(idle) -> None:
    assert run(RULE, samples(*idle)).findings == ()


@pytest.mark.parametrize(
    ("others_pct", "until_s", "is_told"),
    [(98.0, 230, True), (60.0, 230, False), (98.0, 600, False)],
    ids=["others look busy", "others work as usual", "it worked before alone"],
)
def test_a_gpu_that_idles_while_the_others_look_busy_holds_them_up(others_pct, until_s, is_told):
    ticks_s = np.arange(0.0, 600.0, 0.5)
    others = np.where((ticks_s < 20) | (ticks_s >= 590), 0.0, others_pct).tolist()
    found = run(RULE, samples((200, until_s), gpu1=others, gpu2=others)).findings

    assert [item.where.device for item in found] == ["gpu0"] * is_told
    assert all("gpu0 of algo-1 paused once for 30 s" in item.title for item in found)


def test_a_few_recorded_steps_do_not_hide_a_pause_that_samples_show() -> None:
    ticks_s = np.arange(0.0, 600.0, 0.5)
    others = np.where((ticks_s < 20) | (ticks_s >= 590), 0.0, 98.0).tolist()
    steps = [(TRAIN, TRAIN, START_S + at, START_S + at + 0.4, {"step": at}) for at in range(40, 45)]
    part = samples((200, 230), gpu1=others)
    found = only(run(RULE, replace(part, spans=span_table(steps, worker="algo-1-27"))))

    assert found.where.device == "gpu0"


def test_gpus_of_all_nodes_must_idle_or_look_busy_as_those_that_wait() -> None:
    works_on = samples(node="algo-2", busy_pct=80.0)
    waits = samples(node="algo-2", busy_pct=98.0)
    both = run(RULE, samples((200, 230)), samples((201, 231), node="algo-2"))

    assert run(RULE, samples((200, 230)), works_on).findings == ()
    assert only(both).where.node is None
    found = only(run(RULE, samples((200, 230)), waits))
    assert found.where.node == "algo-1"
    assert found.title == "The GPUs of algo-1 paused once for 30 s: 5.3 % of the working time"
    assert "Meanwhile the other GPUs were busy" in found.text


@pytest.mark.parametrize(
    ("pause", "is_told"), [(2.0, True), (30.0, False)], ids=["at rest", "as busy as usual"]
)
def test_in_a_job_without_a_gpu_cores_that_all_rest_show_the_pause(pause, is_told) -> None:
    use = [60.0] * 600
    use[200:260] = [pause] * 60
    findings = run(RULE, node_profile({"cpu0": use, "cpu1": use})).findings

    assert [found.title for found in findings] == [
        "All cores paused once for 30 s: 10.0 % of the working time"
    ] * is_told
    assert all("evaluated on the CPU" not in " ".join(item.possible_causes) for item in findings)


def test_a_spike_of_the_start_begins_no_work_of_cores() -> None:
    use = [1.0] * 20 + [60.0] * 3 + [8.0] * 30 + [60.0] * 500
    assert run(RULE, node_profile({"cpu0": use})).findings == ()


@pytest.mark.parametrize(("n_resting", "is_told"), [(470, True), (490, False)])
def test_cores_that_rest_most_of_the_time_pause_if_their_work_shows_what_is_usual(
    n_resting: int, is_told: bool
) -> None:
    use = [60.0] * 60 + [1.0] * n_resting + [60.0] * (540 - n_resting)
    assert (len(run(RULE, node_profile({"cpu0": use})).findings) == 1) is is_told


def test_beside_gpus_cores_of_another_node_do_not_decide() -> None:
    cores = node_profile({"cpu0": [60.0] * 1200}, node="algo-2")
    assert only(run(RULE, samples((200, 230)), cores)).title.startswith("All GPUs paused")


# Beside recorded steps


@pytest.mark.parametrize(
    ("first", "pause_s", "is_told"),
    [(100, (200, 230), True), (0, (200, 230), False), (100, (60, 90), False)],
    ids=["beside the window", "all steps recorded", "inside the window"],
)
def test_gpus_that_idle_beside_a_window_of_recorded_steps_pause(first, pause_s, is_told) -> None:
    # The window lasts from 5 to 105 s, the GPU works from 20 to 590 s.
    findings = run(RULE, job(500, first=first, system=samples(pause_s).system)).findings

    assert [found.cause for found in findings] == [Cause.LONG_PAUSE] * is_told
    assert [found.where.device for found in findings] == [None] * is_told


@pytest.mark.parametrize(("length_s", "share"), [(600.0, 20 / 570), (160.0, 20 / 120)])
def test_a_single_pause_is_a_share_of_all_that_gpus_work(length_s: float, share: float) -> None:
    # The steps last from 5 to 125 s; the GPU works from 20 s to 10 s before the end.
    part = job(500, behind={250: 20.0}, system=samples((55, 75), length_s=length_s).system)
    assert share_of(run(RULE, part)) == pytest.approx(share, rel=0.02)


def test_a_node_whose_steps_were_all_recorded_knows_of_no_pause_of_others() -> None:
    window = job(500, first=100, system=samples((200, 230)).system)
    whole = job(500, worker="algo-2-27", system=samples(node="algo-2").system)
    assert run(RULE, window, whole).findings == ()


# Too little


def test_too_few_steps_or_samples_are_skipped() -> None:
    few = run(RULE, job(19, behind={9: 30.0}))
    short = run(RULE, samples((20, 30), length_s=60))
    none = run(RULE, node_profile({"cpu0": [5.0] * 500}))
    idle = run(RULE, node_profile({"gpu0": [0.0] * 500}))
    for result, code in (
        (few, ReasonCode.TOO_FEW_SAMPLES),
        (short, ReasonCode.TOO_FEW_SAMPLES),
        (none, ReasonCode.NO_FRAMEWORK_METRICS),
        (idle, ReasonCode.NO_STEPS),
    ):
        assert result.status is Status.SKIPPED
        assert known(result.reason).code is code
    assert run(RULE, job(20, behind={9: 30.0})).status is Status.TRIGGERED
