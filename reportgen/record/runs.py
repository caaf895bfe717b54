"""The runs of a recording: each ``reportgen record`` that wrote into the folder.

The last one to end leaves the mark that the job has ended.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any

from reportgen.record.folder import (
    NodeFolder,
    create_exclusively,
    digest,
    identity,
    is_alive,
    make_folder,
    process_start,
    read_json,
    replace_json,
)

_LAUNCHER_IDS = ("SLURM_JOB_ID", "TORCHELASTIC_RUN_ID", "PBS_JOBID", "LSB_JOBID")
"""Variables that are the same for all processes of one job, whoever started them."""

_END_MARKER = Path("system", "training_job_end.ts")


class RecordedRun:
    """This run, from its entry in the folder to its end."""

    def __init__(self, recording: NodeFolder, command: Sequence[str]) -> None:
        """Enter the run.

        Raises:
            OSError: the folder cannot be written.
        """
        self._recording = recording
        name = f"{recording.node}-{os.getpid()}-{time.time_ns()}.json"
        self._path = _folder(recording.root) / name
        self._entry: dict[str, object] = {
            **_job_of(command),
            "node": recording.node,
            "identity": identity(),
            "pid": os.getpid(),
            "started": process_start(os.getpid()),
            "begun_ns": recording.clock.now_ns(),
        }
        create_exclusively(self._path, self._entry)
        (recording.root / _END_MARKER).unlink(missing_ok=True)

    def end(self, exit_code: int) -> None:
        """Leave the run; the last one marks the end of the job.

        Raises:
            OSError: the folder cannot be written.
        """
        ended = {"ended_ns": self._recording.clock.now_ns(), "exit_code": exit_code}
        replace_json(self._path, {**self._entry, **ended})
        if not any(map(_still_runs, _entries(self._recording.root))):
            marker = make_folder(self._recording.root, _END_MARKER.parent.name) / _END_MARKER.name
            os.close(os.open(marker, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600))


def is_free(root: Path, command: Sequence[str]) -> bool:
    """Return whether a folder holds no recording, or that of the job that a command belongs to.

    Processes of one job share launcher and program. They run at the same time, or were started by
    one ``srun``, which may start some after others have ended.
    """
    ours, others = _job_of(command), _entries(root)
    if any(entry.get(key) != ours[key] for entry in others for key in ("launcher", "program")):
        return False
    is_launched = ours["launcher"] is not None
    return not others or any(
        _still_runs(entry) or (is_launched and entry.get("step") == ours["step"])
        for entry in others
    )


def _job_of(command: Sequence[str]) -> dict[str, object]:
    return {
        "launcher": _launcher(),
        "step": os.environ.get("SLURM_STEP_ID"),
        "program": digest(program_name(command)),
    }


def _folder(root: Path) -> Path:
    return root / "recorder" / "runs"


def _entries(root: Path) -> list[Mapping[str, Any]]:
    return [entry for path in sorted(_folder(root).glob("*.json")) if (entry := read_json(path))]


def _still_runs(entry: Mapping[str, Any]) -> bool:
    if "ended_ns" in entry:
        return False
    is_here = entry.get("identity") == identity()
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
    """Return a mark of the launcher's job; torchrun without ``--rdzv-id`` says "none"."""
    ids = {name: os.environ.get(name) for name in _LAUNCHER_IDS}
    found = [f"{name}={value}" for name, value in ids.items() if value not in {None, "", "none"}]
    return digest(" ".join(found)) if found else None
