"""AWS's own samples and the jobs of the oracle, read whole: their published counts must match."""

from __future__ import annotations

import json

import numpy as np
import pytest

from reportgen import intake
from reportgen.errors import AmbiguousJobError
from reportgen.formats import Diagnostics
from reportgen.formats.trace_events.file_events import read_event_file
from reportgen.formats.trace_events.rows import Vocabulary
from reportgen.profile import Clock, NodeProfile, Quality, RankTrace
from reportgen.rules.base import NoParams
from reportgen.rules.horovod_negotiation import measure
from reportgen.units import NS_PER_S
from tests.shared_data import ORACLE_JOBS, SHARED_DATA, needs_shared_data

pytestmark = needs_shared_data


def read(name: str) -> list[NodeProfile]:
    return [intake.read_node(part) for part in intake.discover(str(SHARED_DATA / name)).parts]


@pytest.mark.parametrize("name", ORACLE_JOBS)
def test_nodes_ticks_and_steps_of_an_oracle_job_are_as_planted(name: str) -> None:
    scenario = json.loads((SHARED_DATA / "oracle" / name / "scenario.json").read_text())
    job = intake.discover(str(SHARED_DATA / "oracle" / name))
    assert (job.info.name, job.info.is_finished, job.notes) == (name, True, ())
    profiles = [intake.read_node(part) for part in job.parts]
    assert [profile.node for profile in profiles] == scenario["nodes"]
    found: dict[str, dict[str, int]] = {}
    for profile in profiles:
        table, steps = profile.system, profile.spans.steps()
        assert table.n_ticks == scenario["snapshots_per_node"]
        assert table.interval_ns == scenario["interval_s"] * NS_PER_S
        # The plan's times are those of the schedule; sampling is a few milliseconds late.
        assert table.first_ns == pytest.approx(scenario["first_sample"] * NS_PER_S, abs=1e7)
        for worker, phase in zip(steps.worker, steps.phase, strict=True):
            node, _, pid = steps.workers[worker].rpartition("-")
            mode = steps.phases[phase].rpartition(".")[2]
            counts = found.setdefault(f"{pid}-{node}", {})
            counts[mode] = counts.get(mode, 0) + 1
        trouble = [note for note in profile.notes if Quality.FILES_READ not in note.counts]
        assert all(Quality.EVENTS_UNMATCHED in note.counts for note in trouble)
    assert found == scenario["steps"]


@pytest.mark.parametrize(
    ("job", "start_us", "end_us", "n_events"),
    [
        ("test_traces", 1589930980_000000, 1589930995_000000, 4),
        ("model_timeline_traces", 1590461127873222, 1590461139949971, 54),
        ("horovod_timeline_traces", 1593673051472800, 1593673051473100, 15),
    ],
)
def test_events_that_overlap_a_window_are_as_many_as_aws_counts(job, start_us, end_us, n_events):
    n_found = 0
    for path in sorted((SHARED_DATA / "smdebug" / job).glob("framework/pevents/*/*.json")):
        events = read_event_file(
            path.read_bytes(), path.name, Diagnostics(), vocabulary=Vocabulary()
        )
        overlaps = (events.start_ns <= end_us * 1000) & (events.end_ns >= start_us * 1000)
        n_found += int(np.count_nonzero(overlaps))
    assert n_found == n_events


def test_the_impossible_durations_of_the_horovod_sample_are_those_of_instants() -> None:
    (profile,) = read("smdebug/horovod_timeline_traces")
    assert not any(Quality.EVENTS_DROPPED in note.counts for note in profile.notes)
    assert profile.spans.names == ("4", "5", "7", "CYCLE_START")
    assert profile.spans.n_spans == 21


def test_the_original_horovod_sample_names_the_rank_that_was_ready_last() -> None:
    (profile,) = read("smdebug/horovod_timeline_small.json")
    found = measure(profile, NoParams())
    assert found.n_negotiations == 2
    (late,) = (rank for rank in found.ranks if rank.n_last)
    assert (late.rank, late.n_last, late.others_waited_ns) == (5, 2, 681_799_000)


@pytest.mark.parametrize(
    ("folder", "n_events", "clock"),
    [
        ("tfprofiler_timeline_traces", 798, Clock.UNIX),
        ("tfprofiler_local_missing_metadata", 256, Clock.RELATIVE),
    ],
)
def test_tensorflows_profiles_hold_as_many_events_as_smdebug_counts(folder, n_events, clock):
    job = intake.discover(str(SHARED_DATA / "smdebug" / folder))
    profile = next(part for part in read(f"smdebug/{folder}") if part.spans.n_spans)
    dropped = sum(note.counts.get(Quality.EVENTS_DROPPED, 0) for note in profile.notes)
    assert profile.spans.n_spans + dropped == n_events
    assert job.info.clock is clock
    assert set(profile.spans.phases) == {"/host:CPU"}
    if clock is Clock.UNIX:
        first_us = int(profile.spans.start_ns.min()) // 1000
        assert 0 <= first_us - 1596659864545103 < 309_065


def test_timelines_with_different_bases_meet_in_one_table() -> None:
    (profile,) = read("smdebug/merge_traces")
    spans = profile.spans
    assert spans.workers == ("b88ab1bb8259-905",)
    steps = spans.steps()
    assert steps.n_spans == 40
    assert steps.start_ns[0] == (1594662605425850 + 2664345) * 1000
    fetches = spans.where(spans.in_phases(["DataIterator"]))
    assert fetches.start_ns[0] == (1594662597687738 + 17127171) * 1000


def test_every_kernel_trace_is_read_without_loss() -> None:
    places = {
        "a100_alexnet_sync_events.json.gz": 98, "a100_dlrm_rank3of8.json.gz": 9450,
        "h100_qwen_inference.json.gz": 1707, "mi300x_resnet_rank0of8.json.gz": 3653,
        "param_dlrm_8ranks": 2244, "rank_non_gpu.json.gz": 0, "rank_not_found.json.gz": 0,
        "resnet50_num_workers_0": 9096, "resnet50_num_workers_4": 9258,
        "v100_dlrm_rank1of2.json.gz": 15632, "v100_ns": 6095,
    }  # fmt: skip
    for place, n_gpu_ops in places.items():
        job = intake.discover(str(SHARED_DATA / "kineto" / place))
        traces = [intake.read(part) for part in job.parts]
        lost = [
            note
            for trace in traces
            for note in trace.notes
            if note.counts.keys() - {Quality.FILES_READ, Quality.EVENTS_UNMATCHED}
        ]
        assert lost == []
        assert sum(len(trace.gpu_ops.name) for trace in traces if isinstance(trace, RankTrace)) == (
            n_gpu_ops
        )


def test_kernel_traces_of_several_jobs_are_named() -> None:
    with pytest.raises(AmbiguousJobError, match="param_dlrm_8ranks/, resnet50_num_workers_0/"):
        intake.discover(str(SHARED_DATA / "kineto"))
