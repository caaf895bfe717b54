"""A store that answers nonsense: lists without end, closes every connection, speaks HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

from tests.s3_server import serve_in_background

Answer = tuple[int, str, bytes]
XML = "application/xml"

_NUMBERS = count()


def lists_without_end() -> Answer:
    """One more page of a thousand objects, and there is always one more."""
    number = next(_NUMBERS)
    items = _items(f"p/system/{number:08}-{key:04}.json" for key in range(1000))
    return 200, XML, _listing(items, number)


def lists_without_order() -> Answer:
    """One page whose keys stand in no order, as in some directory buckets."""
    items = _items(["p/b.json", "p/c/d.json", "p/a.json"])
    text = f"<ListBucketResult><IsTruncated>false</IsTruncated>{items}</ListBucketResult>"
    return 200, XML, text.encode()


def lists_nothing_without_end() -> Answer:
    """One more empty page, and there is always one more."""
    return 200, XML, _listing("", next(_NUMBERS))


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


class Store(BaseHTTPRequestHandler):
    """A store that answers every request as ``respond`` says."""

    protocol_version = "HTTP/1.1"

    def respond(self) -> None:
        """Answer a GET or a HEAD; a store that says nothing else can do nothing."""
        self.answer(501)

    def do_GET(self) -> None:
        try:
            self.respond()
        except OSError:  # the reader has enough
            self.close_connection = True

    do_HEAD = do_GET  # noqa: N815  # as the base class calls it

    def answer(self, code: int, content: bytes = b"", **headers: object) -> None:
        self.send_response(code)
        for name, value in ({"Content_Length": len(content)} | headers).items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else content)

    def answer_without_end(self, code: int, first: bytes, block: bytes) -> None:
        self.send_response(code)
        self.send_header("Content-Type", XML)
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(first)
        while True:
            self.wfile.write(block)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serving(store: type[Store]) -> Iterator[int]:
    """Start a store on this machine and yield its port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), store)
    serve_in_background(server)
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.socket.close()


@contextmanager
def answering(answer: Callable[[], Answer] | None) -> Iterator[str]:
    """Start a store and yield its address; ``None`` closes every connection."""

    class Odd(Store):
        def respond(self) -> None:
            if answer is None:
                self.close_connection = True
                self.connection.close()
                return
            code, kind, content = answer()
            self.answer(code, content, Content_Type=kind)

    with serving(Odd) as port:
        yield f"http://127.0.0.1:{port}"
