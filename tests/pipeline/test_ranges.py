"""What `--from`, `--to` and `--steps` accept, and what they cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from reportgen.errors import ConfigError, LocationError
from reportgen.intake import cut_job, discover, read, read_node
from reportgen.pipeline.from_results import check_uncut
from reportgen.pipeline.options import Options
from reportgen.pipeline.ranges import apply_range, numbered_steps, range_of_steps
from reportgen.pipeline.wanted import parse_time, wanted_range
from reportgen.profile import NodeProfile, RankTrace, TimeRange
from tests.builders import (
    START_S,
    Row,
    known,
    span_table,
    timeline_lines,
    write_system,
    write_timeline,
)
from tests.traces import kernel, launch, ranked, step, trace_text, write_trace

START_NS = round(START_S * 1e9)
STEP = "Step:ModeKeys.TRAIN"
NS_PER_S = 10**9


@pytest.mark.parametrize(
    ("text", "expected_ns"),
    [
        ("1783071021", 1783071021 * NS_PER_S),
        ("1783071021.123456789", 1783071021123456789),
        ("0", 0),
        ("2026-07-03T09:30:21Z", 1783071021 * NS_PER_S),
        ("2026-07-03T11:30:21+02:00", 1783071021 * NS_PER_S),
        ("2026-07-03 09:30:21.000001", 1783071021000001000),
        ("2026-07-03", 1783036800 * NS_PER_S),
    ],
)
def test_instants_are_iso_or_unix_seconds_and_exact(text: str, expected_ns: int) -> None:
    assert parse_time("--from", text) == expected_ns


@pytest.mark.parametrize("text", ["", "noon", "nan", "1e9", "2026-13-01", "12345678901", "1,5"])
def test_what_is_no_time_is_refused_with_the_forms(text: str) -> None:
    with pytest.raises(ConfigError, match=r"--to .* is no time") as info:
        parse_time("--to", text)
    assert "ISO 8601" in info.value.hint
    assert info.value.exit_code == 2


@pytest.mark.parametrize("steps", ["", ":", "5", "a:b", "-1:5", "1:2:3", "9:3", "1.5:2"])
def test_what_is_no_range_of_steps_is_refused(steps: str) -> None:
    with pytest.raises(ConfigError, match="--steps"):
        wanted_range(None, None, steps)


def test_a_range_needs_an_order_and_one_kind_of_ends() -> None:
    assert wanted_range(None, None, None) is None
    with pytest.raises(ConfigError, match="lies after"):
        wanted_range("20", "10", None)
    with pytest.raises(ConfigError, match="cannot be combined"):
        wanted_range("10", None, "1:2")
    both = known(wanted_range("10", "10", None))
    assert both.time == TimeRange(from_ns=10 * NS_PER_S, to_ns=10 * NS_PER_S)
    with pytest.raises(ConfigError, match="cannot be cut"):
        check_uncut(Options(path="job", output=Path(), wanted=both))
    with pytest.raises(ConfigError, match="another cycle"):
        check_uncut(Options(path="job", output=Path(), cycle=2))


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """Ten seconds of samples, two a second, and steps of a second each from 2 s on."""
    write_system(tmp_path, {"gpu0": [float(value) for value in range(20)], "cpu0": [1.0] * 20})
    rows: list[Row] = [
        (STEP, STEP, START_S + 2 + step, START_S + 3 + step, {"step": step}) for step in range(6)
    ]
    write_timeline(tmp_path, timeline_lines(rows))
    return tmp_path


def part_of(job: Path, kept: TimeRange) -> NodeProfile:
    (ref,) = cut_job(discover(str(job)), kept).parts
    return read_node(ref)


def test_both_ends_belong_to_the_range_and_events_keep_their_length(job: Path) -> None:
    part = part_of(job, TimeRange(from_ns=START_NS + 3 * NS_PER_S, to_ns=START_NS + 5 * NS_PER_S))

    assert part.system.n_ticks == 5
    assert part.system.first_ns == START_NS + 3 * NS_PER_S
    assert part.system.last_ns == START_NS + 5 * NS_PER_S
    # Steps 0 (ends at 3 s) to 3 (begins at 5 s) touch the range.
    assert part.spans.step.tolist() == [0, 1, 2, 3]
    assert set(part.spans.duration_ns.tolist()) == {NS_PER_S}


def test_a_microsecond_outside_is_outside(job: Path) -> None:
    kept = TimeRange(from_ns=START_NS + 3 * NS_PER_S + 1_000, to_ns=START_NS + 5 * NS_PER_S - 1_000)
    part = part_of(job, kept)
    assert part.system.n_ticks == 3
    assert part.spans.step.tolist() == [1, 2]


def test_long_events_of_the_job_survive_a_short_range(tmp_path: Path) -> None:
    write_system(tmp_path, {"gpu0": [1.0] * 3000})
    rows: list[Row] = [("DataLoaderWorker", "worker", START_S, START_S + 1200, {})]
    write_timeline(tmp_path, timeline_lines(rows))
    start_ns = START_NS + 600 * NS_PER_S
    part = part_of(tmp_path, TimeRange(from_ns=start_ns, to_ns=start_ns + NS_PER_S))
    assert part.spans.duration_ns.tolist() == [1200 * NS_PER_S]


def test_steps_become_the_time_from_the_first_to_the_last(job: Path) -> None:
    cut, text = apply_range(discover(str(job)), known(wanted_range(None, None, "1:2")))
    kept = cut.parts[0].kept
    assert kept == TimeRange(from_ns=START_NS + 3 * NS_PER_S, to_ns=START_NS + 5 * NS_PER_S)
    assert text.startswith("step 1 to step 2, ")


def test_steps_of_several_nodes_span_all_of_them() -> None:
    nodes = [
        numbered_steps(span_table([(STEP, STEP, START_S + late, START_S + late + 1, {"step": 7})]))
        for late in (0, 3)
    ]
    kept = range_of_steps(nodes, first=7, last=None)
    assert kept == TimeRange(from_ns=START_NS, to_ns=START_NS + 4 * NS_PER_S)
    with pytest.raises(LocationError, match="its steps are 7 to 7"):
        range_of_steps(nodes, first=8, last=9)
    with pytest.raises(LocationError, match="it has no steps"):
        range_of_steps([], first=8, last=9)


def test_a_kernel_trace_is_cut_to_its_steps(tmp_path: Path) -> None:
    """What was launched before them and still runs in them is kept, without its launch."""
    events = [
        *(step(number, 100.0 * number, 100.0) for number in (4, 5, 6)),
        *(launch(at, n) for n, at in enumerate((410.0, 480.0, 510.0, 590.0, 620.0), start=1)),
        *(kernel(at, 15.0, n) for n, at in enumerate((420.0, 490.0, 530.0, 650.0, 670.0), start=1)),
    ]
    job = discover(str(write_trace(tmp_path / "trace.json", trace_text(events))))
    cut, text = apply_range(job, known(wanted_range(None, None, "5:5")))
    trace = read(cut.parts[0])

    assert isinstance(trace, RankTrace)
    assert text.startswith("step 5 to step 5, ")
    assert trace.steps.number.tolist() == [5]
    assert ((trace.gpu_ops.start_ns - trace.steps.start_ns[0]) / 1000).tolist() == [-10, 30, 150]
    assert trace.gpu_ops.launch.tolist() == [-1, 0, 1]
    assert trace.calls.start_ns.size == 2
    assert trace.last_ns == trace.gpu_ops.end_ns.max()


def test_each_rank_is_cut_to_its_own_steps(tmp_path: Path) -> None:
    for rank, late in enumerate((0.0, 30.0)):
        events = [step(number, late + 100.0 * number, 100.0) for number in (4, 5, 6)]
        gpu = [launch(late + 510.0, 1), kernel(late + 520.0, 15.0, 1)]
        write_trace(tmp_path / f"rank{rank}.json", ranked(rank, events=[*events, *gpu]))
    cut, _ = apply_range(discover(str(tmp_path)), known(wanted_range(None, None, "5:")))
    traces = [read(part) for part in cut.parts]

    assert [trace.steps.number.tolist() for trace in traces if isinstance(trace, RankTrace)] == [
        [5, 6],
        [5, 6],
    ]
