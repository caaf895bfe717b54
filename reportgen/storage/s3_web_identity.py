"""Keys of a role for a web identity: what a pod of EKS or a job of a CI service gets."""

from __future__ import annotations

import html
import os
import re
import urllib.error
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from reportgen.errors import PlaceError
from reportgen.storage.http import Request, ask

if TYPE_CHECKING:
    from obstore.store import S3Credential

TOKEN_FILE_VARIABLE = "AWS_WEB_IDENTITY_TOKEN_FILE"  # noqa: S105  # a variable's name
_TIMEOUT_S = 10
_SESSION_NAME = "make-profiler-report"
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}
_FIELDS = ("AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration")


def web_identity_credentials() -> S3Credential:
    """Return the keys that the identity's role has now.

    Raises:
        PlaceError: no role is named, the token cannot be read, or it was not accepted.
    """
    env = os.environ
    role = env.get("AWS_ROLE_ARN")
    if not role:
        raise _no_keys("AWS_ROLE_ARN is not set")
    try:
        fields = {
            "Action": "AssumeRoleWithWebIdentity",
            "Version": "2011-06-15",
            "RoleArn": role,
            "RoleSessionName": env.get("AWS_ROLE_SESSION_NAME") or _SESSION_NAME,
            "WebIdentityToken": Path(env[TOKEN_FILE_VARIABLE]).read_text(encoding="ascii").strip(),
        }
    except (OSError, ValueError):
        raise _no_keys("its token file cannot be read") from None
    try:
        answer = ask(
            Request(url=_address(), method="POST", headers=_FORM, body=urlencode(fields).encode()),
            timeout_s=_TIMEOUT_S,
            by_proxy=True,
        )
        return _keys(answer.content.decode("utf-8"))
    except urllib.error.HTTPError as err:
        raise _no_keys(f"AWS STS answered {err.code}") from None
    except OSError:
        raise _no_keys("AWS STS did not answer") from None
    except ValueError:
        raise _no_keys("the answer of AWS STS holds no keys") from None


def _address() -> str:
    env = os.environ
    given = env.get("AWS_ENDPOINT_URL_STS") or env.get("AWS_ENDPOINT_URL")
    if given:
        return given.rstrip("/") + "/"
    region = env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION") or "us-east-1"
    suffix = ".cn" if region.startswith("cn-") else ""
    return f"https://sts.{region}.amazonaws.com{suffix}/"


def _keys(text: str) -> S3Credential:
    """Return the keys in an answer.

    Raises:
        ValueError: it holds none.
    """
    found = [re.search(rf"<{name}>\s*([^<\s]+)\s*</{name}>", text) for name in _FIELDS]
    key, secret, token, until = (html.unescape(match[1]) if match else "" for match in found)
    if not (key and secret and token):
        raise ValueError
    return {
        "access_key_id": key,
        "secret_access_key": secret,
        "token": token,
        "expires_at": datetime.fromisoformat(until) if until else None,
    }


def _no_keys(why: str) -> PlaceError:
    return PlaceError(
        f"The web identity of this machine gives no credentials: {why}.",
        hint=f"Check AWS_ROLE_ARN and {TOKEN_FILE_VARIABLE}, or choose a profile with --profile.",
    )
