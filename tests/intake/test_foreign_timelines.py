"""Timelines that Horovod and TensorFlow wrote, as files of a job."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from reportgen import intake
from reportgen.formats.trace_events.runs import CHUNK_BYTES
from reportgen.profile import Clock, NodeProfile, Quality, SpanSource
from reportgen.profiler_config import ProfiledWindow, Profiling, ProfilingKind
from reportgen.units import NS_PER_US
from sample_data.horovod import horovod_bytes, late_rank, negotiation_lines
from tests.builders import (
    START_S,
    counted,
    timeline_lines,
    write_end_marker,
    write_system,
    write_timeline,
)
from tests.tensorflow_traces import (
    PROFILE_START_US,
    tensorflow_bytes,
    tensorflow_events,
    write_tensorflow,
)


def read(path: Path) -> list[NodeProfile]:
    return [intake.read_node(part) for part in intake.discover(str(path)).parts]


@pytest.mark.parametrize("name", ["timeline.json", "trace-of-horovod", "h.json.gz"])
def test_a_timeline_of_horovod_is_a_job_whatever_its_name(tmp_path: Path, name: str) -> None:
    content = horovod_bytes(negotiation_lines(late_rank(3)))
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    job = intake.discover(str(tmp_path / name))
    assert (job.info.clock, job.info.is_finished) == (Clock.RELATIVE, True)
    (profile,) = [intake.read_node(part) for part in job.parts]
    spans = profile.spans
    assert spans.sources == (SpanSource.HOROVOD,)
    names = [spans.names[code] for code in spans.name]
    assert (names.count("NEGOTIATE_ALLREDUCE"), names.count("ALLREDUCE")) == (3, 3)
    assert names.count("2") == 3
    # from the first event on, not since the machine was started
    assert (spans.start_ns.min(), spans.end_ns.max()) == (0, 24_102 * NS_PER_US)
    np.testing.assert_array_equal(intake.read_events(job.parts[0]).start_ns, spans.start_ns)
    assert counted(profile, Quality.LINES_BROKEN) == 0


def test_a_folder_with_a_timeline_of_horovod_is_a_job(tmp_path: Path) -> None:
    (tmp_path / "timeline.json").write_bytes(horovod_bytes(negotiation_lines(late_rank(3))))
    (tmp_path / "results.json").write_text('[{"loss": 1}]')
    (profile,) = read(tmp_path)
    assert profile.node == "timeline"


def test_horovods_timeline_beside_a_job_keeps_its_own_clock(tmp_path: Path) -> None:
    write_system(tmp_path, {"gpu0": [50.0] * 20})
    write_end_marker(tmp_path)
    (tmp_path / "timeline.json").write_bytes(horovod_bytes(negotiation_lines(late_rank(3))))
    job = intake.discover(str(tmp_path))
    assert job.info.clock is Clock.UNIX
    node, timeline = (intake.read_node(part) for part in job.parts)
    assert node.system.n_samples == 20
    assert timeline.job.clock is Clock.RELATIVE
    assert timeline.spans.n_spans > 0
    assert any("Horovod wrote this timeline itself" in note.text for note in job.notes)


def test_a_negotiation_that_nobody_saw_end_is_counted_not_measured(tmp_path: Path) -> None:
    path = tmp_path / "timeline.json"
    path.write_bytes(horovod_bytes(negotiation_lines(late_rank(2))[:-3]))
    (profile,) = read(path)
    names = [profile.spans.names[code] for code in profile.spans.name]
    assert names.count("NEGOTIATE_ALLREDUCE") == 1
    assert counted(profile, Quality.EVENTS_UNMATCHED) == 1


def test_a_long_timeline_is_read_in_pieces_with_every_damaged_line_counted(tmp_path: Path) -> None:
    path = tmp_path / "timeline.json"
    n_negotiations = 9 * CHUNK_BYTES // 450
    lines = negotiation_lines(late_rank(n_negotiations))
    lines[-20] = lines[-20][:-5]
    lines[40] = "damaged"
    path.write_bytes(horovod_bytes(lines))
    assert path.stat().st_size > 8 * CHUNK_BYTES
    (profile,) = read(path)
    assert counted(profile, Quality.LINES_BROKEN) == 2
    (note,) = (note for note in profile.notes if "cannot be read" in note.text)
    assert f"line 42, line {len(lines) - 20 + 2}" in note.text
    assert abs(profile.spans.n_spans - (6 * n_negotiations + 1)) <= 2


def test_rotated_timelines_keep_the_ready_marks_without_their_durations(tmp_path: Path) -> None:
    rows = negotiation_lines(late_rank(3), clock_us=0, tick_dur_us=812_355_471_858)
    head = json.dumps(
        {
            "name": "process_name",
            "ph": "M",
            "pid": 0,
            "args": {"start_time_since_epoch_in_micros": int(START_S * 1e6)},
        }
    )
    folder = tmp_path / "framework" / "pevents" / "2026070309"
    folder.mkdir(parents=True)
    path = folder / f"{int((START_S + 60) * 1e6)}_27-algo-1_horovod_timeline.json"
    path.write_text("[\n" + ",\n".join([head, *rows]) + "\n]\n")
    (profile,) = read(tmp_path)
    assert counted(profile, Quality.EVENTS_DROPPED) == 0
    is_mark = [profile.spans.names[code].isdecimal() for code in profile.spans.name]
    assert sum(is_mark) == 12
    assert profile.spans.duration_ns[is_mark].max() == 0


def test_timelines_of_smddp_are_read_and_said_to_be_untested(tmp_path: Path) -> None:
    folder = tmp_path / "framework"
    folder.mkdir()
    base = {"start_time_since_epoch_in_micros": int(START_S * 1e6)}
    events = [
        {"name": "process_name", "ph": "M", "pid": 0, "args": base},
        {"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "AllReduce"}},
        {"ph": "B", "name": "smdp::reduce", "pid": 1, "ts": 1000},
        {"ph": "E", "pid": 1, "ts": 1500},
        {"ph": "B", "name": "smdp::reduce", "pid": 1, "ts": 2000},
    ]
    lines = "".join(f"{json.dumps(event)},\n" for event in events)
    (folder / "27-algo-1_smdataparallel_timeline.json.tmp").write_text("[\n" + lines)
    (profile,) = read(tmp_path)
    assert profile.spans.duration_ns.tolist() == [500 * NS_PER_US]
    assert profile.spans.workers == ("algo-1-27",)
    assert any("untested on real data" in note.text for note in profile.notes)


def test_a_trace_of_tensorflow_joins_the_node_that_its_metadata_names(tmp_path: Path) -> None:
    write_system(tmp_path, {"gpu0": [50.0] * 20})
    write_timeline(
        tmp_path, timeline_lines([("Step:ModeKeys.TRAIN", "s", START_S + 1, START_S + 2)])
    )
    write_tensorflow(tmp_path)
    job = intake.discover(str(tmp_path))
    assert [part.node for part in job.parts] == ["algo-1"]
    (profile,) = read(tmp_path)
    spans = profile.spans
    phases = spans.where(spans.in_phases(["ForwardPass", "ComputeGradient"]))
    assert [spans.names[code] for code in phases.name] == ["dense", "dense"]
    assert phases.start_ns.tolist() == [(PROFILE_START_US + at) * NS_PER_US for at in (0, 40)]
    device = spans.where(spans.in_phases(["/device:GPU:0/stream:all"]))
    assert device.duration_ns.tolist() == [30 * NS_PER_US]
    assert spans.where(spans.in_phases(["/host:CPU"])).duration_ns.tolist() == [20_500]
    assert not [note for note in job.notes if note.counts]


@pytest.mark.parametrize("node_ids", [(), ("27-algo-1", "28-algo-2")], ids=["none", "two"])
def test_without_metadata_of_its_own_a_trace_has_durations_only(tmp_path: Path, node_ids) -> None:
    write_system(tmp_path, {"gpu0": [50.0] * 20})
    write_tensorflow(tmp_path, node_ids=node_ids)
    job = intake.discover(str(tmp_path))
    assert [part.node for part in job.parts] == ["algo-1", "ip-10-0-0-1"]
    profile = intake.read_node(job.parts[1])
    assert profile.job.clock is Clock.RELATIVE
    assert sorted(profile.spans.duration_ns.tolist()) == [20_500, 30_000, 40_000, 60_000]
    (lost,) = [note.text for note in job.notes if "does not say when it began" in note.text]
    assert "These are lost: its time in the job, its steps among the job's steps" in lost


def test_metadata_with_the_hosts_name_belongs_to_its_trace(tmp_path: Path) -> None:
    for host in ("host-a", "host-b"):
        write_tensorflow(tmp_path, host=host, node_ids=(f"27-{host}",))
    profiles = read(tmp_path)
    assert [profile.node for profile in profiles] == ["host-a", "host-b"]
    assert all(profile.job.clock is Clock.UNIX for profile in profiles)


def test_a_log_folder_and_a_single_trace_of_tensorflow_are_jobs(tmp_path: Path) -> None:
    folder = tmp_path / "logs" / "plugins" / "profile" / "2026_07_03_09_30_10"
    folder.mkdir(parents=True)
    path = folder / "host.trace.json.gz"
    path.write_bytes(tensorflow_bytes(tensorflow_events()))
    for place in (tmp_path / "logs", path):
        (profile,) = read(place)
        assert (profile.node, profile.spans.n_spans) == ("host", 4)
        assert profile.job.clock is Clock.RELATIVE


@pytest.mark.parametrize("content", [b"", b"\x1f\x8b\x08", b"{", b'{"traceEvents": 3}'])
def test_a_damaged_trace_of_tensorflow_is_a_note_and_nothing_else_is_lost(tmp_path: Path, content):
    write_system(tmp_path, {"gpu0": [50.0] * 20})
    write_tensorflow(tmp_path, content=content)
    (profile,) = read(tmp_path)
    assert profile.system.n_samples == 20
    assert profile.spans.n_spans == 0
    assert counted(profile, Quality.FILES_SKIPPED) == 1


def test_the_configuration_in_a_jobs_folder_says_what_was_profiled(tmp_path: Path) -> None:
    write_system(tmp_path / "profiler-output", {"gpu0": [50.0] * 20})
    asked = {"DetailedProfilingConfig": '{"StartStep": 5, "NumSteps": 1}', "LocalPath": "/secret"}
    tree = {"ProfilingIntervalInMillis": "500", "ProfilingParameters": asked}
    (tmp_path / "profilerconfig.json").write_text(json.dumps(tree))
    job = intake.discover(str(tmp_path))
    assert job.notes == ()
    detailed = ProfiledWindow(kind=ProfilingKind.DETAILED, start_step=5, n_steps=1)
    assert job.profiling == Profiling(interval_ms=500, windows=(detailed,))


def test_of_several_configurations_the_one_nearest_to_the_data_counts(tmp_path: Path) -> None:
    write_system(tmp_path, {"gpu0": [50.0] * 20})
    for folder, interval_ms in ((tmp_path, 100), (tmp_path / "profiler-output", 200)):
        tree = {"ProfilingIntervalInMillis": interval_ms}
        (folder / "profilerconfig.json").write_text(json.dumps(tree))
    job = intake.discover(str(tmp_path))
    assert job.profiling == Profiling(interval_ms=200)
    assert [(note.path, "nearer" in note.text) for note in job.notes] == [
        ("profilerconfig.json", True)
    ]


def test_a_damaged_configuration_is_counted(tmp_path: Path) -> None:
    write_system(tmp_path, {"gpu0": [50.0] * 20})
    (tmp_path / "profilerconfig.json").write_text('{"ProfilingInt')
    job = intake.discover(str(tmp_path))
    (note,) = job.notes
    assert note.counts == {Quality.FILES_SKIPPED: 1}
    assert job.profiling is None
