"""A node's events to its table: words sorted, rows in order, each once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.arrays import Mask
from reportgen.formats import Diagnostics, EventFile, printable
from reportgen.formats.columns import Codes, Columns
from reportgen.formats.private_names import masked
from reportgen.intake.span_limits import ObservedExtent, belonging
from reportgen.intake.span_store import SpanStore
from reportgen.profile import Clock, Quality, SpanArguments, SpanTable
from reportgen.profile.spans import NUMBER_COLUMNS, Words, code_type

_SAY_DUPLICATE = "{n} [event was|events were] there twice and [was|were] kept once"


def table_of(
    store: SpanStore, problems: Diagnostics, *, extent: ObservedExtent, clock: Clock
) -> SpanTable:
    """Return the events that belong to a job as a table; the store is empty afterwards.

    Those that are there twice or cannot belong to the job are counted.
    """
    vocabulary, columns = store.vocabulary, store.columns()
    arguments = vocabulary.arguments.table()
    is_kept = belonging(columns, store.files, extent=extent, clock=clock, problems=problems)
    if is_kept is not None:
        columns = _kept(columns, is_kept)
    names, columns["name"] = _sort_words(vocabulary.names, columns["name"])
    phases, columns["phase"] = _sort_words(vocabulary.phases, columns["phase"])
    writers = _writers_of(store.files, columns["file"])
    _order_ties(columns, writers, arguments)
    is_new = _is_new(columns, writers, arguments)
    n_duplicates = int(is_new.size - np.count_nonzero(is_new))
    if n_duplicates:
        problems.add(Quality.EVENTS_DROPPED, "", n_duplicates, what=_SAY_DUPLICATE)
        columns = _kept(columns, is_new)
    file = columns.pop("file")
    return SpanTable(
        **columns,
        source=writers.source[file],
        worker=writers.worker[file],
        arguments=arguments,
        names=names,
        phases=phases,
        workers=writers.workers,
        sources=writers.sources,
    )


def _sort_words(codes: Codes, column: Words) -> tuple[tuple[str, ...], Words]:
    """Return the words in use in alphabetical order, and the column as codes of them."""
    known = ["" if word is None else masked(printable(str(word))) for word in codes]
    words, new_codes = _coded(known, column)
    return words, new_codes[column]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Writers:
    worker: Words
    source: Words
    workers: tuple[str, ...]
    sources: tuple[str, ...]


def _writers_of(files: Sequence[EventFile], file: Words) -> _Writers:
    workers, worker = _coded([printable(item.claim.worker) for item in files], file)
    sources, source = _coded([str(item.claim.source) for item in files], file)
    return _Writers(worker=worker, source=source, workers=workers, sources=sources)


def _coded(known: Sequence[str], column: Words) -> tuple[tuple[str, ...], Words]:
    is_used = np.zeros(len(known), dtype=np.bool_)
    is_used[column] = True
    words = sorted({known[code] for code in np.flatnonzero(is_used).tolist()})
    place = {word: index for index, word in enumerate(words)}
    codes = [place.get(word, 0) for word in known]
    return tuple(words), np.array(codes, dtype=code_type(len(words)))


def _order_ties(columns: Columns, writers: _Writers, arguments: SpanArguments) -> None:
    """Order rows with the same start by end, phase, name, worker, step, all else."""
    start_ns = columns["start_ns"]
    is_tie = np.zeros(start_ns.size, dtype=np.bool_)
    is_tie[1:] = start_ns[1:] == start_ns[:-1]
    is_tie[:-1] |= is_tie[1:]
    places = np.flatnonzero(is_tie)
    rows, file = columns["argument"][places], columns["file"][places]
    keys = [columns[column][places] for column in ("start_ns", "end_ns", "phase", "name")]
    step, *numbers = (getattr(arguments, column)[rows] for column in NUMBER_COLUMNS)
    keys += [writers.worker[file], step, writers.source[file], *numbers]
    in_order = places[np.lexsort(keys[::-1])]
    for values in columns.values():
        values[places] = values[in_order]


def _is_new(columns: Columns, writers: _Writers, arguments: SpanArguments) -> Mask:
    start_ns = columns["start_ns"]
    is_new = np.ones(start_ns.size, dtype=np.bool_)
    is_new[1:] = start_ns[1:] != start_ns[:-1]
    same = np.flatnonzero(~is_new)
    differs = np.zeros(same.size, dtype=np.bool_)
    for column in ("end_ns", "name", "phase"):
        differs |= columns[column][same] != columns[column][same - 1]
    for words in (writers.worker, writers.source):
        differs |= words[columns["file"][same]] != words[columns["file"][same - 1]]
    for column in NUMBER_COLUMNS:
        numbers, rows = getattr(arguments, column), columns["argument"]
        differs |= numbers[rows[same]] != numbers[rows[same - 1]]
    is_new[same] = differs
    return is_new


def _kept(columns: Columns, is_kept: Mask) -> Columns:
    return {name: column[is_kept] for name, column in columns.items()}
