"""What the hooks of a step cost, measured inside them, beside a function that does nothing.

Run by the interpreter of ``make test-frameworks``: ``hook_cost.py INJECTED STEPS``, where INJECTED
is ``reportgen/record/injected`` of any version. It prints median and 99th percentile in µs: with
warm caches, and where 64 MB are read and written between the hooks.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time

sys.path.insert(0, sys.argv[1])
os.environ["REPORTGEN_RECORD_DIR"] = tempfile.mkdtemp()
import reportgen_injected  # type: ignore[import-not-found]

reportgen_injected.start()
import torch  # noqa: E402

torch.set_num_threads(1)
clock = time.monotonic_ns


def nothing() -> None:
    """Do what a hook cannot do less of."""


def summary(costs_ns: list[int]) -> str:
    """Return median and 99th percentile in µs."""
    costs_ns = sorted(costs_ns)
    at = (len(costs_ns) // 2, len(costs_ns) * 99 // 100)
    return " / ".join(f"{costs_ns[place] / 1e3:.1f}" for place in at)


def main(n_steps: int) -> None:
    """Train, and print what hooks have measured of themselves."""
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    evicting = torch.ones(16_000_000)
    for what in ("warm", "evicted"):
        empty_ns: list[int] = []
        for _ in range(n_steps):
            loss = model(torch.ones(4, 64)).sum()
            optimizer.zero_grad()
            loss.backward()
            if what == "evicted":
                evicting.mul_(1.0)
            at_ns = clock()
            nothing()
            empty_ns.append(clock() - at_ns)
            optimizer.step()
        recorder = reportgen_injected.active()
        getattr(recorder, "replay", nothing)()
        own_ns = list(recorder._own)[-n_steps + 10 :]  # noqa: SLF001
        sys.stdout.write(f"{what}: hooks {summary(own_ns)}, empty {summary(empty_ns)} us\n")


main(int(sys.argv[2]))
