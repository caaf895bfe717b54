"""Record a kernel trace of a small training: ``python -m sample_data.record_trace``.

Needs PyTorch, which nothing else here does. Of what the profiler writes only events and the
allowed keys of the header are kept: nothing about the machine or who used it.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "recorded_trace" / "cpu_training.pt.trace.json.gz"
KEPT_KEYS = ("schemaVersion", "record_shapes", "profile_memory", "baseTimeNanoseconds")
KEPT_PHASES = ("X", "i", "s", "f")
N_STEPS = 6
SLOW_BATCH_S = 0.012


def record(path: Path) -> None:
    """Train a small network for a few steps under the profiler and write its trace."""
    import torch
    from torch.profiler import ProfilerActivity, profile, schedule

    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(
        torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = torch.utils.data.DataLoader(_slow_batches(), batch_size=None, num_workers=0)
    turns = schedule(wait=1, warmup=1, active=N_STEPS)
    cpu = [ProfilerActivity.CPU]
    with profile(activities=cpu, schedule=turns, record_shapes=True, profile_memory=True) as prof:
        for features, labels in loader:
            optimizer.zero_grad()
            with torch.profiler.record_function("forward"):
                loss = torch.nn.functional.cross_entropy(model(features), labels)
            loss.backward()
            optimizer.step()
            prof.step()
    prof.export_chrome_trace(str(path))


def _slow_batches() -> Any:
    import time

    import torch

    class Batches:
        def __len__(self) -> int:
            return N_STEPS + 2

        def __getitem__(self, index: int) -> Any:
            time.sleep(SLOW_BATCH_S)
            return torch.randn(64, 256), torch.full((64,), index % 10)

    return Batches()


def without_private_parts(document: dict[str, Any]) -> dict[str, Any]:
    """Return a trace with its events and the allowed keys alone."""
    kept = {key: document[key] for key in KEPT_KEYS if key in document}
    events = [event for event in document["traceEvents"] if event["ph"] in KEPT_PHASES]
    return kept | {"traceEvents": events}


def main() -> int:
    """Record the trace; one line on stderr."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        record(path)
        document = without_private_parts(json.loads(path.read_text(encoding="utf-8")))
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_bytes(gzip.compress(json.dumps(document).encode(), mtime=0))
    print(f"{FILE}: {FILE.stat().st_size / 1e3:.0f} kB", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
