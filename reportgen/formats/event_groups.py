"""Several timelines at once: with many files, what each costs weighs more than its events."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from reportgen.formats.event_columns import Codes
from reportgen.formats.event_leads import Lead
from reportgen.formats.event_lines import RegularEvents, read_regular
from reportgen.formats.event_metadata import Metadata
from reportgen.formats.event_rows import Vocabulary
from reportgen.formats.event_text import Event
from reportgen.formats.sagemaker_events import FileEvents, is_placeable, read_event_file, times_ns
from reportgen.formats.tally import Tally
from reportgen.units import NS_PER_US


def read_event_files(
    contents: Sequence[tuple[str, bytes]], tally: Tally, *, vocabulary: Vocabulary
) -> list[FileEvents]:
    """Read some timelines: together if all their lines are regular, else one by one.

    Args:
        contents: the key and the bytes of each.
        tally: counts what cannot be read or placed.
        vocabulary: what codes mean, extended.
    """
    if len(contents) > 1:
        found = read_regular([content for _, content in contents], vocabulary.lines)
        together = None if found is None else _files_of(found, vocabulary)
        if together is not None:
            return together
    return [
        read_event_file(content, key, tally, vocabulary=vocabulary) for key, content in contents
    ]


def _files_of(found: RegularEvents, vocabulary: Vocabulary) -> list[FileEvents] | None:
    """Return the events of each file; ``None`` when they are not as simple as nearly always.

    They are simple when each file has events and all of them have usable times, one base at most,
    and one name a phase.
    """
    n_files, n_leads = len(found.n_rows), len(found.leads)
    file = np.repeat(np.arange(n_files), found.n_rows)
    is_met = np.zeros((n_files, n_leads), dtype=np.bool_)
    is_met[file, found.lead] = True
    phase_of = np.zeros((n_files, n_leads), dtype=np.int32)
    bases_ns: list[int | None] = []
    for index, rest in enumerate(found.rests):
        leads = [found.leads[code] for code in np.flatnonzero(is_met[index]).tolist()]
        pids = Codes()
        metadata = _metadata_of(leads, rest, pids)
        if not leads or not metadata.is_constant:
            return None
        pid = pids.of([lead.event.pid for lead in leads])
        anywhere = np.zeros(pid.size, dtype=np.int64)
        phase_of[index, is_met[index]] = metadata.phases_at(anywhere, pid, pids, vocabulary.phases)
        bases_ns.append(metadata.first_base_ns)
    base_us = np.array([(base_ns or 0) // NS_PER_US for base_ns in bases_ns])[file]
    if not is_placeable(found.ts_us, found.dur_us, base_us).all():
        return None
    start_ns, end_ns = times_ns(found.ts_us, found.dur_us, base_us)
    name = vocabulary.names.of([lead.event.name for lead in found.leads])[found.lead]
    phase = phase_of[file, found.lead]
    argument = found.arguments.rows_in(vocabulary.arguments)
    bounds = np.cumsum([0, *found.n_rows]).tolist()
    return [
        FileEvents(
            start_ns=start_ns[first:end],
            end_ns=end_ns[first:end],
            name=name[first:end],
            phase=phase[first:end],
            argument=argument[first:end],
            base_ns=base_ns,
            last_ns=int(end_ns[first:end].max()),
        )
        for base_ns, (first, end) in zip(bases_ns, pairwise(bounds), strict=True)
    ]


def _metadata_of(leads: Sequence[Lead], rest: Sequence[Event], pids: Codes) -> Metadata:
    """Return what the ``M`` lines of a file say, wherever they stand."""
    lines = [line for lead in leads for _, line in lead.naming]
    metadata = Metadata()
    metadata.learn([*lines, *rest], range(len(lines) + len(rest)), pids)
    return metadata
