"""Opening a page with the network shut, and what it asked for and complained about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

DRAWS_THE_NEXT = (
    "() => { const waiting = [...document.querySelectorAll('figure.chart')]"
    ".filter(f => !f.closest('details:not([open])') && f.getClientRects().length)"
    ".find(f => f.dataset.drawn !== 'yes');"
    " waiting?.scrollIntoView(); return !waiting; }"
)
"""Goes to the first chart that is not drawn; true if all are. Those in a closed fold are drawn when
it opens, those in a view when it is chosen."""
TIMEOUT_MS = 60_000
POLLING_MS = 100
"""By the clock: a browser without a screen can stop making frames, and polling by frame with it."""
FRAMES_BY_THE_CLOCK = (
    "window.requestAnimationFrame = work => setTimeout(() => work(performance.now()), 16);"
)
"""For the same reason: a page that waits for a frame would wait for ever, and its test with it."""


@dataclass
class Watched:
    """A page, and what it asked for and complained about."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


@contextmanager
def opened(
    browser: Browser, path: Path, *, at: str = "", has_idle_time: bool = False, **options: Any
) -> Iterator[Watched]:
    """Open a page, or a place in it, with the network shut, and watch it.

    Without idle time the browser draws just the charts that come into view: tests that are not
    about charts end sooner.
    """
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
    context.add_init_script(FRAMES_BY_THE_CLOCK)
    if not has_idle_time:
        context.add_init_script("window.requestIdleCallback = () => 0;")
    watched = Watched(page=context.new_page())
    page, url = watched.page, path.as_uri()

    def answer(route: Any) -> None:
        if route.request.url.partition("#")[0].partition("?")[0] == url:
            route.continue_()
        else:
            watched.requests.append(route.request.url)
            route.abort()

    page.route("**/*", answer)
    page.on("pageerror", lambda error: watched.complaints.append(str(error)))
    page.on(
        "console",
        lambda message: (
            watched.complaints.append(message.text)
            if message.type in {"error", "warning"}
            else None
        ),
    )
    page.goto(url + at)
    try:
        yield watched
    finally:
        context.close()


@contextmanager
def quiet_page(browser: Browser, path: Path, **options: Any) -> Iterator[Page]:
    """Open a page that must neither complain nor ask for anything; yield it alone."""
    with opened(browser, path, **options) as watched:
        yield watched.page
        assert watched.complaints == []
        assert watched.requests == []


def wait_until(page: Page, condition: str, arg: Any = None) -> None:
    """Wait until a condition holds: a function of JavaScript, called with ``arg``."""
    page.wait_for_function(condition, arg=arg, timeout=TIMEOUT_MS, polling=POLLING_MS)


def scroll_through(page: Page) -> None:
    """Scroll to the end, as a reader does, and wait for the charts.

    A busy browser draws nothing at a place that is left after a moment: it is gone to once more.
    """
    height = page.evaluate("document.body.scrollHeight")
    for top in range(0, height, 700):
        page.evaluate(f"window.scrollTo(0, {top})")
        page.wait_for_timeout(30)
    wait_until(page, DRAWS_THE_NEXT)


def unfold(page: Page) -> None:
    """Open all folded sections, with a script or without."""
    page.evaluate("document.querySelectorAll('.rg-topic').forEach(fold => { fold.open = true; })")


def unfold_all(page: Page) -> None:
    """Open all folds, also those within folds."""
    closed = "main details:not([open])"
    while page.locator(closed).count():
        page.evaluate(f"document.querySelectorAll('{closed}').forEach(it => {{ it.open = true; }})")
        page.wait_for_timeout(50)


def draw(page: Page, figure_id: str) -> None:
    """Bring a chart into view, out of its fold if it is in one, and wait until it is drawn."""
    page.evaluate(f"location.hash = ''; location.hash = '{figure_id}'")
    wait_until(page, f"() => document.getElementById('{figure_id}').dataset.drawn === 'yes'")
