"""Begin and end marks to events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from reportgen.formats.event_metadata import Metadata
from reportgen.formats.event_text import Event
from reportgen.formats.tally import Tally
from reportgen.profile import Quality


def match_marks(
    marks: Sequence[tuple[int, Event]],
    metadata: Metadata,
    key: str,
    tally: Tally,
    *,
    last_us: float | None,
) -> list[tuple[int, Event]]:
    """Return the begin marks that have an end, with their durations.

    Args:
        marks: (place in the file, mark) in the file's order.
        metadata: base times: a mark may stand under another header than its partner.
        key: the file's, for the tally.
        tally: counts marks without a partner.
        last_us: the file's last absolute time when the job is over: what did not end ends then.
            ``None`` leaves it out.

    Source: marks nest per (phase, thread) and an end closes the latest begin, as in Chrome's
    trace format; ends may lack a name.
    """
    bases = metadata.base_at(np.array([place for place, _ in marks], dtype=np.int64)).tolist()
    open_marks: dict[tuple[Any, Any], list[tuple[int, Event, float]]] = defaultdict(list)
    matched: list[tuple[int, Event]] = []
    n_ends = n_timeless = 0
    for (place, mark), base_us in zip(marks, bases, strict=True):
        if mark.ts is None:
            n_timeless += 1
            continue
        time_us = base_us + mark.ts
        last_us = None if last_us is None else max(last_us, time_us)
        stack = open_marks[mark.pid, mark.tid]
        if mark.ph == "B":
            stack.append((place, mark, time_us))
        elif stack:
            begun_at, begun, begun_us = stack.pop()
            begun.dur = time_us - begun_us
            matched.append((begun_at, begun))
        else:
            n_ends += 1
    unclosed = [item for stack in open_marks.values() for item in stack]
    tally.add(Quality.EVENTS_UNMATCHED, key, n_ends + n_timeless)
    if last_us is None:
        tally.add(Quality.EVENTS_UNMATCHED, key, len(unclosed))
        return sorted(matched, key=_place)
    tally.add(Quality.EVENTS_UNMATCHED, key, len(unclosed), what=_SAY_UNCLOSED)
    for begun_at, begun, begun_us in unclosed:
        begun.dur = last_us - begun_us
        matched.append((begun_at, begun))
    return sorted(matched, key=_place)


_SAY_UNCLOSED = (
    "{n} begin [mark has|marks have] no end and [was|were] taken to last until the last time in "
    "the file"
)


def _place(item: tuple[int, Event]) -> int:
    return item[0]
