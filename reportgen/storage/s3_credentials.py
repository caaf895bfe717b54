"""Credentials as the AWS CLI finds them, in its order.

With the extra ``aws`` botocore finds and renews them. Without it obstore does, which knows the keys
of the environment, web identities, the roles of ECS tasks and those of instances. Addresses of
services never reach a message: they say nothing to people and much to strangers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from reportgen.errors import PlaceError
from reportgen.storage.local import at_home
from reportgen.storage.s3_settings import UNSIGNED, setting

_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
_EXTRA = "pip install 'make-profiler-report[aws]'"
_WEB_IDENTITY = "AWS_WEB_IDENTITY_TOKEN_FILE"
_ECS_TASK = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"
_CONTAINER = "AWS_CONTAINER_CREDENTIALS_FULL_URI"

_METADATA_TIMEOUT_S = 0.75
"""Of each of the two requests to an instance's metadata service: a machine without one should not
wait for more than 2 s in all."""

_ROLE_TIMEOUT = timedelta(seconds=1.5)
_STS_TIMEOUT_S = 10


def find_credentials(region: str) -> Mapping[str, Any]:
    """Return the settings that ``S3Store`` signs requests with.

    In this order: none when unsigned, keys of the environment, a web identity, profiles (with the
    extra ``aws``), the role of the container, the role of the instance. The token service of
    ``region`` is asked where environment and profile name none.

    Raises:
        PlaceError: nothing was found (the message says where was looked), or what was found
            cannot be used.
    """
    keys = [bool(os.environ.get(name)) for name in _KEYS]
    if is_unsigned():
        return {"skip_signature": True}
    if any(keys) and not all(keys):
        raise PlaceError(
            "Only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set.",
            hint="Set both, or unset both and choose a profile with --profile.",
        )
    if all(keys):
        return {}
    found = _from_botocore(region) if _has_extra() else _from_obstore(region)
    if found is None:
        raise PlaceError(
            "No AWS credentials found (looked at: environment, profiles, container role, "
            "instance role).",
            hint="Run `aws sso login`, set AWS_PROFILE, or pass --no-sign-request." + _extra_hint(),
        )
    return found


def is_unsigned() -> bool:
    """Return whether requests go without credentials."""
    return setting(UNSIGNED).lower() in {"1", "true"}


def _extra_hint() -> str:
    is_needed = bool(_profile_files()) and not _has_extra()
    return f" To read profiles: {_EXTRA}." if is_needed else ""


def _has_extra() -> bool:
    try:
        return find_spec("boto3") is not None
    except ValueError:  # it was blocked in sys.modules
        return False


def _profile_files() -> list[Path]:
    home = at_home("~/.aws")
    named = {"AWS_SHARED_CREDENTIALS_FILE": "credentials", "AWS_CONFIG_FILE": "config"}
    paths = [Path(os.environ.get(name) or home / file) for name, file in named.items()]
    return [path for path in paths if path.is_file()]


def _from_botocore(region: str) -> Mapping[str, Any] | None:
    """Return a provider of the keys that botocore finds, or ``None`` when it finds none.

    botocore renews keys before they end, so it is asked for each request: 12 µs, where keys that
    are kept here could be used after their end.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        session = _session(region)
        found = session.get_credentials()
        if found is None:
            return None
        found.get_frozen_credentials()
    except (BotoCoreError, ClientError, OSError, ValueError) as err:
        raise _unusable(_source_of(err), f"({_kind(err)})") from err
    from obstore.auth.boto3 import Boto3CredentialProvider

    return {"credential_provider": Boto3CredentialProvider(session, ttl=timedelta(0))}


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
        return _CONTAINER
    if _is_set(_WEB_IDENTITY):
        return _WEB_IDENTITY
    is_refused = _is_set(_CONTAINER) and isinstance(err, OSError | ValueError)
    return _CONTAINER if is_refused else "AWS_PROFILE"


def _from_obstore(region: str) -> Mapping[str, Any] | None:
    """Return how obstore asks for the role of this machine, or ``None`` when it has none.

    obstore reads the variables of a web identity and of an ECS task by itself.

    Raises:
        PlaceError: the extra ``aws`` is needed, or the role gives no credentials.
    """
    env = os.environ
    if env.get("AWS_PROFILE") and not _is_set(_WEB_IDENTITY):
        profile = f"The profile {env['AWS_PROFILE']!r} (AWS_PROFILE or --profile)"
        raise PlaceError(f"{profile} needs the extra `aws`.", hint=f"Run: {_EXTRA}")
    source = next((name for name in (_WEB_IDENTITY, _ECS_TASK, _CONTAINER) if _is_set(name)), None)
    if source == _WEB_IDENTITY and not _is_set("AWS_ROLE_ARN"):
        raise _unusable(source, "because AWS_ROLE_ARN is not set")
    if source == _CONTAINER:
        raise PlaceError(f"{_CONTAINER} needs the extra `aws`.", hint=f"Run: {_EXTRA}")
    if source is None and env.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true":
        return None
    config = {"region": region, "imdsv1_fallback": True, **_metadata_endpoint()}
    problem = _sign_with(config)
    if problem is None:
        return config
    if source is None:
        return None
    raise _unusable(source, problem)


def _metadata_endpoint() -> Mapping[str, str]:
    is_v6 = os.environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "").lower() == "ipv6"
    address = os.environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT", "")
    address = address or ("http://[fd00:ec2::254]" if is_v6 else "")
    return {"metadata_endpoint": address.rstrip("/")} if address else {}


def _sign_with(config: Mapping[str, Any]) -> str | None:
    """Sign a request that is never sent; return the problem, ``None`` without one."""
    import obstore
    from obstore.store import S3Store

    store = S3Store(
        "bucket",
        client_options={"allow_http": True, "timeout": _ROLE_TIMEOUT},
        retry_config={"max_retries": 0, "retry_timeout": _ROLE_TIMEOUT},
        **config,
    )
    try:
        obstore.sign(store, "GET", "key", timedelta(minutes=1))
    except obstore.exceptions.BaseError as err:
        status = re.search(r"status code: (\d{3})", str(err))
        return f"(its service answered {status[1]})" if status else "(its service did not answer)"
    return None


def _is_set(name: str) -> bool:
    return bool(os.environ.get(name))


def _unusable(source: str, why: str) -> PlaceError:
    if source == _WEB_IDENTITY:
        subject = "The web identity of this machine"
        hint = f"Check AWS_ROLE_ARN and {_WEB_IDENTITY}, or choose a profile with --profile."
    elif source in {_ECS_TASK, _CONTAINER}:
        subject = "The role of this container"
        hint = "Check the role, set AWS_PROFILE, or pass --no-sign-request."
    else:
        profile = os.environ.get("AWS_PROFILE")
        subject = f"The profile {profile or 'default'!r}"
        login = f"aws sso login{f' --profile {profile}' if profile else ''}"
        hint = f"Run `{login}`, or check the profile with `aws configure list`."
    return PlaceError(f"{subject} gives no credentials {why}.", hint=hint)
