"""Where a difference comes from: parts of the mean time per step that add up to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from reportgen.arrays import Mask
from reportgen.comparison.kernel_kinds import KIND_WORDS, compute_shares, flops_per_s
from reportgen.comparison.model import WaterfallPart
from reportgen.comparison.runs import Run, RunSteps
from reportgen.text import format_difference
from reportgen.units import NS_PER_S

WORDS = {
    "compute": "computing on the GPU",
    **{f"compute_{kind}": f"computing: {words}" for kind, words in KIND_WORDS.items()},
    "exposed_communication": "communication without computing",
    "memory_operations": "copies and fills on the GPU",
    "busy": "GPU at work",
    "cpu_input": "GPU idle while data were prepared",
    "host_blocked": "GPU idle, host blocked in a call",
    "host_late": "GPU idle, host launched late",
    "launch": "GPU idle, host inside launch calls",
    "kernel_gap": "gaps between kernels",
    "waiting": "GPU waits for a stream or a peer",
    "straggler": "GPU idle, waiting for a slower one",
    "io_wait": "GPU idle during I/O wait",
    "network": "GPU idle during network traffic",
    "never_used": "GPU that is never used",
    "inside_steps": "inside steps",
    "input_wait": "waiting for data between steps",
    "between_steps": "other time between steps",
    "not_recorded": "not recorded",
}
"""Parts of the time of a step: columns of the GPU time budget, and further ones."""
_NO_PARTS = frozenset({"start_ns", "duration_ns", "count"})
_ALIKE = {"busy_high": "busy", "busy_partial": "busy"}
"""Samples above 90 % and above 10 %: a step that grows by 3 % moves many from one to the other."""
_UNKNOWN = frozenset(
    {"unexplained", "not_measured", "initialization", "finalization", "not_recorded"}
)
"""Time without a cause in the budget: beside the others it is one part."""


def waterfall(before: tuple[Run, Mask], after: tuple[Run, Mask]) -> tuple[WaterfallPart, ...]:
    """Return the parts of both means and their differences, the largest difference first.

    Time inside steps is split as the GPU time budget splits it where both runs have one,
    and the time of computing by the kinds of its kernels where both runs name them.
    The parts of a run add up to the mean of its steps, and so do the differences.
    """
    has_budget = bool(before[0].budget) and bool(after[0].budget)
    parts = [_parts(*side, has_budget=has_budget) for side in (before, after)]
    shares = [compute_shares(run) for run, _ in (before, after)]
    if all(shares):
        parts = [_by_kind(side, share) for side, share in zip(parts, shares, strict=True)]
    keys = [key for key in WORDS if any(side.get(key) for side in parts)]
    runs = before[0], after[0]
    rows = [
        WaterfallPart(
            key=key,
            part=WORDS[key],
            before_s=parts[0].get(key, 0.0) / NS_PER_S,
            after_s=parts[1].get(key, 0.0) / NS_PER_S,
            difference_s=(parts[1].get(key, 0.0) - parts[0].get(key, 0.0)) / NS_PER_S,
        )
        for key in keys
    ]
    divided = [_by_flops_and_use(row, runs) for row in rows]
    return tuple(sorted(divided, key=lambda row: -abs(row.difference_s)))


def _by_flops_and_use(part: WaterfallPart, runs: tuple[Run, Run]) -> WaterfallPart:
    """Divide a difference of computing: time is operations by speed, and each changes on its own.

    The change of one is taken at the mean of the other before and after, so that both add up.
    """
    speeds = [flops_per_s(run, part.key.removeprefix("compute_")) for run in runs]
    if None in speeds:
        return part
    one, other = (1 / speed for speed in speeds if speed is not None)
    n_before, n_after = part.before_s / one, part.after_s / other
    return replace(
        part,
        by_flops_s=(n_after - n_before) * (one + other) / 2,
        by_use_s=(n_before + n_after) / 2 * (other - one),
    )


def reasons_of(part: WaterfallPart) -> str:
    """Return why the kernels of a part take more or less time; empty where it is not known."""
    if part.by_flops_s is None or part.by_use_s is None:
        return ""
    flops, use = map(format_difference, (part.by_flops_s, part.by_use_s))
    words = "more" if part.by_flops_s > 0 else "fewer", "worse" if part.by_use_s > 0 else "better"
    return f"{flops} by {words[0]} FLOPs, {use} by {words[1]} use of the GPU"


def _parts(run: Run, rows: Mask, *, has_budget: bool) -> Mapping[str, float]:
    """Return mean ns per step of each part; together the mean time of a step."""
    steps = run.steps
    assert steps is not None
    weight = rows / rows.sum()
    cycle_ns, inside_ns, wait_ns = (
        float(values @ weight) for values in (steps.cycle_ns, steps.inside_ns, steps.wait_ns)
    )
    found = _budget(run, steps, rows) if has_budget else {"inside_steps": inside_ns}
    whole_ns = sum(found.values())
    if whole_ns > inside_ns > 0:  # beside a worker that waited the others stay in their steps
        found = {key: time_ns * inside_ns / whole_ns for key, time_ns in found.items()}
    between_ns = max(cycle_ns - inside_ns - wait_ns, 0.0)
    for key, time_ns in (("input_wait", wait_ns), ("between_steps", between_ns)):
        found[key] = found.get(key, 0.0) + time_ns
    found["not_recorded"] = found.get("not_recorded", 0.0) + cycle_ns - sum(found.values())
    return found


def _by_kind(parts: Mapping[str, float], shares: Mapping[str, float]) -> Mapping[str, float]:
    """Divide the time of computing in proportion to the times of its kernels, which may overlap."""
    compute_ns = parts.get("compute", 0.0)
    kinds = {f"compute_{kind}": compute_ns * share for kind, share in shares.items()}
    return {**parts, **kinds, "compute": 0.0}


def _budget(run: Run, steps: RunSteps, rows: Mask) -> dict[str, float]:
    """Return mean ns per step of each part of the GPU time budget, the mean of all devices."""
    sums: dict[str, float] = {}
    for columns in run.budget:
        same = columns["start_ns"].size == rows.size
        chosen = rows if same else np.isin(columns["start_ns"], steps.start_ns[rows])
        if not chosen.any():
            chosen = np.ones(columns["start_ns"].size, dtype=bool)
        for name, values in columns.items():
            if name in _NO_PARTS:
                continue
            part = _ALIKE.get(name.removesuffix("_ns"), name.removesuffix("_ns"))
            key = "not_recorded" if part in _UNKNOWN or part not in WORDS else part
            sums[key] = sums.get(key, 0.0) + float(values[chosen].mean()) / len(run.budget)
    return sums
