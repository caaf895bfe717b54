"""Analysis by hand: frames against smdebug's, one metric of a long job, causes at many moments."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from incumbent import HERE, incumbent_python
from process import Run, measure
from tables import Reading, peak_bytes, reading_table, seconds_inside, table, verdict
from workloads import EVENT_HOUR, P4D_HOURS, ROOT, make_workload

FASTER, LIGHTER = 10.0, 4.0
CAUSES_S = 1.0
METRIC_BYTES = 256 << 20
"""The promises of docs/performance.md: factors against smdebug, seconds for the causes of all
bottlenecks, and memory for one metric of a long job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Analyses:
    """Runs of each analysis."""

    frames: Reading
    causes: Sequence[Run]
    metric: Sequence[Run]

    @property
    def is_met(self) -> bool:
        """Return whether all promises hold."""
        return (
            self.frames.is_met
            and seconds_inside(self.causes) < CAUSES_S
            and peak_bytes(self.metric) <= METRIC_BYTES
        )


def measure_analyses(folder: Path, *, n_rounds: int) -> Analyses:
    """Make the jobs and measure; both sides of the frames take turns."""
    events = make_workload(EVENT_HOUR, output=folder)
    smdebug = [str(incumbent_python("smdebug")), str(HERE / "read_smdebug.py")]
    runs: dict[str, list[Run]] = {"ours": [], "theirs": [], "causes": [], "metric": []}
    for turn in range(n_rounds):
        for side in ("ours", "theirs") if turn % 2 == 0 else ("theirs", "ours"):
            run = (
                _ours("frames", events)
                if side == "ours"
                else measure([*smdebug, "frame", str(events)], PYTHONPATH="")
            )
            runs[side].append(run)
        runs["causes"].append(_ours("causes", events))
    counts = {(run.answer["samples"], run.answer["events"]) for side in ("ours", "theirs")
              for run in runs[side]}  # fmt: skip
    if len(counts) > 1:
        raise SystemExit(f"the two sides have different rows: {sorted(counts)}")
    long_job = make_workload(P4D_HOURS, output=folder)
    runs["metric"] = [_ours("metric", long_job) for _ in range(n_rounds)]
    return Analyses(
        frames=Reading(
            about=f"{EVENT_HOUR.about}, as pandas frames on both sides",
            ours=runs["ours"],
            theirs=runs["theirs"],
            faster=FASTER,
            lighter=LIGHTER,
        ),
        causes=runs["causes"],
        metric=runs["metric"],
    )


def analyses_page(found: Analyses) -> str:
    """Return the tables as Markdown."""
    causes_s, n_events = seconds_inside(found.causes), int(found.causes[0].answer["events"])
    metric_mib, n_rows = peak_bytes(found.metric) / 2**20, int(found.metric[0].answer["samples"])
    is_light = peak_bytes(found.metric) <= METRIC_BYTES
    others = table(
        ["analysis", "time", "peak memory", "promise"],
        [
            [
                f"what ran at 10,000 moments against 10,000 others, {n_events:,} events",
                f"{causes_s:.2f} s",
                f"{peak_bytes(found.causes) / 2**20:,.0f} MiB",
                f"< {CAUSES_S:.0f} s, {verdict(causes_s < CAUSES_S)}",
            ],
            [
                f"one metric of {P4D_HOURS.about}: {n_rows:,} samples",
                f"{seconds_inside(found.metric):.2f} s",
                f"{metric_mib:,.0f} MiB",
                f"≤ {METRIC_BYTES >> 20} MiB, {verdict(is_light)}",
            ],
        ],
    )
    return f"{reading_table([found.frames])}\n\n{others}"


def _ours(what: str, job: Path) -> Run:
    command = [sys.executable, str(HERE / "by_hand.py"), what, str(job)]
    return measure(command, PYTHONPATH=str(ROOT))
