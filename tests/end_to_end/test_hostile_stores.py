"""Stores that lead elsewhere, claim what cannot be, or never end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.builders import START_S
from tests.end_to_end.command import Run, run_command
from tests.s3_server import serve_in_background

TOKEN = "the-token-of-a-session"  # no real one
KEY = f"job/profiler-output/system/incremental/2026070309/{int(START_S) // 60 * 60}.algo-1.json"
ENTRY = (
    "<Contents><Key>{key}</Key><LastModified>2026-07-03T09:00:00.000Z</LastModified>"
    '<ETag>"1"</ETag><Size>{size}</Size></Contents>'
)
HEAD = '<?xml version="1.0"?><ListBucketResult><Name>b</Name><IsTruncated>false</IsTruncated>'
TAIL = "</ListBucketResult>"


class Store(BaseHTTPRequestHandler):
    """A store of one object of a size; objects are elsewhere where ``leads_to`` is an address."""

    protocol_version = "HTTP/1.1"
    leads_to = ""
    leads_lists = False
    size = 10
    repeats = ""
    code = 200
    seen: list[tuple[str, str]]

    def do_GET(self) -> None:
        """Answer a list or an object."""
        self.seen.append((self.path, self.headers.get("x-amz-security-token", "")))
        is_list = "list-type" in self.path
        if self.leads_to and (self.leads_lists or not is_list):
            self.send_response(307)
            self.send_header("Location", self.leads_to + self.path)
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif self.repeats:
            self._send_without_end()
        else:
            is_there = is_list and "max-keys=1" not in self.path
            entry = ENTRY.format(key=KEY, size=self.size) if is_there else ""
            content = f"{HEAD}{entry}{TAIL}".encode()
            length = len(content) if is_list else self.size
            self.send_response(200)
            self.send_header("Content-Type", "application/xml")
            self.send_header("ETag", '"1"')
            self.send_header("Last-Modified", "Fri, 03 Jul 2026 09:00:00 GMT")
            self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(content)
            self.close_connection = not is_list

    def do_HEAD(self) -> None:
        """Answer that the bucket is there."""
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _send_without_end(self) -> None:
        self.close_connection = True
        self.send_response(self.code)
        self.send_header("Content-Type", "application/xml")
        self.end_headers()
        try:
            self.wfile.write(HEAD.encode())
            while True:
                self.wfile.write(self.repeats.encode() * 1_000)
        except OSError:
            pass

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


class QuietServer(ThreadingHTTPServer):
    """A client that goes away is what is wanted here."""

    daemon_threads = True

    def handle_error(self, *_args: object) -> None:
        """Say nothing."""


@contextmanager
def store(
    host: str = "127.0.0.1", **answers: object
) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Start a store; yield its address, and path and token of each request."""
    seen: list[tuple[str, str]] = []
    server = QuietServer((host, 0), type("Handler", (Store,), {**answers, "seen": seen}))
    serve_in_background(server)
    try:
        yield f"http://{host}:{server.server_address[1]}", seen
    finally:
        server.shutdown()
        server.server_close()


def report(address: str, folder: Path) -> Run:
    settings = {
        "AWS_ENDPOINT_URL": address, "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "of-a-test", "AWS_SESSION_TOKEN": TOKEN,
        "AWS_EC2_METADATA_DISABLED": "true", "HOME": str(folder),
    }  # fmt: skip
    return run_command("s3://bucket/job", cwd=folder, env=settings, timeout_s=60)


@pytest.mark.parametrize("leads_lists", [True, False])
def test_a_store_that_leads_to_another_host_passes_no_token_on(
    leads_lists: bool, tmp_path: Path
) -> None:
    with (
        store("localhost") as (elsewhere, heard),
        store(leads_to=elsewhere, leads_lists=leads_lists) as (address, asked),
    ):
        run = report(address, tmp_path)

    assert run.code in {1, 2}
    assert run.stderr.startswith("error: ")
    assert "Traceback" not in run.stderr
    assert TOKEN not in {token for _, token in heard}
    assert leads_lists or TOKEN in {token for _, token in asked}


def test_an_object_that_claims_a_terabyte_is_refused_in_words(tmp_path: Path) -> None:
    with store(size=1 << 40) as (address, _):
        run = report(address, tmp_path)

    assert run.code in {1, 2}
    assert run.stderr.startswith("error: ")
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("code", [200, 403])
def test_an_answer_without_end_is_given_up(code: int, tmp_path: Path) -> None:
    entry = ENTRY.format(key="job/none", size=1)
    with store(repeats=entry, code=code) as (address, _):
        run = report(address, tmp_path)

    assert run.code in {1, 2}
    assert run.stderr.startswith("error: ")
    assert "Traceback" not in run.stderr
