"""Stores that want a token, memory or time of their reader: they get a message instead."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from reportgen.errors import LocationError
from reportgen.storage import open_location, s3
from tests.fuzz.attacks import MOST_MIB, MOST_S, run_measured
from tests.storage.odd_store import XML, Store, serving

TOKEN = "token-of-this-session"
CLAIMED_BYTES = 1 << 40


def reach(port: int, monkeypatch: pytest.MonkeyPatch, **others: str) -> None:
    """Let the AWS variables name a store of this machine, without a proxy in between."""
    named = {"AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{port}", "AWS_REGION": "us-east-1"}
    for name, value in (named | others).items():
        monkeypatch.setenv(name, value)
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize(
    ("host", "is_open_to_strangers", "said"),
    [
        ("127.0.0.1", False, "redirects to another host; credentials are not sent there"),
        ("localhost", True, "The connection to the store failed"),
    ],
    ids=["of every request", "of signed requests"],
)
def test_a_redirect_to_another_host_gets_no_session_token(
    host: str, is_open_to_strangers: bool, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed: list[str] = []
    strange: list[str] = []

    class Stranger(Store):
        def respond(self) -> None:
            strange.append(str(self.headers))
            self.answer(200, b"<ListBucketResult></ListBucketResult>", Content_Type=XML)

    class Redirecting(Store):
        def respond(self) -> None:
            token = self.headers.get("x-amz-security-token", "")
            if is_open_to_strangers and not token:
                self.answer(200, b"<ListBucketResult></ListBucketResult>", Content_Type=XML)
                return
            signed.append(token)
            self.answer(307, Location=f"http://{host}:{port_of_stranger}{self.path}")

    with serving(Stranger) as port_of_stranger, serving(Redirecting) as port:
        keys = {f"AWS_{name}": TOKEN for name in ("SECRET_ACCESS_KEY", "SESSION_TOKEN")}
        reach(port, monkeypatch, AWS_ACCESS_KEY_ID="AKIAEXAMPLE", **keys)
        monkeypatch.setitem(s3._RETRY, "max_retries", 0)
        monkeypatch.setattr(s3, "_FIRST_PAUSE_S", 0.01)
        with pytest.raises(LocationError, match=said):
            open_location("s3://b/p").list()

    assert (TOKEN in signed) == is_open_to_strangers
    assert not [text for text in strange if TOKEN in text]


class Claiming(Store):
    """Lists an object of 2^40 bytes, claims as many in its answer, and sends few."""

    listed_bytes = CLAIMED_BYTES

    def respond(self) -> None:
        if "list-type" in self.path:
            item = (
                "<Contents><Key>p/system/incremental/2026070309/1783071060.algo-1.json</Key>"
                '<LastModified>2026-07-01T00:00:00.000Z</LastModified><ETag>"a"</ETag>'
                f"<Size>{self.listed_bytes}</Size></Contents>"
            )
            page = f"<ListBucketResult><IsTruncated>false</IsTruncated>{item}</ListBucketResult>"
            self.answer(200, page.encode(), Content_Type=XML)
            return
        headers: dict[str, Any] = {
            "Content_Length": CLAIMED_BYTES,
            "ETag": '"b"',
            "Last_Modified": "Wed, 01 Jul 2026 00:00:00 GMT",
        }
        if asked := self.headers.get("Range", "").removeprefix("bytes="):
            first, last = map(int, asked.split("-"))
            headers["Content_Length"] = last - first + 1
            headers["Content_Range"] = f"bytes {asked}/{CLAIMED_BYTES}"
        self.answer(206 if asked else 200, b" " * min(headers["Content_Length"], 65_536), **headers)
        self.close_connection = True


class ClaimingMoreThanListed(Claiming):
    """Lists an object of two bytes that claims 2^40 where it is read."""

    listed_bytes = 2


class EndlessPage(Store):
    """A page of a list that does not end."""

    def respond(self) -> None:
        item = b"<Contents><Key>p/a.json</Key><Size>5</Size>" + b" " * 500 + b"</Contents>"
        self.answer_without_end(200, b"<ListBucketResult>", item * 100)


class EndlessError(Store):
    """An error whose text does not end."""

    def respond(self) -> None:
        self.answer_without_end(403, b"<Error><Code>AccessDenied</Code><Message>", b"x" * 65_536)


def said_in_bounds(store: type[Store], folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return what the command says of a store, in bounded time and memory."""
    began_s = time.monotonic()
    with serving(store) as port:
        reach(port, monkeypatch, AWS_SKIP_SIGNATURE="true")
        run = run_measured(["s3://b/p", "-o", "out"], cwd=folder)
    assert run.code == 1, run
    assert "Traceback" not in run.stderr
    assert run.mib < MOST_MIB
    assert time.monotonic() - began_s < 3 * MOST_S  # of wall clock, on a machine that is busy
    return run.stderr


@pytest.mark.parametrize("store", [EndlessPage, EndlessError])
def test_an_answer_to_a_list_that_does_not_end_is_given_up(store, tmp_path: Path, monkeypatch):
    said = said_in_bounds(store, tmp_path, monkeypatch)
    assert "s3://b/p lists" in said
    assert "a page of hundreds of megabytes" in said
    assert "check --endpoint-url" in said


@pytest.mark.parametrize("store", [Claiming, ClaimingMoreThanListed])
def test_no_room_is_made_for_what_a_store_claims_to_send(store, tmp_path: Path, monkeypatch):
    assert "not one readable sample or event" in said_in_bounds(store, tmp_path, monkeypatch)

    with serving(store) as port:
        reach(port, monkeypatch, AWS_SKIP_SIGNATURE="true")
        with pytest.raises(LocationError, match=f"{CLAIMED_BYTES:,} bytes are claimed") as caught:
            open_location("s3://b/p").read_bytes("a.json")
    assert "Copy the job to this machine" in caught.value.hint
