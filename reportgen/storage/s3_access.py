"""How a bucket is reached: region, endpoint, credentials as the AWS CLI finds them."""

from __future__ import annotations

import os
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reportgen.errors import PlaceError

DEFAULT_REGION = "us-east-1"
_HEAD_TIMEOUT_S = 5
_METADATA_TIMEOUT_S = 1.5
"""The instance's metadata address is asked once and not for longer. Source: issue, at most 2 s."""

_METADATA = "http://169.254.169.254"
_EXTRA = "pip install 'make-profiler-report[aws]'"
_ROLE_VARIABLES = (
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
)


def endpoint() -> str:
    """Return the store's address if it is not Amazon's own."""
    env = os.environ
    return (env.get("AWS_ENDPOINT_URL_S3") or env.get("AWS_ENDPOINT_URL") or "").rstrip("/")


def is_unsigned() -> bool:
    """Return whether requests go without credentials."""
    return os.environ.get("AWS_SKIP_SIGNATURE", "").lower() in {"1", "true"}


def region_of(bucket: str) -> str:
    """Return the region in which a bucket lies: asked from the store, without credentials.

    Raises:
        PlaceError: there is no such bucket.

    Edge cases: when the store does not answer or does not say, the region of the environment.
    """
    url = f"{endpoint()}/{bucket}" if endpoint() else f"https://s3.amazonaws.com/{bucket}"
    request = urllib.request.Request(url, method="HEAD")  # noqa: S310  # http(s) only, see _opener
    try:
        with _opener().open(request, timeout=_HEAD_TIMEOUT_S) as answer:
            headers: Any = answer.headers
    except urllib.error.HTTPError as err:
        headers = err.headers
        if err.code == 404:
            raise PlaceError(
                f"There is no bucket s3://{bucket}.",
                hint="Check the spelling, and --endpoint-url if the store is not Amazon's.",
                path=f"s3://{bucket}",
            ) from None
    except (OSError, ValueError):
        headers = {}
    named = headers.get("x-amz-bucket-region") or ""
    return named if re.fullmatch(r"[a-z0-9-]+", named) else _own_region()


def _own_region() -> str:
    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or DEFAULT_REGION


def credentials() -> Mapping[str, Any]:
    """Return what ``S3Store`` needs to sign requests.

    In this order: none when unsigned, keys of the environment, roles of containers and tokens,
    profiles (with the extra ``aws``), the role of the instance.

    Raises:
        PlaceError: nothing was found; the message says where was looked.
    """
    env = os.environ
    keys = [bool(env.get(name)) for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")]
    if any(keys) and not all(keys):
        raise PlaceError(
            "Only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set.",
            hint="Set both, or unset both and choose a profile with --profile.",
        )
    if is_unsigned():
        return {"skip_signature": True}
    if all(keys):
        return {}
    looked = ["environment"]
    if any(env.get(name) for name in _ROLE_VARIABLES):
        return {}
    if env.get("AWS_PROFILE") or _profile_files():
        provider = _from_profile(env.get("AWS_PROFILE"))
        if provider is not None:
            return {"credential_provider": provider}
        looked.append("profiles")
    if _has_instance_role():
        return {}
    looked += ["container role", "instance role"]
    raise PlaceError(
        f"No AWS credentials found (looked at: {', '.join(looked)}).",
        hint="Run `aws sso login`, set AWS_PROFILE, or pass --no-sign-request."
        + _say_extra(needed="profiles" in looked),
    )


def _say_extra(*, needed: bool) -> str:
    try:
        import boto3  # noqa: F401  # only whether it is there
    except ImportError:
        return f" To read profiles: {_EXTRA}." if needed else ""
    return ""


def _profile_files() -> list[Path]:
    home = Path("~/.aws").expanduser()
    named = {"AWS_SHARED_CREDENTIALS_FILE": "credentials", "AWS_CONFIG_FILE": "config"}
    paths = [Path(os.environ.get(name) or home / file) for name, file in named.items()]
    return [path for path in paths if path.is_file()]


def _from_profile(profile: str | None) -> Any:
    """Return a provider that reads a profile, or ``None`` when no profile has credentials."""
    try:
        import boto3
        from botocore.exceptions import BotoCoreError, ClientError
        from obstore.auth.boto3 import Boto3CredentialProvider
    except ImportError as err:
        if profile is None:
            return None
        raise PlaceError(
            f"The profile {profile!r} (AWS_PROFILE or --profile) needs the extra `aws`.",
            hint=f"Run: {_EXTRA}",
        ) from err
    try:
        session = boto3.Session(profile_name=profile)
        found = session.get_credentials()
        if found is None:
            return None
        found.get_frozen_credentials()
    except (BotoCoreError, ClientError) as err:
        raise PlaceError(
            f"The profile {profile or 'default'!r} gives no credentials ({type(err).__name__}).",
            hint="Run `aws sso login`, or check the profile with `aws configure list`.",
        ) from err
    return Boto3CredentialProvider(session)


def _has_instance_role() -> bool:
    """Return whether an instance's metadata service answers."""
    env = os.environ
    if env.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true":
        return False
    address = env.get("AWS_METADATA_ENDPOINT") or _METADATA
    request = urllib.request.Request(  # noqa: S310  # http(s) only, see _opener
        f"{address}/latest/api/token",
        method="PUT",
        headers={"X-aws-ec2-metadata-token-ttl-seconds": "60"},
    )
    try:
        with _opener(without_proxy=True).open(request, timeout=_METADATA_TIMEOUT_S):
            return True
    except (OSError, ValueError):
        return False


def _opener(*, without_proxy: bool = False) -> urllib.request.OpenerDirector:
    """Return an opener for http and https alone that follows no redirect."""
    opener = urllib.request.OpenerDirector()
    handlers: list[urllib.request.BaseHandler] = [
        urllib.request.ProxyHandler({} if without_proxy else None),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
    ]
    for handler in handlers:
        opener.add_handler(handler)
    return opener
