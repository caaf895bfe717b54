"""Exported timelines hold what the input holds, and slices of a thread as viewers need them."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from reportgen.intake import discover, read_node
from reportgen.pipeline.timeline import TimelineOptions, make_timeline
from tests.builders import Quiet
from tests.shared_data import SHARED_DATA, needs_shared_data
from tests.traces import kernel, launch, ranked, small_events, span, trace_text, write_trace

pytestmark = pytest.mark.slow

SAMPLES = Path(__file__).resolve().parents[2] / "sample_data"
_GPU_CATEGORIES = {"kernel", "Kernel", "gpu_memcpy", "Memcpy", "gpu_memset", "Memset"}
_CALL_CATEGORIES = {"cuda_runtime", "cuda_driver", "Runtime"}

Pairs = Counter[tuple[int, int]]


def files_of(place: Path) -> list[Path]:
    return sorted(place.rglob("*.json*")) if place.is_dir() else [place]


def events_of(file: Path) -> tuple[list[dict[str, Any]], int]:
    """The events of a trace with exact times, and its base; read by the standard library."""
    content = file.read_bytes()
    content = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    tree = json.loads(content, parse_float=Decimal, strict=False)
    if isinstance(tree, list):
        return tree, 0
    return tree["traceEvents"], int(tree.get("baseTimeNanoseconds", 0))


def expected(place: Path) -> tuple[Pairs, Pairs]:
    """Start and length of each complete event, and both starts of each pair of a correlation."""
    slices: Pairs = Counter()
    arrows: Pairs = Counter()
    for file in files_of(place):
        events, base_ns = events_of(file)
        spans = [event for event in events if event.get("ph") == "X"]
        slices.update((ns(event["ts"]) + base_ns, ns(event["dur"])) for event in spans)
        calls: dict[int | None, int] = {
            number: ns(event["ts"]) + base_ns
            for event in spans
            if event.get("cat") in _CALL_CATEGORIES and (number := correlation(event)) is not None
        }
        for event in spans:
            call_ns = calls.get(correlation(event) if event.get("cat") in _GPU_CATEGORIES else None)
            if call_ns is not None:
                first_ns, then_ns = sorted([call_ns, ns(event["ts"]) + base_ns])
                arrows[first_ns, then_ns] += 1
    return slices, arrows


def correlation(event: dict[str, Any]) -> int | None:
    number = event.get("args", {}).get("correlation")
    return None if number is None else int(number)


def ns(time_us: Any) -> int:
    return round(Decimal(time_us) * 1000)


def made(place: Path, output: Path) -> tuple[list[dict[str, Any]], Any]:
    """Export a place; return the events with ``ts`` and ``dur`` in ns, and what was counted."""
    timeline, _ = make_timeline(TimelineOptions(path=str(place), output=str(output)), Quiet())
    events, base_ns = events_of(output)
    for event in events:
        event["ts"] = ns(event["ts"]) + base_ns
        event["dur"] = ns(event.get("dur", 0))
    return events, timeline


def slices_of(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event for event in events if event["ph"] == "X"]


def arrows_of(slices: list[dict[str, Any]]) -> Pairs:
    """Both starts of each arrow; those of one call share its ``bind_id``."""
    starts = {event["bind_id"]: event["ts"] for event in slices if event.get("flow_out")}
    return Counter(
        (starts[event["bind_id"]], event["ts"]) for event in slices if event.get("flow_in")
    )


def check(place: Path, folder: Path) -> list[dict[str, Any]]:
    slices, arrows = expected(place)
    events, timeline = made(place, folder / "a.json")
    found = slices_of(events)
    assert Counter((event["ts"], event["dur"]) for event in found) == slices
    assert arrows_of(found) == arrows
    assert sum(event["ph"] == "C" for event in events) == timeline.n_values
    assert (timeline.n_slices, timeline.n_arrows) == (slices.total(), arrows.total())
    open_until: dict[int, list[int]] = {}
    for event in found:  # as a viewer closes them: the one that was opened last comes first
        stack = open_until.setdefault(event["tid"], [])
        while stack and stack[-1] <= event["ts"]:
            stack.pop()
        assert not stack or event["ts"] + event["dur"] <= stack[-1]
        stack.append(event["ts"] + event["dur"])
    return found


SHARED = (
    "a100_alexnet_sync_events.json.gz", "a100_dlrm_rank3of8.json.gz", "h100_qwen_inference.json.gz",
    "mi300x_resnet_rank0of8.json.gz", "param_dlrm_8ranks", "resnet50_num_workers_0",
    "resnet50_num_workers_4", "v100_dlrm_rank1of2.json.gz", "v100_ns",
)  # fmt: skip


@pytest.mark.parametrize("name", ["kernel_traces", "recorded_trace"])
def test_every_complete_event_is_a_slice_and_every_launch_has_its_arrow(tmp_path: Path, name):
    check(SAMPLES / name, tmp_path)


@needs_shared_data
@pytest.mark.parametrize("name", SHARED)
def test_traces_of_people_are_whole_too(tmp_path: Path, name: str) -> None:
    check(SHARED_DATA / "kineto" / name, tmp_path)


def hard_events() -> list[dict[str, Any]]:
    """Overlaps, moments, equal times, a graph, a kernel before its launch, names of any kind."""
    return [
        *small_events(),
        span("cpu_op", "overlaps", 300, 100),
        span("cpu_op", "the one before", 350, 100),
        span("cpu_op", "and both", 375, 10),
        span("cpu_op", "moment", 400, 0),
        span("cpu_op", "moment", 400, 0),
        span("cpu_op", "at the end of a moment", 400, 5),
        span("cpu_op", '<b>markup</b> "quoted" \\ \u2028 \U0001f600', 500, 1),
        span("cpu_op", "n" * 100_000, 510, 1),
        span("python_function", "nested", 520, 10),
        *(span("python_function", "nested", 520 + depth * 0.01, 5) for depth in range(300)),
        span("cuda_runtime", "cudaGraphLaunch", 600, 10, correlation=90),
        *(kernel(620 + 10 * place, 9.999, 90) for place in range(5)),
        launch(700, 91),
        kernel(699.5, 3, 91),
        span("gpu_user_annotation", "seen by the GPU", 600, 50, pid=0, tid=7),
        span("Trace", "PyTorch Profiler (0)", 0, 900, pid="Spans", tid="PyTorch Profiler"),
    ]


def test_what_is_hard_to_draw_is_drawn(tmp_path: Path) -> None:
    place = write_trace(tmp_path / "rank-0.pt.trace.json", trace_text(hard_events()))
    (tmp_path / "out").mkdir()
    found = check(place, tmp_path / "out")
    assert arrows_of(found).total() == 4 + 5 + 1
    names = {event["name"] for event in found}
    assert {event["name"] for event in hard_events()} - names == {"n" * 100_000}


def test_ids_are_arguments(tmp_path: Path) -> None:
    place = SAMPLES / "kernel_traces"
    events = [event for file in files_of(place) for event in events_of(file)[0]]
    spans = [event for event in events if event.get("ph") == "X"]
    found, _ = made(place, tmp_path / "a.json")
    for name in ("correlation", "External id"):
        in_file = Counter(event.get("args", {}).get(name) for event in spans)
        written = Counter(event.get("args", {}).get(name) for event in slices_of(found))
        del in_file[None], written[None]
        assert in_file
        assert written == in_file


def test_ranks_stand_on_one_axis(tmp_path: Path) -> None:
    later = [event | {"ts": event["ts"] + 40.5} for event in small_events()]
    for rank, events in enumerate([small_events(), later]):
        write_trace(tmp_path / f"rank-{rank}.pt.trace.json", ranked(rank, events=events))
    found, _ = made(tmp_path, tmp_path / "a.json")
    first, second = (
        min(event["ts"] for event in slices_of(found) if event["pid"] == process)
        for process in (1, 2)
    )
    assert second - first == 40_500


def test_system_metrics_are_counters_and_framework_events_slices(tmp_path: Path) -> None:
    job = SAMPLES / "tensorflow_training"
    nodes = [read_node(part) for part in discover(str(job)).parts]
    events, timeline = made(job, tmp_path / "a.json")
    assert Counter((event["ts"], event["dur"]) for event in slices_of(events)) == Counter(
        (int(start_ns), int(end_ns - start_ns))
        for node in nodes
        for start_ns, end_ns in zip(node.spans.start_ns, node.spans.end_ns, strict=True)
    )
    assert sum(event["ph"] == "C" for event in events) == timeline.n_values > 0
