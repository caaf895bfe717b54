"""A store that answers nonsense: lists without end, closes every connection, speaks HTML."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

Answer = tuple[int, str, bytes]

_NUMBERS = count()


def lists_without_end() -> Answer:
    """One more page of a thousand objects, and there is always one more."""
    number = next(_NUMBERS)
    items = _items(f"p/system/{number:08}-{key:04}.json" for key in range(1000))
    return 200, "application/xml", _listing(items, number)


def lists_without_order() -> Answer:
    """One page whose keys stand in no order, as in some directory buckets."""
    items = _items(["p/b.json", "p/c/d.json", "p/a.json"])
    text = f"<ListBucketResult><IsTruncated>false</IsTruncated>{items}</ListBucketResult>"
    return 200, "application/xml", text.encode()


def lists_nothing_without_end() -> Answer:
    """One more empty page, and there is always one more."""
    return 200, "application/xml", _listing("", next(_NUMBERS))


def _items(keys: Iterable[str]) -> str:
    return "".join(
        f"<Contents><Key>{key}</Key><LastModified>2026-07-01T00:00:00.000Z</LastModified>"
        '<ETag>"a"</ETag><Size>5</Size></Contents>'
        for key in keys
    )


def _listing(items: str, number: int) -> bytes:
    text = (
        '<?xml version="1.0"?><ListBucketResult><Name>b</Name><Prefix>p/</Prefix>'
        f"<IsTruncated>true</IsTruncated>{items}"
        f"<NextContinuationToken>t{number}</NextContinuationToken></ListBucketResult>"
    )
    return text.encode()


def speaks_html() -> Answer:
    return 200, "text/html", b"<html><body>Please log in. token=SECRET</body></html>"


def speaks_json() -> Answer:
    return 200, "application/json", b'{"error": "no such service"}'


def is_a_teapot() -> Answer:
    return 418, "text/plain", b"I am a teapot"


def fails_inside() -> Answer:
    return 500, "text/plain", b"stack trace of the store"


@contextmanager
def answering(answer: Callable[[], Answer] | None) -> Iterator[str]:
    """Start a store and yield its address; ``None`` closes every connection."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if answer is None:
                self.close_connection = True
                self.connection.close()
                return
            code, kind, content = answer()
            self.send_response(code)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_HEAD = do_GET  # noqa: N815  # as the base class calls it

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
