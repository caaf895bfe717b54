"""A faster way to read timelines in which every line looks alike.

Most lines of a large timeline are ``{"name": …, "ph": "X", "ts": 12, "dur": 3, "args": {…}},``.
One regular expression cuts such a text at its numbers. The text before the numbers (the *head*:
the event's name and phase, and the ``M`` lines above it) and the arguments repeat, so each
different one is decoded once. A text in which a line looks different is not read here.

A million events take 0.85 s this way, 1.14 s when every line is decoded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from reportgen.formats.columns import ABSENT, distinct
from reportgen.formats.trace_events.arguments import EventArgs, decode_flat
from reportgen.formats.trace_events.events import Event, decode_events

_DURATION = b', "dur": '
_CUT = re.compile(rb', "ts": (\d+, "dur": \d+), "args": (\{.*)\},?\n')
_NUMBERS = msgspec.json.Decoder(list[float])


@dataclass(frozen=True, slots=True, kw_only=True)
class RegularEvents:
    """The events of a text in which every line looks alike.

    ``heads`` are the different ones, any ``M`` lines and an event without times and arguments,
    numbered in the order of their first use; ``args`` the different arguments. ``head`` and ``arg``
    are (n,) indices into them, ``rest`` the ``M`` lines after the last event.
    """

    heads: list[list[Event]]
    head: NDArray[np.int32]
    ts_us: NDArray[np.float64]
    dur_us: NDArray[np.float64]
    args: list[EventArgs]
    arg: NDArray[np.int32]
    rest: list[Event]


def read_regular(text: bytes) -> RegularEvents | None:
    """Return the events of a text, with or without brackets; ``None`` when lines look different."""
    *parts, end = _CUT.split(text if text.endswith(b"\n") else text + b"\n")
    rest = decode_events(end)
    if not parts or rest is None or not _are_metadata(rest):
        return None
    texts, head = distinct(parts[0::3])
    heads = [found for found in map(_head_of, texts) if found is not None]
    raws, arg = distinct(parts[2::3])
    args, times_us = decode_flat(raws), _times(parts[1::3])
    if len(heads) < len(texts) or times_us is None or args is None:
        return None
    return RegularEvents(
        heads=heads,
        head=head,
        ts_us=times_us[0::2],
        dur_us=times_us[1::2],
        args=args,
        arg=arg,
        rest=rest,
    )


def _head_of(text: bytes) -> list[Event] | None:
    """Return ``M`` lines and the event whose times and arguments follow; else ``None``."""
    events = decode_events(text + b"}")
    if not events or events[-1].ph != "X" or not _are_metadata(events[:-1]):
        return None
    has_more = events[-1].tid != ABSENT or bytes(events[-1].args) != b"null"
    return None if has_more else events


def _are_metadata(events: Sequence[Event]) -> bool:
    return all(event.ph == "M" for event in events)


def _times(texts: Sequence[bytes]) -> NDArray[np.float64] | None:
    numbers = b",".join(texts).replace(_DURATION, b",")
    try:
        return np.array(_NUMBERS.decode(b"[%b]" % numbers), dtype=np.float64)
    except ValueError:
        return None
