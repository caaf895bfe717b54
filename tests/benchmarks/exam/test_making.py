"""Generated jobs and the truth about them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.exam.__main__ import DEFAULT_JOBS
from benchmarks.exam.analyse import analyse
from benchmarks.exam.causes import PLANTABLE, VISIBILITY, Input, Sight
from benchmarks.exam.faults import FAULTS
from benchmarks.exam.making import Order, all_pairs, changed, drafted, make, orders_of
from benchmarks.exam.recording import write_recording
from benchmarks.exam.setup import Recorded
from benchmarks.exam.training import Run
from reportgen.results.causes import Cause

SEED = 7


def order_of(*causes: Cause, number: int = 1, healthy: str = "") -> Order:
    return Order(number=number, seed=SEED, causes=causes, healthy_kind=healthy, share_ratio=0.2)


def test_every_cause_is_planted_alone_and_nearly_every_pair_once():
    orders = orders_of(1, DEFAULT_JOBS)
    alone = Counter(order.causes[0] for order in orders if len(order.causes) == 1)
    assert set(alone) == set(PLANTABLE) == set(FAULTS)
    assert min(alone.values()) >= 7
    pairs = [order.causes for order in orders if len(order.causes) == 2]
    assert len(set(pairs)) == len(pairs) >= 0.9 * len(all_pairs())
    assert sum(not order.causes for order in orders) >= 0.33 * len(orders)


@pytest.mark.slow
def test_an_order_makes_the_same_job_again():
    order = order_of(Cause.WORK_BETWEEN_STEPS)
    one, other = make(order), make(order)
    assert one.truth == other.truth
    for mine, theirs in zip(one.recording.samples, other.recording.samples, strict=True):
        np.testing.assert_array_equal(mine.cpu, theirs.cpu)
        np.testing.assert_array_equal(mine.gpu, theirs.gpu)
    assert one.recording.timelines == other.recording.timelines


@pytest.mark.slow
@pytest.mark.parametrize("cause", [Cause.IO_WAIT, Cause.SLOWING_DOWN, Cause.LONG_START])
def test_the_share_is_what_the_same_job_saves_without_the_fault(cause):
    order = order_of(cause)
    base, drawn = drafted(order)
    bad, good = Run(changed(base, drawn.values())), Run(base)
    (planted,) = make(order).truth.planted
    saved = 1 - good.loop_length_s / bad.loop_length_s
    if planted.share_of == "job":
        saved = 1 - good.total_s / bad.total_s
    assert planted.share_ratio == pytest.approx(saved)
    assert saved > 0.05


@pytest.mark.slow
def test_a_job_is_recorded_in_windows_and_can_be_read(tmp_path):
    order = next(
        it for it in orders_of(SEED, 100) if drafted(it)[0].recorded.windows and not it.causes
    )
    job = make(order)
    write_recording(job.recording, seed=SEED, root=tmp_path / "job" / "profiler-output")
    assert not analyse(tmp_path / "job").failed_rules
    base, _ = drafted(order)
    whole = replace(base, recorded=Recorded())
    n_steps = len(Run(whole).steps[0])
    written = [
        event for event in job.recording.timelines[0].events if event.phase.startswith("Step:")
    ]
    assert 0 < len(written) < 0.8 * n_steps


@pytest.mark.slow
def test_what_no_event_of_a_loader_names_is_only_an_effect():
    order = next(
        it
        for it in orders_of(SEED, 2000)
        if it.causes == (Cause.UNPINNED_MEMORY,) and drafted(it)[0].recorded.windows
    )
    assert make(order).truth.planted[0].sight is Sight.EFFECT_ONLY
    assert VISIBILITY[Cause.UNPINNED_MEMORY, Input.PYTORCH].sight is Sight.IDENTIFIABLE
