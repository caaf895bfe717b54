from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from reportgen.facts.input_load import InputLoad
from reportgen.profile import NodeProfile
from reportgen.recorded_job import RecordedNode, RecordedWork
from reportgen.results import Cause, Counters, ReasonCode, Severity, Status
from reportgen.rules import dataloader
from reportgen.rules.dataloader import RULE
from reportgen.rules.dataloader.measure import Params, measure
from tests.builders import START_S, known, node_profile
from tests.rules.framework_jobs import EVAL, finding, node, rows_of, sampled_again, step_rows
from tests.rules.samples import run

ITERATOR = "_MultiProcessingDataLoaderIter"
FETCH = f"{ITERATOR}::GetNext"
SHORT_S = 0.01


def fetch(begin: float, wait_s: float, *, pid: int = 70, **more: Any) -> tuple[Any, ...]:
    start = START_S + begin
    return ("DataLoaderIter", FETCH, start, start + wait_s, {"os_pid": pid, **more})


def setup(begin: float, *, workers: int, pinned: bool, iterator: str = ITERATOR) -> tuple[Any, ...]:
    start = START_S + begin
    more = {"num_workers": workers, "pin_memory": pinned}
    return ("DataLoaderIterInitialize", f"{iterator}.__init__", start, start, more)


def training(
    *,
    wait_s: float = SHORT_S,
    n_steps: int = 60,
    loaders: int = 1,
    num_workers: int | None = None,
    pinned: bool = True,
    worker: str = "algo-1-27",
    recorded_every: int = 1,
) -> list[tuple[Any, ...]]:
    """A step a second, each after a wait; as many loader processes fetch in every second."""
    rows = step_rows([1.0 - wait_s] * n_steps, start_s=START_S + wait_s, worker=worker)
    rows.append(setup(0, workers=loaders if num_workers is None else num_workers, pinned=pinned))
    for index in range(0, n_steps, recorded_every):
        rows.append(fetch(index, wait_s, worker=worker))
        for extra in range(1, loaders):
            rows.append(fetch(index, 0.0, pid=70 + extra, worker=worker))
    return [(*row[:4], {"worker": worker, **row[4]}) for row in rows]


def judged(rows: Sequence[tuple[Any, ...]], *, cores: int, gpus: int = 0, **params: Any):
    return run(RULE, node(rows, cores=cores, gpus=gpus), **params)


def sampled(rows: Sequence[tuple[Any, ...]], *, cores: int, **columns: float) -> Any:
    """Run the rule on a node whose cores, rate and GPU have these values all the time."""
    of_cores = {"cpu": "cpu{}", "waiting": "cpu{}_iowait"}
    series = {
        of_cores[name].format(core): [value] * 601
        for name, value in columns.items()
        if name in of_cores
        for core in range(cores)
    }
    series |= {name: [value] * 601 for name, value in columns.items() if name not in of_cores}
    return run(RULE, node_profile(series, rows, interval_s=1.0))


def one_by_one(
    waits: Iterable[float], step_s: float, *, workers: int, first: int = 0
) -> list[tuple[Any, ...]]:
    """Steps that follow one another, each after its wait."""
    rows, at_s = [setup(0, workers=workers, pinned=True)], 0.0
    for step, wait_s in enumerate(waits, first):
        rows.append(fetch(at_s, wait_s))
        rows += step_rows([step_s], start_s=START_S + at_s + wait_s, first=step)
        at_s += wait_s + step_s
    return rows


def side_by_side(*waits: Sequence[float]) -> list[tuple[Any, ...]]:
    """Steps of a second, every one and a half; each worker has its waits before them in turn."""
    rows = [setup(0, workers=2, pinned=True)]
    for worker, of_worker in zip(("algo-1-27", "algo-1-28"), waits, strict=True):
        for index in range(100):
            wait_s = of_worker[index % len(of_worker)]
            rows.append((*fetch(1.5 * index, wait_s)[:4], {"worker": worker}))
            start = START_S + 1.5 * index + wait_s
            rows += step_rows([1.0], start_s=start, first=index, worker=worker)
    return rows


def four_epochs(*, workers: int = 1) -> list[tuple[Any, ...]]:
    """Epochs of 25 steps, each of which waits 3 s for its first batch and 10 ms for the others."""
    rows = [setup(0, workers=workers, pinned=True), fetch(0, 3.0)]
    rows += step_rows([0.9] * 25, start_s=START_S + 3)
    rows += [fetch(3 + index, 0.01) for index in range(1, 25)]
    return [_later(row, 30.0 * epoch) for epoch in range(4) for row in rows]


def _later(row: tuple[Any, ...], by_s: float) -> tuple[Any, ...]:
    return (row[0], row[1], row[2] + by_s, row[3] + by_s, *row[4:])


@pytest.mark.parametrize(("cores", "n_violations"), [(2, 0), (3, 1)])
def test_loaders_below_seventy_percent_of_the_cores_are_too_few(cores, n_violations) -> None:
    # Two loaders: 70 % of 2 cores is 1.4, of 3 cores 2.1.
    result = judged(training(loaders=2, n_steps=50), cores=cores)

    assert result.counters == Counters(
        rule_triggered=n_violations, violations=n_violations, datapoints=100
    )


@pytest.mark.parametrize(("loaders", "n_violations"), [(4, 0), (5, 1)])
def test_loaders_above_twice_the_cores_are_counted_and_no_fault_where_nothing_waits(
    loaders: int, n_violations: int
) -> None:
    result = sampled(training(loaders=loaders, n_steps=50), cores=2, cpu=95.0)

    assert result.counters.violations == n_violations
    assert [item.id for item in result.findings] == ["DL-6"] * n_violations


@pytest.mark.parametrize(("waits", "is_judged"), [(19, False), (20, True)])
def test_twenty_waits_of_a_short_run_are_enough(waits: int, is_judged: bool) -> None:
    rows = [(*row[:2], START_S + (row[2] - START_S) / 10, START_S + (row[3] - START_S) / 10, row[4])
            for row in training(wait_s=0.5, n_steps=waits)]  # fmt: skip
    result = judged(rows, cores=4)

    assert (result.status is not Status.SKIPPED) is is_judged
    assert bool(result.findings) is is_judged


@pytest.mark.parametrize(("n_seconds", "is_judged"), [(10, False), (11, True)])
def test_it_judges_with_more_than_ten_busy_seconds(n_seconds: int, is_judged: bool) -> None:
    result = judged(training(n_steps=n_seconds, wait_s=0.5), cores=4)

    assert result.status is (Status.TRIGGERED if is_judged else Status.SKIPPED)
    assert result.counters.rule_triggered == int(is_judged)
    assert result.details["dataloaders"] == 1
    assert bool(result.findings) == is_judged
    if result.reason is not None:
        assert result.reason.code is ReasonCode.TOO_FEW_SAMPLES
        assert "10 seconds" in result.reason.text


def test_each_minute_with_loader_events_counts_once() -> None:
    # Minutes 0 to 2 have events, minute 3 none, minute 4 one.
    rows = [*training(n_steps=150), fetch(250, 0.1)]

    assert judged(rows, cores=4).counters == Counters(
        rule_triggered=1, violations=4, datapoints=151
    )


def test_the_median_of_seconds_is_truncated() -> None:
    # Eleven seconds with one loader and eleven with two: median 1.5.
    rows = [fetch(index, 0.1) for index in range(22)]
    rows += [fetch(index, 0.1, pid=71) for index in range(11)]
    result = judged(rows, cores=2)

    assert result.details["dataloaders"] == 1
    assert result.counters.violations == 1  # 1 is below 70 % of 2 cores, 1.5 is not


def test_a_loader_process_counts_in_the_second_in_which_it_starts() -> None:
    rows = [
        ("DataLoaderWorker", "DataLoaderWorker", START_S + index, START_S + 500, {"os_pid": index})
        for index in range(20)
    ]

    assert judged(rows, cores=1).details["dataloaders"] == 1


def test_loaders_of_different_nodes_are_not_added_up() -> None:
    parts = [
        node(training(loaders=2, worker=f"algo-{number}-27"), name=f"algo-{number}", cores=2)
        for number in (1, 2, 3)
    ]
    result = run(RULE, *parts)

    assert result.details["dataloaders"] == 2
    assert result.details["cores"] == 2
    assert result.status is Status.OK
    assert result.counters.datapoints == 360


def test_too_few_loaders_for_a_loop_that_waits_is_a_fault_with_numbers() -> None:
    result = judged(training(wait_s=0.25, num_workers=0), cores=4)
    found = known(finding(result, "DL-1"))
    assert found.severity is Severity.WARNING
    assert (found.measured, found.threshold, found.unit) == (0.0, 3, "loaders")
    assert found.advice.startswith("Raise num_workers from 0 to 3")
    # 59 waits of 0.25 s between 60 steps of 0.75 s: the one before the first is not in the loop
    assert known(found.estimate).share_ratio == round(59 * 0.25 / 59.75, 6)
    assert (found.where.node, found.where.device) == ("algo-1", "algo-1-27")
    assert [row["time_s"] for row in rows_of(result, "loop_share")] == [14.75, 45.0]


def test_an_iterable_that_the_training_process_reads_itself_has_no_loader_process() -> None:
    rows = [
        (phase, name.replace(ITERATOR, "generator"), begin, end, {**args, "os_pid": 27})
        for phase, name, begin, end, args in training(wait_s=0.25)
        if "num_workers" not in args
    ]
    result = judged(rows, cores=4)
    found = known(finding(result, "DL-1"))
    assert found.title.endswith("no loader process on 4 cores")
    assert found.measured == 0.0
    assert result.details["dataloaders"] == 1  # SageMaker counts the process itself


@pytest.mark.parametrize(("gpus", "expected"), [(0, 0.2), (1, 59 * 0.25 / 59.75)])
def test_without_a_gpu_more_loaders_save_at_most_what_the_cores_have_left(gpus, expected) -> None:
    columns = {"cpu": 80.0} | {f"gpu{index}": 60.0 for index in range(gpus)}
    result = sampled(training(wait_s=0.25, num_workers=0), cores=4, **columns)
    found = known(finding(result, "DL-1"))
    assert known(found.estimate).share_ratio == pytest.approx(expected, abs=1e-6)
    told = "the cores also train: this job keeps them busy for 80.0 %" in found.text
    assert told is (not gpus)


@pytest.mark.parametrize(("computing", "is_told"), [(0.1, False), (0.6, True)])
def test_more_readers_that_sleep_need_no_idle_cores(computing: float, is_told: bool) -> None:
    columns = {f"cpu{core}": [40.0] * 601 for core in range(8)}
    rows = training(wait_s=0.5, loaders=4, n_steps=200)
    found = known(finding(run(RULE, recorded(rows, columns, computing=computing)), "DL-1"))

    assert ("only use the time in which cores are idle" in found.text) is is_told


@pytest.mark.parametrize(
    ("late", "is_told"),
    [(range(7, 400, 25), True), (range(7, 400, 4), False)],
    ids=["a few stalls", "each of four processes is late"],
)
@pytest.mark.parametrize("n_others", [0, 3])
def test_a_few_long_waits_are_stalls_that_more_processes_do_not_help(late, is_told, n_others):
    waits = [3.0 if step in late else 0.001 for step in range(400)]
    rows = one_by_one(waits, 0.5, workers=4)
    quick = one_by_one([0.001] * 400, 0.5, workers=4)
    for n in range(n_others):  # which wait for the first one inside their steps
        rows += [(*row[:4], {**dict(*row[4:]), "worker": f"algo-2-{n}"}) for row in quick]
    result = judged(rows, cores=64)
    found = next(item for item in result.findings if item.severity is not Severity.INFO)

    assert (found.cause == Cause.SLOW_INPUT) is is_told
    assert ("16 of " in found.text and "waits make" in found.text) is is_told
    assert ("prefetch_factor" in found.advice) is is_told


def test_waits_cost_at_most_what_gpus_leave_unused() -> None:
    result = sampled(training(wait_s=0.48, num_workers=0), cores=1, cpu=50.0, gpu0=98.0)
    found = known(finding(result, "DL-1"))

    assert found.severity is Severity.INFO
    assert known(found.estimate).share_ratio == pytest.approx(0.02)
    assert "GPUs leave no more than 2.0 % of the time unused" in found.text


@pytest.mark.parametrize(
    ("wait_s", "finding_id", "severity"),
    [
        (0.03, "DL-6", Severity.INFO),
        (0.05, "DL-1", Severity.WARNING),
        (0.48, "DL-1", Severity.WARNING),
        (0.53, "DL-1", Severity.CRITICAL),
    ],
)
def test_how_long_the_loop_waits_decides_what_too_few_means(wait_s, finding_id, severity) -> None:
    result = judged(training(wait_s=wait_s), cores=4)

    assert [(item.id, item.severity) for item in result.findings] == [(finding_id, severity)]
    assert result.counters.rule_triggered == 1


def test_the_time_in_which_an_interrupted_job_did_not_run_does_not_hide_its_waiting() -> None:
    rows = training(wait_s=0.3)
    later = [_later(row, 10_000) for row in rows]
    whole = node(rows + later, cores=4, duration_s=121)
    result = run(RULE, sampled_again(whole, after_s=60.5, pause_s=9_940))

    # 2 loops of 60 s, without the first wait; the last tick of the first one is at 60 s.
    assert result.metrics["waited_ratio"] == pytest.approx(119 * 0.3 / 119.7, abs=0.005)
    assert finding(result, "DL-1")
    bar = known(result.exhibit("loop_share"))
    assert "2 h 45 min without any record are left out" in bar.caption
    assert finding(run(RULE, whole), "DL-1") is None


@pytest.mark.parametrize(("n_steps", "is_told"), [(12, False), (40, True)])
def test_a_few_steps_without_waits_do_not_say_that_loading_is_no_bottleneck(n_steps, is_told):
    rows = training(num_workers=0, n_steps=n_steps)

    assert (finding(judged(rows, cores=4), "DL-6") is not None) is is_told


@pytest.mark.parametrize("wait_s", [0.001, 0.1])
def test_a_single_pause_is_left_out_of_the_waits(wait_s: float) -> None:
    waits = (30.0 if step == 77 else wait_s for step in range(300))
    result = judged(one_by_one(waits, 0.5, workers=4), cores=16)
    (found, *_) = (item for item in result.findings if item.id != "DL-3")

    assert (found.severity is Severity.INFO) is (wait_s < 0.1)
    shares = [item.estimate.share_ratio for item in (found,) if item.estimate]
    assert shares == ([pytest.approx(0.142, abs=0.01)] if wait_s == 0.1 else [])
    assert ("Single pauses, which another finding tells, take" in found.text) is (wait_s == 0.1)


def test_a_few_long_waits_in_a_few_recorded_steps_do_not_begin_epochs() -> None:
    waits = (9.0 if step in (4, 9) else SHORT_S for step in range(14))
    found = judged(one_by_one(waits, 0.9, workers=2, first=35), cores=4).findings[0]

    assert found.title.startswith("Training waits")
    assert found.cause != Cause.LOADER_START


def test_no_one_is_told_to_add_workers_when_nothing_waits() -> None:
    found = known(finding(judged(training(num_workers=0), cores=4), "DL-6"))
    assert found.advice == "Leave the loading as it is."
    assert "not a bottleneck: training waits for data 1.0 %" in found.title


@pytest.mark.parametrize(("wait_s", "is_told"), [(0.03, False), (0.05, True)])
def test_enough_loaders_and_a_loop_that_waits_is_told_apart(wait_s: float, is_told: bool) -> None:
    found = finding(judged(training(wait_s=wait_s, loaders=3), cores=3), "DL-5")

    assert (found is not None) == is_told
    if found is not None:
        assert "num_workers" not in found.advice
        assert found.severity is Severity.WARNING


def test_workers_of_one_node_share_its_cores() -> None:
    rows = training(wait_s=0.5, num_workers=0) + training(
        wait_s=0.5, num_workers=0, worker="algo-1-28"
    )
    found = known(finding(judged(rows, cores=8), "DL-1"))
    assert found.advice.startswith("Raise num_workers from 0 to 3 in each training process")


def test_workers_that_do_not_wait_for_each_other_do_not_wait_for_the_longest_wait() -> None:
    # Two workers meet after every second step. One waits before the first, the other before the
    # second of them: half a second of 2.5 s each, not one.
    rows = [setup(0, workers=2, pinned=True)]
    for worker, waits in (("algo-1-27", (0.5, 0.0)), ("algo-1-28", (0.0, 0.5))):
        for index in range(100):
            begin = 2.5 * (index // 2) + (1 + waits[0] if index % 2 else 0)
            rows.append((*fetch(begin, waits[index % 2])[:4], {"worker": worker}))
            start = START_S + begin + waits[index % 2]
            rows += step_rows([1.0], start_s=start, first=index, worker=worker)
    found = known(finding(judged(rows, cores=8), "DL-1"))
    assert known(found.estimate).share_ratio == pytest.approx(0.2, abs=0.01)


def test_workers_that_wait_for_each_other_behind_their_steps_wait_for_the_longest_wait() -> None:
    # One waits before even steps, the other before odd ones; who does not wait for data waits for
    # the other worker behind its step, since the host runs ahead of the GPU.
    found = known(finding(judged(side_by_side((0.5, 0.0), (0.0, 0.5)), cores=8), "DL-1"))
    assert known(found.estimate).share_ratio == pytest.approx(1 / 3, abs=0.01)


@pytest.mark.parametrize(("other_s", "is_odd"), [(0.05, True), (0.2, False)])
def test_one_process_that_waits_alone_is_named(other_s: float, is_odd: bool) -> None:
    found = known(finding(judged(side_by_side((0.5,), (other_s,)), cores=8), "DL-1"))

    assert ("to 3 in algo-1-27;" in found.advice) is is_odd
    assert ("look for what is different in it" in found.text) is is_odd


def test_waits_of_which_a_part_was_recorded_stand_for_all() -> None:
    # Every fourth wait of 0.5 s: 15 of 60; the loop is 59.5 s, 29.5 s of it between steps.
    result = judged(training(wait_s=0.5, recorded_every=4), cores=4)
    share = rows_of(result, "loop_share")[0]
    exhibit = result.exhibit("loop_share")

    assert share["time_s"] == pytest.approx(29.5, abs=1e-9)
    assert "Not every wait was recorded" in known(exhibit).caption
    assert "Over all 60 steps" in known(finding(result, "DL-1")).text


def test_an_estimate_never_exceeds_the_time_outside_of_steps() -> None:
    # Two steps per batch, as some models train: each of 30 waits of 0.3 s is followed by two
    # steps that leave 0.3 s and nothing. All waits are recorded although there are 60 steps.
    rows: list[tuple[Any, ...]] = []
    for index in range(30):
        begin = 2 * index
        rows.append(fetch(begin, 0.3))
        rows += step_rows([0.85, 0.85], every_s=0.85, start_s=START_S + begin + 0.3)
    result = judged(rows, cores=4)
    loop_s = 59.7

    assert result.metrics["waited_ratio"] == pytest.approx(29 * 0.3 / loop_s, rel=1e-6)


def test_operators_that_fetch_are_waits_when_nothing_else_was_recorded() -> None:
    rows = step_rows([0.5] * 20, start_s=START_S + 0.5)
    rows += [
        ("cpu_functions", "enumerate(DataLoader)#It.__next__", START_S + i, START_S + i + 0.5)
        for i in range(20)
    ]
    result = judged(rows, cores=1)

    assert result.status is Status.SKIPPED  # without loader events their number is unknown
    assert known(result.reason).code is ReasonCode.NO_EVENTS
    assert result.details == {}
    assert rows_of(result, "loop_share")[0]["time_s"] == 9.5


def copying(copy_s: float, *, pinned: bool = False, gpus: int = 1) -> NodeProfile:
    """Return a node that copies between each batch and its step, when its GPUs idle."""
    rows = [
        (*row[:3], row[2] + 0.01, row[4]) if row[0] == "DataLoaderIter" else row
        for row in training(wait_s=0.01 + copy_s, pinned=pinned)
    ]
    # Every 70 ms a sample of the 70 ms before it.
    fine = np.arange(60_000) % 1000
    used = np.where(fine < 10 + round(1000 * copy_s), 0.0, 95.0)
    use = used[: 857 * 70].reshape(857, 70).mean(axis=1).tolist()
    columns = {"cpu0": [10.0] * 857} | {f"gpu{gpu}": use for gpu in range(gpus)}
    return node_profile(columns, rows, start_s=START_S + 0.07, interval_s=0.07)


@pytest.mark.parametrize(
    ("pinned", "gpus", "copy_s", "severity"),
    [
        (False, 1, 0.03, Severity.INFO),
        (False, 1, 0.05, Severity.WARNING),
        (False, 0, 0.3, None),
        (True, 1, 0.3, None),
    ],
)
def test_memory_that_is_not_pinned_costs_the_time_from_a_batch_to_its_step(
    pinned: bool, gpus: int, copy_s: float, severity: Severity | None
) -> None:
    result = run(RULE, copying(copy_s, pinned=pinned, gpus=gpus))
    found = finding(result, "DL-3")

    assert (found.severity if found else None) is severity
    if found is not None:
        assert found.threshold == (4.5 if severity is Severity.WARNING else None)
    if found is not None and severity is Severity.WARNING:
        # The copy before the first step lies before the loop.
        share = 59 * copy_s / (60 - 0.01 - copy_s)
        assert known(found.estimate).share_ratio == pytest.approx(share, abs=1e-4)


@pytest.mark.parametrize(
    ("use_pct", "is_open", "severity"),
    [(70.0, True, Severity.WARNING), (91.0, True, Severity.INFO), (97.0, False, Severity.INFO)],
    ids=["a third unused", "little unused", "well used"],
)
def test_where_samples_do_not_show_whether_gpus_wait_for_copies_it_says_so(
    use_pct: float, is_open: bool, severity: Severity
) -> None:
    """Each sample holds whole cycles, so the use differs by chance alone."""
    rows = [
        (*row[:3], row[2] + 0.01, row[4]) if row[0] == "DataLoaderIter" else row
        for row in training(wait_s=0.31, pinned=False, n_steps=120)
    ]
    use = np.random.default_rng(5).uniform(use_pct - 2, use_pct + 2, 61).tolist()
    result = run(RULE, node_profile({"cpu0": [50.0] * 61, "gpu0": use}, rows, interval_s=2.0))
    found = known(finding(result, "DL-3"))
    assert found.severity is severity
    assert found.measured == pytest.approx(100 - use_pct, abs=0.5)
    assert ("do not show" in found.text) is is_open
    assert ("save almost nothing" in found.text) is not is_open
    assert result.metrics["copies_at_most_ratio"] == pytest.approx(1 - use_pct / 100, abs=0.005)


def test_what_gpus_leave_unused_in_a_slow_step_is_none_of_the_copies() -> None:
    """Step 60 takes 40 s more, in which the GPU idles; copies may take the rest that it does."""
    rows = list[tuple[Any, ...]]()
    for row in training(wait_s=0.31, pinned=False, n_steps=120):
        late_s = [40.0 * (at > START_S + 60.5) for at in row[2:4]]
        end_s = row[2] + 0.01 if row[0] == "DataLoaderIter" else row[3]
        rows.append((*row[:2], row[2] + late_s[0], end_s + late_s[1], row[4]))
    ticks_s = np.arange(0, 160, 2)
    use = np.where((ticks_s > 61) & (ticks_s < 101), 0.0, 90.0)
    result = run(RULE, node_profile({"gpu0": use.tolist()}, rows, interval_s=2.0))

    assert result.metrics["copies_at_most_ratio"] == pytest.approx(0.1 * 120 / 160, abs=0.015)


def test_the_bound_of_copies_is_what_gpus_may_wait_not_what_they_do_at_least() -> None:
    node_of = measure(copying(0.4), Params())
    (worker,) = node_of.hand_over_ns
    node_of = replace(
        node_of, hand_over_ns={worker: 6_000_000_000}, hand_over_most_ns={worker: 12_000_000_000}
    )
    findings = dataloader.judge([node_of], Params()).findings
    (found,) = (item for item in findings if item is not None and item.id == "DL-3")

    assert found.severity is Severity.WARNING
    assert found.estimate is not None
    assert found.estimate.share_ratio == pytest.approx(12 / 59.59, abs=1e-3)
    assert found.measured == pytest.approx(100 * found.estimate.share_ratio, abs=1e-3)


def test_what_gpus_lose_to_waits_for_batches_is_no_effect_of_copies_and_is_taken_out_once() -> None:
    node_of = measure(copying(0.4), Params())
    (worker,) = node_of.hand_over_ns
    node_of = replace(node_of, hand_over_ns={worker: 0}, hand_over_most_ns={worker: 6_300_000_000})

    # The loop waits for 1.0 % of its 59.59 s: of 12 % that GPUs leave unused 11.0 % are left, and
    # copies may take 10.6 %.
    for unused_ratio, severity in [(0.12, Severity.WARNING), (0.1, Severity.INFO)]:
        found = dataloader.judge([replace(node_of, unused_ratio=unused_ratio)], Params()).findings
        assert [item.severity for item in found if item and item.id == "DL-3"] == [severity]


def test_life_times_are_no_waits() -> None:
    lives = [
        ("DataLoaderWorker", "DataLoaderWorker", START_S + 0.5, START_S + end, {"os_pid": end})
        for end in (10, 30, 60)
    ]
    result = judged([*training(wait_s=0.1), *lives], cores=1)

    assert result.details["dataloading_time"]["p95"] == pytest.approx(0.1, abs=1e-6)
    assert sum(row["waits"] for row in rows_of(result, "waits")) == 60


def test_the_times_are_those_of_numpy() -> None:
    waits = np.round(np.random.default_rng(2).gamma(2, 0.02, 200), 6)
    rows = [fetch(index, float(wait)) for index, wait in enumerate(waits)]
    times: Any = judged(rows, cores=1).details["dataloading_time"]

    np.testing.assert_allclose(
        [times["p25"], times["p50"], times["p95"]], np.percentile(waits, [25, 50, 95]), rtol=1e-9
    )
    counts, edges = np.histogram(waits, bins=100)
    assert times["probs"] == counts.tolist()
    np.testing.assert_allclose(times["binedges"], edges, rtol=1e-9)


def test_the_loader_that_was_active_longest_gives_its_settings() -> None:
    # Validation is set up more often and last, but active for 20 of 120 seconds only.
    rows = [
        setup(0, workers=4, pinned=True),
        setup(50, workers=1, pinned=False, iterator="_Other"),
        setup(60, workers=4, pinned=True),
        setup(110, workers=1, pinned=False, iterator="_Other"),
        setup(115, workers=1, pinned=False, iterator="_Other"),
        *(fetch(index, 0.2 if index in range(50, 60) else 0.1) for index in range(120)),
    ]
    result = judged(rows, cores=1)

    assert result.details["num_workers"] == 4
    assert result.details["pin_memory"] is True
    table = {row["iterator"]: row for row in rows_of(result, "loaders")}
    assert table[ITERATOR]["initialized"] == 2
    assert table[ITERATOR]["active_s"] == 100.0
    assert table["_Other"]["waits"] == 20
    assert table["_Other"]["median_wait_s"] == pytest.approx(0.15)
    assert table["_Other"]["max_wait_s"] == pytest.approx(0.2)


def test_batches_of_persistent_processes_belong_to_the_loader_that_made_them() -> None:
    # Both loaders are set up once. Training asks each second; validation, set up last, for twenty
    # batches in between, for each of which it waits longer.
    lives = [
        ("DataLoaderWorker", "DataLoaderWorker", START_S + at, START_S + 200, {"os_pid": pid})
        for at, pid in ((0.1, 60), (1.1, 80))
    ]
    rows = [
        setup(0, workers=1, pinned=True),
        setup(1, workers=2, pinned=False, iterator="_Other"),
        *(fetch(2 + index, 0.1, pid=60) for index in range(100)),
        *(fetch(102 + index, 0.9, pid=80) for index in range(20)),
        *(fetch(122 + index, 0.1, pid=60) for index in range(40)),
    ]
    result = judged([*rows, *lives], cores=8, gpus=1)
    table = {row["iterator"]: row for row in rows_of(result, "loaders")}

    assert {name: row["waits"] for name, row in table.items()} == {ITERATOR: 140, "_Other": 20}
    assert (table[ITERATOR]["active_s"], table["_Other"]["active_s"]) == (179.0, 21.0)
    assert result.details["pin_memory"] is True
    assert finding(result, "DL-3") is None
    assert "num_workers from 2 to" in known(finding(result, "DL-1")).advice


def tensorflow(*, prefetch: bool, n_steps: int = 30) -> list[tuple[Any, ...]]:
    """A wait of 0.3 s in every second, seen by nested iterators."""
    kind = "PrefetchDatasetOp" if prefetch else "BatchDatasetOp"
    rows = step_rows([0.7] * n_steps, start_s=START_S + 0.3)
    for index in range(n_steps):
        begin = START_S + index
        rows.append(("DataIterator", f"{kind}::Dataset::Iterator::GetNext", begin, begin + 0.3))
        rows.append(("DataIterator", "MapDatasetOp::GetNext", begin + 0.1, begin + 0.2))
        rows.append(("DataIterator", "Repeat::GetNext", begin + 0.12, begin + 0.18))
    return rows


def test_of_nested_tensorflow_iterators_the_outermost_waits() -> None:
    result = judged(tensorflow(prefetch=True), cores=1)

    assert result.counters.datapoints == 30
    assert result.metrics["wait_p50_s"] == 0.3
    assert result.details["prefetch"] is True
    assert result.details["num_workers"] is None
    assert finding(result, "DL-4") is None


def test_a_tensorflow_pipeline_without_prefetch_is_told() -> None:
    found = known(finding(judged(tensorflow(prefetch=False), cores=1), "DL-4"))
    assert found.severity is Severity.WARNING
    assert "prefetch" in found.advice


def test_who_loads_with_tensorflow_is_not_told_of_loader_processes() -> None:
    result = judged(tensorflow(prefetch=True), cores=8)
    (found,) = result.findings

    assert result.counters.rule_triggered == 1
    assert (found.id, found.severity) == ("DL-5", Severity.WARNING)
    assert "waits 29.3 % of its time" in found.title
    assert "num_parallel_calls" in found.advice
    assert "num_workers" not in found.advice
    (calm,) = judged(tensorflow(prefetch=True), cores=8, wait_pct=50).findings
    assert (calm.id, calm.severity) == ("DL-6", Severity.INFO)
    assert "29.3 % of its time" in calm.title
    assert "TensorFlow loads in threads" in calm.text


@pytest.mark.parametrize(("cpu", "cause"), [(5.0, "slow_input"), (7.0, "too_few_loaders")])
def test_threads_that_compute_beside_free_cores_are_too_few(cpu: float, cause: str) -> None:
    (found, *_) = sampled(tensorflow(prefetch=True), cores=8, cpu=cpu, gpu0=60.0).findings

    assert (found.id, found.cause) == ("DL-5", cause)
    assert "num_parallel_calls" in found.advice


def test_the_op_that_hands_over_batches_is_the_wait_where_it_was_recorded() -> None:
    rows = tensorflow(prefetch=True)
    rows += [
        ("DataIterator", "IteratorGetNextOp::DoCompute", START_S + i, START_S + i + 0.05)
        for i in range(30)
    ]
    result = judged(rows, cores=1)

    assert result.counters.datapoints == 30
    assert result.metrics["wait_p50_s"] == 0.05


@pytest.mark.parametrize(
    ("rows", "code"),
    [([], ReasonCode.NO_FRAMEWORK_METRICS), (step_rows([0.5] * 20), ReasonCode.NO_EVENTS)],
)
def test_without_loader_events_it_is_skipped(rows: list[Any], code: ReasonCode) -> None:
    result = judged(rows, cores=4)

    assert result.status is Status.SKIPPED
    assert known(result.reason).code is code
    assert result.details == {}
    assert result.counters == Counters()


def test_without_system_metrics_the_cores_are_unknown() -> None:
    result = run(RULE, node(training()))

    assert result.status is Status.SKIPPED
    assert result.counters.violations == 0
    assert result.details["cores"] == 0


def test_the_order_of_rows_does_not_matter() -> None:
    part = node(training(wait_s=0.3, loaders=3), cores=4)
    order = np.random.default_rng(1).permutation(part.spans.n_spans)

    assert run(RULE, replace(part, spans=part.spans.where(order))) == run(RULE, part)


@pytest.mark.parametrize(("hot_cores", "said"), [(2, "Raise num_workers"), (3, "cheaper to load")])
def test_more_workers_are_no_advice_where_the_cores_are_used_up(hot_cores: int, said: str) -> None:
    columns = {f"cpu{core}": [99.0 if core < hot_cores else 10.0] * 601 for core in range(4)}
    part = node_profile(columns, training(wait_s=0.8, n_steps=50), interval_s=1.0)
    found = known(finding(run(RULE, part), "DL-1"))
    assert said in found.advice
    assert ("3.1 of 4 cores were busy" in found.text) == (hot_cores == 3)
    assert ("are recommended" in found.text) == (hot_cores == 2)
    assert ("their number is not why training waits here" in found.text) == (hot_cores == 3)
    assert found.cause == (Cause.CPU_PREPROCESSING if hot_cores == 3 else Cause.TOO_FEW_LOADERS)


def test_waiting_that_wears_off_asks_for_a_cache_not_for_more_workers() -> None:
    slow = training(wait_s=0.9, n_steps=20)
    quick = training(wait_s=0.01, n_steps=100)
    rows = [*slow, *(_later(row, 20.0) for row in quick)]
    found = known(finding(judged(rows, cores=4), "DL-1"))
    assert "of the waiting lies in the first quarter of that time" in found.text
    assert found.advice.startswith("Copy or cache the data before the training")


@pytest.mark.parametrize("waiting_pct", [9.0, 45.0])
def test_cores_that_wait_for_the_disk_name_it_and_are_not_used_up(waiting_pct: float) -> None:
    # Waiting for the disk is part of the utilization; 4 x 9 % are less than 0.4 of a reader.
    rows = training(wait_s=0.8, n_steps=50)
    found = known(finding(sampled(rows, cores=4, cpu=95.0, waiting=waiting_pct), "DL-1"))
    assert (found.cause == Cause.IO_WAIT) == (waiting_pct == 45)
    assert ("1.8 cores waited for the disk" in found.text) == (waiting_pct == 45)


def loud(result: Any) -> list[tuple[str, str]]:
    return [(item.id, item.cause) for item in result.findings if item.severity != Severity.INFO]


@pytest.mark.parametrize(
    ("cpu", "cause"),
    [
        # 8 cores, 4 loaders, one training process, which may compute half of the time: of (8 cpu -
        # 0.5) / 4 loaders 49 or 51 % are computing. At a full rate they wait for the network below.
        (30.7, Cause.NETWORK_INPUT),
        (31.9, Cause.TOO_FEW_LOADERS),
    ],
)
def test_a_flat_rate_is_the_limit_only_where_loaders_do_not_compute(cpu, cause) -> None:
    rows = training(wait_s=0.5, loaders=4, n_steps=200)
    assert loud(sampled(rows, cores=8, cpu=cpu, receive=100e6)) == [("DL-1", cause)]


@pytest.mark.parametrize(
    ("waits_s", "gpu_pct", "is_told"),
    [
        ([0.5] * 5, 50.0, True),
        ([0.5] * 4, 50.0, False),
        ([0.5] * 5, 90.0, False),  # the GPU does not wait as long
        ([0.01] * 4 + [2.4], 50.0, False),  # one wait says nothing of the others
    ],
)
def test_a_few_waits_show_that_training_waits_if_gpus_are_short_of_as_much_work(
    waits_s, gpu_pct, is_told
) -> None:
    columns = {f"cpu{core}": [20.0] * 601 for core in range(8)} | {"gpu0": [gpu_pct] * 601}
    part = node_profile(columns, one_by_one(waits_s, 0.5, workers=2), interval_s=1.0)
    result = run(RULE, part)

    assert (result.status is Status.TRIGGERED) is is_told
    assert (result.status is Status.SKIPPED) is not is_told
    if is_told:
        (found, *_) = result.findings
        assert found.title.startswith("Training waits 44.4 % of the recorded time for data")
        assert found.severity is Severity.WARNING, "other steps may wait for less"


def test_what_workers_exchange_is_no_input() -> None:
    # Gradients come and go while the loop does not wait: 100 MB/s of data are all there is then.
    rows = training(wait_s=0.2, loaders=4, n_steps=200)
    columns = {f"cpu{core}": [10.0] * 601 for core in range(8)}
    columns["receive"] = [100e6, 500e6, 500e6, 500e6, 500e6] * 120 + [100e6]
    columns["transmit"] = [1e6, 400e6, 400e6, 400e6, 400e6] * 120 + [1e6]
    flat = run(RULE, node_profile(columns, rows, start_s=START_S + 0.1, interval_s=0.2))

    assert loud(flat) == [("DL-1", Cause.NETWORK_INPUT)]
    del columns["transmit"]
    bursts = run(RULE, node_profile(columns, rows, start_s=START_S + 0.1, interval_s=0.2))
    assert loud(bursts) == [("DL-1", Cause.TOO_FEW_LOADERS)]


@pytest.mark.parametrize(
    ("rate_between", "cause"), [(220e6, Cause.NETWORK_INPUT), (230e6, Cause.TOO_FEW_LOADERS)]
)
def test_loaders_that_mostly_rest_wait_for_a_network_that_goes_on_meanwhile(rate_between, cause):
    # In waits 100 MB/s come, in the same minutes 196 or 204 MB/s; of 4 loaders 1.6 cores compute.
    columns = {f"cpu{core}": [30.0] * 601 for core in range(8)}
    columns["receive"] = [100e6, *[rate_between] * 4] * 120 + [100e6]
    rows = training(wait_s=0.2, loaders=4, n_steps=200)
    part = node_profile(columns, rows, start_s=START_S + 0.1, interval_s=0.2)

    assert loud(run(RULE, part)) == [("DL-1", cause)]


@pytest.mark.parametrize(
    ("other_s", "late_s", "cause"),
    [
        (0.4, 0.0, Cause.NETWORK_INPUT),
        (0.05, 0.0, Cause.TOO_FEW_LOADERS),  # one of two waits alone
        (0.4, 0.25, Cause.TOO_FEW_LOADERS),  # no sample falls into the waits
    ],
)
def test_a_network_holds_up_all_processes_of_a_node_while_they_wait(other_s, late_s, cause):
    rows = training(wait_s=0.5, loaders=4, n_steps=16)
    rows += training(wait_s=other_s, loaders=4, n_steps=16, worker="algo-1-28")
    result = sampled([_later(row, late_s) for row in rows], cores=16, cpu=20.0, receive=100e6)

    assert loud(result) == [("DL-1", cause)]
    assert ("In its loop" in result.findings[0].text) is (late_s > 0)


def test_a_network_is_at_its_limit_in_the_minutes_of_the_waits_whatever_it_did_before() -> None:
    # For 100 s the loop needs 400 MB/s and waits for nothing, then 100 MB/s are all that comes.
    rows = [*training(n_steps=100, loaders=4)]
    rows += [_later(row, 100.0) for row in training(wait_s=0.5, n_steps=200, loaders=4)]
    columns = {f"cpu{core}": [30.0] * 601 for core in range(8)}
    columns["receive"] = [400e6] * 100 + [100e6] * 501
    part = node_profile(columns, rows, start_s=START_S + 0.1, interval_s=1.0)

    assert loud(run(RULE, part)) == [("DL-1", Cause.NETWORK_INPUT)]


def test_without_loader_processes_the_training_process_computes_what_it_waits_for() -> None:
    rows = training(wait_s=0.5, num_workers=0, n_steps=200)

    serial = sampled(rows, cores=8, cpu=100 / 8, receive=100e6)
    assert loud(serial) == [("DL-1", Cause.TOO_FEW_LOADERS)]
    assert "No loader process" in serial.findings[0].text
    idle = sampled(rows, cores=8, cpu=49 / 8, receive=100e6)
    assert loud(idle) == [("DL-1", Cause.NETWORK_INPUT)]


@pytest.mark.parametrize(
    ("computing", "queued", "batch_s", "job_cores", "cpu", "cause"),
    [
        # What was measured of the readers counts, and not what the cores of the machine do: four
        # loaders that sleep beside other programs are not short of cores, and vice versa.
        (0.1, 0.1, 0.1, 1.0, 95.0, Cause.NETWORK_INPUT),
        (0.6, 0.1, 0.1, 1.0, 20.0, Cause.TOO_FEW_LOADERS),
        (0.6, 0.1, 0.1, 7.0, 95.0, Cause.CPU_PREPROCESSING),
        # A batch and its turn take a quarter second of a core. With the cores for itself the loop
        # would wait for 4 loaders where a batch takes more than four fifths of that.
        (0.03, 0.97, 0.21, 1.0, 95.0, Cause.CPU_PREPROCESSING),
        (0.03, 0.97, 0.19, 1.0, 95.0, Cause.OTHER_PROGRAMS),
        (0.03, 0.97, 0.1, 7.0, 95.0, Cause.CPU_PREPROCESSING),
    ],
)
def test_what_the_readers_did_decides_where_it_was_measured(
    computing: float, queued: float, batch_s: float, job_cores: float, cpu: float, cause: Cause
) -> None:
    rows = training(wait_s=0.5, loaders=4, n_steps=200)
    columns = {f"cpu{core}": [cpu] * 601 for core in range(8)}
    columns |= {"receive": [100e6] * 601, "job_cores": [job_cores] * 601}
    part = recorded(rows, columns, computing=computing, queued=queued, batch_s=batch_s)
    result = run(RULE, part)

    (found, *_) = result.findings
    assert [item for _, item in loud(result)] == [cause]
    assert f"a loader process together computed for {100 * computing:.1f} %" in found.text
    if cause is Cause.OTHER_PROGRAMS:  # without them only the time without a core is saved
        assert known(found.estimate).share_ratio == pytest.approx(0.5 * queued, abs=0.01)


def recorded(
    rows: Sequence[tuple[Any, ...]],
    columns: Mapping[str, Sequence[float]],
    *,
    computing: float,
    queued: float = 0.0,
    batch_s: float = 0.1,
) -> NodeProfile:
    work = RecordedWork(
        has_processes=True,
        n=round(1000 * computing / batch_s),
        wall_ns=10**12,
        cpu_ns=round(computing * 10**12),
        queued_ns=round(queued * 10**12),
    )
    of_node = RecordedNode(node="algo-1", work=(work,))
    return replace(node_profile(columns, rows, interval_s=1.0), recorded=of_node)


@pytest.mark.parametrize(
    ("wait_s", "num_workers", "is_told"),
    [(0.0019, 0, False), (0.0026, 0, True), (0.0019, 1, False), (0.0026, 1, True)],
)
def test_batches_that_are_there_in_less_than_two_milliseconds_need_no_more_processes(
    wait_s: float, num_workers: int, is_told: bool
) -> None:
    result = judged(one_by_one([wait_s] * 300, 0.01, workers=num_workers), cores=4)

    assert bool(loud(result)) is is_told
    if not is_told:
        verb = "gets" if num_workers else "makes"
        assert f"Training {verb} a batch in 1.9 ms" in result.findings[0].title


@pytest.mark.parametrize(("other_pct", "is_told"), [(0.0, True), (80.0, False)])
def test_handing_over_takes_longer_beside_other_programs_as_the_loop_does(other_pct, is_told):
    # Steps of 100 ms, each behind a wait of 10 ms, for which the job needs 10 ms of a core.
    rows = one_by_one([0.01] * 500, 0.1, workers=2)
    columns = {f"cpu{core}": [10 + other_pct] * 56 for core in range(2)} | {"job_cores": [0.1] * 56}
    part = recorded(rows, columns, computing=0.01, batch_s=0.001)

    assert bool(loud(run(RULE, part))) is is_told


@pytest.mark.parametrize("has_processes", [False, True])
def test_twenty_milliseconds_are_waiting_for_data_beside_whatever_programs(has_processes) -> None:
    # Steps that sleep need no processor time, so a turn lasts many times as long as its work.
    rows = one_by_one([0.02] * 500, 0.04, workers=int(has_processes))
    columns = {f"cpu{core}": [90.0] * 31 for core in range(2)} | {"job_cores": [0.05] * 31}
    part = recorded(rows, columns, computing=0.01, batch_s=0.0002)
    assert part.recorded is not None
    work = replace(part.recorded.work[0], has_processes=has_processes)
    part = replace(part, recorded=replace(part.recorded, work=(work,)))

    assert loud(run(RULE, part))


def test_numbers_of_processes_show_how_many_there_are_where_their_start_was_not_recorded() -> None:
    # A batch a second is made by one process at a time, but by eight in turn.
    rows = [fetch(index, 0.5, pid=70 + index % 8, worker_id=index % 8) for index in range(100)]
    result = run(RULE, node([*step_rows([0.5] * 100, start_s=START_S + 0.5), *rows], cores=16))

    assert "8 loader processes on 16 cores" in result.findings[0].title
    assert result.details["dataloaders"] == 1


def test_a_share_of_all_processes_is_not_told_as_that_of_one() -> None:
    # Two processes wait in turn, each for a quarter of its time.
    rows = [
        row
        for rank in range(2)
        for step in range(100)
        for row in (
            fetch(step, 0.5 * (step % 2 == rank), worker=f"algo-1-{27 + rank}"),
            *step_rows(
                [0.4], start_s=START_S + step + 0.5, first=step, worker=f"algo-1-{27 + rank}"
            ),
        )
    ]
    (found,) = (item for item in run(RULE, node(rows, cores=8)).findings if item.id != "DL-3")

    assert found.title.startswith("Training waits 49.8 % of its time")
    assert "waited 25 s for batches, in 99 recorded waits: 25.2 % of" in found.text
    assert "waits longest: together 49.8 %." in found.text


def test_cores_that_other_programs_use_do_not_limit_what_more_loaders_save() -> None:
    rows = training(wait_s=0.5, loaders=4, n_steps=200)
    columns = {f"cpu{core}": [80.0] * 601 for core in range(8)} | {"job_cores": [1.6] * 601}
    result = run(RULE, recorded(rows, columns, computing=0.6))

    assert known(result.findings[0].estimate).share_ratio == pytest.approx(0.5, abs=0.01)
    assert "busy for 20.0 %" in result.findings[0].text


@pytest.mark.parametrize(
    ("num_workers", "cpu", "cause"),
    [
        (5, 84.0, Cause.CPU_PREPROCESSING),
        (8, 84.0, Cause.CPU_PREPROCESSING),
        (9, 84.0, Cause.TOO_MANY_LOADERS),
        (2, 84.0, Cause.TOO_FEW_LOADERS),
        (2, 86.0, Cause.CPU_PREPROCESSING),
    ],
)
def test_cores_that_are_used_up_are_so_by_too_many_loaders_or_by_costly_batches(
    num_workers: int, cpu: float, cause: Cause
) -> None:
    # On 4 cores: twice as many are 8; 85 % is used up; beside 5 loaders there is no room.
    rows = training(wait_s=0.5, num_workers=num_workers, n_steps=100)
    (found,) = sampled(rows, cores=4, cpu=cpu).findings

    assert found.cause == cause
    # The sentence says the quantity by which the cores are used up, and not another one.
    busy = f"{4 * cpu / 100:.1f} of 4 cores were busy"
    assert (busy in found.text) == (cause is Cause.CPU_PREPROCESSING)


def test_a_training_process_that_takes_half_of_the_cores_does_not_make_loaders_idle() -> None:
    # 8 loaders on 2 cores, of which one trains: at most half of both is left for them.
    rows = training(wait_s=0.1, num_workers=8, n_steps=100)

    assert loud(sampled(rows, cores=2, cpu=93.0)) == [("DL-2", Cause.TOO_MANY_LOADERS)]


@pytest.mark.parametrize(
    ("job_cores", "gpu_pct", "is_told"),
    [(None, None, True), (3.6, None, True), (3.5, None, False), (None, 97.0, False)],
    ids=str,
)
def test_too_many_loaders_cost_what_steps_take_longer_while_the_cores_are_used_up(
    job_cores: float | None, gpu_pct: float | None, is_told: bool
) -> None:
    # 100 steps: 20 of 2 s while all cores are busy, 80 of 1 s. Nothing waits. Where other programs
    # have half a core of the four, they may be the reason. A GPU that is used all the time loses
    # nothing.
    slow = step_rows([2.0] * 20, every_s=2.0)
    usual = step_rows([1.0] * 80, start_s=START_S + 40, first=20)
    fetches = [fetch(index, 0.0) for index in range(120)]
    rows = [*slow, *usual, *fetches, setup(0, workers=6, pinned=True)]
    columns = {f"cpu{core}": [100.0] * 40 + [20.0] * 80 for core in range(4)}
    columns |= {} if job_cores is None else {"job_cores": [job_cores] * 40 + [0.8] * 80}
    columns |= {} if gpu_pct is None else {"gpu0": [gpu_pct] * 120}
    part = node_profile(columns, rows, start_s=START_S + 1, interval_s=1.0)
    found = finding(run(RULE, part), "DL-2")

    assert (found is not None) is is_told
    if found is None:
        return
    assert (found.severity, found.cause) == (Severity.WARNING, Cause.TOO_MANY_LOADERS)
    assert known(found.estimate).share_ratio == round(18 / 120, 6), "the first two are warm-up"
    assert "from 6 to 4" in found.advice
    assert "6 loader processes on 4 cores: more than there are cores." in found.text


def test_a_first_step_that_compiles_beside_loaders_that_start_is_no_loss_to_them() -> None:
    rows = [
        *step_rows([10.0]),
        *step_rows([1.0] * 100, start_s=START_S + 10, first=1),
        *[fetch(index, 0.0) for index in range(110)],
        setup(0, workers=6, pinned=True),
    ]
    columns = {f"cpu{core}": [99.0] * 4 + [20.0] * 106 for core in range(4)}
    columns["gpu0"] = [0.0] * 10 + [95.0] * 100
    part = node_profile(columns, rows, start_s=START_S + 1, interval_s=1.0)

    assert loud(run(RULE, part)) == []


@pytest.mark.parametrize("is_turn", [True, False])
def test_cores_that_are_used_up_at_the_turn_of_an_epoch_slow_no_step_down(is_turn: bool) -> None:
    """Five times ten seconds pass, in a step or between two, while loaders start."""
    rows, at_s = [setup(0, workers=6, pinned=True)], 0.0
    busy = np.full(160, 20.0)
    for step in range(100):
        is_long = step % 20 == 10
        lasts_s = 11.0 if is_long and not is_turn else 1.0
        rows += step_rows([lasts_s], start_s=START_S + at_s, first=step)
        busy[int(at_s) : int(at_s) + 11] = 100.0 if is_long else 20.0
        at_s += 11.0 if is_long else 1.0
        rows.append(fetch(at_s, 0.0))
    columns = {f"cpu{core}": busy[: int(at_s)].tolist() for core in range(4)}
    part = node_profile(columns, rows, start_s=START_S + 1, interval_s=1.0)
    found = finding(run(RULE, part), "DL-2")

    assert (found is None) is is_turn


def test_too_many_loaders_cost_what_gpus_idle_where_no_step_is_undisturbed() -> None:
    # All cores are busy all the time, and all steps are equally long. A GPU at work is rarely read
    # as more than 92 %: at 69 % it idles a quarter of the time. The first two steps do not count.
    rows = [
        *step_rows([1.0] * 100),
        *(fetch(index, 0.0) for index in range(100)),
        setup(0, workers=6, pinned=True),
    ]
    columns = {f"cpu{core}": [99.0] * 100 for core in range(4)} | {"gpu0": [69.0] * 100}
    part = node_profile(columns, rows, start_s=START_S + 0.5, interval_s=1.0)
    assert known(known(finding(run(RULE, part), "DL-2")).estimate).share_ratio == 0.245


def test_waits_for_the_first_batches_of_epochs_are_a_fault_of_starting_loaders_again() -> None:
    # The very first wait lies before the loop: 3 · 3 + 96 · 0.01 of 114.9 s.
    (found,) = judged(four_epochs(), cores=4).findings

    assert (found.id, found.severity) == ("DL-6", Severity.WARNING)
    assert found.cause == Cause.LOADER_START
    assert known(found.estimate).share_ratio == pytest.approx(0.087, abs=1e-3)
    assert "start of epochs: 8.7 % of the time" in found.title
    assert "persistent_workers" in found.advice


@pytest.mark.parametrize(("unused_ratio", "cost"), [(0.2, 0.087), (0.06, 0.06)])
def test_gpus_wait_together_for_the_first_batches_so_their_mean_is_what_these_cost(
    unused_ratio: float, cost: float
) -> None:
    part = measure(node(four_epochs(), cores=4), Params())
    part = replace(part, unused_ratio=unused_ratio, most_unused_ratio=0.5)
    (found,) = dataloader.judge([part], Params()).findings

    assert known(known(found).estimate).share_ratio == pytest.approx(cost, abs=1e-3)


@pytest.mark.parametrize(("workers", "expected"), [(8, "DL-6"), (9, "DL-2")])
def test_far_more_loaders_than_cores_are_why_the_first_batches_of_epochs_come_late(
    workers: int, expected: str
) -> None:
    assert [item.id for item in judged(four_epochs(workers=workers), cores=4).findings] == [
        expected
    ]


@pytest.mark.parametrize(
    ("columns", "cause"),
    [
        ({"cpu": 25.0, "waiting": 20.0}, Cause.IO_WAIT),
        ({"cpu": 10.0, "receive": 100e6}, Cause.NETWORK_INPUT),
        ({"cpu": 99.0}, Cause.CPU_PREPROCESSING),
        ({"cpu": 10.0}, Cause.LOADER_START),
    ],
)
def test_waits_for_first_batches_have_the_cause_that_limits_the_whole_loop(columns, cause) -> None:
    found = loud(sampled(four_epochs(), cores=4, **columns))
    assert [named for _, named in found] == [cause]


@pytest.mark.parametrize(
    ("rate_between", "cause"), [(0.3, Cause.LOADER_START), (0.6, Cause.IO_WAIT)]
)
def test_a_disk_that_delivers_no_less_while_cores_compute_sets_the_pace_of_the_loop(
    rate_between: float, cause: Cause
) -> None:
    """The training computes on the cores, so they wait for the disk while it waits alone."""
    columns = dict[str, list[float]]()
    is_waiting = np.arange(4 * 300) * 0.1 % 30 < 2.99
    for core in range(4):
        columns[f"cpu{core}"] = np.where(is_waiting, 35.0, 95.0).tolist()
        columns[f"cpu{core}_iowait"] = np.where(is_waiting, 30.0, 5.0).tolist()
    columns["read"] = np.where(is_waiting, 100e6, rate_between * 100e6).tolist()
    part = node_profile(columns, four_epochs(), start_s=START_S + 0.05, interval_s=0.1)

    assert [named for _, named in loud(run(RULE, part))] == [cause]


def test_setting_up_loader_processes_is_waiting_for_data() -> None:
    # Each of 10 epochs of 10 steps begins with half a second in which the iterator is set up.
    rows: list[tuple[Any, ...]] = []
    for epoch in range(10):
        begin = 10.5 * epoch
        phase, name, start, _, more = setup(begin, workers=24, pinned=True)
        rows.append((phase, name, start, start + 0.5, more))
        for step in range(10):
            rows.append(fetch(begin + 0.5 + step, SHORT_S))
            rows += step_rows(
                [0.99], start_s=START_S + begin + 0.51 + step, first=10 * epoch + step
            )
    waited_ratio = judged(rows, cores=4).metrics["waited_ratio"]

    # The first set-up and the first wait lie before the loop.
    assert waited_ratio == pytest.approx((9 * 0.5 + 99 * SHORT_S) / (105 - 0.51), abs=1e-4)


def test_waits_in_bursts_are_a_habit() -> None:
    # Of 200 steps every 50th waits 5 s, as for 50 loaders in step: 2 % of the waits are all.
    rows = one_by_one((5.0 if index % 50 == 49 else 0.01 for index in range(200)), 0.9, workers=50)
    rows += step_rows([0.9] * 5, start_s=rows[-1][3], phase=EVAL)

    assert [item[0] for item in loud(judged(rows, cores=64))] == ["DL-5"]


def test_the_node_that_waits_longest_says_why_the_loop_waits() -> None:
    """Two of three nodes have busy cores; the third waits for its disk, and the others for it."""
    loads = [
        InputLoad(
            n_cores=8,
            busy_cores=busy,
            waiting_cores=waiting,
            hot_ratio=0.0,
            flat_ratio=0.0,
            waited_ns=waited_ns,
        )
        for busy, waiting, waited_ns in ((7.0, 0.0, 10), (6.0, 0.0, 12), (0.5, 3.0, 900))
    ]

    for order in (loads, loads[::-1], [loads[2], loads[0], loads[1]]):
        assert dataloader.slowest_load(order).waits_for_disk()


@pytest.mark.parametrize(("n_readers", "waits"), [(0, False), (8, False), (7, True), (4, True)])
def test_cores_that_train_do_not_hide_that_readers_wait_for_the_disk(n_readers, waits) -> None:
    load = InputLoad(n_cores=16, busy_cores=5.0, waiting_cores=3.0, hot_ratio=0.0, flat_ratio=0.0)
    assert load.waits_for_disk(n_readers) is waits
