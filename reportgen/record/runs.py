"""The runs of a recording: each ``reportgen record`` that wrote into the folder.

The last one to end leaves the mark that the job has ended.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any

from reportgen.record.folder import (
    Recording,
    create_exclusively,
    is_alive,
    make_folder,
    process_start,
    read_json,
    replace_json,
)

_LAUNCHER_IDS = (
    "SLURM_JOB_ID",
    "TORCHELASTIC_RUN_ID",
    "PBS_JOBID",
    "LSB_JOBID",
    "JOB_COMPLETION_INDEX",
)
"""Variables that are the same for all processes of one job, whoever started them."""

_END_MARKER = Path("system", "training_job_end.ts")


class Run:
    """This run, from its entry in the folder to its end."""

    def __init__(self, recording: Recording, command: Sequence[str]) -> None:
        """Enter the run.

        Raises:
            OSError: the folder cannot be written.
        """
        self._recording = recording
        self._folder = recording.root / "recorder" / "runs"
        self._path = self._folder / f"{recording.node}-{os.getpid()}-{time.time_ns()}.json"
        self._entry: dict[str, object] = {
            "node": recording.node,
            "pid": os.getpid(),
            "started": process_start(os.getpid()),
            "launcher": _launcher(),
            "program": _digest(program_name(command)),
            "begun_ns": recording.clock.now_ns(),
        }
        self.is_other_job = any(_is_other(self._entry, other) for other in self._others())
        self._entry["is_other_job"] = self.is_other_job
        create_exclusively(self._path, self._entry)
        (recording.root / _END_MARKER).unlink(missing_ok=True)

    def _others(self) -> list[Mapping[str, Any]]:
        paths = sorted(self._folder.glob("*.json"))
        return [entry for path in paths if path != self._path and (entry := read_json(path))]

    def end(self, exit_code: int) -> None:
        """Leave the run; the last one marks the end of the job.

        Raises:
            OSError: the folder cannot be written.
        """
        ended = {"ended_ns": self._recording.clock.now_ns(), "exit_code": exit_code}
        replace_json(self._path, {**self._entry, **ended})
        if not any(self._still_runs(entry) for entry in self._others()):
            marker = self._recording.root / _END_MARKER
            make_folder(marker.parent)
            os.close(os.open(marker, os.O_WRONLY | os.O_CREAT, 0o600))

    def _still_runs(self, entry: Mapping[str, Any]) -> bool:
        if "ended_ns" in entry:
            return False
        is_here = entry.get("node") == self._recording.node
        return not is_here or is_alive(entry.get("pid"), entry.get("started"))


def program_name(command: Sequence[str]) -> str:
    """Return the name of a run: its script's name without folder and ending.

    The first argument that is a script, else the command itself.

    Example:
        >>> program_name(["torchrun", "--nproc-per-node", "2", "/home/me/train.py", "--lr", "1"])
        'train'
        >>> program_name(["./run"])
        'run'
    """
    scripts = [PurePath(word).stem for word in command if PurePath(word).suffix in {".py", ".sh"}]
    modules = [word.rpartition(".")[2] for flag, word in pairwise(command) if flag == "-m"]
    stem = (*modules, *scripts, PurePath(command[0]).stem)[0]
    kept = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in stem)
    return kept[:40] or "job"


def _launcher() -> str | None:
    found = [f"{name}={os.environ[name]}" for name in _LAUNCHER_IDS if os.environ.get(name)]
    return _digest(" ".join(found)) if found else None


def _is_other(ours: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two runs of one folder are of different jobs."""
    if ours.get("launcher") != other.get("launcher"):
        return True
    if ours.get("program") != other.get("program"):
        return True
    return ours.get("launcher") is None and "ended_ns" in other


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
