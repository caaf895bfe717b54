"""Credentials as the AWS CLI finds them: botocore looks for them and renews them.

Addresses of services never reach a message: they say nothing to people and much to strangers.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from botocore.config import Config
from botocore.configprovider import ConstantProvider
from botocore.credentials import RefreshableCredentials
from botocore.exceptions import BotoCoreError, ClientError
from botocore.session import Session

from reportgen.errors import PlaceError
from reportgen.storage.s3_settings import UNSIGNED, setting

_METADATA_TIMEOUT_S = 0.75
"""Each of two requests to the metadata service of an instance may take as long: a machine without
one should not wait for more than 2 s in all."""

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
    if setting(UNSIGNED).lower() in {"1", "true"}:
        return {"skip_signature": True}
    found = _provider(region)
    if found is None:
        raise PlaceError(
            "No AWS credentials found (looked at: environment, profiles, container role, "
            "instance role).",
            hint="Run `aws sso login`, set AWS_PROFILE, or pass --no-sign-request.",
        )
    return found


def _provider(region: str) -> Mapping[str, Any] | None:
    """Return a provider of the keys that botocore finds, or ``None`` when it finds none.

    Keys that expire are asked of botocore for each request, because it renews them in time; others
    are asked once.
    """
    try:
        found = _session(region).get_credentials()
        if found is None:
            return None
        found.get_frozen_credentials()
    except (BotoCoreError, ClientError, OSError, ValueError) as err:
        # Texts of botocore may hold addresses and account numbers.
        code = getattr(err, "response", {}).get("Error", {}).get("Code")
        profile = os.environ.get("AWS_PROFILE")
        asked = f"The profile {profile!r}" if profile else "The profile or role of this machine"
        raise PlaceError(
            f"{asked} gives no credentials ({code or type(err).__name__}).",
            hint=f"Run `aws sso login{f' --profile {profile}' if profile else ''}`, check "
            "`aws configure list`, or pass --no-sign-request.",
        ) from err
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
    session = Session()
    timeout = ConstantProvider(_METADATA_TIMEOUT_S)
    session.get_component("config_store").set_config_provider("metadata_service_timeout", timeout)
    limits = {"connect_timeout": _STS_TIMEOUT_S, "read_timeout": _STS_TIMEOUT_S}
    session.set_default_client_config(Config(**limits, retries={"max_attempts": 1}))
    if session.get_config_variable("region") is None:
        session.set_config_variable("region", region)
    return session
