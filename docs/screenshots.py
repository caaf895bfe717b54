"""Take the pictures of the README from the report of the sample job: ``make screenshots``."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "report" / "profiler-report.html"
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
    # name, width, height, colour scheme, section to show ("" is the top)
    ("report", 1280, 860, "light", ""),
    ("curves", 1280, 860, "dark", "GPU utilization over time"),
    ("phone", 390, 844, "light", ""),
)


def shoot(browser: Browser, name: str, size: tuple[int, int], scheme: str, heading: str) -> Path:
    """Take one picture and return its file."""
    width, height = size
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    page = context.new_page()
    page.goto(PAGE.as_uri())
    if heading:
        found = page.get_by_text(heading, exact=True).first
        found.evaluate("node => { node.scrollIntoView(); window.scrollBy(0, -80); }")
    page.wait_for_timeout(1500)
    path = IMAGES / f"{name}.png"
    page.screenshot(path=str(path))
    context.close()
    return path


def main() -> int:
    """Take all pictures; exits with 1 where there is no page or no Chromium."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None or not PAGE.is_file():
        sys.stderr.write("Needs a Chromium on the PATH and the page of `make report`.\n")
        return 1
    IMAGES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGS)
        for name, width, height, scheme, heading in SHOTS:
            path = shoot(browser, name, (width, height), scheme, heading)
            sys.stderr.write(f"{path.relative_to(ROOT)}\n")
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
