"""Slow steps in a rhythm: found, explained, priced; random ones are left alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from reportgen.intake import discover, read_node
from reportgen.profile import NodeProfile
from reportgen.results import Cause, Finding, ReasonCode, RuleResult, Severity, Status
from reportgen.rules.step_periodicity import RULE
from sample_data.make import make_job
from sample_data.spec import NAMED_JOBS
from tests.builders import START_S, Row, known, node_profile, system_table
from tests.rules.framework_jobs import EVAL, TRAIN, rows_of, steps_alone
from tests.rules.samples import run
from tests.shared_data import SHARED_DATA, needs_shared_data

Floats = NDArray[np.float64]
PAUSE_S = 0.005


def steady(n_steps: int, *, seed: int = 1, step_s: float = 0.1) -> Floats:
    """Return durations that scatter by 3 %."""
    return step_s * (1 + 0.03 * np.random.default_rng(seed).standard_normal(n_steps))


def job(
    duration_s: Floats,
    *,
    pause_s: Mapping[int, float] | None = None,
    inside: Mapping[int, Sequence[tuple[str, str, float]]] | None = None,
    worker: str = "algo-1-27",
    phase: str = TRAIN,
    gpu: bool = False,
    skipped: int = 0,
) -> NodeProfile:
    """Return a node that runs one step after the other.

    Args:
        duration_s: of each step; a forward pass fills its first 50 ms.
        pause_s: behind a step, where it is longer than usual.
        inside: by step, (phase, name, seconds) of an event that ends with the step, or that
            fills the pause behind it where it begins with ``after:``.
        worker, phase: whose steps, and which.
        gpu: whether there is a GPU, idle where a step takes more than 150 ms.
        skipped: how many numbers are left out behind each 250 steps.
    """
    pauses = np.full(duration_s.size, PAUSE_S)
    for step, longer_s in (pause_s or {}).items():
        pauses[step] = longer_s
    start_s = START_S + np.concatenate(([0.0], np.cumsum(duration_s + pauses)[:-1]))
    end_s = start_s + duration_s
    rows: list[tuple[Any, ...]] = []
    for step, (begin, end) in enumerate(zip(start_s.tolist(), end_s.tolist(), strict=True)):
        more = {"step": step + skipped * (step // 250), "worker": worker}
        rows.append((phase, phase, begin, end, more))
        rows.append(("Forward", "ResNet", begin, begin + 0.05, more))
        for event_phase, name, took_s in (inside or {}).get(step, ()):
            first = end if event_phase.startswith("after:") else end - took_s
            label = event_phase.removeprefix("after:")
            rows.append((label, name, first, first + took_s, {"worker": worker}))
    system = None
    if gpu:
        ticks = START_S + np.arange(0, end_s[-1] - START_S, 0.1)
        at = np.searchsorted(start_s, ticks, side="right") - 1
        use = np.where((duration_s[at] > 0.15) & (ticks > start_s[at] + 0.1), 0.0, 80.0)
        system = system_table({"gpu0": use.tolist()}, interval_s=0.1)
    return node_profile(system=system, rows=rows, worker=worker, node=worker.rpartition("-")[0])


def every(period: int, n_steps: int, longer_s: float, *, seed: int = 1) -> Floats:
    """Return steady steps of which each n-th is longer."""
    duration_s = steady(n_steps, seed=seed)
    duration_s[period - 1 :: period] += longer_s
    return duration_s


@pytest.mark.parametrize(("late_s", "is_input"), [(0.05, True), (0.7, False)])
def test_a_rhythm_in_which_another_worker_waits_for_its_batch_is_one_of_the_input(late_s, is_input):
    part = job(every(10, 300, 0.5))
    begins_s = part.spans.steps().start_ns[9::10] / 1e9
    rows: list[Row] = [
        ("DataLoaderIter", "It::GetNext", at + late_s, at + late_s + 0.45, {}) for at in begins_s
    ]
    found = only(run(RULE, part, node_profile(rows=rows, worker="algo-2-27", node="algo-2")))

    assert found.cause == (Cause.SLOW_INPUT if is_input else Cause.PERIODIC_SLOW_STEPS)
    assert ("some training process waits for its batch" in found.text) == is_input


@pytest.mark.parametrize("rate", [120e6, 5e6])
def test_a_rhythm_at_the_limit_of_the_network_says_so(rate: float) -> None:
    part = job(every(10, 300, 0.9), gpu=True)
    idle = np.array(part.system.columns[0]) == 0
    columns = {
        "gpu0": part.system.columns[0].tolist(),
        "receive": np.where(idle, rate, 1e6).tolist(),
    }
    found = only(run(RULE, replace(part, system=system_table(columns, interval_s=0.1))))

    is_told = rate > 1e7
    assert ("receives data at its highest rate (120 MB/s" in found.text) is is_told
    assert ("network bandwidth" in known(found.advice)) is is_told


def only(result: RuleResult) -> Finding:
    """Return the one finding."""
    assert result.status is Status.TRIGGERED
    (finding,) = result.findings
    return finding


def periods(result: RuleResult) -> list[tuple[float, int, int]]:
    """Return (period in steps, found, expected) of each rhythm that is listed."""
    if result.exhibit("periods") is None:
        return []
    return [
        (row["period_steps"], row["found"], row["expected"]) for row in rows_of(result, "periods")
    ]


def test_every_fiftieth_of_five_hundred_is_told_with_its_cost_and_its_share() -> None:
    duration_s = every(50, 500, 0.3)
    result = run(RULE, job(duration_s))
    found = only(result)
    assert found.id == "PERIOD-1"
    assert found.title.startswith("Every 50th training step is slow")
    assert periods(result) == [(50.0, 10, 10)]
    (row,) = rows_of(result, "periods")
    assert row["cost_each_s"] == pytest.approx(0.3, abs=0.01)
    loop_s = duration_s.sum() + 499 * PAUSE_S
    assert row["cost_pct"] == pytest.approx(100 * 3.0 / loop_s, rel=0.03)
    assert found.measured == pytest.approx(row["cost_pct"], abs=0.01)
    assert known(found.estimate).share_ratio == pytest.approx(row["cost_pct"] / 100, abs=1e-4)
    marked = [row["name"] for row in rows_of(result, "intervals")]
    assert marked == [f"step {step}, slow every 50 steps" for step in range(49, 500, 50)]


@pytest.mark.parametrize(("is_made_up", "lost_pct"), [(True, 3 / 1.08), (False, 27 / 1.32)])
def test_what_the_steps_behind_pauses_make_up_is_not_lost(is_made_up, lost_pct) -> None:
    """A host that is ahead waits in every 10th step for the GPU, and launches the next ones early.

    Three short steps make up 0.24 s of a pause of 0.27 s.
    """
    duration_s = steady(400)
    if is_made_up:
        for behind in (1, 2, 3):
            duration_s[9 + behind :: 10] -= 0.08
    pauses = dict.fromkeys(range(9, 400, 10), 0.27 + PAUSE_S)
    (found,) = run(RULE, job(duration_s, pause_s=pauses)).findings

    assert ("make up" in found.text) is is_made_up
    assert (found.severity is Severity.INFO) is is_made_up
    assert known(found.measured) == pytest.approx(lost_pct, abs=1.0)


def test_gpu_utilization_inside_and_outside_is_the_mean_over_the_ticks() -> None:
    part = job(every(50, 500, 2.0), gpu=True)
    result = run(RULE, part)
    (gpu,) = (row for row in rows_of(result, "inside_outside") if row["gauge"].startswith("GPU"))
    steps = part.spans.steps()
    slow = steps.where(steps.step % 50 == 49)
    ticks, use = part.system.tick_ns, part.system.columns[0]
    inside = np.array(
        [bool(((slow.start_ns <= tick) & (tick <= slow.end_ns)).any()) for tick in ticks]
    )
    in_loop = (ticks >= steps.start_ns[0]) & (ticks <= steps.end_ns[-1])
    assert gpu["inside_pct"] == pytest.approx(use[inside].mean())
    assert gpu["outside_pct"] == pytest.approx(use[in_loop & ~inside].mean())
    assert (gpu["samples_inside"], gpu["samples_outside"]) == (
        int(inside.sum()),
        int((in_loop & ~inside).sum()),
    )
    assert "in the slow time" in only(result).text


@pytest.mark.parametrize("skipped", [0, 30])
def test_numbers_that_steps_of_another_phase_take_break_no_rhythm(skipped: int) -> None:
    result = run(RULE, job(every(100, 2000, 3.0), skipped=skipped))

    assert only(result).title.startswith("Every 100th training step is slow")
    assert periods(result) == [(100.0, 20, 20)]


@pytest.mark.parametrize("first", [199, 120])
def test_two_periods_at_once_are_two_findings(first: int) -> None:
    duration_s = every(50, 2000, 0.3)
    duration_s[first::200] += 1.0
    result = run(RULE, job(duration_s))
    assert {finding.title.partition(" training")[0] for finding in result.findings} == {
        "Every 50th",
        "Every 200th",
    }
    assert sum(finding.measured or 0 for finding in result.findings) == pytest.approx(
        100 * (40 * 0.3 + 10 * 1.0) / (2000 * 0.105 + 22), rel=0.05
    )


def test_a_rhythm_of_cheap_steps_with_gaps_hides_no_costly_one() -> None:
    # Every 4th step exchanges gradients, which shows in four of five of them.
    duration_s = steady(1000)
    exchanges = np.arange(3, 1000, 4)
    duration_s[exchanges[np.random.default_rng(7).random(exchanges.size) < 0.8]] += 0.03
    duration_s[43::44] += 5.0
    titles = [finding.title for finding in run(RULE, job(duration_s)).findings]

    assert any(title.startswith("Every 44th training step is slow") for title in titles)


def test_a_rhythm_of_many_occurrences_is_found_in_a_long_job() -> None:
    longer_s = 0.4 + 0.2 * np.random.default_rng(5).random(5000)
    pauses = {at: float(longer_s[at]) for at in range(4, 5000, 5)}
    assert only(run(RULE, job(steady(5000), pause_s=pauses))).title.startswith("A long pause")


def test_dear_pauses_in_a_rhythm_are_found_beside_bursts_of_loaders() -> None:
    rng = np.random.default_rng(3)
    pauses = {int(at): 0.8 + 0.5 * rng.random() for at in np.flatnonzero(rng.random(1100) < 0.3)}
    pauses |= dict.fromkeys(range(92, 1100, 93), 13.5)
    assert "every 93 steps" in run(RULE, job(steady(1100), pause_s=pauses)).findings[0].text


def test_steps_that_are_counted_anew_in_each_epoch_have_a_rhythm() -> None:
    """``for i, batch in enumerate(loader)``: each 50th batch of epochs of 130, no 50th step."""
    duration_s = steady(650)
    rows = [130 * epoch + batch for epoch in range(5) for batch in (50, 100)]
    duration_s[rows] += 0.5
    checkpoints = {130 * epoch + 129: 3.0 for epoch in range(5)}
    logs, saves = run(RULE, job(duration_s, pause_s=checkpoints)).findings

    assert "every 130 steps (" in saves.text + logs.text
    (found,) = (item for item in (logs, saves) if "Every 50th" in item.title)
    assert "one every 50 steps, counted anew in each epoch (" in found.text
    assert known(found.measured) == pytest.approx(
        100 * 10 * 0.5 / (duration_s.sum() + 4 * 3 + 0.005 * 645), rel=0.03
    )


def test_a_loader_that_is_set_up_marks_an_epoch() -> None:
    duration_s = steady(520)
    duration_s[[174 * epoch + batch for epoch in range(3) for batch in (50, 100, 150)]] += 0.6
    starts = {
        174 * epoch - 1: [("after:DataLoaderIterInitialize", "DataLoaderIter::__init__", 0.001)]
        for epoch in (1, 2)
    }
    found = only(run(RULE, job(duration_s, inside=starts)))

    assert "9 slow training cycles, one every 50 steps, counted anew in each epoch" in found.text


@pytest.mark.parametrize(
    ("place", "cause"), [(0, Cause.SLOW_INPUT), (50, Cause.PERIODIC_SLOW_STEPS)]
)
def test_steps_that_are_slow_behind_loaders_that_are_set_up_are_a_matter_of_input(place, cause):
    duration_s = steady(700)
    duration_s[100 + place :: 100] += 0.6
    starts = {
        step: [("after:DataLoaderIterInitialize", "DataLoaderIter::__init__", 0.001)]
        for step in range(99, 700, 100)
    }
    assert only(run(RULE, job(duration_s, inside=starts))).cause == cause


def test_steps_of_unequal_length_do_not_hide_the_rhythm_of_what_lies_between_them() -> None:
    duration_s = np.random.default_rng(3).uniform(0.05, 0.8, 700)
    found = only(run(RULE, job(duration_s, pause_s=dict.fromkeys(range(6, 700, 7), 0.5))))

    assert found.title.startswith("A long pause follows every 7th training step")
    assert known(found.measured) == pytest.approx(
        100 * 100 * 0.495 / (duration_s.sum() + 100 * 0.5 + 600 * 0.005), rel=0.03
    )


def test_a_slow_start_is_no_part_of_a_rhythm() -> None:
    duration_s = np.roll(every(50, 500, 0.5), 1)
    found = only(run(RULE, job(duration_s)))

    assert "9 slow training cycles, one every 50 steps" in found.text
    assert known(found.measured) == pytest.approx(100 * 4.5 / (duration_s.sum() + 2.5), rel=0.05)


def test_steps_that_get_slower_do_not_hide_a_rhythm() -> None:
    duration_s = steady(1000) * np.linspace(1.0, 2.0, 1000)
    duration_s[49::50] += 0.3
    assert periods(run(RULE, job(duration_s))) == [(50.0, 20, 20)]


def test_a_callback_between_steps_is_found_in_the_pause() -> None:
    slow = range(49, 500, 50)
    part = job(
        steady(500),
        pause_s=dict.fromkeys(slow, 0.5),
        inside={step: [("after:Callback", "save_images", 0.48)] for step in slow},
    )
    result = run(RULE, part)
    found = only(result)
    assert found.title.startswith("A long pause follows every 50th training step")
    assert "save_images" in found.text
    assert "save_images" in found.advice
    assert {row["slow_part"] for row in rows_of(result, "periods")} == {
        "pause before the next step"
    }


@pytest.mark.parametrize(("inside_pct", "is_told"), [(98.0, False), (60.0, True)])
def test_pauses_of_the_host_cost_at_most_what_gpus_leave_unused(inside_pct, is_told) -> None:
    part = job(steady(500), pause_s=dict.fromkeys(range(49, 500, 50), 0.5))
    steps = part.spans.steps()
    ticks_ns = round(START_S * 1e9) + np.arange(600) * 100_000_000
    at = np.searchsorted(steps.start_ns, ticks_ns, side="right") - 1
    is_pause = (ticks_ns > steps.end_ns[at] + 20_000_000) & np.isin(at % 50, 49)
    use = {"gpu0": np.where(is_pause, inside_pct, 98.0).tolist()}
    found = run(RULE, replace(part, system=system_table(use, interval_s=0.1))).findings

    assert bool(found) is is_told
    for item in found:
        assert 0.02 < known(item.estimate).share_ratio < 0.07
        assert "so these pauses cost no more" in item.text


@pytest.mark.parametrize(("use_pct", "is_told"), [(94.0, False), (86.0, True)])
def test_gpus_that_are_short_of_work_may_idle_after_a_pause(use_pct: float, is_told: bool) -> None:
    """They work on what was launched before, and only then lack what was not."""
    part = job(steady(500), pause_s=dict.fromkeys(range(49, 500, 50), 0.5))
    use = {"gpu0": [use_pct] * 600}
    found = run(RULE, replace(part, system=system_table(use, interval_s=0.1))).findings

    assert bool(found) is is_told


@pytest.mark.parametrize(
    ("function", "advice"),
    [
        ("on_batch_end", "Run on_batch_end in a separate thread"),
        ("NEGOTIATE_ALLREDUCE", "Find the training process for which the others wait"),
    ],
)
def test_the_function_that_took_the_extra_time_is_named(function: str, advice: str) -> None:
    part = job(
        every(50, 500, 0.3),
        inside={step: [("Callback", function, 0.29)] for step in range(49, 500, 50)},
    )
    result = run(RULE, part)
    found = only(result)
    assert f"{function} takes 290 ms" in found.text
    assert advice in found.advice
    row = rows_of(result, "functions")[0]
    assert row["function"] == function
    assert row["slow_s"] == pytest.approx(0.29, abs=1e-6)
    assert row["normal_s"] == 0.0


@pytest.mark.parametrize(
    ("num_workers", "n_waits", "is_input"), [(10, 1, True), (10, 299, False), (8, 1, False)]
)
def test_a_rhythm_of_the_loaders_number_is_no_callback_while_waits_are_unknown(
    num_workers: int, n_waits: int, is_input: bool
) -> None:
    rows = steps_alone(job(every(10, 300, 0.5)))
    ends_s = [row[3] for row in rows[:n_waits]]
    settings = {"num_workers": num_workers}
    rows.append(("DataLoaderIterInitialize", "It::__init__", START_S - 1, START_S - 0.9, settings))
    rows += [("DataLoaderIter", "It::GetNext", end_s, end_s + 0.001) for end_s in ends_s]
    found = only(run(RULE, node_profile(rows=rows)))

    assert found.cause == (Cause.SLOW_INPUT if is_input else Cause.PERIODIC_SLOW_STEPS)
    assert ("10 loader processes" in found.text) is is_input


@pytest.mark.parametrize(
    ("period", "core_pct", "is_input"), [(12, 95.0, True), (12, 70.0, False), (40, 95.0, False)]
)
def test_a_short_rhythm_beside_used_up_cores_may_be_of_loaders_while_waits_are_unknown(
    period: int, core_pct: float, is_input: bool
) -> None:
    cores = system_table({f"cpu{core}": [core_pct] * 600 for core in range(4)}, interval_s=0.1)
    found = only(run(RULE, replace(job(every(period, 480, 0.5)), system=cores)))

    assert found.cause == (Cause.SLOW_INPUT if is_input else Cause.PERIODIC_SLOW_STEPS)
    assert ("make each batch" in " ".join(found.advice.split())) is is_input


def test_what_runs_in_the_background_all_the_time_is_no_cause() -> None:
    duration_s = every(50, 500, 0.3)
    length_s = float(duration_s.sum()) + 500 * PAUSE_S
    rows = steps_alone(job(duration_s))
    rows += [
        ("Background", "upload", START_S + at, START_S + at + 0.009)
        for at in np.arange(0.0, length_s, 0.01).tolist()
    ]
    result = run(RULE, node_profile(rows=rows))
    assert "upload" not in only(result).text + only(result).advice
    (row,) = (row for row in rows_of(result, "functions") if row["function"] == "upload")
    assert row["of_extra_time_pct"] > 80
    assert row["evidence_pct"] < 10


def test_workers_that_share_a_rhythm_are_one_finding() -> None:
    parts = [job(every(50, 500, 0.3, seed=node), worker=f"algo-{node}-27") for node in range(1, 4)]
    result = run(RULE, *parts)
    assert "The same holds for" in only(result).text
    assert len(rows_of(result, "periods")) == 3
    assert result.metrics["periods"] == 1


def test_steps_that_wait_for_a_worker_that_saves_are_one_finding_with_its_pauses() -> None:
    rows: dict[str, list[Row]] = {"algo-1-27": [], "algo-1-28": []}
    at_s = START_S
    for step in range(400):
        saves_s = 1.0 if step % 40 == 0 else 0.0
        for worker, late_s in (("algo-1-27", saves_s), ("algo-1-28", 0.0)):
            phase = TRAIN if worker == "algo-1-27" else EVAL
            more = {"step": step, "worker": worker}
            rows[worker].append((phase, phase, at_s + late_s, at_s + saves_s + 0.1, more))
        at_s += saves_s + 0.11
    found = known(only(run(RULE, *(node_profile(rows=each) for each in rows.values()))))

    assert found.title.startswith("A long pause follows every 40th training step")
    assert "The same holds for algo-1-28." in found.text


@pytest.mark.parametrize(
    ("saves", "is_turn"), [((), None), ((EVAL, 19), True), ((TRAIN, 20), False)]
)
def test_validation_is_no_pause_and_pauses_behind_it_are_at_the_end_of_an_epoch(saves, is_turn):
    rows: list[tuple[Any, ...]] = []
    at_s = START_S
    for epoch in range(8):
        for phase, count in ((TRAIN, 40), (EVAL, 20)):
            for number in range(count):
                rows.append((phase, phase, at_s, at_s + 0.1, {"step": epoch * count + number}))
                at_s += 2.0 if (phase, number) == saves else 0.105
    result = run(RULE, node_profile(rows=rows))

    assert [("end of an epoch" in found.text) for found in result.findings] == [is_turn] * bool(
        saves
    )


def test_steps_that_were_not_recorded_are_no_pause() -> None:
    rows = [
        (TRAIN, TRAIN, START_S + step, START_S + step + 0.9, {"step": step})
        for step in range(400)
        if step % 50 < 10
    ]
    result = run(RULE, node_profile(rows=rows))
    assert (result.status, result.findings) == (Status.OK, ())


def test_random_slow_steps_are_no_rhythm() -> None:
    alarms = []
    for seed in range(24):
        noise = np.random.default_rng(seed)
        n_steps = int(noise.integers(60, 500))
        kinds = (
            0.1 * np.exp(0.5 * noise.standard_normal(n_steps)),
            0.1 * (1 + 0.3 * noise.pareto(2.0, n_steps)),
            0.1 + 0.01 * np.abs(noise.standard_cauchy(n_steps)),
            steady(n_steps, seed=seed)
            + (noise.random(n_steps) < 0.04) * noise.exponential(0.3, n_steps),
        )
        rows = _stretched(np.minimum(kinds[seed % 4], 30.0))
        if run(RULE, node_profile(rows=rows)).findings:
            alarms.append(seed)
    assert len(alarms) <= 1


def _stretched(duration_s: Floats) -> list[Row]:
    ends = START_S + np.cumsum(duration_s + PAUSE_S)
    return [
        (TRAIN, TRAIN, end - took, end, {"step": step})
        for step, (took, end) in enumerate(zip(duration_s.tolist(), ends.tolist(), strict=True))
    ]


@pytest.mark.parametrize(("longer_s", "is_told"), [(0.02, False), (0.04, True)])
def test_a_rhythm_is_told_from_half_a_percent_of_the_loop_on(longer_s, is_told) -> None:
    result = run(RULE, job(every(50, 500, longer_s)))
    assert periods(result) == [(50.0, 10, 10)]
    assert bool(result.findings) is is_told
    assert (result.exhibit("intervals") is not None) is is_told


def test_too_few_steps_and_no_steps_are_skipped() -> None:
    short = run(RULE, job(steady(19)))
    assert (short.status, short.reason and short.reason.code) == (
        Status.SKIPPED,
        ReasonCode.TOO_FEW_SAMPLES,
    )
    assert run(RULE, job(steady(20))).status is Status.OK
    none = run(RULE, node_profile(rows=[("Forward", "x", START_S, START_S + 1)]))
    assert known(none.reason).code is ReasonCode.NO_STEPS


def test_steps_without_numbers_or_with_equal_times_do_no_harm() -> None:
    rows = [(TRAIN, TRAIN, START_S, START_S + 1)] * 40
    assert run(RULE, node_profile(rows=rows)).status is Status.OK
    instants = [(TRAIN, TRAIN, START_S + at, START_S + at) for at in range(40)]
    assert run(RULE, node_profile(rows=instants)).status is Status.OK
    same = [(TRAIN, TRAIN, START_S, START_S)] * 40
    assert run(RULE, node_profile(rows=same)).status is Status.OK


def test_the_sample_job_with_a_callback_shows_it_and_the_healthy_one_nothing(tmp_path: Any) -> None:
    results = {}
    for name in ("callback", "healthy"):
        folder = make_job(NAMED_JOBS[name], output=tmp_path)
        results[name] = run(RULE, *(read_node(ref) for ref in discover(str(folder)).parts))
    found = only(results["callback"])
    assert found.title.startswith("Every 50th training step is slow")
    assert "no recorded function ran" in found.text
    assert (50.0, 18, 18) in periods(results["callback"])
    gpu = results["callback"].metrics
    assert (gpu["gpu_inside_pct"] or 100) < 30 < 80 < (gpu["gpu_outside_pct"] or 0)
    assert results["healthy"].findings == ()


@needs_shared_data
@pytest.mark.parametrize("name", ["a_healthy_1gpu", "b_cpu_bottleneck", "h8_cpu_only_workers8"])
def test_jobs_without_a_rhythm_show_none(name: str) -> None:
    refs = discover(str(SHARED_DATA / "oracle" / name)).parts
    assert run(RULE, *(read_node(ref) for ref in refs)).findings == ()
