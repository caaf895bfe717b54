"""What stores answer, in words: told by the code in the answer, never by showing the answer."""

from __future__ import annotations

import pytest

from reportgen.errors import LocationError, PlaceError
from reportgen.storage.s3_access import amazon_address
from reportgen.storage.s3_errors import explain

URL = "s3://b/job/x.json"


class GenericError(Exception):
    """As obstore's: its text holds the answer."""


def answer(status: str, code: str) -> GenericError:
    return GenericError(
        f"Error performing GET https://b.s3.amazonaws.com/x?X-Amz-Signature=zSECRET - {status}: "
        f"<Error><Code>{code}</Code></Error>"
    )


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        ("404 Not Found", "NoSuchBucket", "There is no bucket s3://b."),
        ("403 Forbidden", "AccessDenied", f"Access denied: s3:GetObject on {URL}."),
        ("403 Forbidden", "RequestTimeTooSkewed", "the clock of this machine is wrong"),
        ("403 Forbidden", "InvalidObjectState", f"{URL} lies in an archive"),
        ("403 Forbidden", "InvalidAccessKeyId", "The credentials were rejected"),
        ("400 Bad Request", "ExpiredToken", "The credentials were rejected"),
        ("503 Service Unavailable", "SlowDown", "The store asks to slow down"),
        ("301 Moved Permanently", "PermanentRedirect", "lies in another region"),
        ("500 Internal Server Error", "InternalError", "The connection to the store failed"),
    ],
)
def test_what_a_store_answers_is_said_in_words(status: str, code: str, said: str) -> None:
    error = explain(answer(status, code), action="s3:GetObject", url=URL)
    assert isinstance(error, PlaceError)
    assert said in error.message
    assert error.hint
    for word in ("zSECRET", "http", "Signature"):
        assert word not in str(error)


@pytest.mark.parametrize(
    ("status", "code", "reason"),
    [
        ("404 Not Found", "NoSuchKey", "vanished"),
        ("412 Precondition Failed", "PreconditionFailed", "changed"),
        ("416 Range Not Satisfiable", "InvalidRange", "empty"),
    ],
)
def test_trouble_of_one_object_ends_only_its_own_reading(status, code, reason) -> None:
    error = explain(answer(status, code), action="s3:GetObject", url=URL)
    assert isinstance(error, LocationError)
    assert not isinstance(error, PlaceError)
    assert error.details["reason"] == reason


@pytest.mark.parametrize(
    ("region", "address"),
    [
        ("eu-central-1", "https://s3.amazonaws.com"),
        ("us-gov-west-1", "https://s3.us-gov-west-1.amazonaws.com"),
        ("cn-north-1", "https://s3.cn-north-1.amazonaws.com.cn"),
    ],
)
def test_each_partition_is_asked_about_its_own_buckets(region: str, address: str) -> None:
    assert amazon_address(region) == address
