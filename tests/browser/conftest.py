"""A real Chromium, offline: it must not ask for anything but the page itself."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.views import pages, reports

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_WITHOUT = (
    # Two pages for the address bar, loaded for every window: a third of a test's time.
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxFullPopup",
    "WebUIOmniboxPopup",
    # What playwright switches off; the last list wins.
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "ThirdPartyStoragePartitioning",
)
_ARGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    f"--disable-features={','.join(_WITHOUT)}",
)


def _chromium() -> str:
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found:
        return found
    if os.environ.get("REPORTGEN_REQUIRE_BROWSER") == "1":
        pytest.fail("no Chromium found, and REPORTGEN_REQUIRE_BROWSER=1 asks for one")
    pytest.skip("no Chromium found; install one to run the browser tests")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Return a browser for the whole session."""
    path = _chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(_ARGS))
        yield started
        started.close()


@pytest.fixture(scope="session")
def busy_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of a job with every kind of exhibit."""
    return pages.write_page(tmp_path_factory.mktemp("busy"), reports.busy_report())


@pytest.fixture(scope="session")
def hostile_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of a job whose names are markup."""
    return pages.write_page(tmp_path_factory.mktemp("hostile"), reports.hostile_report())


@pytest.fixture(scope="session")
def crowded_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of a job with many findings of one check."""
    return pages.write_page(tmp_path_factory.mktemp("crowded"), reports.crowded_report())
