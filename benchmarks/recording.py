"""What recording costs, beside the bare command: starts, steps, the sampler, the size of a week."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean, stdev

from tables import table, verdict
from workloads import ROOT

from reportgen.record.folder import boot_token

RECORD = (sys.executable, "-m", "reportgen.cli", "record")
INJECTED = ROOT / "reportgen" / "record" / "injected"
TICKS_PER_WEEK = 7 * 86_400 * 2
N_TICKS = 7_200
"""An hour at 0.5 s: what is packed together."""
N_STARTS, N_PAIRS = 15, 12
T_95 = 2.201
"""Student's t of 12 pairs, two-sided 95 %."""

LOOP = """
import time, torch
torch.set_num_threads(1)
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
began = None
for step in range(320):
    if step == 20:
        began = time.perf_counter()
    until = time.perf_counter() + 0.0095
    loss = model(torch.ones(4, 8)).sum()
    optimizer.zero_grad()
    loss.backward()
    while time.perf_counter() < until:
        pass
    optimizer.step()
print(time.perf_counter() - began)
"""
"""Steps of about 10 ms that keep one core busy; the length of 300 of them."""


def measure_recording() -> tuple[str, bool]:
    """Return the table of costs, and whether every budget was kept."""
    rows: list[list[str]] = []
    kept = []
    for about, value, unit, budget in _costs():
        is_met = value <= budget
        kept.append(is_met)
        rows.append([about, f"{value:,.4g} {unit}", f"≤ {budget:g} {unit}, {verdict(is_met)}"])
    return table(["what", "measured", "budget"], rows), all(kept)


def _costs() -> Sequence[tuple[str, float, str, float]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        costs = [*_starts(folder), *_sampler(folder)]
        python = _python_with_torch()
        return [*costs, *_steps(folder, python)] if python else costs


def _starts(folder: Path) -> Sequence[tuple[str, float, str, float]]:
    """Measure the start of the recorder and of a program into which it was injected, each at best.

    What else the machine does makes a start slower and never faster.
    """
    true = shutil.which("true") or "true"
    injected = {"PYTHONPATH": str(INJECTED), "REPORTGEN_RECORD_DIR": str(folder)}
    injected |= {"REPORTGEN_RECORD_NODE": "node-1", "REPORTGEN_RECORD_BOOT": boot_token()}
    bare, recorded = _alternately(
        N_STARTS,
        lambda: _seconds([true], folder),
        lambda: _seconds([*RECORD, "--out", "out", "--", true], folder),
    )
    plain, with_us = _alternately(
        N_STARTS,
        lambda: _seconds([sys.executable, "-c", "pass"], folder),
        lambda: _seconds([sys.executable, "-c", "pass"], folder, injected),
    )
    return [
        ("start and end of the recorder", 1e3 * (min(recorded) - min(bare)), "ms", 150),
        ("injected start of Python", 1e3 * (min(with_us) - min(plain)), "ms", 30),
    ]


def _sampler(folder: Path) -> Sequence[tuple[str, float, str, float]]:
    """Measure ticks of a made machine of 96 cores and 8 GPUs."""
    library = folder / "libnvidia-ml.so.1"
    source = ROOT / "tests" / "record" / "fake_nvml.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    env = {"LD_LIBRARY_PATH": str(folder), "FAKE_NVML_GPUS": "8", "FAKE_NVML_NOISE": "1"}
    script = ROOT / "benchmarks" / "sample_large.py"
    words = [sys.executable, str(script), str(folder), str(N_TICKS)]
    answer = subprocess.run(words, env={**os.environ, **env}, check=True, capture_output=True)
    cost = json.loads(answer.stdout)
    about = "at 0.5 s, 96 cores, 8 GPUs of a made driver"
    return [
        (f"sampler, {about}", 100 * cost["tick_ms"] / 500, "% of a core", 1),
        (f"memory of the sampler, {about}", cost["memory_bytes"] / 1e6, "MB", 60),
        (f"a week, {about}", cost["packed_bytes"] * TICKS_PER_WEEK / 1e9, "GB", 3),
    ]


def _steps(folder: Path, python: Path) -> Sequence[tuple[str, float, str, float]]:
    """Measure the same loop bare and recorded, in pairs."""
    words = [str(python), "-c", LOOP]
    number = iter(range(1_000))
    bare, recorded = _alternately(
        N_PAIRS,
        lambda: _printed(words, folder),
        lambda: _printed([*RECORD, "--out", f"loop-{next(number)}", "--", *words], folder),
    )
    slower = [100 * (late / early - 1) for early, late in zip(bare, recorded, strict=True)]
    upper = mean(slower) + T_95 * stdev(slower) / len(slower) ** 0.5
    return [
        (f"10 ms steps, {N_PAIRS} pairs: upper end of the 95 % interval", upper, "%", 1),
    ]


def _alternately(
    n: int, one: Callable[[], float], other: Callable[[], float]
) -> tuple[list[float], list[float]]:
    """Return n values of each, taken in turns, so that both meet the same machine."""
    pairs = [(one(), other()) for _ in range(n + 1)][1:]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _seconds(words: Sequence[str], folder: Path, more: dict[str, str] | None = None) -> float:
    began = time.perf_counter()
    subprocess.run(
        words, cwd=folder, env=_environment(more or {}), check=True, stderr=subprocess.DEVNULL
    )
    return time.perf_counter() - began


def _printed(words: Sequence[str], folder: Path) -> float:
    answer = subprocess.run(
        words, cwd=folder, env=_environment({}), check=True, capture_output=True, text=True
    )
    return float(answer.stdout)


def _environment(more: dict[str, str]) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def _python_with_torch() -> Path | None:
    """Return the interpreter of ``make test-frameworks``; without it steps are not measured."""
    folder = Path(os.environ.get("FRAMEWORKS_VENV", ROOT / ".venv-frameworks"))
    python = folder / "bin" / "python"
    return python if python.exists() else None
