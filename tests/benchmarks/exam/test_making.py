"""Generated jobs and the truth about them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from benchmarks.exam.causes import Input, Sight
from benchmarks.exam.events import timelines_of
from benchmarks.exam.job import Order
from benchmarks.exam.log import Hooks, StepLog
from benchmarks.exam.making import LOOP, Seen, make_job
from benchmarks.exam.plan import FAMILIES, make
from benchmarks.exam.recording import Machine, write_recording
from reportgen.intake import discover
from reportgen.pipeline.work import work_on
from reportgen.profile import Quality
from reportgen.results.causes import Cause

SEED = 7
TIMES = (
    "asked_s",
    "there_s",
    "start_s",
    "forward_s",
    "own_s",
    "end_s",
    "optimized_s",
    "kept_s",
)
pytestmark = pytest.mark.slow


def order_of(family: str, *causes: Cause, share: float = 0.2, healthy: str = "") -> Order:
    return Order(
        number=1,
        seed=SEED,
        family=family,
        causes=causes,
        healthy_kind=healthy,
        share_ratio=share,
    )


@pytest.mark.parametrize("family", list(FAMILIES))
def test_an_order_makes_the_same_job_again(family):
    order = order_of(family, Cause.WORK_BETWEEN_STEPS)
    one, other = make(order), make(order)
    assert one.truth == other.truth
    for mine, its in zip(one.recording.samples, other.recording.samples, strict=True):
        np.testing.assert_array_equal(mine.cpu, its.cpu)
        np.testing.assert_array_equal(mine.gpu, its.gpu)
    assert one.recording.timelines == other.recording.timelines


@pytest.mark.parametrize("family", list(FAMILIES))
def test_a_healthy_job_has_no_fault_and_a_busy_gpu(family):
    truth = make(order_of(family, healthy="plain")).truth
    assert truth.is_healthy
    assert float(str(truth.facts["used_ratio"])) > 0.85
    assert float(str(truth.facts["waited_ratio"])) < 0.03


@pytest.mark.parametrize("family", list(FAMILIES))
@pytest.mark.parametrize(
    "cause", [Cause.IO_WAIT, Cause.LONG_PAUSE, Cause.RANDOM_SLOW_STEPS, Cause.SLOWING_DOWN]
)
def test_the_share_is_what_the_same_job_saves_without_the_fault(family, cause):
    runs: dict[str, Seen] = {}

    def spying(order, rng, seed):
        draft = FAMILIES[family](order, rng, seed)
        runs.update(bad=draft.run([cause]), good=draft.run([]))
        return draft

    (planted,) = make_job(order_of(family, cause), spying).truth.planted
    bad_s, good_s = (runs[name].steps.loop_length_s for name in ("bad", "good"))
    assert planted.share_of == LOOP
    assert planted.share_ratio == pytest.approx((bad_s - good_s) / bad_s)
    assert runs["bad"].steps.number.size == runs["good"].steps.number.size


@pytest.mark.parametrize("family", list(FAMILIES))
def test_of_two_faults_each_is_removed_alone(family):
    truth = make(order_of(family, Cause.WORK_BETWEEN_STEPS, Cause.LONG_PAUSE, share=0.3)).truth
    shares = [planted.share_ratio for planted in truth.planted]
    assert all(share is not None and 0.03 <= share <= 0.85 for share in shares)
    assert sum(share or 0 for share in shares) < 1


@pytest.mark.parametrize("family", list(FAMILIES))
def test_a_pause_acts_when_no_step_runs(family):
    order = order_of(family, Cause.LONG_PAUSE, share=0.1)
    job = make(order)
    (planted,) = job.truth.planted
    lengths_s = (planted.share_ratio or 0) * (job.truth.loop_s[1] - job.truth.loop_s[0])
    assert planted.end_s - planted.start_s >= 0.95 * lengths_s
    assert job.truth.loop_s[0] < planted.start_s < planted.end_s < job.truth.loop_s[1]


@pytest.mark.parametrize("family", list(FAMILIES))
def test_an_idle_gpu_is_idle_in_the_samples_and_named_as_a_place(family):
    job = make(order_of(family, Cause.GPU_IDLE))
    (planted,) = job.truth.planted
    machine = job.recording.machine
    idle = {
        f"algo-{node + 1}/gpu{index}"
        for node, values in enumerate(job.recording.samples)
        for index in range(machine.gpus)
        if values.gpu[:, 2 * index].max() <= 1
    }
    assert idle == {place for place in planted.places if "/" in place}
    assert planted.share_ratio == pytest.approx(len(idle) / (machine.nodes * machine.gpus))


@pytest.mark.parametrize("family", list(FAMILIES))
def test_the_cores_are_full_where_the_batches_need_them_all(family):
    job = make(order_of(family, Cause.CPU_PREPROCESSING, share=0.3))
    first_s, last_s = job.truth.loop_s
    at_s = job.recording.ticks * job.recording.machine.interval_ms / 1000
    inside = (at_s > first_s + 2) & (at_s < last_s - 2)
    assert job.recording.samples[0].cpu[inside][:, ::2].mean() > 80


@pytest.mark.parametrize("family", list(FAMILIES))
def test_what_is_written_is_read_without_a_complaint(family, tmp_path):
    job = make(order_of(family, Cause.TOO_FEW_LOADERS))
    assert job.truth.input is Input.PYTORCH
    assert job.truth.planted[0].sight is Sight.IDENTIFIABLE
    write_recording(job.recording, seed=SEED, root=tmp_path / "profiler-output")
    read = discover(str(tmp_path), name=None)
    assert read.info.is_finished
    assert len(read.parts) == job.recording.machine.nodes
    for part in read.parts:
        measured = work_on(part, rules=(), params={})
        counted = {quality for note in measured.notes for quality in note.counts}
        assert counted <= {Quality.FILES_READ}


@pytest.mark.parametrize("is_persistent", [True, False])
def test_a_loader_that_lives_on_is_set_up_once_for_each_of_training_and_validation(is_persistent):
    machine = Machine(
        nodes=1,
        gpus=1,
        cores=4,
        workers_per_node=1,
        interval_ms=500,
        start_unix_s=1e9,
        clock_offsets_s=(0.0,),
    )
    n = 12
    at_s = np.arange(n, dtype=np.float64)[None, :]
    log = StepLog(
        is_train=np.tile([True, True, False], 4),
        number=np.arange(n),
        epoch=np.repeat(np.arange(4), 3),
        **{name: at_s + 0.1 * turn for turn, name in enumerate(TIMES)},
    )
    hooks = Hooks(
        input=Input.PYTORCH,
        machine=machine,
        seed=1,
        num_workers=2,
        is_persistent=is_persistent,
        is_pinned=True,
        has_operators=False,
    )
    phases = Counter(event.phase for line in timelines_of(hooks, log) for event in line.events)
    assert phases["DataLoaderIterInitialize"] == (2 if is_persistent else 8)
    assert phases["DataLoaderWorker"] == 2 * phases["DataLoaderIterInitialize"]
    assert phases["DataLoaderIter"] == n
