"""Make a small TensorFlow job: ``python -m sample_data.tensorflow_job [FOLDER]``.

One node with one GPU trains 105 steps of Keras for 90 s. The pipeline is slow: each step waits
``WAIT_S`` for its batch, the GPU idles meanwhile, and one of two cores is busy. TensorFlow's
profiler traced steps 40 to 42. Same bytes each time; nothing is random.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "tensorflow_training"
START_S = 1_783_071_000
JOB_S, N_STEPS, FIRST_STEP_S = 90, 105, 8.0
STEP_S, WAIT_S = 0.75, 0.45
TRACED_STEPS = range(40, 43)
NODE, WORKER = "algo-1", "27-algo-1"
Event = dict[str, Any]


def make(folder: Path = FOLDER) -> Path:
    """Write the job below a folder and return it."""
    root = folder / "profiler-output"
    minutes: dict[int, list[str]] = {}
    for second in range(JOB_S):
        minutes.setdefault(second // 60 * 60, []).extend(_samples(second))
    for minute, lines in minutes.items():
        hour = datetime.fromtimestamp(START_S, UTC).strftime("%Y%m%d%H")
        name = f"system/incremental/{hour}/{START_S + minute}.{NODE}.json"
        _write(root / name, "".join(f"{line}\n" for line in lines).encode())
    _write(root / "system" / "training_job_end.ts", b"")
    for suffix, events in (("pythontimeline", _steps()), ("model_timeline", _waits())):
        end_us = (START_S + JOB_S) * 1_000_000
        text = ",\n".join(json.dumps(event) for event in (*_header(), *events))
        name = f"framework/pevents/{hour}/{end_us}_{WORKER}_{suffix}.json"
        _write(root / name, f"[\n{text}\n]\n".encode())
    _write_trace(root / "framework" / "tensorflow" / "detailed_profiling" / hour)
    return folder


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _step_s(number: int) -> float:
    """Return when a step begins, seconds after the job."""
    return FIRST_STEP_S + number * STEP_S


def _samples(second: int) -> Iterator[str]:
    """Yield the lines of one instant: the GPU works while no step waits."""
    trains = FIRST_STEP_S <= second < _step_s(N_STEPS)
    into_step = (second - FIRST_STEP_S) % STEP_S
    gpu = 0.0 if not trains else 6.0 if into_step < WAIT_S else 88.0 + second % 7
    values = [
        ("gpu", "gpu0", "GPUUtilization", gpu),
        ("gpu", "gpu0", "GPUMemoryUtilization", 0.4 * gpu),
        ("memory", "MemoryUsedPercent", "", 41.0 + second % 3),
        ("cpu", "cpu0", "CPUUtilization", 97.5 if trains else 12.0),
        ("cpu", "cpu1", "CPUUtilization", 21.0 + second % 5),
        ("cpu", "cpu0", "I/OWaitPercentage", 0.5),
        ("cpu", "cpu1", "I/OWaitPercentage", 1.5),
        ("i/o", "ReadThroughputInBytesPerSecond", "", 3.2e7 if trains else 1e5),
        ("network", "ReceiveBytesPerSecond", "Algorithm", 2.5e5),
    ]
    for kind, name, dimension, value in values:
        line = {"Type": kind, "Name": name, "Dimension": dimension, "Value": round(value, 2)}
        yield json.dumps({**line, "NodeId": NODE, "Timestamp": START_S + second + 0.25})


def _header() -> Iterator[Event]:
    base = {"start_time_since_epoch_in_micros": START_S * 1_000_000}
    yield {"name": "process_name", "ph": "M", "pid": 0, "args": base}


def _timeline(phase: str, name: str, spans_s: list[tuple[float, float]]) -> Iterator[Event]:
    """Yield a phase and its events; the number of each is that of its step."""
    yield {"name": "process_name", "ph": "M", "pid": 1, "args": {"name": phase}}
    for number, (start_s, length_s) in enumerate(spans_s):
        times = {"ts": round(start_s * 1e6), "dur": round(length_s * 1e6)}
        yield {"name": name, "pid": 1, "ph": "X", **times, "args": {"step_num": str(number)}}


def _steps() -> Iterator[Event]:
    phase = "Step:ModeKeys.TRAIN"
    yield from _timeline(phase, phase, [(_step_s(n), STEP_S - 0.01) for n in range(N_STEPS)])


def _waits() -> Iterator[Event]:
    name = "IteratorGetNextOp::DoCompute"
    spans_s = [(_step_s(number) + 0.005, WAIT_S) for number in range(N_STEPS)]
    yield from _timeline("DataIterator", name, spans_s)


def _write_trace(hour_folder: Path) -> None:
    """Write what TensorFlow's profiler traced: passes and operators on host and GPU."""
    first, last = TRACED_STEPS[0], TRACED_STEPS[-1] + 1
    start_us, end_us = (round((START_S + _step_s(number)) * 1e6) for number in (first, last))
    folder = hour_folder / f"{first:09d}"
    _write(folder / f"{WORKER}_{start_us}_{end_us}.metadata", b"")
    names = {49: "/host:CPU", 1: "/device:GPU:0/stream:all"}
    events: list[Event] = [
        {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}}
        for pid, name in names.items()
    ]
    for number in TRACED_STEPS:
        at_us = (number - first) * STEP_S * 1e6 + (WAIT_S + 0.01) * 1e6
        for pid, name, after_us, dur_us in (
            (49, "aws_marker-ForwardPass/dense", 0, 90_000),
            (49, "aws_marker-ComputeGradient/dense", 90_000, 150_000),
            (49, "aws_marker-ApplyGradient/dense", 240_000, 20_000),
            (49, "MatMul:MatMul", 5_000, 60_000),
            (1, "volta_sgemm_128x64_nn", 10_000, 75_000),
            (1, "volta_sgemm_64x64_tn", 95_000, 140_000),
        ):
            times = {"ts": at_us + after_us, "dur": dur_us}
            events.append({"pid": pid, "tid": 7, **times, "name": name, "ph": "X"})
    tree = {
        "displayTimeUnit": "ns",
        "metadata": {"highres-ticks": True},
        "traceEvents": [*events, {}],
    }
    moment = datetime.fromtimestamp(start_us / 1e6, UTC).strftime("%Y_%m_%d_%H_%M_%S")
    path = folder / "plugins" / "profile" / moment / "ip-10-0-0-1.trace.json.gz"
    _write(path, gzip.compress(json.dumps(tree).encode(), mtime=0))


if __name__ == "__main__":
    print(make(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER))
