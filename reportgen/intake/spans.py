"""One node's timelines to its table of events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress

from reportgen.formats import Diagnostics, EventFile, format_of
from reportgen.formats.blocks import read_file_blocks
from reportgen.formats.format import EventReader, Progress
from reportgen.intake.span_limits import extent_of
from reportgen.intake.span_rows import table_of
from reportgen.intake.span_store import SpanStore
from reportgen.profile import Clock, Quality, SpanTable, SystemTable
from reportgen.profile.spans import empty_spans


def read_spans(
    files: Sequence[EventFile],
    problems: Diagnostics,
    *,
    system: SystemTable,
    clock: Clock,
    on_progress: Progress | None = None,
) -> SpanTable:
    """Read one node's timelines, given in any order.

    The samples of ``system`` say when the job ran, and ``clock`` what its times are.
    """
    store = SpanStore()
    _read_all(sorted(files, key=_order), store, problems, on_progress)
    if not store.files:
        return empty_spans()
    what = _SAY_READ.replace("NODE", files[0].claim.node)
    problems.add(Quality.FILES_READ, "", len(store.files), what=what)
    extent = extent_of(system, store)
    store.join_marks(problems)
    return table_of(store, problems, extent=extent, clock=clock)


_SAY_READ = "{n} [file|files] of framework events of NODE [was|were] read"


def _read_all(
    files: Sequence[EventFile],
    store: SpanStore,
    problems: Diagnostics,
    on_progress: Progress | None,
) -> None:
    for file, blocks in _blocks(files, problems):
        read: EventReader | None = format_of(file.claim.format_id).read
        assert read is not None
        events = read(file, blocks, problems=problems, vocabulary=store.vocabulary)
        n_before = store.n_spans
        store.add(events, file)
        if on_progress is not None:
            on_progress(store.n_spans - n_before, file.size_bytes)


def _blocks(
    files: Sequence[EventFile], problems: Diagnostics
) -> Iterator[tuple[EventFile, Iterable[bytes]]]:
    is_small = [format_of(file.claim.format_id).is_small or not file.size_bytes for file in files]
    for file, content in _contents(list(compress(files, is_small)), problems):
        yield file, (content,)
    for file, is_one_block in zip(files, is_small, strict=True):
        if not is_one_block:
            yield file, read_file_blocks(file.location, file.key, file.size_bytes, problems)


def _order(file: EventFile) -> tuple[bool, int, str, str, str]:
    """Order files by the time at which they were closed: rows then come almost in order."""
    claim = file.claim
    is_open = claim.stamp == 0
    return is_open, claim.stamp, claim.worker, claim.source, file.key


def _contents(
    files: Sequence[EventFile], problems: Diagnostics
) -> Iterator[tuple[EventFile, bytes]]:
    kept = []
    for file in files:
        if file.size_bytes == 0:
            problems.add(Quality.FILES_SKIPPED, file.key, what="{n} [file was|files were] empty")
        else:
            kept.append(file)
    if not kept:
        return
    contents = kept[0].location.read_many([file.key for file in kept])
    for file, content in zip(kept, contents, strict=True):
        if isinstance(content, bytes):
            yield file, content
            continue
        reason = str(content.details.get("reason", ""))
        problems.add(
            Quality.FILES_SKIPPED, file.key, what="{n} [file|files] cannot be opened", detail=reason
        )
