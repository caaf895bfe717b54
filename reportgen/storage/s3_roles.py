"""Keys of a role, from the service that a container or an instance offers to what runs there.

Their addresses never reach a message: they say nothing to people and much to strangers.
"""

from __future__ import annotations

import json
import os
import time
import urllib.error
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from reportgen.errors import PlaceError
from reportgen.storage.http import Request, ask

if TYPE_CHECKING:
    from obstore.store import S3Credential

ROLE_TIMEOUT_S = 1.5
"""All requests to such a service together. Source: issue, at most 2 s."""

CONTAINER_VARIABLES = (
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)
_ECS = "http://169.254.170.2"
_PLAIN_HOSTS = frozenset(
    {"localhost", "127.0.0.1", "::1", "169.254.170.2", "169.254.170.23", "fd00:ec2::23"}
)
"""Hosts that may be asked without TLS. Source: AWS SDKs reference, "Container credential"."""

_INSTANCE = "http://169.254.169.254"
_INSTANCE_V6 = "http://[fd00:ec2::254]"
_TOKEN_HEADER = "X-aws-ec2-metadata-token"  # noqa: S105  # a header's name
_TOKEN_TTL = {"X-aws-ec2-metadata-token-ttl-seconds": "21600"}


def container_credentials() -> S3Credential:
    """Return the keys that a container's role has now.

    Raises:
        PlaceError: the service does not answer, refuses, or may not be asked.
    """
    url = _container_url()
    host = urlsplit(url).hostname
    if not url.startswith("https://") and host not in _PLAIN_HOSTS:
        raise _no_keys("container", "its address is neither encrypted nor of this machine")
    try:
        return _keys(_ask(url, _container_token(), time.monotonic() + ROLE_TIMEOUT_S))
    except (OSError, ValueError) as err:
        raise _no_keys("container", _say(err)) from None


def instance_credentials() -> S3Credential | None:
    """Return the keys that the instance's role has now; ``None`` where there is no role.

    Nothing is asked with ``AWS_EC2_METADATA_DISABLED=true``.
    """
    if os.environ.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true":
        return None
    deadline_s = time.monotonic() + ROLE_TIMEOUT_S
    roles = f"{_instance_url()}/latest/meta-data/iam/security-credentials/"
    try:
        token = _instance_token(deadline_s)
        role = _ask(roles, token, deadline_s).decode("ascii").split("\n")[0].strip()
        return _keys(_ask(roles + role, token, deadline_s)) if role else None
    except (OSError, ValueError):
        return None


def renewed_instance_credentials() -> S3Credential:
    """Return the keys of the instance's role once more.

    Raises:
        PlaceError: there are none any more.
    """
    keys = instance_credentials()
    if keys is None:
        raise _no_keys("instance", "it does not answer any more")
    return keys


def _container_url() -> str:
    relative, full = (os.environ.get(name, "") for name in CONTAINER_VARIABLES)
    return _ECS + relative if relative else full


def _container_token() -> Mapping[str, str]:
    path = os.environ.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")
    token = os.environ.get("AWS_CONTAINER_AUTHORIZATION_TOKEN", "")
    if path:
        token = Path(path).read_text(encoding="ascii").strip()
    return {"Authorization": token} if token else {}


def _instance_url() -> str:
    given = os.environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT")
    mode = os.environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "")
    return (given or (_INSTANCE_V6 if mode.lower() == "ipv6" else _INSTANCE)).rstrip("/")


def _instance_token(deadline_s: float) -> Mapping[str, str]:
    """Return the header with a session's token; none where only the older version is spoken."""
    url = f"{_instance_url()}/latest/api/token"
    try:
        token = _ask(url, _TOKEN_TTL, deadline_s, method="PUT")
    except urllib.error.HTTPError as err:
        if err.code in {403, 404, 405}:
            return {}
        raise
    return {_TOKEN_HEADER: token.decode("ascii")}


def _ask(url: str, headers: Mapping[str, str], deadline_s: float, *, method: str = "GET") -> bytes:
    left_s = deadline_s - time.monotonic()
    if left_s <= 0:
        raise TimeoutError
    return ask(Request(url=url, method=method, headers=headers), timeout_s=left_s).content


def _keys(content: bytes) -> S3Credential:
    """Return the keys in an answer.

    Raises:
        ValueError: it holds none.
    """
    fields: Any = json.loads(content)
    if not isinstance(fields, dict) or fields.get("Code", "Success") != "Success":
        raise ValueError
    key, secret, token = (fields.get(name) for name in ("AccessKeyId", "SecretAccessKey", "Token"))
    if not (isinstance(key, str) and isinstance(secret, str) and key and secret):
        raise ValueError
    return {
        "access_key_id": key,
        "secret_access_key": secret,
        "token": token if isinstance(token, str) else None,
        "expires_at": _time_of(fields.get("Expiration")),
    }


def _time_of(text: object) -> datetime | None:
    if not isinstance(text, str):
        return None
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _say(err: Exception) -> str:
    if isinstance(err, urllib.error.HTTPError):
        return f"its service answered {err.code}"
    return "its service did not answer" if isinstance(err, OSError) else "its answer holds no keys"


def _no_keys(whose: str, why: str) -> PlaceError:
    return PlaceError(
        f"The role of this {whose} gives no credentials: {why}.",
        hint="Check the role, set AWS_PROFILE, or pass --no-sign-request.",
    )
