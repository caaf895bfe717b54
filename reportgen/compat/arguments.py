"""Arguments as smdebug takes them.

Times are ``2020-07-01T02:31:58:560123``, with a colon before the fraction; patterns are found
anywhere in a name, not the whole of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from reportgen.errors import ConfigError
from reportgen.explore.selection import name_filter

_TIME = "%Y-%m-%dT%H:%M:%S:%f"


def time_text(moment: str | datetime) -> str:
    """Return an instant as the frames write it: in UTC, which is meant where no zone is named."""
    return moment if isinstance(moment, str) else _in_utc(moment).strftime(_TIME)


def time_ns(moment: str | datetime) -> int:
    """Return an instant in ns.

    Raises:
        ConfigError: a text of another shape.
    """
    if isinstance(moment, str):
        try:
            moment = datetime.strptime(moment, _TIME)  # noqa: DTZ007  # the next line says UTC
        except ValueError as err:
            raise ConfigError(
                f"{moment!r} is no time of a frame.", hint=f"Expected the shape {_TIME}."
            ) from err
    return int(np.datetime64(_in_utc(moment).replace(tzinfo=None), "ns").astype(np.int64))


def _in_utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def anywhere(patterns: Sequence[str]) -> list[str]:
    """Return patterns that match whole names in which the given ones are found.

    Raises:
        ConfigError: a pattern that is none.
    """
    name_filter(patterns, option="patterns")
    return [f".*(?:{pattern}).*" for pattern in patterns]
