"""How a bucket is reached: its address and region, and what is needed to sign requests."""

from __future__ import annotations

import os
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from functools import lru_cache
from http.client import HTTPException
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from reportgen.errors import PlaceError
from reportgen.storage.s3_credentials import find_credentials
from reportgen.storage.s3_errors import explain
from reportgen.storage.s3_settings import (
    WANTED_REGION,
    endpoint,
    own_region,
    sent_settings,
    setting,
)

if TYPE_CHECKING:
    from obstore.store import ClientConfig

DEFAULT_REGION = "us-east-1"

_HEAD_TIMEOUT_S = 5
_NO_PROXY = "http://127.0.0.1:9"
"""The port of a service that discards what it gets, where any listens there at all."""
_REGION_HEADER = "x-amz-bucket-region"
_LIST = b"<ListBucketResult"
N_REMEMBERED = 16
"""Buckets and prefixes that are remembered. A job has one; to open another again takes 5 ms."""

Environment = tuple[tuple[str, str], ...]


def environment() -> Environment:
    """Return all settings that say how buckets are reached; what is remembered goes by them."""
    others = {WANTED_REGION, "HOME", "USERPROFILE"}
    named = sorted(
        (name, value)
        for name, value in os.environ.items()
        if name.startswith("AWS_") or name in others or name.lower().endswith("_proxy")
    )
    return (*named, *sorted(sent_settings().items()))


@lru_cache(maxsize=N_REMEMBERED)
def access(bucket: str, _environment: Environment) -> Mapping[str, Any]:
    """Return the settings of ``S3Store`` for a bucket: endpoint, region, credentials.

    The answer is remembered as long as the environment stays the same: some credentials cost a
    round trip.

    Raises:
        PlaceError: there is no such bucket, no store of S3, or no credentials.
    """
    address = endpoint()
    if address:
        _check_store(address, bucket)
    region = region_of(bucket)
    return {
        **({"endpoint": address} if address else {}),
        **find_credentials(region),
        "region": region,
    }


def region_of(bucket: str) -> str:
    """Return the region that was asked for, or else the one in which a bucket lies.

    The store says it without credentials.

    Raises:
        PlaceError: there is no such bucket.

    Edge cases: when the store does not answer or does not say, the region of the environment.
    """
    wanted = setting(WANTED_REGION)
    if wanted:
        return wanted
    url = f"{endpoint() or amazon_address(_own_region())}/{bucket}"
    named: str | None = None
    try:
        head = urllib.request.Request(url, method="HEAD")  # noqa: S310  # the user's own address
        opener = urllib.request.build_opener(_WithoutRedirects)
        with opener.open(head, timeout=_HEAD_TIMEOUT_S) as answer:
            named = answer.headers.get(_REGION_HEADER)
    except urllib.error.HTTPError as err:
        named = err.headers.get(_REGION_HEADER)
        if err.code == 404:
            raise PlaceError(
                f"There is no bucket s3://{bucket}.",
                hint="Check the spelling, and --endpoint-url if the store is not Amazon's.",
                path=f"s3://{bucket}",
            ) from None
    except (OSError, ValueError, HTTPException):
        pass
    return named if named and re.fullmatch(r"[a-z0-9-]+", named) else _own_region()


def _check_store(address: str, bucket: str) -> None:
    """Ask a store that is not Amazon's for a list, without credentials.

    Redirects are followed with ``x-amz-security-token``, which another host must not get. Who
    reads a list in HTML finds no object in it.

    Raises:
        PlaceError: it redirects to another host or port, or answers what is no list.
    """
    url = f"{address}/{bucket}?list-type=2&max-keys=1"
    try:
        opener = urllib.request.build_opener(_WithoutRedirects)
        with opener.open(url, timeout=_HEAD_TIMEOUT_S) as answer:
            if _LIST not in answer.read(1024):
                kind = answer.headers.get_content_type()
                said = ValueError(f"status code: {answer.status} {kind}")
                raise explain(said, action="s3:ListBucket", url=f"s3://{bucket}")
    except urllib.error.HTTPError as err:
        target = urljoin(url, err.headers.get("Location") or url)
        if err.code // 100 == 3 and urlsplit(target).netloc != urlsplit(url).netloc:
            raise PlaceError(
                f"The store at {urlsplit(url).netloc} redirects to another host; credentials are "
                "not sent there.",
                hint="Pass the address of the store itself with --endpoint-url.",
            ) from None
    except (OSError, ValueError, HTTPException):  # the list itself says what is wrong
        pass


def only_this_host() -> ClientConfig:
    """Return the options of a client that reaches the user's store and no other host.

    A redirect to another host, which would carry ``x-amz-security-token``, goes to a proxy that
    does not exist. With a proxy of the user, and at Amazon's own store, the client stays as it is.
    """
    host = urlsplit(endpoint()).hostname
    if not host or urllib.request.getproxies():
        return {}
    return {"proxy_url": _NO_PROXY, "proxy_excludes": host}


class _WithoutRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect is the answer: it names the region."""

    def redirect_request(self, *_args: Any) -> None:
        """Follow nothing."""


def amazon_address(region: str) -> str:
    """Return the address of Amazon's store for a region: a partition knows only its own buckets.

    Example:
        >>> amazon_address("eu-central-1"), amazon_address("cn-north-1")
        ('https://s3.amazonaws.com', 'https://s3.cn-north-1.amazonaws.com.cn')
    """
    if region.startswith("cn-"):
        return f"https://s3.{region}.amazonaws.com.cn"
    if region.startswith("us-gov-"):
        return f"https://s3.{region}.amazonaws.com"
    return "https://s3.amazonaws.com"


def _own_region() -> str:
    return own_region() or DEFAULT_REGION
