"""Stores that answer nonsense: the message names what they answered, and nothing hangs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reportgen.errors import PlaceError
from reportgen.storage import open_location, s3
from tests.storage.odd_store import (
    Answer,
    answering,
    fails_inside,
    is_a_teapot,
    lists_nothing_without_end,
    lists_without_end,
    lists_without_order,
    speaks_html,
    speaks_json,
)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reach a store without keys and try little again."""
    for name, value in {"AWS_SKIP_SIGNATURE": "true", "AWS_REGION": "us-east-1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setitem(s3._RETRY, "max_retries", 0)
    monkeypatch.setattr(s3, "_FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(s3, "_QUIET_S", 1.0)
    monkeypatch.setattr(s3, "MAX_OBJECTS", 5_000)


def said_of(answer: Callable[[], Answer] | None, monkeypatch: pytest.MonkeyPatch) -> str:
    with answering(answer) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", url)
        with pytest.raises(PlaceError) as caught:
            open_location("s3://b/p").list()
    return str(caught.value)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (speaks_html, "The store answered 200 text/html"),
        (speaks_json, "The store answered 200 application/json"),
        (is_a_teapot, "The store answered 418 I'm a teapot"),
        (fails_inside, "The store answered 500 Internal Server Error"),
        (lists_without_end, "lists more than 5,000 objects"),
        (lists_nothing_without_end, "or nothing and no end"),
        (None, "The connection to the store failed"),
    ],
)
def test_what_a_store_answers_is_named(answer, said, monkeypatch: pytest.MonkeyPatch) -> None:
    text = said_of(answer, monkeypatch)
    assert said in text
    assert "SECRET" not in text
    assert "stack trace" not in text


def test_keys_that_are_listed_without_order_are_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(lists_without_order) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", url)
        found = open_location("s3://b/p").list()
    assert [info.key for info in found] == ["a.json", "b.json", "c/d.json"]
