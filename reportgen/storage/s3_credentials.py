"""Credentials as the AWS CLI finds them: botocore looks for them and renews them.

Addresses of services never reach a message: they say nothing to people and much to strangers.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from reportgen.errors import PlaceError
from reportgen.storage.s3_settings import UNSIGNED, setting

_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
_WEB_IDENTITY = "AWS_WEB_IDENTITY_TOKEN_FILE"
_CONTAINERS = ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI")

_METADATA_TIMEOUT_S = 0.75
"""Of each of the two requests to an instance's metadata service: a machine without one should not
wait for more than 2 s in all."""

_STS_TIMEOUT_S = 10


def find_credentials(region: str) -> Mapping[str, Any]:
    """Return the settings that ``S3Store`` signs requests with.

    Nothing is signed when requests are unsigned; otherwise botocore looks at the environment, web
    identities, profiles (keys, SSO, roles, ``credential_process``), the role of the container and
    that of the instance. The token service of ``region`` is asked where environment and profile
    name none.

    Raises:
        PlaceError: nothing was found (the message says where was looked), or what was found
            cannot be used.
    """
    if is_unsigned():
        return {"skip_signature": True}
    keys = [bool(os.environ.get(name)) for name in _KEYS]
    if any(keys) and not all(keys):
        raise PlaceError(
            "Only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set.",
            hint="Set both, or unset both and choose a profile with --profile.",
        )
    found = _provider(region)
    if found is None:
        raise PlaceError(
            "No AWS credentials found (looked at: environment, profiles, container role, "
            "instance role).",
            hint="Run `aws sso login`, set AWS_PROFILE, or pass --no-sign-request.",
        )
    return found


def is_unsigned() -> bool:
    """Return whether requests go without credentials."""
    return setting(UNSIGNED).lower() in {"1", "true"}


def _provider(region: str) -> Mapping[str, Any] | None:
    """Return a provider of the keys that botocore finds, or ``None`` when it finds none.

    Keys that expire are asked of botocore for each request, because it renews them in time; others
    are asked once.
    """
    from botocore.credentials import RefreshableCredentials
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        session = _session(region)
        found = session.get_credentials()
        if found is None:
            return None
        found.get_frozen_credentials()
    except (BotoCoreError, ClientError, OSError, ValueError) as err:
        raise _unusable(_source_of(err), _kind(err)) from err
    expires = isinstance(found, RefreshableCredentials)

    def keys() -> Mapping[str, Any]:
        frozen = found.get_frozen_credentials()
        return {
            "access_key_id": frozen.access_key,
            "secret_access_key": frozen.secret_key,
            "token": frozen.token,
            "expires_at": datetime.now(UTC) if expires else None,
        }

    return {"credential_provider": keys}


def _session(region: str) -> Any:
    """Return a session of botocore that waits for no service for minutes."""
    import botocore.session
    from botocore.config import Config
    from botocore.configprovider import ConstantProvider

    session = botocore.session.Session()
    timeout = ConstantProvider(_METADATA_TIMEOUT_S)
    session.get_component("config_store").set_config_provider("metadata_service_timeout", timeout)
    limits = {"connect_timeout": _STS_TIMEOUT_S, "read_timeout": _STS_TIMEOUT_S}
    session.set_default_client_config(Config(**limits, retries={"max_attempts": 1}))
    if session.get_config_variable("region") is None:
        session.set_config_variable("region", region)
    return session


def _kind(err: Exception) -> str:
    """Return a word for an error: texts of boto3 may hold addresses and account numbers."""
    code = getattr(err, "response", {}).get("Error", {}).get("Code")
    return str(code or type(err).__name__)


def _source_of(err: Exception) -> str:
    """Return the variable that names the source whose credentials cannot be used."""
    if getattr(err, "kwargs", {}).get("provider") == "container-role":
        return _CONTAINERS[0]
    if _is_set(_WEB_IDENTITY):
        return _WEB_IDENTITY
    is_refused = any(map(_is_set, _CONTAINERS)) and isinstance(err, OSError | ValueError)
    return _CONTAINERS[0] if is_refused else "AWS_PROFILE"


def _is_set(name: str) -> bool:
    return bool(os.environ.get(name))


def _unusable(source: str, kind: str) -> PlaceError:
    if source == _WEB_IDENTITY:
        subject = "The web identity of this machine"
        hint = f"Check AWS_ROLE_ARN and {_WEB_IDENTITY}, or choose a profile with --profile."
    elif source in _CONTAINERS:
        subject = "The role of this container"
        hint = "Check the role, set AWS_PROFILE, or pass --no-sign-request."
    else:
        profile = os.environ.get("AWS_PROFILE")
        subject = f"The profile {profile or 'default'!r}"
        login = f"aws sso login{f' --profile {profile}' if profile else ''}"
        hint = f"Run `{login}`, or check the profile with `aws configure list`."
    return PlaceError(f"{subject} gives no credentials ({kind}).", hint=hint)
