"""How soon a page can be read, and how soon its first chart is drawn, in a browser as readers have.

No debugger is attached: while one is, V8 works out where each function of the library stands in
its text, which takes as long as running it (0.35 s of processor time). The browser's own trace
tells the times; the page marks when its library and each chart are there.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tables import table, verdict
from workloads import ROOT, SMALL_HOUR, make_workload

DRAWN_BUDGET_S = 1.5
SIZE_BUDGET_BYTES, BARE_BUDGET_BYTES = 4_000_000, 2_700_000
"""With the timeline and without: small enough to be attached to a mail."""

FIRST_CHART = "timeline-axis"
_TRACED_S = 8
_PATIENCE_S = 90.0
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_ARGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-extensions"),
    *("--window-size=1280,900", "--trace-startup=blink.user_timing,loading"),
    *("--trace-startup-format=json", f"--trace-startup-duration={_TRACED_S}"),
)
_READABLE, _LIBRARY, _DRAWN = (
    "firstContentfulPaint",
    "rg:library",
    f"rg:drawn {FIRST_CHART}",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """Seconds from the navigation on; ``cpu_s`` is the page's main thread until the chart."""

    readable_s: float
    library_s: float
    drawn_s: float
    cpu_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Openings:
    """A page, opened several times at its first chart; ``bare_bytes`` without its timeline."""

    size_bytes: int
    bare_bytes: int
    runs: Sequence[Opening]

    @property
    def is_met(self) -> bool:
        """Return whether all promises hold."""
        is_small = self.size_bytes <= SIZE_BUDGET_BYTES and self.bare_bytes <= BARE_BUDGET_BYTES
        return is_small and self._drawn_s <= DRAWN_BUDGET_S

    @property
    def _drawn_s(self) -> float:
        return median(run.drawn_s for run in self.runs)

    def tables(self) -> str:
        """Return the measured part of the page as Markdown."""
        drawn = verdict(self._drawn_s <= DRAWN_BUDGET_S)
        row = [
            *(
                f"{size / 1e6:.2f} MB (≤ {most / 1e6:.1f} MB, {verdict(size <= most)})"
                for size, most in (
                    (self.size_bytes, SIZE_BUDGET_BYTES),
                    (self.bare_bytes, BARE_BUDGET_BYTES),
                )
            ),
            f"{median(run.readable_s for run in self.runs):.2f} s",
            f"{median(run.library_s for run in self.runs):.2f} s",
            f"{self._drawn_s:.2f} s (≤ {DRAWN_BUDGET_S} s, {drawn})",
            f"{median(run.cpu_s for run in self.runs):.2f} s",
        ]
        head = [
            "page",
            "without timeline",
            "readable",
            "library there",
            "first chart drawn",
            "its processor time",
        ]
        return table([f"{SMALL_HOUR.about.split(':')[0]}: {head[0]}", *head[1:]], [row])


def open_page(folder: Path, *, n_rounds: int) -> Openings:
    """Make the page of the small hour and open it, a fresh browser each time."""
    job = make_workload(SMALL_HOUR, output=folder)
    page = _page_of(job, folder / "report")
    bare = _page_of(job, folder / "bare", "--timeline", "off")
    runs = [_opened(f"{page.as_uri()}#{FIRST_CHART}") for _ in range(n_rounds)]
    return Openings(size_bytes=page.stat().st_size, bare_bytes=bare.stat().st_size, runs=runs)


def _page_of(job: Path, output: Path, *options: str) -> Path:
    command = [sys.executable, "-m", "reportgen", str(job), "--output", str(output), *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([*command, "--quiet"], check=True, env=environment, stdout=sys.stderr)
    return output / "profiler-report.html"


def _opened(address: str) -> Opening:
    browser = next(filter(None, map(shutil.which, _NAMES)), None)
    if browser is None:
        raise SystemExit("Needs a Chromium on the PATH.")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        trace = Path(folder) / "trace.json"
        flags = (f"--user-data-dir={folder}/profile", f"--trace-startup-file={trace}")
        process = subprocess.Popen(
            [browser, *_ARGS, *flags, "--remote-debugging-port=0", address],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            events = _written(trace)
        finally:
            process.terminate()
            process.wait(20)
    return _opening(events)


def _written(trace: Path) -> list[dict[str, object]]:
    """Wait for the trace: the browser writes it once its time is over."""
    give_up = time.monotonic() + _PATIENCE_S
    while time.monotonic() < give_up:
        time.sleep(0.5)
        try:
            return list(json.loads(trace.read_bytes())["traceEvents"])
        except (OSError, ValueError):
            continue
    raise SystemExit("The browser wrote no trace.")


def _opening(events: Sequence[dict[str, object]]) -> Opening:
    marks = {str(event["name"]): event for event in events}
    drawn = marks.get(_DRAWN)
    if drawn is None:
        raise SystemExit(f"The first chart was not drawn within {_TRACED_S} s.")
    began = max(
        _us(event, "ts")
        for event in events
        if event["name"] == "navigationStart" and event["pid"] == drawn["pid"]
    )
    readable, library = (marks[name] for name in (_READABLE, _LIBRARY))
    return Opening(
        readable_s=(_us(readable, "ts") - began) / 1e6,
        library_s=(_us(library, "ts") - began) / 1e6,
        drawn_s=(_us(drawn, "ts") - began) / 1e6,
        cpu_s=_us(drawn, "tts") / 1e6,
    )


def _us(event: dict[str, object], field: str) -> float:
    value = event[field]
    assert isinstance(value, int | float)
    return float(value)
