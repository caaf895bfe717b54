"""Arrows from forward to backward operators and arguments of events in the export."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from reportgen.cli.timeline import command
from tests.traces import PID, START_US, Event, span, trace_text, write_trace

FORWARD, BACKWARD = PID, PID + 1


def flow(number: int, leaves_us: float, arrives_us: float) -> list[Event]:
    end = {"cat": "fwdbwd", "name": "fwdbwd", "id": number, "pid": PID}
    return [
        {**end, "ph": "s", "tid": FORWARD, "ts": START_US + leaves_us},
        {**end, "ph": "f", "bp": "e", "tid": BACKWARD, "ts": START_US + arrives_us},
    ]


def slices_of(folder: Path, *flows: list[Event], more: Sequence[Event] = ()) -> dict[str, Any]:
    """The slices of the export in JSON, by name."""
    events = [
        span("cpu_op", "linear", 10, 20, tid=FORWARD, External_id=7),
        span("cpu_op", "inner", 10, 5, tid=FORWARD),
        span("cpu_op", "relu", 40, 20, tid=FORWARD),
        span("cpu_op", "LinearBackward", 100, 20, tid=BACKWARD),
        span("cpu_op", "LinearBackward2", 130, 20, tid=BACKWARD),
        span("cpu_op", "ReluBackward", 70, 20, tid=BACKWARD),
        *(end for pair in flows for end in pair),
        *more,
    ]
    place = write_trace(folder / "rank-0.pt.trace.json", trace_text(events))
    output = folder / "a.json"
    assert CliRunner().invoke(command, [str(place), "-o", str(output)]).exit_code == 0
    written = json.loads(output.read_text())["traceEvents"]
    return {event["name"]: event for event in written if event["ph"] == "X"}


def test_an_arrow_leads_from_the_outermost_forward_operator_to_each_of_its_backward_ones(
    tmp_path: Path,
) -> None:
    found = slices_of(tmp_path, flow(1, 10, 100), flow(2, 40, 70), flow(3, 10, 130))
    for forward, backward in (
        ("linear", ["LinearBackward", "LinearBackward2"]),
        ("relu", ["ReluBackward"]),
    ):
        assert found[forward]["flow_out"] is True
        for name in backward:
            assert found[name]["flow_in"] is True
            assert found[name]["bind_id"] == found[forward]["bind_id"]
    assert found["linear"]["bind_id"] != found["relu"]["bind_id"]
    assert "bind_id" not in found["inner"]


def test_an_arrow_that_ends_where_no_operator_begins_is_left_out(tmp_path: Path) -> None:
    found = slices_of(tmp_path, flow(1, 10, 101))
    assert not any("bind_id" in event for event in found.values())


def test_ids_are_arguments_of_the_events_that_have_them(tmp_path: Path) -> None:
    found = slices_of(tmp_path)
    assert found["linear"]["args"] == {"External id": 7}
    assert "args" not in found["relu"]


def test_operators_say_the_sizes_of_their_inputs_and_copies_what_they_moved(tmp_path: Path) -> None:
    types = ["c10::Half", "", "c10::Half"]
    inputs: Event = {"Input_Dims": [[8, 64], [], [64]], "Input_type": types}
    place = {"pid": 0, "tid": 7, "device": 0, "stream": 7}
    more = [
        span("cpu_op", "aten::addmm", 160, 9, **inputs),
        span("cpu_op", "aten::cat", 180, 9, Input_Dims=[[2], [3]]),
        span("gpu_memcpy", "Memcpy HtoD", 200, 4, bytes=10_000, **place),
        span("gpu_memset", "Memset", 210, 0, bytes=10_000, **place),
    ]
    args = {name: event.get("args") for name, event in slices_of(tmp_path, more=more).items()}
    sizes = "sizes of inputs [8,64] [] [64]"
    assert args["aten::addmm"] == {"detail": f"first input c10::Half, {sizes}"}
    assert args["aten::cat"] == {"detail": "sizes of inputs [2] [3]"}
    assert args["Memcpy HtoD"] == {
        "detail": "10 kB", "bytes": 10_000, "bandwidth (MB/s)": 2_500,
    }  # fmt: skip
    assert args["Memset"] == {"detail": "10 kB"}
