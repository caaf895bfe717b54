"""What AWS offers to containers, instances and people who signed in, on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from tests.s3_server import serve_in_background

_ROLES = "/latest/meta-data/iam/security-credentials/"
_NAMES = ("AccessKeyId", "SecretAccessKey", "Token", "Expiration")


@dataclass
class RoleService:
    """A service that hands out keys, and what it was asked.

    Attributes:
        address: where it listens.
        secret: what a caller must show: a container's token, a signed-in person's token.
        lasts_s: how long the keys are good.
        knows_sessions: whether the instance's service speaks its second version.
        denies: whether it answers 403 to everybody.
        n_given: how many keys it gave; each has a name of its own.
        seen: the paths that were asked.
    """

    address: str = ""
    secret: str = ""
    lasts_s: float = 3600
    knows_sessions: bool = True
    denies: bool = False
    n_given: int = 0
    seen: list[str] = field(default_factory=list)

    def keys(self, names: tuple[str, str, str, str]) -> dict[str, object]:
        """Return new keys, under the names that a service has for them."""
        self.n_given += 1
        until = datetime.now(UTC) + timedelta(seconds=self.lasts_s)
        values = (f"ASIAROLE{self.n_given}", "zSECRET", "session", f"{until:%Y-%m-%dT%H:%M:%SZ}")
        return dict(zip(names, values, strict=True))

    def answer(self, path: str, headers: Any) -> tuple[int, bytes]:
        """Return status and content for a request."""
        if self.denies:
            return 403, b""
        if path == "/latest/api/token":
            return (200, b"session-token") if self.knows_sessions else (405, b"")
        if path.startswith(_ROLES):
            if self.knows_sessions and headers.get("X-aws-ec2-metadata-token") != "session-token":
                return 401, b""
            if path == _ROLES:
                return 200, b"the-role"
            return 200, json.dumps({"Code": "Success"} | self.keys(_NAMES)).encode()
        if path == "/federation/credentials":
            if headers.get("x-amz-sso_bearer_token") != self.secret:
                return 401, b'{"__type": "UnauthorizedException"}'
            names = ("accessKeyId", "secretAccessKey", "sessionToken", "ignored")
            until_ms = round((datetime.now(UTC).timestamp() + self.lasts_s) * 1000)
            return 200, json.dumps(
                {"roleCredentials": self.keys(names) | {"expiration": until_ms}}
            ).encode()
        if headers.get("Authorization", "") != self.secret:
            return 401, b""
        return 200, json.dumps(self.keys(_NAMES)).encode()


@contextmanager
def running_role_service() -> Iterator[RoleService]:
    """Start a service and yield it."""
    service = RoleService()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            path = urlsplit(self.path).path
            service.seen.append(path)
            status, content = service.answer(path, self.headers)
            self.send_response_only(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = _answer  # noqa: N815  # http.server's names

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
