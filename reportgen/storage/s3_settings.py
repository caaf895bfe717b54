"""How buckets are reached, apart from credentials: environment, what was sent, the AWS profile.

A worker of a cluster has its own credentials, but not the options of the command that asks it to
read: ``--endpoint-url``, ``--region`` and ``--no-sign-request`` travel with the work.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache

from reportgen.storage.local import at_home

WANTED_REGION = "REPORTGEN_S3_REGION"
"""The variable that carries ``--region``: unlike AWS_REGION it wins over what the store says."""
UNSIGNED = "AWS_SKIP_SIGNATURE"
_ENDPOINT = "AWS_ENDPOINT_URL"
_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
_FILES = {"AWS_CONFIG_FILE": "~/.aws/config", "AWS_SHARED_CREDENTIALS_FILE": "~/.aws/credentials"}

_SENT: ContextVar[Mapping[str, str]] = ContextVar("what came with the work")


def setting(name: str) -> str:
    """Return a variable of the environment, or what was sent in its place; empty without both."""
    return os.environ.get(name) or sent_settings().get(name, "")


def sent_settings() -> Mapping[str, str]:
    """Return the settings that were sent with the work of this thread."""
    return _SENT.get({})


def endpoint() -> str:
    """Return the store's address if it is not Amazon's own."""
    named = os.environ.get(f"{_ENDPOINT}_S3") or setting(_ENDPOINT)
    return (named or _of_profile()[0]).rstrip("/")


def own_region() -> str:
    """Return the region of the environment or of the profile, if one is named."""
    return next((found for name in _REGIONS if (found := setting(name))), "") or _of_profile()[1]


def _of_profile() -> tuple[str, str]:
    """Return endpoint and region that the AWS profile names; empty texts where it names none."""
    files = tuple(os.environ.get(name) or str(at_home(path)) for name, path in _FILES.items())
    return _read_profile(os.environ.get("AWS_PROFILE"), files)


@lru_cache(maxsize=4)
def _read_profile(profile: str | None, files: tuple[str, ...]) -> tuple[str, str]:
    if not any(os.path.isfile(path) for path in files):  # noqa: PTH113  # a path of the user
        return "", ""
    from botocore.configprovider import ConfiguredEndpointProvider
    from botocore.exceptions import BotoCoreError
    from botocore.session import Session

    session = Session(profile=profile)
    try:
        scoped = session.get_scoped_config()
        provider = ConfiguredEndpointProvider(
            full_config=session.full_config, scoped_config=scoped, client_name="s3", environ={}
        )
        address = provider.provide()
    except BotoCoreError:  # whoever looks for credentials says what is wrong with the profile
        return "", ""
    is_ignored = session.get_config_variable("ignore_configured_endpoint_urls")
    return "" if is_ignored else str(address or ""), str(scoped.get("region") or "")


def settings_to_send() -> Mapping[str, str]:
    """Return how buckets are reached here, without any credential."""
    named = {_ENDPOINT: endpoint(), _REGIONS[0]: own_region()}
    named |= {name: setting(name) for name in (WANTED_REGION, UNSIGNED)}
    return {name: value for name, value in named.items() if value}


@contextmanager
def reached_as(settings: Mapping[str, str]) -> Iterator[None]:
    """Reach buckets as ``settings`` say where the environment says nothing, in this thread."""
    token = _SENT.set(settings)
    try:
        yield
    finally:
        _SENT.reset(token)
