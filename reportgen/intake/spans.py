"""One node's timelines to its table of events."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain, compress, pairwise

from reportgen.engine import HelperError, run_in_helper, spare_cores, split
from reportgen.formats import Diagnostics, EventFile, format_of
from reportgen.intake.open_part import read_file_blocks
from reportgen.intake.span_limits import extent_of
from reportgen.intake.span_marks import close_marks
from reportgen.intake.span_rows import table_of
from reportgen.intake.span_store import SpanStore, StoredFile
from reportgen.intake.system import Progress
from reportgen.profile import JobInfo, Quality, SpanTable, SystemTable
from reportgen.profile.spans import empty_spans

logger = logging.getLogger(__name__)

HELPER_BYTES = 256_000_000
"""Measured: timelines of this size are worth the 50 MiB of another process."""

HEAD_START_BYTES = 30_000_000
"""Bytes read here before another process is ready, which took about 0.15 s when measured."""

_EVENT_BYTES = 100
"""Events are rarely shorter: memory for as many is reserved, and used only if they come."""

MAX_HELPERS = 3
"""Processes beside this one: each takes some 50 MiB."""


def read_spans(
    files: Sequence[EventFile],
    problems: Diagnostics,
    *,
    system: SystemTable,
    job: JobInfo,
    on_progress: Progress | None = None,
) -> SpanTable:
    """Read one node's timelines, given in any order.

    The samples of ``system`` say when the job ran; ``job`` whether it is finished, and what its
    times are.
    """
    store, told = _read_all(sorted(files, key=_order), on_progress)
    problems.merge(told)
    if not store.files:
        return empty_spans()
    what = _SAY_READ.replace("NODE", files[0].claim.node)
    problems.add(Quality.FILES_READ, "", len(store.files), what=what)
    extent = extent_of(system, store.files)
    close_marks(store, problems, is_finished=job.is_finished)
    return table_of(store, problems, extent=extent, clock=job.clock)


_SAY_READ = "{n} [file|files] of framework events of NODE [was|were] read"


def _read_all(
    files: Sequence[EventFile], on_progress: Progress | None
) -> tuple[SpanStore, Diagnostics]:
    own, *others = _runs(files)
    if others:
        try:
            return _read_together(own, others, on_progress)
        except HelperError as err:
            logger.debug("reading timelines in one process: %s", err)
    store, told = _store_for(files), Diagnostics()
    _read_here(files, store, told, on_progress)
    return store, told


def _runs(files: Sequence[EventFile]) -> list[Sequence[EventFile]]:
    sizes = [file.size_bytes for file in files]
    is_local = all(file.location.local_path(file.key) is not None for file in files)
    n_helpers = min(spare_cores(), sum(sizes) // HELPER_BYTES, MAX_HELPERS) if is_local else 0
    runs = [files[start:end] for start, end in pairwise(split(sizes, n_helpers, HEAD_START_BYTES))]
    return [run for run in runs if run] or [files]


def _read_together(
    own: Sequence[EventFile], others: Sequence[Sequence[EventFile]], on_progress: Progress | None
) -> tuple[SpanStore, Diagnostics]:
    """Read the first files here while each helper reads a run of those after them.

    Raises:
        HelperError: a helper failed.
    """
    store, told = _store_for([*own, *chain.from_iterable(others)]), Diagnostics()
    with ExitStack() as exits:
        helpers = [exits.enter_context(run_in_helper(read_packed, run)) for run in others]
        _read_here(own, store, told, on_progress)
        for run, results in zip(others, helpers, strict=True):
            n_before = store.n_spans
            told.merge(next(results))
            store.absorb(next(results), results)
            if on_progress is not None:
                on_progress(store.n_spans - n_before, sum(file.size_bytes for file in run))
    return store, told


def read_packed(files: Sequence[EventFile]) -> Iterator[object]:
    """Yield a problems and what ``SpanStore.absorb`` takes; runs in a helper."""
    store, told = _store_for(files), Diagnostics()
    _read_here(files, store, told, None)
    yield told
    yield from store.packed()


def _store_for(files: Sequence[EventFile]) -> SpanStore:
    return SpanStore(sum(file.size_bytes for file in files) // _EVENT_BYTES)


def _read_here(
    files: Sequence[EventFile],
    store: SpanStore,
    problems: Diagnostics,
    on_progress: Progress | None,
) -> None:
    for file, blocks in _blocks(files, problems):
        read = format_of(file.claim.format_id).read
        assert read is not None
        events = read(file, blocks, problems=problems, vocabulary=store.vocabulary)
        stored = StoredFile(
            key=file.key,
            worker=file.claim.worker,
            source=file.claim.source,
            stamp_us=file.claim.stamp,
            base_ns=events.base_ns,
            last_ns=events.last_ns,
            loose=events.loose,
        )
        n_before = store.n_spans
        store.add(events, stored)
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
    told = file.claim
    is_open = told.stamp == 0
    return is_open, told.stamp, told.worker, told.source, file.key


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
