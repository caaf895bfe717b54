"""Saved reports made to harm who opens them: links, pipes, packed bombs, lanes without end.

Each starts as the report of a small job, saved by the command; one entry is then replaced.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from tests.end_to_end.command import run_here
from tests.fuzz import samples
from tests.views.lane_files import LaneFile, training_file

_RESULT = "StepOutlier.json"


@cache
def _saved() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="reportgen-attack-"))
    answer = run_here(samples.write_job(folder / "job"), "--output", folder, "--format", "md")
    if answer.code != 0:
        raise RuntimeError(f"the sample job gives {answer}")
    return folder / "profiler-report"


def saved(folder: Path) -> Path:
    """Return a saved report of its own."""
    return Path(shutil.copytree(_saved(), folder / "profiler-report"))


def _instead(folder: Path, make: Callable[[Path], object], name: str = _RESULT) -> Path:
    report = saved(folder)
    (report / name).unlink(missing_ok=True)
    make(report / name)
    return report


def _link_to_device(name: str, folder: Path) -> Path:
    return _instead(folder, lambda path: path.symlink_to("/dev/zero"), name)


_LINKED = {
    "saved_link_to_device": _RESULT,
    "saved_link_beside_results": "Unnamed.json",
    "saved_report_file_is_a_link": "report.json",
    "saved_timeline_is_a_link": "Timeline.bin",
}
"""What is a link to a device, by attack; a link that no rule names was copied with the others."""


def saved_link_to_private_file(folder: Path) -> Path:
    secret = folder / "secret.json"
    shutil.copy(_saved() / _RESULT, secret)
    return _instead(folder, lambda path: path.symlink_to(secret))


def saved_pipe(folder: Path) -> Path:
    return _instead(folder, os.mkfifo)


def saved_of_gigabytes(folder: Path) -> Path:
    """A result of 4 GB, of which the disk holds nothing."""

    def make(path: Path) -> None:
        with path.open("wb") as file:
            file.truncate(4 << 30)

    return _instead(folder, make)


def _with_data(folder: Path, n_rows: int, packed: bytes, n_columns: int = 1) -> Path:
    report = saved(folder)
    tree = json.loads((report / _RESULT).read_bytes())
    text = base64.b64encode(packed).decode()
    columns = [
        {"name": name, "unit": "ns", "packed": text}
        for name in ["start_ns", "duration_ns", *(f"x{at}_ns" for at in range(n_columns))]
    ]
    of = {"worker": "algo-1/0", "phase": "Step:ModeKeys.TRAIN"}
    table = {"id": "steps", "of": of, "n_rows": n_rows, "n_measured": n_rows, "columns": columns}
    tree["reportgen"]["data"] = [table]
    (report / _RESULT).write_text(json.dumps(tree))
    return report


@cache
def packed_zeros(n_mib: int, window_bits: int) -> bytes:
    """Return so many MiB of zeros, packed by zlib (15) or gzip (31)."""
    packer = zlib.compressobj(9, zlib.DEFLATED, window_bits)
    block = bytes(1 << 20)
    return b"".join([*(packer.compress(block) for _ in range(n_mib)), packer.flush()])


def saved_column_of_3_gb(folder: Path) -> Path:
    return _with_data(folder, 60, packed_zeros(3 << 10, 15))


def saved_column_declares_its_3_gb(folder: Path) -> Path:
    return _with_data(folder, (3 << 30) // 8, packed_zeros(3 << 10, 15))


def saved_many_packed_columns(folder: Path) -> Path:
    return _with_data(folder, 100_000, zlib.compress(bytes(800_000)), 20_000)


def with_timeline(folder: Path, content: bytes) -> Path:
    """Return a saved report with a file of the timeline whose sum is right."""
    report = saved(folder)
    (report / "Timeline.bin").write_bytes(content)
    tree = json.loads((report / "report.json").read_bytes())
    digest = hashlib.sha256(content).hexdigest()
    tree["timeline"] = {"file": "Timeline.bin", "sha256": digest, "n_bytes": len(content)}
    (report / "report.json").write_text(json.dumps(tree))
    return report


def _lanes(change: Callable[[dict[str, Any]], object]) -> bytes:
    made: LaneFile = training_file(n_ranks=1)
    for lane in made.lanes:
        change(lane)
    return made.packed()


def timeline_block_of_3_gb(folder: Path) -> Path:
    made = training_file(n_ranks=1)
    at = made._add(packed_zeros(3 << 10, 31))
    for lane in made.lanes:
        for held in lane["blocks"]:
            held["at"] = at
    return with_timeline(folder, made.packed())


def timeline_lane_is_its_parent(folder: Path) -> Path:
    return with_timeline(folder, _lanes(lambda lane: lane.update(parent=lane["id"])))


def timeline_wrong_counts(folder: Path, n_more: int = 1) -> Path:
    def change(lane: dict[str, Any]) -> None:
        for block in lane["blocks"]:
            block["n"] += n_more

    return with_timeline(folder, _lanes(change))


def timeline_absurd_counts(folder: Path) -> Path:
    return timeline_wrong_counts(folder, 1 << 40)


ATTACKS_ON_SAVED: Mapping[str, Callable[[Path], Path]] = {
    attack.__name__: attack
    for attack in (
        saved_link_to_private_file, saved_pipe, saved_of_gigabytes, saved_column_of_3_gb,
        saved_column_declares_its_3_gb, saved_many_packed_columns,
        timeline_block_of_3_gb, timeline_lane_is_its_parent, timeline_wrong_counts,
        timeline_absurd_counts,
    )
} | {name: partial(_link_to_device, file) for name, file in _LINKED.items()}  # fmt: skip
