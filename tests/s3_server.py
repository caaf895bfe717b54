"""A real S3 server on this machine, and a proxy in front of it that makes trouble on demand."""

from __future__ import annotations

import http.client
import random
import re
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

_DROPPED = {"connection", "transfer-encoding", "keep-alive"}


@contextmanager
def running_server() -> Iterator[str]:
    """Start moto's server on a free port and yield its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield _address(process)
    finally:
        process.terminate()
        process.wait(10)


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    for line in process.stderr:
        if "http://" in line:
            address = "http://" + line.split("http://")[1].split()[0].rstrip("/")
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return address
    pytest.fail("the S3 server did not start")


@dataclass
class Trouble:
    """What the proxy does to requests, and what it saw.

    Attributes:
        says_slow_down: how many of the next GETs of objects are answered 503 SlowDown.
        hangs: how many of the next GETs of objects get no answer until the client gives up.
        drops_midway: how many of the next GETs of objects lose their connection half way.
        truncates: how many of the next GETs of objects come back as if they were a third shorter.
        corrupts: how many of the next GETs of objects come back with bytes that were overwritten.
        delays_s: the longest time that a GET of an object waits; so answers come in any order.
        expires_after: how many GETs of objects the credentials are still good for.
        denies: the method whose requests are answered 403 AccessDenied.
        denies_objects: whether GETs of objects are answered so, while listing is allowed.
        cuts: the method whose requests lose their connection without an answer.
        hides_tags: whether the store knows no ETags: neither gives nor compares them.
        seen: method and path of each request.
        clients: the ports from which connections came.
        signers: access key and region of each request but HEAD; ``None`` for unsigned ones.
    """

    says_slow_down: int = 0
    hangs: int = 0
    drops_midway: int = 0
    truncates: int = 0
    corrupts: int = 0
    delays_s: float = 0.0
    expires_after: int | None = None
    denies: str = ""
    denies_objects: bool = False
    cuts: str = ""
    hides_tags: bool = False
    seen: list[tuple[str, str]] = field(default_factory=list)
    clients: set[int] = field(default_factory=set)
    signers: list[tuple[str, str] | None] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def takes(self, name: str) -> bool:
        """Return whether there is one more of a kind of trouble, and use it up."""
        with self.lock:
            left = getattr(self, name)
            setattr(self, name, max(left - 1, 0))
            return bool(left)

    def has_expired(self) -> bool:
        """Return whether the credentials are good no more, and use them once if they are."""
        with self.lock:
            if self.expires_after is None:
                return False
            self.expires_after -= 1
            return self.expires_after < 0


def serve_in_background(server: ThreadingHTTPServer) -> None:
    """Let a server answer until it is shut down; by itself it would look for that every 0.5 s."""
    threading.Thread(target=partial(server.serve_forever, poll_interval=0.01), daemon=True).start()


@contextmanager
def running_proxy(server: str) -> Iterator[tuple[str, Trouble]]:
    """Start a proxy in front of a server; yield its address and what it does."""
    trouble = Trouble()
    known = {"upstream": urlsplit(server).netloc, "trouble": trouble}
    proxy = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Proxy,), known))
    serve_in_background(proxy)
    try:
        yield f"http://127.0.0.1:{proxy.server_address[1]}", trouble
    finally:
        proxy.shutdown()
        proxy.server_close()


class _Proxy(BaseHTTPRequestHandler):
    upstream: str
    trouble: Trouble

    protocol_version = "HTTP/1.1"

    def _pass_on(self) -> None:
        path = urlsplit(self.path).path
        self.trouble.seen.append((self.command, path))
        self.trouble.clients.add(self.client_address[1])
        if self.command != "HEAD":
            self.trouble.signers.append(_signer(self.headers.get("Authorization", "")))
        is_object = self.command == "GET" and path.strip("/").count("/") >= 1
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if not self._is_spoilt(is_object=is_object):
            self._ask(body, is_object=is_object)

    def _is_spoilt(self, *, is_object: bool) -> bool:
        """Make trouble instead of asking the server, if that is wanted."""
        if self.command == self.trouble.cuts:
            self.close_connection = True
            self.connection.shutdown(2)
        elif self.command == self.trouble.denies or (is_object and self.trouble.denies_objects):
            self._answer(403, {}, b"<Error><Code>AccessDenied</Code></Error>")
        elif is_object and self.trouble.has_expired():
            self._answer(400, {}, b"<Error><Code>ExpiredToken</Code></Error>")
        elif is_object and self.trouble.takes("says_slow_down"):
            self._answer(503, {}, b"<Error><Code>SlowDown</Code></Error>")
        elif is_object and self.trouble.takes("hangs"):
            self.connection.recv(1)  # the client closes
            self.close_connection = True
        else:
            return False
        return True

    def _ask(self, body: bytes, *, is_object: bool) -> None:
        if self.trouble.hides_tags:
            del self.headers["If-Match"]
        status, headers, content = _ask(self.upstream, self, body)
        if self.trouble.hides_tags:
            headers.pop("ETag", None)
            content = content if is_object else re.sub(rb"<ETag>.*?</ETag>", b"", content)
        if is_object:
            time.sleep(random.random() * self.trouble.delays_s)
            content = self._damaged(content)
        if is_object and self.trouble.takes("drops_midway"):
            self._answer(status, headers, content, upto=len(content) // 2)
            self.close_connection = True
            self.connection.shutdown(2)
            return
        self._answer(status, headers, content)

    def _damaged(self, content: bytes) -> bytes:
        """Return the content of an object as a broken proxy would hand it over."""
        if self.trouble.takes("truncates"):
            return content[: len(content) * 2 // 3]
        if self.trouble.takes("corrupts"):
            middle = len(content) // 2
            return content[:middle] + b"\0" * 8 + content[middle + 8 :]
        return content

    do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = _pass_on  # noqa: N815  # http.server's names

    def _answer(
        self, status: int, headers: dict[str, str], content: bytes, upto: int | None = None
    ) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in _DROPPED | {"content-length"}:
                self.send_header(name, value)
        size = headers.get("Content-Length", "0") if self.command == "HEAD" else len(content)
        self.send_header("Content-Length", str(size))
        self.end_headers()
        self.wfile.write(content[:upto])
        self.wfile.flush()

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


def _signer(authorization: str) -> tuple[str, str] | None:
    """Return the access key and the region of a signed request."""
    found = re.search(r"Credential=([^/]+)/\d+/([^/]+)/s3/", authorization)
    return (found[1], found[2]) if found else None


def _ask(
    server: str, handler: BaseHTTPRequestHandler, body: bytes
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection(server, timeout=30)
    headers = {name: value for name, value in handler.headers.items() if name.lower() != "host"}
    connection.request(handler.command, handler.path, body, headers)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, dict(answer.headers), content


@dataclass(frozen=True)
class Bucket:
    """A bucket of the server, used without the proxy.

    Attributes:
        name: its name.
        client: boto3's, straight to the server.
        trouble: what the proxy does to everybody else.
    """

    name: str
    client: Any
    trouble: Trouble

    @classmethod
    def create(cls, server: str, trouble: Trouble, *, region: str = "eu-central-1") -> Bucket:
        """Make a bucket with a name of its own."""
        import boto3

        client = boto3.client("s3", endpoint_url=server, region_name=region)
        name = f"bucket-{uuid.uuid4().hex[:12]}"
        client.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": region})
        return cls(name, client, trouble)

    @property
    def url(self) -> str:
        """Return its address."""
        return f"s3://{self.name}"

    def put(self, key: str, content: bytes) -> None:
        """Write an object."""
        self.client.put_object(Bucket=self.name, Key=key, Body=content)

    def delete(self, key: str) -> None:
        """Delete an object."""
        self.client.delete_object(Bucket=self.name, Key=key)

    def read(self, key: str) -> bytes:
        """Return an object's content."""
        content = self.client.get_object(Bucket=self.name, Key=key)["Body"].read()
        assert isinstance(content, bytes)
        return content

    def keys(self, prefix: str = "") -> list[str]:
        """Return the keys of the first thousand objects."""
        found = self.client.list_objects_v2(Bucket=self.name, Prefix=prefix)
        return [item["Key"] for item in found.get("Contents", [])]

    def put_folder(self, folder: Path, prefix: str) -> None:
        """Write every file of a folder."""
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.put(f"{prefix}/{path.relative_to(folder).as_posix()}", path.read_bytes())
