"""What lies between steps: regular work, waits, pauses; and whether the GPUs work meanwhile."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from reportgen.facts.between_steps import (
    IdleBetween,
    PhaseBetween,
    between_steps_of,
    idle_between_of,
    idle_in_copies_of,
    phases_between_of,
    waited_for_ns,
)
from reportgen.profile import NodeProfile
from tests.builders import START_S, known, node_profile, system_table
from tests.rules.framework_jobs import EVAL, TRAIN

STEP_S, WORK_S, WAIT_S = 0.3, 0.1, 0.02


def job(
    *,
    n_steps: int = 400,
    use_between: float = 0.0,
    use_at_end: float = 90.0,
    waits: bool = True,
    late_s: float = 0.0,
    looks_back: int = 1,
    slow_s: float = 0.0,
    n_evals: int = 0,
    use_in_evals: float = 90.0,
    tick_s: float = 0.25,
    copy_s: float = 0.0,
    use_in_copies: float = 0.0,
    works_on_s: float = 0.0,
    every_fifth_s: float = 0.0,
) -> NodeProfile:
    """Return a node: 300 ms steps, 100 ms of work behind each, then 20 ms of waiting.

    In every 25th step the GPU idles for ``slow_s`` more. Behind every 50th are ``n_evals`` steps of
    validation without work between them.

    The GPU is used by 90 % in steps, by ``use_at_end`` in their last 5 %, and otherwise between
    them; a meter averages over ``tick_s``, or ``looks_back`` times as long, until up to ``late_s``
    later than it says. Every 40th pause takes 2 s longer. After each wait a batch is copied for
    ``copy_s``. Behind each step the GPU works on for ``works_on_s`` before the host works, and
    behind every fifth the host works for ``every_fifth_s`` more.
    """
    rows: list[tuple[Any, ...]] = []
    edges, levels, at_s = [START_S], [0.0], START_S + 3
    for step in range(n_steps):
        slept_s = at_s + (slow_s if step % 25 == 10 else 0.0)
        end_s = slept_s + STEP_S
        rows.append((TRAIN, TRAIN, at_s, end_s, {"step": step}))
        edges += [at_s, slept_s, end_s - 0.05 * STEP_S, end_s]
        levels += [0.0, 90.0, use_at_end, use_between]
        if works_on_s:
            edges, levels, end_s = [*edges, end_s], [*levels, 90.0], end_s + works_on_s
            edges, levels = [*edges, end_s], [*levels, use_between]
        worked_s = end_s + WORK_S + (2.0 if step % 40 == 20 else 0.0)
        worked_s += every_fifth_s if step % 5 == 4 else 0.0
        at_s = worked_s + WAIT_S
        if waits:
            rows.append(("DataLoaderIter", "It::GetNext", worked_s, at_s, {}))
        if copy_s:
            edges, levels, at_s = [*edges, at_s], [*levels, use_in_copies], at_s + copy_s
        for number in range(n_evals if step % 50 == 49 else 0):
            rows.append((EVAL, EVAL, at_s, at_s + STEP_S - 0.001, {"step": number}))
            edges, levels, at_s = [*edges, at_s], [*levels, use_in_evals], at_s + STEP_S
    total = np.concatenate(([0.0], np.cumsum(np.diff([*edges, at_s]) * levels)))
    ticks_s = START_S + np.arange(0, at_s - START_S, tick_s)
    late = np.random.default_rng(1).uniform(0, late_s, ticks_s.size)
    until = np.interp(ticks_s + late, [*edges, at_s], total)
    use = np.diff(until, prepend=0.0) / tick_s
    use = np.convolve(use, np.full(looks_back, 1 / looks_back))[: use.size]
    return node_profile(rows=rows, system=system_table({"gpu0": use.tolist()}, interval_s=tick_s))


def test_waits_and_single_pauses_are_no_work_between_steps() -> None:
    (found,) = between_steps_of(job())

    assert found.n_steps == 400
    assert found.is_waiting_known
    assert found.regular_ns == pytest.approx(399 * WORK_S * 1e9, rel=0.01)


def test_a_rhythm_is_no_part_of_what_lies_between_all_steps() -> None:
    (found,) = between_steps_of(job(every_fifth_s=0.25))

    assert found.regular_ns == pytest.approx(399 * WORK_S * 1e9, rel=0.01)


def test_without_recorded_waits_it_is_unknown_what_is_one() -> None:
    (found,) = between_steps_of(job(waits=False))

    assert not found.is_waiting_known


@pytest.mark.parametrize(
    ("use_between", "expected"), [(0.0, 1.0), (45.0, 0.5), (90.0, 0.0), (99.0, 0.0)]
)
@pytest.mark.parametrize("use_at_end", [0.0, 90.0])
def test_the_use_of_gpus_between_steps_is_read_from_samples_that_hold_both(
    use_between: float, expected: float, use_at_end: float
) -> None:
    found = known(idle_between_of(job(use_between=use_between, use_at_end=use_at_end)))

    assert found.ratio == pytest.approx(expected, abs=0.06)
    assert found.ratio <= found.at_most_ratio <= 1


def test_gpus_that_do_more_between_steps_than_in_them_lag_behind_the_host() -> None:
    """Steps only launch what GPUs compute later: when they idle is unknown."""
    waits, lags = (known(idle_between_of(job(use_between=use))) for use in (45.0, 99.0))

    assert (waits.is_sure, lags.is_sure) == (True, False)


def test_gpus_that_a_host_waits_for_before_it_works_idle_in_the_last_part_only() -> None:
    """The host launched ahead: GPUs do as much behind steps as in them, until it works."""
    found = known(idle_between_of(job(works_on_s=0.3, tick_s=0.11)))

    assert found.is_sure
    assert found.ratio == pytest.approx(WORK_S / (0.3 + WORK_S + WAIT_S), abs=0.06)
    assert found.late_ratio == pytest.approx(found.ratio, abs=0.1)


def test_a_gpu_that_works_between_steps_is_not_held_up_by_the_process_that_drives_it() -> None:
    works, idles = job(use_between=90.0), job(use_between=0.0)
    use = {"gpu0": works.system.columns[0].tolist(), "gpu1": idles.system.columns[0].tolist()}

    both = replace(works, system=system_table(use, interval_s=0.25))
    assert known(idle_between_of(both)).ratio < 0.1


def test_a_meter_that_looks_back_for_longer_than_an_interval_is_known_by_its_fit() -> None:
    assert known(idle_between_of(job(looks_back=4))).ratio == pytest.approx(1.0, abs=0.06)


@pytest.mark.parametrize("use_between", [0.0, 90.0])
def test_gpus_that_idle_in_slow_steps_do_not_count_as_those_in_usual_steps(use_between) -> None:
    found = known(idle_between_of(job(use_between=use_between, slow_s=4.0)))

    assert found.ratio == pytest.approx(1 - use_between / 90, abs=0.06)


@pytest.mark.parametrize("use_between", [0.0, 90.0])
@pytest.mark.parametrize("use_in_evals", [40.0, 100.0])
def test_gpus_that_do_more_or_less_in_validation_do_not_count_as_those_in_training(
    use_between: float, use_in_evals: float
) -> None:
    found = known(
        idle_between_of(job(use_between=use_between, n_evals=60, use_in_evals=use_in_evals))
    )

    assert found.ratio == pytest.approx(1 - use_between / 90, abs=0.06)


def test_samples_that_hardly_follow_the_steps_leave_all_unused_time_open() -> None:
    found = known(idle_between_of(job(late_s=0.25)))

    assert found.ratio < 0.85
    assert found.at_most_ratio == 1.0


def test_pauses_that_samples_follow_do_not_vouch_for_the_time_between_all_steps() -> None:
    found = known(idle_between_of(job(tick_s=0.38, late_s=0.2)))

    assert found.unexplained < 0.5, "the pauses of 2 s are seen"
    assert found.ratio < 0.6, "the GPU idles, but each sample holds nearly a whole cycle"
    assert found.at_most_ratio == 1.0


@pytest.mark.parametrize(("use_in_copies", "expected"), [(0.0, 1.0), (45.0, 0.5), (90.0, 0.0)])
def test_copies_are_told_from_work_of_the_gpus_between_steps(use_in_copies, expected) -> None:
    part = job(use_between=90.0, copy_s=0.06, use_in_copies=use_in_copies)

    assert known(idle_in_copies_of(part)).ratio == pytest.approx(expected, abs=0.13)
    assert known(idle_between_of(part)).ratio < max(expected, 0.06), "the work hides them"


def test_without_gpus_or_with_few_samples_it_is_unknown() -> None:
    assert idle_between_of(node_profile(spans=job().spans)) is None
    assert idle_between_of(job(n_steps=5)) is None


def phase(node: str, start_s: list[float], slowest_s: list[float]) -> PhaseBetween:
    return PhaseBetween(
        node=node,
        alike=(TRAIN, len(start_s)),
        start_ns=(np.array(start_s) * 1e9).astype(np.int64),
        slowest_ns=np.array(slowest_s) * 1e9,
    )


def test_nodes_that_go_together_wait_for_the_slowest_in_each_step() -> None:
    one = phase("algo-1", [0.0, 2.0, 4.0], [0.1, 0.5, 0.1])
    other = phase("algo-2", [100.3, 102.0, 104.1], [0.4, 0.1, 0.1])

    assert waited_for_ns([one, other]) == pytest.approx({"algo-1": 0.3e9, "algo-2": 0.4e9})
    assert waited_for_ns([one]) == {"algo-1": 0.0}


def test_nodes_that_drift_apart_do_not_wait_for_each_other() -> None:
    one = phase("algo-1", [0.0, 2.0, 4.0], [0.1, 0.5, 0.1])
    other = phase("algo-2", [0.0, 3.0, 9.0], [0.4, 0.1, 0.1])

    assert waited_for_ns([one, other]) == {"algo-1": 0.0, "algo-2": 0.0}


def test_a_phase_of_a_node_has_what_lies_behind_each_of_its_steps() -> None:
    (found,) = phases_between_of(job())

    assert (found.node, found.alike) == ("algo-1", (TRAIN, 400))
    assert found.slowest_ns.sum() == pytest.approx(399 * WORK_S * 1e9, rel=0.01)


@pytest.mark.parametrize(
    ("ratio", "unexplained", "undiluted"), [(0.2, 0.0, 0.25), (0.3, 0.4, 0.5), (0.8, 0.5, 1.0)]
)
def test_what_a_fit_leaves_unexplained_may_have_made_a_difference_look_smaller(
    ratio: float, unexplained: float, undiluted: float
) -> None:
    idle = IdleBetween(
        ratio=ratio, at_most_ratio=ratio + 0.05, unexplained=unexplained, is_sure=True
    )

    assert idle.undiluted_ratio == pytest.approx(undiluted)
