"""Small requests over http and https, without redirects."""

from __future__ import annotations

import http.client
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field

_LARGEST_BYTES = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to ask: an http or https address, and how."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back: header fields by their names, and no more than 64 KiB."""

    headers: Mapping[str, str]
    content: bytes


def ask(request: Request, *, timeout_s: float, by_proxy: bool = False) -> Answer:
    """Send a request and return the answer.

    Args:
        request: what to ask.
        timeout_s: of each wait for the other side.
        by_proxy: whether the proxies of the environment are used.

    Raises:
        OSError: no connection, or half an answer; ``urllib.error.HTTPError`` for 300 and more.
        ValueError: not an address.
    """
    opener = urllib.request.OpenerDirector()
    handlers: list[urllib.request.BaseHandler] = [
        urllib.request.ProxyHandler(None if by_proxy else {}),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.UnknownHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
    ]
    for handler in handlers:
        opener.add_handler(handler)
    asked = urllib.request.Request(  # noqa: S310  # only http and https have handlers
        request.url, request.body, dict(request.headers), method=request.method
    )
    try:
        with opener.open(asked, timeout=timeout_s) as answer:
            return Answer(headers=answer.headers, content=answer.read(_LARGEST_BYTES))
    except http.client.HTTPException as err:
        raise ConnectionError("half an answer") from err
