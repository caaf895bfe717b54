"""Errors of object stores, in words that help and hold no secrets."""

from __future__ import annotations

import re

from reportgen.errors import LocationError, PlaceError

_CODES: tuple[tuple[str, str], ...] = (
    (r"NoSuchBucket", "no_bucket"),
    (r"ExpiredToken|InvalidAccessKeyId|SignatureDoesNotMatch|InvalidToken|TokenRefreshRequired",
     "rejected"),
    (r"RequestTimeTooSkewed", "clock"),
    (r"InvalidObjectState", "archived"),
    (r"SlowDown|503 Service|429 Too Many|Throttl|RequestLimitExceeded", "throttled"),
    (r"AccessDenied|403 Forbidden|AllAccessDisabled|401 Unauthorized", "denied"),
    (r"PreconditionFailed|412 Precondition", "changed"),
    (r"InvalidRange|416 Range", "empty"),
    (r"NoSuchKey|404 Not Found", "gone"),
    (r"PermanentRedirect|AuthorizationHeaderMalformed|301 Moved", "region"),
    (r"status code: \d{3} |invalid list response", "nonsense"),
)  # fmt: skip
_KINDS = {
    "FileNotFoundError": "gone",
    "InvalidPathError": "path",
    "PermissionDeniedError": "denied",
    "UnauthenticatedError": "denied",
    "PreconditionError": "changed",
}


_STATUS = re.compile(r"status code: (\d{3} [A-Za-z/' -]{2,40})")


def kind_of(err: Exception) -> str:
    """Return the kind of an error of obstore, one of the words below.

    Its text is only searched for codes, never shown: it may hold addresses and signatures.
    """
    text = str(err)
    found = next((kind for pattern, kind in _CODES if re.search(pattern, text)), None)
    return found or _KINDS.get(type(err).__name__, "connection")


def explain(err: Exception, *, action: str, url: str, tried_s: float = 0.0) -> LocationError:
    """Return the error to raise instead of one of obstore's.

    ``action`` is the permission that was used, ``s3:GetObject``; ``url`` the bucket or object;
    ``tried_s`` how long it was tried.
    """
    kind = kind_of(err)
    if kind == "empty":
        return LocationError(f"{url} is empty.", path=url, reason=kind)
    if kind in {"gone", "changed"}:
        word = "vanished" if kind == "gone" else "changed"
        return LocationError(
            f"{url} {word} while it was read.", hint="Run the command again.", path=url, reason=word
        )
    bucket = "/".join(url.split("/")[:3])
    message, hint = _SAYINGS[kind]
    status, retried = _STATUS.search(str(err)), f"retries for {tried_s:.1f} s"
    said = status[1] if status else "something that is not a list of S3"
    return PlaceError(
        message.format(url=url, bucket=bucket, action=action, said=said, retried=retried),
        hint=hint,
        path=url,
        reason=kind,
    )


_SAYINGS = {
    "no_bucket": (
        "There is no bucket {bucket}.",
        "Check the spelling, and --endpoint-url if the store is not Amazon's.",
    ),
    "denied": (
        "Access denied: {action} on {url}.",
        "Ask for this permission, choose another --profile, or pass --no-sign-request.",
    ),
    "rejected": (
        "The credentials were rejected ({action} on {url}): expired or wrong.",
        "Run `aws sso login`, renew the keys, or choose another --profile.",
    ),
    "clock": (
        "The store refuses requests because the clock of this machine is wrong ({action}).",
        "Set the clock, then run the command again.",
    ),
    "archived": (
        "{url} lies in an archive and cannot be read ({action}).",
        "Restore it with `aws s3api restore-object`, then run the command again.",
    ),
    "throttled": (
        "The store asks to slow down ({action} on {url}); {retried} did not help.",
        "Run the command again in some minutes.",
    ),
    "region": (
        "The bucket {bucket} lies in another region ({action}).",
        "Name its region with --region, or leave --region out: it is found by itself.",
    ),
    "path": (
        "{url} holds a key that cannot be read: with an empty folder (`//`), `.` or `..` in it.",
        "Copy the job with `aws s3 cp --recursive` and pass the local folder.",
    ),
    "nonsense": (
        "The store answered {said} ({action} on {url}).",
        "Check --endpoint-url: it may be no address of an object store.",
    ),
    "connection": (
        "The connection to the store failed ({action} on {url}); {retried} did not help.",
        "Check the network and --endpoint-url, then run the command again.",
    ),
}
