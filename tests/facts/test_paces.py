"""Who holds up the other workers, and what it costs."""

from __future__ import annotations

import numpy as np
import pytest

from reportgen.facts.paces import LaggingWorker, Pace, find_straggler, paces_of
from tests.builders import START_S, known, span_table
from tests.rules.framework_jobs import TRAIN

N_STEPS = 200


def of_forward(
    *forward_s: np.ndarray, step_s: float = 1.0, later_s: float = 0.0, alone: tuple[str, ...] = ()
) -> list[Pace]:
    """Return the paces of workers whose steps are equally long, by their forward passes.

    Each begins ``later_s`` later than the one before.
    """
    paces: list[Pace] = []
    for rank, lengths_s in enumerate(forward_s):
        worker = f"algo-1-{27 + rank}"
        rows = []
        for step, length_s in enumerate(lengths_s.tolist()):
            begin = START_S + step * step_s + rank * later_s
            more = {"worker": worker, "step": step}
            rows.append((TRAIN, TRAIN, begin, begin + step_s, more))
            rows.append(("Forward", "Net", begin, begin + length_s, more))
        paces += paces_of(span_table(rows), alone=alone)
    return paces


def lagging(*forward_s: np.ndarray) -> LaggingWorker | None:
    return find_straggler(of_forward(*forward_s), above_pct=3)


def steady(length_s: float) -> np.ndarray:
    return np.full(N_STEPS, length_s)


def test_the_loop_shrinks_by_the_part_that_the_slowest_worker_is_slower() -> None:
    found = known(lagging(steady(0.2), steady(0.2), steady(0.25)))

    assert found.pace.worker == "algo-1-29"
    assert found.extra_ratio == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("later_s", "alone", "is_found"),
    [
        (0.0, (), True),
        (N_STEPS - 1.0, (), True),
        (float(N_STEPS), (), False),
        (0.0, ("algo-1-27", "algo-1-28"), False),
    ],
    ids=["together", "at the same time", "one behind the other", "each alone"],
)
def test_two_trainings_of_one_script_do_not_wait_for_each_other(later_s, alone, is_found) -> None:
    paces = of_forward(steady(0.2), steady(0.4), later_s=later_s, alone=alone)

    assert (find_straggler(paces, above_pct=3) is not None) is is_found


@pytest.mark.parametrize(("every", "is_found"), [(20, True), (8, False)])
def test_a_worker_that_lacks_a_core_now_and_then_is_no_slow_one(every: int, is_found: bool) -> None:
    # A tenth of its passes are undisturbed.
    held_up = np.where(np.arange(N_STEPS) % every == 0, 0.2, 0.4)

    assert (lagging(steady(0.2), held_up) is not None) is is_found


@pytest.mark.parametrize("seed", range(5))
def test_workers_that_differ_by_chance_have_no_straggler(seed: int) -> None:
    rng = np.random.default_rng(seed)

    assert lagging(*(rng.normal(0.5, 0.07, N_STEPS).clip(0.2, 0.9) for _ in range(4))) is None


def test_a_slow_worker_is_found_in_the_same_scatter() -> None:
    rng = np.random.default_rng(1)
    same = [rng.normal(0.5, 0.05, N_STEPS).clip(0.2, 0.9) for _ in range(4)]
    found = known(lagging(*same[:3], 1.2 * same[3]))

    # The last of four is at 0.552 s on average, with the slow one at 0.607 s.
    assert found.extra_ratio == pytest.approx(0.1, abs=0.02)


def in_steps(first: int, last: int, length_s: float) -> np.ndarray:
    step = np.arange(N_STEPS)
    return np.where((step >= first) & (step < last), length_s, 0.2)


def test_a_worker_that_lags_for_a_time_is_found_with_its_steps() -> None:
    found = known(lagging(steady(0.2), steady(0.2), in_steps(60, 120, 0.4)))

    # 60 of 200 steps are twice as long as they need be.
    assert found.is_for_a_time
    assert found.pace.worker == "algo-1-29"
    assert (found.pace.number[0], found.pace.number[-1]) == (60, 119)
    assert found.median_ns == pytest.approx(0.4e9)
    assert found.extra_ratio == pytest.approx(0.5 * 24 / 52)


def test_a_worker_that_lags_from_start_to_end_does_not_do_so_for_a_time() -> None:
    assert not known(lagging(steady(0.2), steady(0.2), in_steps(0, 195, 0.4))).is_for_a_time


def test_a_lag_for_a_short_time_is_no_fault() -> None:
    assert lagging(steady(0.2), in_steps(60, 80, 0.25)) is None


@pytest.mark.parametrize("seed", range(5))
def test_two_workers_that_differ_by_chance_do_not_lag_for_a_time(seed: int) -> None:
    rng = np.random.default_rng(seed)

    assert lagging(*(rng.lognormal(-1.5, 0.3, N_STEPS) for _ in range(2))) is None


def test_steps_of_workers_are_matched_by_their_number() -> None:
    jagged = 0.2 + 0.1 * (np.arange(N_STEPS) % 2)
    whole = of_forward(jagged, jagged, 1.1 * jagged)
    assert known(find_straggler(whole, above_pct=3)).extra_ratio == pytest.approx(1 - 1 / 1.1)
    assert [pace.number.tolist()[:2] for pace in whole] == [[0, 1]] * 3


@pytest.mark.parametrize(
    ("devices", "gpus"), [((0, 1), ["gpu0", "gpu1"]), ((0, 0), [None, None]), ((), [None, None])]
)
def test_a_worker_has_the_gpu_that_only_its_operators_name(devices, gpus) -> None:
    workers = ("algo-1-27", "algo-1-28")
    rows = [(TRAIN, TRAIN, START_S, START_S + 1, {"worker": worker}) for worker in workers]
    rows += [
        (f"gpu_functions-dev:{gpu}", "aten::mm", START_S, START_S + 0.5, {"worker": worker})
        for worker, gpu in zip(workers, devices, strict=False)
    ]

    assert [pace.gpu for pace in paces_of(span_table(rows))] == gpus
