"""Times as smdebug writes them, from whatever zone they were given in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from reportgen.compat.arguments import time_ns, time_text
from reportgen.errors import ConfigError

TEXT = "2020-07-01T02:31:58:560123"
INSTANT = datetime(2020, 7, 1, 2, 31, 58, 560123, tzinfo=UTC)
NS = 1_593_570_718_560_123_000


@pytest.mark.parametrize(
    "moment",
    [
        TEXT,
        INSTANT,
        INSTANT.replace(tzinfo=None),
        INSTANT.astimezone(timezone(timedelta(hours=5, minutes=30))),
    ],
)
def test_an_instant_is_the_same_in_every_zone(moment: str | datetime) -> None:
    assert time_text(moment) == TEXT
    assert time_ns(moment) == NS


def test_a_text_of_another_shape_is_refused() -> None:
    with pytest.raises(ConfigError, match="is no time of a frame"):
        time_ns("yesterday")
