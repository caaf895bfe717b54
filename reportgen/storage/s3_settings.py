"""How buckets are reached, apart from credentials: from the environment, or sent with the work.

A worker of a cluster has its own credentials, but not the options of the command that asks it to
read: ``--endpoint-url``, ``--region`` and ``--no-sign-request`` travel with the work.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

WANTED_REGION = "REPORTGEN_S3_REGION"
"""The variable that carries ``--region``: unlike AWS_REGION it wins over what the store says."""
UNSIGNED = "AWS_SKIP_SIGNATURE"
_ENDPOINT = "AWS_ENDPOINT_URL"
_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")

_SENT: ContextVar[Mapping[str, str]] = ContextVar("what came with the work")


def setting(name: str) -> str:
    """Return a variable of the environment, or what was sent in its place; empty without both."""
    return os.environ.get(name) or sent_settings().get(name, "")


def sent_settings() -> Mapping[str, str]:
    """Return the settings that were sent with the work of this thread."""
    return _SENT.get({})


def endpoint() -> str:
    """Return the store's address if it is not Amazon's own."""
    return (os.environ.get(f"{_ENDPOINT}_S3") or setting(_ENDPOINT)).rstrip("/")


def own_region() -> str:
    """Return the region of the environment, if it names one."""
    return next((found for name in _REGIONS if (found := setting(name))), "")


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
