"""Which part of a job was asked for: ``--from``, ``--to`` and ``--steps``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from reportgen.errors import ConfigError
from reportgen.profile import TimeRange
from reportgen.units import parse_instant

_STEPS = re.compile(r"(\d{1,18})?:(\d{1,18})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The range that was asked for, in time or in steps; both ends are included."""

    time: TimeRange | None = None
    steps: tuple[int | None, int | None] | None = None


def wanted_range(since: str | None, until: str | None, steps: str | None) -> Wanted | None:
    """Return the range of ``--from``, ``--to`` and ``--steps``; ``None`` for the whole job.

    Raises:
        ConfigError: a value that cannot be read, a range whose end lies before its start, or
            both times and steps.
    """
    if steps is not None:
        if since is not None or until is not None:
            raise ConfigError(
                "--steps cannot be combined with --from and --to.", hint="Pass one of them."
            )
        return Wanted(steps=_parse_steps(steps))
    if since is None and until is None:
        return None
    from_ns = None if since is None else parse_time("--from", since)
    to_ns = None if until is None else parse_time("--to", until)
    if from_ns is not None and to_ns is not None and from_ns > to_ns:
        raise ConfigError(
            f"--from {since} lies after --to {until}.", hint="Exchange the two, or pass one."
        )
    return Wanted(time=TimeRange(from_ns=from_ns, to_ns=to_ns))


def parse_time(option: str, text: str) -> int:
    """Return the instant that an option names, in ns.

    Raises:
        ConfigError: it is no time; the message names the option.
    """
    try:
        return parse_instant(text)
    except ValueError as err:
        raise ConfigError(
            f"{option} {text!r} is no time.",
            hint="Write ISO 8601 (2026-07-01T10:00:00Z) or Unix seconds (1783071021.5).",
        ) from err


def _parse_steps(text: str) -> tuple[int | None, int | None]:
    match = _STEPS.fullmatch(text.strip())
    if match is None or text.strip() == ":":
        raise ConfigError(
            f"--steps {text!r} is no range of steps.",
            hint="Write FIRST:LAST, for example 100:200, 100: or :200; both ends are included.",
        )
    first, last = (None if part is None else int(part) for part in match.groups())
    if first is not None and last is not None and first > last:
        raise ConfigError(f"--steps {text}: the first step lies after the last.")
    return first, last
