"""Run a command and measure what it costs as a whole process.

Keep this module and whoever imports it small: on Linux a child's peak memory counts from the
moment of the fork, so it is never below its parent's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_NOT_GIVEN_ON = {"PYTHONDONTWRITEBYTECODE"}
"""With it each run would compile our modules anew; pip compiled the incumbents' for good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run: whole wall time, peak memory, and what the command printed as its last line.

    ``cpu_s`` is the processor time of the process and of those that it waited for.
    """

    wall_s: float
    cpu_s: float
    peak_bytes: int
    answer: Mapping[str, float] = field(default_factory=dict)


def measure(command: Sequence[str], *, reads_answer: bool = True, **env: str) -> Run:
    """Run a command to its end.

    Args:
        reads_answer: The command's last line on stdout is a JSON object of numbers.
        env: Variables to add to the environment.

    Raises:
        SystemExit: The command failed; what it wrote to stderr is shown.
    """
    given = {name: value for name, value in os.environ.items() if name not in _NOT_GIVEN_ON}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.perf_counter()
        child = subprocess.Popen(command, stdout=out, stderr=err, env={**given, **env})
        _, status, usage = os.wait4(child.pid, 0)
        wall_s = time.perf_counter() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if child.returncode:
            sys.stderr.write(err.read().decode(errors="replace"))
            raise SystemExit(f"{command[0]} failed with exit code {child.returncode}")
        last = out.read().decode().strip().rpartition("\n")[2]
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux KiB
    return Run(
        wall_s=wall_s,
        cpu_s=usage.ru_utime + usage.ru_stime,
        peak_bytes=usage.ru_maxrss * unit,
        answer=json.loads(last) if reads_answer else {},
    )
