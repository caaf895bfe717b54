"""Take the pictures of the README from reports of sample jobs: ``make screenshots``."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
REPORTS = ROOT / "screenshots"
JOBS = ("input_bound", "straggler")
TRACES = "kernel_traces"
IMAGES = ROOT / "docs" / "images"
CHROMIUM_ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SHOTS = (
    # name, job, width, height, colour scheme, place to show ("" is the top)
    ("report", "input_bound", 1280, 860, "light", ""),
    ("curves", "straggler", 1280, 860, "dark", "timeline-axis"),
    ("dashboard", TRACES, 1280, 860, "light", "at-a-glance"),
    ("phone", "straggler", 390, 844, "light", ""),
)
DRAWN_WITHIN_MS, SETTLED_MS, POLLING_MS = 60_000, 1_500, 100


def page_of(job: str) -> Path:
    """Make a sample job, unless it is traces that lie there, and its report; return the page."""
    samples, output = ROOT / "sample_data", REPORTS / job
    data = samples / job if job == TRACES else samples / "jobs" / job
    report = ["reportgen", str(data), "--output", str(output), "--force", "--quiet"]
    for command in [report] if job == TRACES else [["sample_data.make", job], report]:
        subprocess.run([sys.executable, "-m", *command], check=True, cwd=ROOT, stdout=sys.stderr)  # noqa: S603 - our own modules
    return output / "profiler-report.html"


def shoot(
    browser: Browser, page_path: Path, name: str, size: tuple[int, int], scheme: str, place: str
) -> Path:
    """Take one picture and return its file."""
    width, height = size
    is_phone = width < 600
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if scheme == "dark" else "light",
        has_touch=is_phone,
        is_mobile=is_phone,
    )
    page = context.new_page()
    page.goto(page_path.as_uri())
    if place:
        page.evaluate("id => { document.getElementById(id).scrollIntoView(); }", place)
        page.evaluate("window.scrollBy(0, -24)")
        page.wait_for_function(
            "id => !document.getElementById(id).matches('.chart:not([data-drawn])')",
            arg=place,
            timeout=DRAWN_WITHIN_MS,
            polling=POLLING_MS,
        )
    page.wait_for_timeout(SETTLED_MS)
    path = IMAGES / f"{name}.png"
    page.screenshot(path=str(path))
    context.close()
    return path


def main() -> int:
    """Take all pictures; exits with 1 where there is no Chromium."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.stderr.write("Needs a Chromium on the PATH.\n")
        return 1
    IMAGES.mkdir(parents=True, exist_ok=True)
    pages = {job: page_of(job) for job in (*JOBS, TRACES)}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGS)
        for name, job, width, height, scheme, place in SHOTS:
            path = shoot(browser, pages[job], name, (width, height), scheme, place)
            sys.stderr.write(f"{path.relative_to(ROOT)}\n")
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
