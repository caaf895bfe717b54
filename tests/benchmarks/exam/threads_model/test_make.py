"""Jobs of the family of threads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.exam.job import Order
from benchmarks.exam.making import make_job
from benchmarks.exam.threads_model.draw import Wishes, draw
from benchmarks.exam.threads_model.healthy import HEALTHY
from benchmarks.exam.threads_model.make import draft
from benchmarks.exam.threads_model.params import Params, Source
from benchmarks.exam.threads_model.program import Run
from reportgen.results.causes import Cause

pytestmark = pytest.mark.slow


def job_of(wishes: Wishes | None = None) -> Params:
    pair = Wishes(nodes=(1,), gpus=(2,), one_process=False)
    return draw(np.random.default_rng(5), 5, wishes or pair)


def length_s(params: Params) -> float:
    return Run(params).run().steps.loop_length_s


@pytest.mark.parametrize("kind", list(HEALTHY))
def test_each_healthy_kind_can_be_made_and_waits_little(kind):
    order = Order(number=3, seed=1, family="threads", healthy_kind=kind)
    truth = make_job(order, draft).truth
    assert truth.is_healthy
    assert float(str(truth.facts["waited_ratio"])) < 0.03


def test_workers_end_their_steps_together_with_the_slowest():
    params = job_of()
    slow = replace(params, slow=(1.0, 1.5), noise="normal", spread=0.0)
    steps = Run(slow).run().steps
    train = np.flatnonzero(steps.is_train)
    np.testing.assert_allclose(steps.end_s[0, train], steps.end_s[1, train])
    own_s = (steps.own_s - steps.start_s)[:, train[3:]]
    assert np.median(own_s[1] / own_s[0]) == pytest.approx(1.5, rel=0.05)


def test_a_loop_that_reads_too_slowly_is_as_long_as_its_reading():
    params = job_of(Wishes(nodes=(1,), gpus=(1,), cores=(8,)))
    needed = params.read_bytes / params.cycle_s
    slow = replace(
        params,
        source=Source.DISK,
        disk_bytes=needed / 2,
        loaders=4,
        decode_s=0.2 * params.cycle_s,
        load_spread=0.0,
    )
    n = sum(phase.steps for phase in slow.phases)
    assert length_s(slow) == pytest.approx(n * slow.read_bytes / slow.disk_bytes, rel=0.1)


def test_far_more_loaders_than_cores_cost_about_what_was_ordered():
    order = Order(
        number=3, seed=1, family="threads", causes=(Cause.TOO_MANY_LOADERS,), share_ratio=0.3
    )
    (planted,) = make_job(order, draft).truth.planted
    assert planted.share_ratio == pytest.approx(0.3, abs=0.12)


@pytest.mark.parametrize("cause", [Cause.IO_WAIT, Cause.CPU_PREPROCESSING, Cause.UNPINNED_MEMORY])
def test_a_fault_costs_about_what_was_ordered(cause):
    order = Order(number=3, seed=1, family="threads", causes=(cause,), share_ratio=0.25)
    (planted,) = make_job(order, draft).truth.planted
    assert planted.share_ratio == pytest.approx(0.25, abs=0.08)
