"""What stands before the numbers of a regular line: decoded once for all lines that share it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from reportgen.formats.event_columns import ABSENT
from reportgen.formats.event_metadata import NAMING
from reportgen.formats.event_text import Event, decode_events

_MAX_KNOWN = 4_096
"""Leads that are remembered: some hundred bytes each. Source: ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """What stands before the numbers of a regular line.

    Attributes:
        n_events: ``M`` lines and the event itself.
        naming: the ``M`` lines that name phases or say when the file began, and how many lines
            above the event each stands.
        event: the beginning of the event.
    """

    n_events: int
    naming: tuple[tuple[int, Event], ...]
    event: Event


class Leads:
    """What leads mean, for all files of a node."""

    def __init__(self) -> None:
        """Start without any."""
        self._known: dict[bytes, Lead] = {}

    def of(self, texts: Iterable[bytes]) -> list[Lead] | None:
        """Return each text as a lead; ``None`` when one is none."""
        if len(self._known) > _MAX_KNOWN:
            self._known.clear()
        found = []
        for text in texts:
            lead = self._known.get(text) or _lead_of(text)
            if lead is None:
                return None
            self._known[text] = lead
            found.append(lead)
        return found


def _lead_of(text: bytes) -> Lead | None:
    events = decode_events(text + b"}")
    if not events or not are_metadata(events[:-1]):
        return None
    event, above = events[-1], enumerate(reversed(events[:-1]), start=1)
    if event.ph != "X" or event.tid != ABSENT or bytes(event.args) != b"null":
        return None
    naming = [(n_lines, line) for n_lines, line in above if line.name == NAMING]
    return Lead(n_events=len(events), naming=tuple(reversed(naming)), event=event)


def are_metadata(events: Iterable[Event]) -> bool:
    """Return whether all of some events are ``M`` lines."""
    return all(event.ph == "M" for event in events)
