"""What AWS offers to containers and people who signed in, on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.s3_server import serve_in_background


@dataclass
class RoleService:
    """A service that hands out keys.

    Attributes:
        address: where it listens.
        secret: what a caller must show: a token of a container or a person.
        lasts_s: how long the keys are good.
        n_given: how many keys it gave; each has a name of its own.
    """

    address: str = ""
    secret: str = ""
    lasts_s: float = 3600
    n_given: int = 0

    def keys(self, *names: str) -> dict[str, object]:
        """Return new keys, under the names that a service has for them."""
        self.n_given += 1
        until = datetime.now(UTC) + timedelta(seconds=self.lasts_s)
        values = (f"ASIAROLE{self.n_given}", "zSECRET", "session", f"{until:%Y-%m-%dT%H:%M:%SZ}")
        return dict(zip(names, values, strict=True))

    def answer(self, url: str, headers: Any) -> tuple[int, bytes]:
        """Return status and content for a request."""
        if urlsplit(url).path == "/federation/credentials":
            if headers.get("x-amz-sso_bearer_token") != self.secret:
                return 401, b'{"__type": "UnauthorizedException"}'
            keys = self.keys("accessKeyId", "secretAccessKey", "sessionToken", "ignored")
            until_ms = round((datetime.now(UTC).timestamp() + self.lasts_s) * 1000)
            return 200, json.dumps({"roleCredentials": keys | {"expiration": until_ms}}).encode()
        if headers.get("Authorization", "") != self.secret:
            return 401, b""
        keys = self.keys("AccessKeyId", "SecretAccessKey", "Token", "Expiration")
        return 200, json.dumps(keys).encode()


def write_aws(home: Path, name: str, text: str) -> None:
    """Write a file of the folder in which the AWS CLI keeps its settings."""
    path = home / ".aws" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@contextmanager
def running_role_service() -> Iterator[RoleService]:
    """Start a service and yield it."""
    service = RoleService()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, content = service.answer(self.path, self.headers)
            self.send_response_only(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service.address = f"http://127.0.0.1:{server.server_address[1]}"
    serve_in_background(server)
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
