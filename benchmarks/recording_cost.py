"""What ``reportgen record`` costs the program that it records.

    python benchmarks/recording_cost.py [--python .venv-frameworks/bin/python] [--pairs 10]

Three figures, each beside the bare command: the hooks of a step (measured inside the program), a
loop of 10 ms steps (pairs of runs, alternating in order; 95 % interval of the mean difference by
Student's t), and the start of an interpreter.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
INJECTED = ROOT / "reportgen" / "record" / "injected"
STEP_S, STEPS = 0.010, 600
T_95 = (0, 12.7, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13)

LOOP = f"""
import time, torch
from torch.utils.data import DataLoader, TensorDataset
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loader = DataLoader(TensorDataset(torch.randn({STEPS}, 64)), batch_size=1)
step_s, work = {STEP_S}, torch.randn(96, 96)
began, n = time.perf_counter(), 0
while time.perf_counter() - began < 0.5:
    work @ work
    n += 1
per_step = int(n * step_s / 0.5)
times = []
for (x,) in loader:
    times.append(time.perf_counter())
    for _ in range(COUNT or per_step):
        work @ work
    model(x).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
print(per_step, (times[-1] - times[20]) / (len(times) - 21))
"""


def environment(folder: Path | None) -> dict[str, str]:
    """Return the environment of a run: recorded into a folder, or bare."""
    bare = {key: value for key, value in os.environ.items() if not key.startswith("REPORTGEN_")}
    bare = {**bare, "PYTHONPATH": "", "OMP_NUM_THREADS": "1"}
    if folder is None:
        return bare
    clock = f"{time.time_ns()}:{time.monotonic_ns()}"
    own = {"DIR": str(folder), "NODE": "node-1", "EVERY": "0.5", "CLOCK": clock}
    return {
        **bare,
        "PYTHONPATH": str(INJECTED),
        **{f"REPORTGEN_RECORD_{key}": value for key, value in own.items()},
    }


def run_loop(python: str, folder: Path | None, count: int) -> tuple[int, float]:
    """Run the loop once; return its matrix products per step, and seconds per step."""
    code = LOOP.replace("COUNT", str(count))
    done = subprocess.run(
        [python, "-c", code], env=environment(folder), capture_output=True, text=True, check=True
    )
    per_step, step_s = done.stdout.split()
    return int(per_step), float(step_s)


def cost_of_steps(python: str, pairs: int) -> None:
    """Print what a loop of 10 ms steps costs, and the hooks as measured inside."""
    count, _ = run_loop(python, None, 0)
    shares, own = [], []
    for index in range(pairs):
        with tempfile.TemporaryDirectory() as name:
            folders = (None, Path(name)) if index % 2 == 0 else (Path(name), None)
            step_s = {folder is not None: run_loop(python, folder, count)[1] for folder in folders}
            (card,) = (Path(name) / "recorder" / "ranks").glob("*.json")
            own.append(json.loads(card.read_text())["own_ns"])
        shares.append(100 * (step_s[True] / step_s[False] - 1))
    mean, error = statistics.mean(shares), statistics.stdev(shares) / len(shares) ** 0.5
    half = T_95[min(len(shares), len(T_95)) - 1] * error
    print(f"loop of {1e3 * step_s[False]:.1f} ms steps, {pairs} pairs of {STEPS} steps: ", end="")
    print(f"{mean:+.2f} %, 95 % interval {mean - half:+.2f} to {mean + half:+.2f} %")
    for key, word in (("per_step_mean", "mean"), ("per_step_p99", "99th percentile")):
        values = sorted(one[key] / 1e3 for one in own)
        median = statistics.median(values)
        print(f"hooks per step, {word}: {median:.1f} µs ({values[0]:.1f} to {values[-1]:.1f})")


def cost_of_start(python: str, pairs: int) -> None:
    """Print by how much an interpreter that imports nothing starts later."""
    took: dict[bool, list[float]] = {False: [], True: []}
    with tempfile.TemporaryDirectory() as name:
        for index in range(2 * pairs):
            is_recorded = index % 2 == 1
            env = environment(Path(name) if is_recorded else None)
            began = time.perf_counter()
            subprocess.run([python, "-c", "pass"], env=env, check=True)
            took[is_recorded].append(1e3 * (time.perf_counter() - began))
    bare, recorded = (statistics.median(took[key]) for key in (False, True))
    print(f"start: {bare:.1f} ms bare, {recorded:.1f} ms recorded: {recorded - bare:+.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    default = ROOT / ".venv-frameworks" / "bin" / "python"
    parser.add_argument("--python", default=str(default if default.exists() else sys.executable))
    parser.add_argument("--pairs", type=int, default=10)
    options = parser.parse_args()
    cost_of_start(options.python, 2 * options.pairs)
    cost_of_steps(options.python, options.pairs)


if __name__ == "__main__":
    main()
