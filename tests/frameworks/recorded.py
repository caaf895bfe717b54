"""Run a script with real frameworks under ``reportgen record`` and read what it left.

Two environments that share nothing: ``reportgen`` runs here, the script in ``.venv-frameworks``.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = Path(__file__).parent / "scripts"
VENV = Path(os.environ.get("FRAMEWORKS_VENV", ROOT / ".venv-frameworks"))
PYTHON = VENV / "bin" / "python"
NEEDS_FRAMEWORKS = [
    pytest.mark.frameworks,
    pytest.mark.skipif(
        not os.environ.get("TEST_FRAMEWORKS"), reason="run by `make test-frameworks`"
    ),
]
_TRUE = re.compile(r"^TRUE rank=(\d+) (.*)$", re.MULTILINE)
Counts = dict[str, dict[str, int]]
"""By rank, by mode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A recorded run: its folder, exit code, and texts."""

    folder: Path
    exit_code: int
    stdout: str
    stderr: str

    @property
    def true(self) -> Counts:
        """Return what the script has counted itself."""
        return {
            rank: {name: int(n) for name, n in (word.split("=") for word in words.split())}
            for rank, words in _TRUE.findall(self.stdout)
        }

    @property
    def cards(self) -> list[dict[str, Any]]:
        """Return the cards of its processes, by rank."""
        cards = [json.loads(path.read_text()) for path in self.folder.glob("recorder/ranks/*.json")]
        return sorted(cards, key=lambda card: (card.get("rank", 0), card["pid"]))

    @property
    def faults(self) -> list[dict[str, Any]]:
        """Return faults and remarks."""
        paths = sorted(self.folder.glob("recorder/faults/*.jsonl"))
        return [json.loads(line) for path in paths for line in path.read_text().splitlines()]

    def events(self) -> list[dict[str, Any]]:
        """Return all events with ``phase``, ``rank``, in order of their starts."""
        found = []
        for path in sorted(self.folder.glob("framework/pevents/*/p*/*.json*")):
            rank = path.name.removesuffix(".tmp").rsplit("_", 2)[-2].partition("-")[0]
            content = path.read_bytes()
            text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
            events = json.loads(text if text.endswith("]\n") else text + "]")
            phases = {}
            for event in events:
                if event["ph"] == "M":
                    phases[event["pid"]] = event["args"].get("name")
                else:
                    found.append({**event, "phase": phases[event["pid"]], "rank": rank})
        return sorted(found, key=lambda event: event["ts"])

    def counts(self) -> Counts:
        """Return how many steps were recorded."""
        found: dict[str, Counter[str]] = {}
        for event in self.events():
            if event["name"].startswith("Step:ModeKeys."):  # profiled ones have another phase
                mode = event["name"].rpartition(".")[2]
                found.setdefault(event["rank"], Counter())[mode] += 1
        return {rank: dict(sorted(modes.items())) for rank, modes in found.items()}


def record(
    command: Sequence[str | Path],
    *,
    out: Path,
    options: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
) -> Run:
    """Record a command; its Python finds ``reportgen`` by PYTHONPATH, and nothing else of ours."""
    recorder = [sys.executable, "-m", "reportgen.cli", "record", "--out", str(out), *options, "--"]
    words = [*recorder, *map(str, command)]
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("REPORTGEN_", "PYTHON"))
    }
    settings = {
        "PATH": f"{PYTHON.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
    }
    done = subprocess.run(
        words,
        cwd=SCRIPTS,
        env={**clean, **settings, **(env or {})},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    return Run(folder=out, exit_code=done.returncode, stdout=done.stdout, stderr=done.stderr)
