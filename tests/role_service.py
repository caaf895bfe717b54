"""What AWS offers to containers, instances and people who signed in, on this machine."""

from __future__ import annotations

import ipaddress
import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.s3_server import serve_in_background

_ROLES = "/latest/meta-data/iam/security-credentials/"
_NAMES = ("AccessKeyId", "SecretAccessKey", "Token", "Expiration")
_STS_NAMES = ("AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration")


@dataclass
class RoleService:
    """A service that hands out keys, and what it was asked.

    Attributes:
        address: where it listens.
        secret: what a caller must show: a token of a container, a person, a web identity.
        lasts_s: how long the keys are good.
        status_without_sessions: what the instance's service answers instead of a session, where it
            speaks its first version only.
        denies: whether it answers 403 to everybody.
        n_given: how many keys it gave; each has a name of its own.
        seen: the paths that were asked.
    """

    address: str = ""
    secret: str = ""
    lasts_s: float = 3600
    status_without_sessions: int | None = None
    denies: bool = False
    n_given: int = 0
    seen: list[str] = field(default_factory=list)

    def keys(self, names: tuple[str, str, str, str]) -> dict[str, object]:
        """Return new keys, under the names that a service has for them."""
        self.n_given += 1
        until = datetime.now(UTC) + timedelta(seconds=self.lasts_s)
        values = (f"ASIAROLE{self.n_given}", "zSECRET", "session", f"{until:%Y-%m-%dT%H:%M:%SZ}")
        return dict(zip(names, values, strict=True))

    def answer(self, url: str, headers: Any) -> tuple[int, bytes]:
        """Return status and content for a request."""
        path = urlsplit(url).path
        if self.denies:
            return 403, b""
        if path == "/":
            return self._exchange(parse_qs(urlsplit(url).query))
        if path == "/latest/api/token":
            status = self.status_without_sessions
            return (status, b"") if status else (200, b"session-token")
        if path.startswith(_ROLES):
            is_second = self.status_without_sessions is None
            if is_second and headers.get("X-aws-ec2-metadata-token") != "session-token":
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

    def _exchange(self, asked: dict[str, list[str]]) -> tuple[int, bytes]:
        """Return the keys of the token service for the token of a web identity."""
        if asked.get("WebIdentityToken") != [self.secret] or "RoleArn" not in asked:
            return 400, b""
        fields = "".join(
            f"<{name}>{value}</{name}>" for name, value in self.keys(_STS_NAMES).items()
        )
        action = asked["Action"][0]
        result = f"<{action}Result><Credentials>{fields}</Credentials></{action}Result>"
        return 200, f"<{action}Response>{result}</{action}Response>".encode()


def write_certificate(path: Path) -> None:
    """Write a certificate of this machine's address and its key into one file."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "tests")])
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    path.write_bytes(certificate.public_bytes(pem) + key.private_bytes(pem, *private))


@contextmanager
def running_role_service(*, certificate: Path | None = None) -> Iterator[RoleService]:
    """Start a service and yield it.

    Args:
        certificate: a file with certificate and key; encrypts what is asked and answered.
    """
    service = RoleService()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            service.seen.append(urlsplit(self.path).path)
            status, content = service.answer(self.path, self.headers)
            self.send_response_only(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_POST = _answer  # noqa: N815  # http.server's names

        def log_message(self, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    scheme = "http"
    if certificate is not None:
        scheme, context = "https", ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    service.address = f"{scheme}://127.0.0.1:{server.server_address[1]}"
    serve_in_background(server)
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
