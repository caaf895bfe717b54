"""Credentials as the AWS CLI finds them, in its order."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reportgen.errors import PlaceError
from reportgen.storage.local import at_home
from reportgen.storage.s3_roles import (
    CONTAINER_VARIABLES,
    container_credentials,
    instance_credentials,
    renewed_instance_credentials,
)
from reportgen.storage.s3_web_identity import TOKEN_FILE_VARIABLE, web_identity_credentials

if TYPE_CHECKING:
    from obstore.store import S3Credential

_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
_EXTRA = "pip install 'make-profiler-report[aws]'"
_ROLES_OF_MACHINES = ("container-role", "iam-role")
"""What boto3 calls the two; we ask them ourselves, for no longer than ``ROLE_TIMEOUT_S``."""

_ASKED_AGAIN = timedelta(minutes=10)
"""How long keys of boto3 are used before it is asked whether they are still good. It renews keys
that end in less than this by itself. Source: botocore, ``_mandatory_refresh_timeout``."""


def find_credentials() -> Mapping[str, Any]:
    """Return what ``S3Store`` needs to sign requests.

    In this order: none when unsigned, keys of the environment, a web identity, profiles (with the
    extra ``aws``), the role of the container, the role of the instance.

    Raises:
        PlaceError: nothing was found (the message says where was looked), or what was found
            cannot be used.
    """
    env = os.environ
    keys = [bool(env.get(name)) for name in _KEYS]
    if is_unsigned():
        return {"skip_signature": True}
    if any(keys) and not all(keys):
        raise PlaceError(
            "Only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set.",
            hint="Set both, or unset both and choose a profile with --profile.",
        )
    if all(keys):
        return {}
    if env.get(TOKEN_FILE_VARIABLE):
        return _asked_now(web_identity_credentials)
    provider = _from_profile(env.get("AWS_PROFILE"))
    if provider is not None:
        return {"credential_provider": provider}
    if any(env.get(name) for name in CONTAINER_VARIABLES):
        return _asked_now(container_credentials)
    if instance_credentials() is not None:
        return {"credential_provider": renewed_instance_credentials}
    raise PlaceError(
        "No AWS credentials found (looked at: environment, profiles, container role, "
        "instance role).",
        hint="Run `aws sso login`, set AWS_PROFILE, or pass --no-sign-request." + _say_extra(),
    )


def _asked_now(provider: Callable[[], S3Credential]) -> Mapping[str, Any]:
    """Ask once at the start, so that what is wrong is said as it is."""
    provider()
    return {"credential_provider": provider}


def is_unsigned() -> bool:
    """Return whether requests go without credentials."""
    return os.environ.get("AWS_SKIP_SIGNATURE", "").lower() in {"1", "true"}


def _say_extra() -> str:
    is_needed = bool(_profile_files()) and not _has_extra()
    return f" To read profiles: {_EXTRA}." if is_needed else ""


def _has_extra() -> bool:
    try:
        return find_spec("boto3") is not None
    except ValueError:  # somebody blocked it in sys.modules
        return False


def _profile_files() -> list[Path]:
    home = at_home("~/.aws")
    named = {"AWS_SHARED_CREDENTIALS_FILE": "credentials", "AWS_CONFIG_FILE": "config"}
    paths = [Path(os.environ.get(name) or home / file) for name, file in named.items()]
    return [path for path in paths if path.is_file()]


def _from_profile(profile: str | None) -> Any:
    """Return a provider that reads a profile, or ``None`` when no profile has credentials."""
    if not profile and not _profile_files():
        return None
    if not _has_extra():
        if not profile:
            return None
        raise PlaceError(
            f"The profile {profile!r} (AWS_PROFILE or --profile) needs the extra `aws`.",
            hint=f"Run: {_EXTRA}",
        )
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        session = _session(profile or None)
        found = session.get_credentials()
        if found is None:
            return None
        found.get_frozen_credentials()
    except (BotoCoreError, ClientError, OSError, ValueError) as err:
        raise PlaceError(
            f"The profile {profile or 'default'!r} gives no credentials ({_kind(err)}).",
            hint=f"Run `aws sso login{f' --profile {profile}' if profile else ''}`, "
            "or check the profile with `aws configure list`.",
        ) from err
    from obstore.auth.boto3 import Boto3CredentialProvider

    return Boto3CredentialProvider(session, ttl=_ASKED_AGAIN)


def _session(profile: str | None) -> Any:
    """Return a session of botocore that asks no machine for its role."""
    import botocore.session

    session = botocore.session.Session(profile=profile)
    resolver = session.get_component("credential_provider")
    for name in _ROLES_OF_MACHINES:
        resolver.remove(name)
    return session


def _kind(err: Exception) -> str:
    """Return what went wrong in a word: texts of boto3 may hold addresses and account numbers."""
    code = getattr(err, "response", {}).get("Error", {}).get("Code")
    return str(code or type(err).__name__)
