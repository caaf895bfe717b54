"""A place with kernel traces becomes parts: one for each rank, and nothing is hidden."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reportgen.errors import AmbiguousJobError, ConfigError, LocationError
from reportgen.intake import discover, read
from reportgen.profile import Clock, Quality, RankTrace
from reportgen.profile.trace_tables import n_rows
from tests.builders import write_system
from tests.traces import (
    BASE_NS,
    START_US,
    header,
    kernel,
    ranked,
    small_events,
    span,
    step,
    trace_text,
    write_trace,
)


def ranks_of(path: Path) -> list[tuple[int, str, bool]]:
    return [
        (part.rank, part.files[0].key, part.is_rank_known)
        for part in discover(str(path)).parts
        if part.rank is not None
    ]


def read_one(path: Path) -> RankTrace:
    part = read(discover(str(path)).parts[-1])
    assert isinstance(part, RankTrace)
    return part


def notes_of(trace: RankTrace) -> str:
    return " ".join(note.text for note in trace.notes)


def test_a_single_file_of_any_name_is_a_job(tmp_path: Path) -> None:
    job = discover(str(write_trace(tmp_path / "my.run.json", trace_text())))

    assert job.info.name == "my.run"
    assert [part.node for part in job.parts] == ["rank 0"]
    assert not job.parts[0].is_rank_known


def test_an_ending_that_lies_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "a.json.gz").write_text(trace_text())
    assert n_rows(read_one(tmp_path).gpu_ops) == 4


def test_processes_of_one_host_are_ranks_of_their_own(tmp_path: Path) -> None:
    for process in (31, 32):
        name = f"train-worker-0_{process}.1623143089861.pt.trace.json"
        (tmp_path / name).write_text(trace_text())

    assert [(rank, known) for rank, _, known in ranks_of(tmp_path)] == [(0, False), (1, False)]
    notes = [note.text for note in discover(str(tmp_path)).notes]
    assert "The ranks are not recorded in 2 traces: they are numbered by their names." in notes


def test_traces_of_several_processes_in_one_file_are_named(tmp_path: Path) -> None:
    other = span("cuda_runtime", "cudaLaunchKernel", 3, 1, pid=4101, tid=4101, correlation=1)
    write_trace(tmp_path / "merged.json", trace_text([*small_events(), other]))
    assert "2 processes are in one file." in notes_of(read_one(tmp_path))

    write_trace(tmp_path / "merged.json", trace_text())
    assert "in one file" not in notes_of(read_one(tmp_path))


def test_events_of_other_profilers_are_named(tmp_path: Path) -> None:
    begin = span("cpu_op", "aten::mm", 0, 1) | {"ph": "B"}
    old = {"name": "mm", "ph": "X", "ts": START_US, "dur": 3, "tid": 0, "pid": "CUDA functions"}
    trace = read_one(
        write_trace(tmp_path / "trace.json", trace_text([kernel(0, 1, 1), begin, old]))
    )

    assert "1 event has only a begin or only an end" in notes_of(trace)
    assert "Spans without a category: 1." in notes_of(trace)
    assert sum(note.counts.get(Quality.EVENTS_DROPPED, 0) for note in trace.notes) == 1


def test_the_header_tells_the_rank_before_the_name(tmp_path: Path) -> None:
    write_trace(tmp_path / "rank1.json", ranked(0))
    write_trace(tmp_path / "b.json.gz", ranked(1))

    assert ranks_of(tmp_path) == [(0, "rank1.json", True), (1, "b.json.gz", True)]


def test_a_header_after_the_events_tells_the_rank_too(tmp_path: Path) -> None:
    noise = [event for _ in range(700) for event in small_events()]
    late = {"traceEvents": noise, "distributedInfo": {"rank": 6, "world_size": 8}}
    write_trace(tmp_path / "a.json", json.dumps(late))

    assert ranks_of(tmp_path) == [(6, "a.json", True)]


def test_files_without_a_rank_are_numbered_in_order(tmp_path: Path) -> None:
    for name in ("b.json", "a.json"):
        write_trace(tmp_path / name, trace_text())

    assert ranks_of(tmp_path) == [(0, "a.json", False), (1, "b.json", False)]


def test_of_several_cycles_the_newest_whole_one_is_read_unless_another_is_chosen(tmp_path: Path):
    for rank in range(2):
        for stamp in (1694128201545, 1694128301545):
            write_trace(tmp_path / f"worker{rank}.{stamp}.pt.trace.json", ranked(rank))
    write_trace(tmp_path / "worker0.1694128401545.pt.trace.json", ranked(0))

    job = discover(str(tmp_path))

    assert [part.files[0].key for part in job.parts] == [
        "worker0.1694128301545.pt.trace.json", "worker1.1694128301545.pt.trace.json"
    ]  # fmt: skip
    (note,) = job.notes
    assert not note.counts  # a cycle is no input that could not be used
    assert note.text.startswith("The profiler recorded 2 cycles; this is number 1")
    first = discover(str(tmp_path), cycle=2)
    assert [part.files[0].key for part in first.parts] == [
        "worker0.1694128201545.pt.trace.json", "worker1.1694128201545.pt.trace.json"
    ]  # fmt: skip
    with pytest.raises(ConfigError, match="2 recorded cycles"):
        discover(str(tmp_path), cycle=3)


def test_cycles_of_one_process_are_recordings_of_one_rank(tmp_path: Path) -> None:
    for stamp in (1795274438178583583, 1795274438415917287):
        write_trace(tmp_path / f"host_2113.{stamp}.pt.trace.json", trace_text())
    write_trace(tmp_path / "host_2114.1795274438415917299.pt.trace.json", trace_text())

    job = discover(str(tmp_path))

    assert [(part.rank, part.files[0].key) for part in job.parts] == [
        (0, "host_2113.1795274438415917287.pt.trace.json"),
        (1, "host_2114.1795274438415917299.pt.trace.json"),
    ]
    assert not any(note.counts for note in job.notes)


def test_ranks_of_jobs_of_different_sizes_in_one_folder_are_told(tmp_path: Path) -> None:
    write_trace(tmp_path / "a.json", ranked(0, world_size=8))
    write_trace(tmp_path / "b.json", ranked(1, world_size=2))

    notes = discover(str(tmp_path)).notes

    assert any("different jobs" in note.text and "2 ranks and 8 ranks" in note.text
               for note in notes)  # fmt: skip


def test_the_same_ranks_in_two_folders_are_two_jobs(tmp_path: Path) -> None:
    for folder in ("first", "second"):
        write_trace(tmp_path / folder / "rank0.json", ranked(0))

    with pytest.raises(AmbiguousJobError) as info:
        discover(str(tmp_path))

    assert "first/, second/" in info.value.message


def test_different_ranks_in_folders_of_their_own_are_one_job(tmp_path: Path) -> None:
    for rank in range(2):
        write_trace(tmp_path / f"rank{rank}" / "trace.json", trace_text())

    assert [rank for rank, *_ in ranks_of(tmp_path)] == [0, 1]


def test_pickles_are_refused_unopened(tmp_path: Path) -> None:
    (tmp_path / "snapshot.pickle").write_bytes(b"cos\nsystem\n(S'touch /tmp/owned'\ntR.")

    with pytest.raises(LocationError, match="none was"):
        discover(str(tmp_path / "snapshot.pickle"))
    write_trace(tmp_path / "a.json", trace_text())
    assert [part.files[0].key for part in discover(str(tmp_path)).parts] == ["a.json"]


def test_an_empty_trace_and_an_empty_file_are_notes(tmp_path: Path) -> None:
    write_trace(tmp_path / "rank0.pt.trace.json", '{"schemaVersion": 1, "traceEvents": []}')
    trace = read_one(tmp_path)
    assert n_rows(trace.gpu_ops) == 0
    assert "no event of a kernel trace" in notes_of(trace)

    write_trace(tmp_path / "rank0.pt.trace.json", b"")
    assert "was empty" in notes_of(read_one(tmp_path))


def test_what_was_lost_is_told_in_numbers(tmp_path: Path) -> None:
    text = trace_text()
    trace = read_one(write_trace(tmp_path / "a.json", text[: text.rindex('"stream"')]))

    assert sum(note.counts.get(Quality.BYTES_LOST, 0) for note in trace.notes) > 50
    assert "Events that it had not written are not counted" in notes_of(trace)
    assert "ends in the middle of an event" in notes_of(trace)


def test_a_first_step_with_few_operations_is_told(tmp_path: Path) -> None:
    events = [event | {"ts": event["ts"] + 200.0 * turn} for turn in range(3)
              for event in small_events()]  # fmt: skip
    numbered = [event for event in events if event["name"] != "cudaLaunchKernel"]
    launches = [event for event in events if event["name"] == "cudaLaunchKernel"]
    for number, event in enumerate(launches):
        event["args"] = {"correlation": number}
    kernels = [event for event in numbered if event["cat"] == "kernel"]
    for number, event in enumerate(kernels):
        event["args"] = event["args"] | {"correlation": number}
    without_first = [event for event in numbered if event not in kernels[:1]]

    write_trace(tmp_path / "a.json", trace_text([*without_first, *launches]))

    assert "The first step launched 1 GPU operations" in notes_of(read_one(tmp_path))


def test_steps_that_cross_are_kept_and_counted(tmp_path: Path) -> None:
    events = [
        step(1, 0.0, 103.0),  # with stacks recorded, ends come late (pytorch#174555)
        step(2, 100.0, 103.0),
        step(3, 200.0, 100.0),
        kernel(50.0, 10.0, 1),
    ]
    trace = read_one(write_trace(tmp_path / "a.json", trace_text(events)))

    assert n_rows(trace.slices) == len(events) - 1
    assert trace.steps.start_ns.tolist() == [0, 100_000, 200_000]
    assert trace.steps.duration_ns.tolist() == [103_000, 103_000, 100_000]
    assert "2 profiler steps overlap the next one" in notes_of(trace)


def test_the_base_of_the_clock_places_a_trace_in_the_world(tmp_path: Path) -> None:
    trace = read_one(write_trace(tmp_path / "a.json", trace_text()))
    assert trace.origin_ns == BASE_NS + int(START_US) * 1000
    assert trace.clock is Clock.UNIX


def test_without_a_base_small_times_have_no_wall_clock(tmp_path: Path) -> None:
    text = trace_text(head={"schemaVersion": 1})
    assert read_one(write_trace(tmp_path / "a.json", text)).clock is Clock.RELATIVE


def test_system_metrics_beside_traces_are_one_job(tmp_path: Path) -> None:
    write_system(tmp_path, {"gpu0": [50.0] * 20})
    write_trace(tmp_path / "traces" / "rank0.json", ranked(0))

    parts = discover(str(tmp_path)).parts

    assert [part.node for part in parts] == ["algo-1", "rank 0"]
    assert [part.rank for part in parts] == [None, 0]


def test_a_header_with_secrets_leaves_none_in_the_tables(tmp_path: Path) -> None:
    head = header(env="SECRET", username="SECRET", host_name="SECRET", cmd=["x", "SECRET"])
    label = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python --key SECRET"}}
    event = small_events()[0] | {"args": {"Call stack": "/home/SECRET/x.py(1): f"}}
    trace = read_one(write_trace(tmp_path / "a.json", trace_text([label, event], head=head)))

    assert n_rows(trace.slices) == 1
    assert "SECRET" not in repr(trace)


def test_times_that_no_clock_shows_count_from_the_first_event(tmp_path: Path) -> None:
    events = [event | {"ts": event["ts"] + 1e18} for event in small_events()]
    trace = read_one(write_trace(tmp_path / "t.pt.trace.json", trace_text(events)))
    assert (trace.origin_ns, trace.base_ns, trace.clock) == (0, 0, Clock.RELATIVE)
    assert n_rows(trace.gpu_ops) == 4
    assert any("none that a clock can show" in note.text for note in trace.notes)


def test_numbers_too_large_for_ids_are_absent_and_counted(tmp_path: Path) -> None:
    events = [*small_events(), kernel(80.0, 5.0, 2**63, device=2**63)]
    trace = read_one(write_trace(tmp_path / "t.pt.trace.json", trace_text(events)))
    assert n_rows(trace.gpu_ops) == 5
    counted = [note for note in trace.notes if Quality.VALUES_BROKEN in note.counts]
    assert [note.counts[Quality.VALUES_BROKEN] for note in counted] == [2]


def test_addresses_and_secrets_in_names_are_masked(tmp_path: Path) -> None:
    name = "upload for ada@host.example.org with api_key=abc, step=7"
    events = [*small_events(), span("user_annotation", name, 1.0, 2.0)]
    trace = read_one(write_trace(tmp_path / "t.pt.trace.json", trace_text(events)))
    assert "upload for …@… with api_key=…, step=7" in trace.names


def test_files_beyond_those_that_are_opened_are_counted(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("reportgen.intake.listing.MAX_LOOKED_INTO", 2)
    for number in range(3):
        write_trace(tmp_path / f"rank{number}.json", ranked(number, world_size=3))
    job = discover(str(tmp_path), name=None)

    assert [part.rank for part in job.parts] == [0, 1]
    assert any("1 file is beyond the" in note.text for note in job.notes)


def test_a_header_that_names_far_too_many_ranks_costs_no_memory(tmp_path: Path) -> None:
    for number in (0, 2):
        write_trace(tmp_path / f"rank{number}.json", ranked(number, world_size=10**15))
    texts = [note.text for note in discover(str(tmp_path), name=None).notes]

    assert any(
        text.endswith(
            "ranks have no trace here: 1, 3, 4, 5, 6, 7, 8, 9 and 999,999,999,999,990 more."
        )
        for text in texts
    )
