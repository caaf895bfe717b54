"""Arguments of events in the export."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from reportgen.cli.timeline import command
from tests.traces import Event, span, trace_text, write_trace


def slices_of(folder: Path, more: Sequence[Event] = ()) -> dict[str, Any]:
    """The slices of the export in JSON, by name."""
    events = [
        span("cpu_op", "linear", 10, 20, External_id=7),
        span("cpu_op", "relu", 40, 20),
        *more,
    ]
    place = write_trace(folder / "rank-0.pt.trace.json", trace_text(events))
    output = folder / "a.json"
    assert CliRunner().invoke(command, [str(place), "-o", str(output)]).exit_code == 0
    written = json.loads(output.read_text())["traceEvents"]
    return {event["name"]: event for event in written if event["ph"] == "X"}


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
    args = {name: event.get("args") for name, event in slices_of(tmp_path, more).items()}
    sizes = "sizes of inputs [8,64] [] [64]"
    assert args["aten::addmm"] == {"detail": f"first input c10::Half, {sizes}"}
    assert args["aten::cat"] == {"detail": "sizes of inputs [2] [3]"}
    assert args["Memcpy HtoD"] == {
        "detail": "10 kB", "bytes": 10_000, "bandwidth (MB/s)": 2_500,
    }  # fmt: skip
    assert args["Memset"] == {"detail": "10 kB"}
