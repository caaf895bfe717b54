"""How fluid the lanes of the timeline are: script time of each frame while one pans and zooms.

`python benchmarks/timeline_frames.py [EVENTS]` writes a page of 30 lanes, all events in full, opens
it in Chromium at several zooms and pans a quarter of the view to and fro. Counted is the processor
time of the page's main thread in each animation frame, from the browser's own trace: other programs
of the machine do not count. What the browser then takes to put the frame on the screen depends on
its graphics and is not counted.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright

from reportgen.store import with_timeline
from tests.views import pages, traces
from tests.views.lane_files import crowded_file

BUDGET_MS = 16.0
N_EVENTS = 500_000
N_FRAMES = 120
ZOOMS = (1.0, 0.3, 0.05, 0.002)
"""Shares of the whole length that are in view."""

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_ARGS = ("--no-sandbox", "--disable-gpu", "--no-first-run")
_PAN = """
async ([share, frames]) => {
  const all = reportLanes.stage.file.header.length_ns, width = all * share;
  reportLanes.setView((all - width) / 2, (all + width) / 2);
  await reportLanes.settled();
  for (let at = 0; at < frames; at++) {
    const moved = (all - width) / 2 + width / 4 * Math.sin(at / frames * 2 * Math.PI) + at;
    reportLanes.setView(moved, moved + width * (1 - at / frames / 100));
    await reportLanes.drawn();
  }
  await reportLanes.settled();
}
"""


def main() -> int:
    """Measure and print; return 1 where a promise is not kept."""
    n_events = int(sys.argv[1]) if len(sys.argv) > 1 else N_EVENTS
    with tempfile.TemporaryDirectory() as folder:
        report = with_timeline(traces.traced_report(), crowded_file(n_events=n_events).packed())
        path = pages.write_page(Path(folder), report)
        with sync_playwright() as playwright:
            found = next(filter(None, map(shutil.which, _NAMES)), None)
            browser = playwright.chromium.launch(executable_path=found, args=list(_ARGS))
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(f"{path.as_uri()}#timeline-lanes")
            page.wait_for_function("document.querySelector('[data-lanes=ready]')", polling=100)
            worst_ms = max(_measured(browser, page, share) for share in ZOOMS)
            browser.close()
    return int(worst_ms > BUDGET_MS)


def _measured(browser: Browser, page: Page, share: float) -> float:
    page.evaluate(_PAN, [share, 5])
    browser.start_tracing(page=page, categories=["devtools.timeline"])
    page.evaluate(_PAN, [share, N_FRAMES])
    events = json.loads(browser.stop_tracing())["traceEvents"]
    frames_ms = [
        event["tdur"] / 1e3
        for event in events
        if event["name"] == "FireAnimationFrame" and "tdur" in event
    ]
    median_ms, p95_ms, most_ms = np.quantile(frames_ms, (0.5, 0.95, 1.0))
    print(
        f"| {share:.1%} of the time in view | {median_ms:.1f} ms | {p95_ms:.1f} ms "
        f"(≤ {BUDGET_MS:.0f} ms) | {most_ms:.1f} ms | {len(frames_ms)} |"
    )
    return float(p95_ms)


if __name__ == "__main__":
    raise SystemExit(main())
