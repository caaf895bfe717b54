"""The large copies of a real trace, made to block: the data loader stays the first finding."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from reportgen.intake import discover, read
from reportgen.rules import idle_time
from reportgen.rules.runner import judge_all, measure_part
from tests.shared_data import SHARED_DATA, needs_shared_data

N_LARGE = 6


def with_blocking_copies(begins_us: int) -> dict[str, Any]:
    """Return the trace with its large copies to the GPU in calls that last until they are done.

    The copies begin so many µs after their calls.
    """
    (path,) = (SHARED_DATA / "kineto/resnet50_num_workers_0").glob("*.json.gz")
    trace: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    events = [event for event in trace["traceEvents"] if event.get("ph") == "X"]
    calls = {
        event["args"]["correlation"]: event for event in events if event.get("cat") == "Runtime"
    }
    copies = [event for event in events if event["name"].startswith("Memcpy HtoD")]
    for copy in sorted(copies, key=lambda event: -event["dur"])[:N_LARGE]:
        call = calls[copy["args"]["correlation"]]
        call["ts"], call["dur"] = copy["ts"] - begins_us, begins_us + copy["dur"] + 1
    return trace


@needs_shared_data
@pytest.mark.parametrize("begins_us", [25, 35, 150])
def test_the_data_loader_is_first_however_late_blocking_copies_begin(tmp_path: Path, begins_us):
    file = tmp_path / "worker0.1.pt.trace.json"
    file.write_text(json.dumps(with_blocking_copies(begins_us)))
    params = {idle_time.RULE.id: idle_time.RULE.params()}
    measured = [
        measure_part(read(part), [idle_time.RULE], params) for part in discover(str(file)).parts
    ]
    (result,) = judge_all(measured, [idle_time.RULE], params)

    first = result.findings[0]
    assert first.id == "IDLE-1"
    assert (first.measured or 0.0) == pytest.approx(33.2, abs=0.5)
