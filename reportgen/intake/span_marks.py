"""Begin and end marks that no partner in their own file closes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np

from reportgen.formats import Diagnostics
from reportgen.formats.trace_events.file_events import join_events, paired_events
from reportgen.formats.trace_events.marks import match_across
from reportgen.intake.span_store import SpanStore, StoredFile
from reportgen.profile import Quality


def close_marks(store: SpanStore, problems: Diagnostics, *, is_finished: bool) -> None:
    """Add the events whose begin and end are in different files of one writer.

    Files of a writer are in their order. When the job ``is_finished``, what began and did not end
    is over then, at the last time in its file; else it is left out.
    """
    by_writer: dict[tuple[str, str], list[StoredFile]] = defaultdict(list)
    for file in store.files:
        if file.loose is not None:
            by_writer[file.worker, file.source].append(file)
    nameless = [code for name, code in store.vocabulary.names.items() if not name]
    for files in by_writer.values():
        parts = [file.loose for file in files if file.loose is not None]
        stay, begins, ends = match_across(parts, np.array(nameless, dtype=np.int32))
        closed = [paired_events(begins, ends, files[0].key, problems)]
        for file, loose, is_loose in zip(files, parts, stay, strict=True):
            rest = loose.where(is_loose)
            opened = rest.where(rest.is_begin)
            n_ends = rest.n_marks - opened.n_marks
            problems.add(Quality.EVENTS_UNMATCHED, file.key, n_ends)
            what = _SAY_UNCLOSED if is_finished else ""
            problems.add(Quality.EVENTS_UNMATCHED, file.key, opened.n_marks, what=what)
            if is_finished and file.last_ns is not None:
                at_end = replace(opened, time_ns=np.full(opened.n_marks, file.last_ns))
                closed.append(paired_events(opened, at_end, file.key, problems))
        store.add(join_events(closed), replace(files[0], loose=None))


_SAY_UNCLOSED = (
    "{n} begin [mark has|marks have] no end and [was|were] taken to last until the last time in "
    "the file"
)
