"""Python profiles as SageMaker's hooks write them: dumps of cProfile, and pyinstrument's JSON.

The times are made by hand, so that what a report must say is known.
"""

from __future__ import annotations

import json
import marshal
from collections.abc import Iterator, Mapping
from pathlib import Path

Times = tuple[int, float, float]
"""Calls, own seconds, cumulative seconds."""
Functions = Mapping[tuple[str, int, str], Times]
"""By file, line and name, as cProfile keeps them."""

TRAIN = "/home/ann/job/train.py"
TORCH = "/opt/conda/lib/python3.11/site-packages/torch"

FORWARD: Functions = {
    (TRAIN, 12, "forward"): (1, 0.01, 0.2),
    (f"{TORCH}/nn/modules/conv.py", 443, "forward"): (8, 0.04, 0.19),
    ("~", 0, "<built-in method torch.conv2d>"): (8, 0.15, 0.15),
}
"""A forward pass of 0.2 s."""

BETWEEN: Functions = {
    (TRAIN, 30, "log_metrics"): (1, 0.02, 0.3),
    ("/opt/conda/lib/python3.11/logging/__init__.py", 1467, "info"): (40, 0.03, 0.28),
    ("~", 0, "<method 'write' of '_io.TextIOWrapper' objects>"): (40, 0.25, 0.25),
    (f"{TORCH}/utils/data/dataloader.py", 621, "__next__"): (1, 0.1, 0.1),
    ("~", 0, "<method 'run_backward' of 'torch._C._EngineBase' objects>"): (1, 0.2, 0.2),
}
"""What runs from the end of a forward pass to the next step: logging takes 0.28 of 0.6 s."""


def dump_bytes(functions: Functions) -> bytes:
    """Return a cProfile dump; no function was called recursively or by another."""
    return marshal.dumps(
        {
            key: (calls, calls, own_s, cumulative_s, {})
            for key, (calls, own_s, cumulative_s) in functions.items()
        }
    )


def tree_bytes(functions: Functions) -> bytes:
    """Return pyinstrument's JSON: all functions below one frame, each with its own time."""
    children = [
        {"function": name, "file_path": file, "line_no": line, "time": own_s, "children": []}
        for (file, line, name), (_, own_s, _) in functions.items()
    ]
    whole_s = sum(own_s for _, own_s, _ in functions.values())
    root = {"function": "main", "file_path": TRAIN, "line_no": 1, "time": whole_s}
    return json.dumps({"root_frame": {**root, "children": children}}).encode()


def write_profile(
    root: Path,
    content: bytes,
    *,
    start: str,
    end: str,
    node_id: str = "27-algo-1",
    profiler: str = "cprofile",
) -> Path:
    """Write one profile below ``root`` (``profiler-output``).

    Args:
        root: the folder that holds ``framework/``.
        content: of the profile.
        start, end: its moments: ``train-5-stepstart-1774257128000000``.
        node_id: process id and node.
        profiler: ``cprofile`` or ``pyinstrument``.
    """
    folder = root / "framework" / "pytorch" / profiler / node_id / f"{start}_{end}"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / ("python_stats" if profiler == "cprofile" else "python_stats.json")
    path.write_bytes(content)
    return path


def write_python_profiles(root: Path, moments: Iterator[tuple[int, int, int, int]]) -> None:
    """Write two profiles for each step: its forward pass, and from there to the next step.

    Args:
        root: the folder that holds ``framework/``.
        moments: number, start, end of the forward pass and start of the next step, µs UTC.
    """
    for step, start_us, forward_us, next_us in moments:
        between = f"train-{step}-forwardpassend-{forward_us}"
        start = f"train-{step}-stepstart-{start_us}"
        write_profile(root, dump_bytes(FORWARD), start=start, end=between)
        end = f"train-{step + 1}-stepstart-{next_us}"
        write_profile(root, dump_bytes(BETWEEN), start=between, end=end)
