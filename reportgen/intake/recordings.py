"""How ``reportgen record`` recorded a job: read from the cards beside its data."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from reportgen.arrays import Instants
from reportgen.errors import LocationError
from reportgen.formats import Diagnostics, printable
from reportgen.formats.recorder import (
    FAULTS,
    MOST_BYTES,
    NODE_CARD,
    RANK_CARD,
    RUN,
    ProcessFault,
    RankCard,
    RunCard,
    card_of,
    faults_of,
    node_card,
    work_of,
)
from reportgen.intake.listing import Listing
from reportgen.intake.node_clocks import align
from reportgen.profile import SpanTable, SystemTable
from reportgen.profile.column_file import count_present, picked, stored
from reportgen.profile.spans import STEP_PREFIX, code_type
from reportgen.profile.system import device_order
from reportgen.recorded_job import RecordedNode, Recording
from reportgen.storage import Location

Card = TypeVar("Card")

_PROFILED = "ProfiledStep"
"""The phase of traced steps, and of the time in which a profiler starts or writes its trace."""
_SAID = {
    "other_machine": "A process ran on a machine without a recorder; nothing was recorded there.",
    "not_seen": "An interpreter ignored PYTHONPATH; its steps were not seen.",
    "cupti_taken": "No kernel trace was recorded: another profiler was using CUPTI.",
    "trace_failed": "PyTorch's profiler failed; its trace is missing.",
    "lost": "A process could not write all of its events.",
}


def read_recording(listing: Listing, prefix: str, problems: Diagnostics) -> Recording | None:
    """Return how a job was recorded; ``None`` when something else recorded it.

    Args:
        listing: of the place where the job lies.
        prefix: the path before ``system/`` and ``framework/``.
        problems: gets remarks on what could not be recorded.
    """
    location = listing.location
    keys = {
        info.key.removeprefix(prefix): info.key
        for info in listing.objects
        if info.key.startswith(f"{prefix}recorder")
        and not info.problem
        and 0 < info.size_bytes <= MOST_BYTES
    }
    nodes = _cards(location, keys, NODE_CARD, node_card)
    if not nodes:
        return None
    ranks = _cards(location, keys, RANK_CARD, partial(card_of, kind=RankCard))
    runs = _cards(location, keys, RUN, partial(card_of, kind=RunCard))
    nodes.sort(key=lambda node: device_order(node.node))
    _remark_losses(nodes, ranks, problems)
    _remark_faults(chain.from_iterable(_cards(location, keys, FAULTS, faults_of)), problems)
    if any(card.is_other_job for card in runs):
        problems.remark("Two different jobs were recorded into this folder; they are mixed here.")
    aligned = _with_profiled(align(nodes, ranks, problems), ranks)
    return Recording(
        nodes=tuple(_with_ranks(node, ranks) for node in aligned),
        step_sources=tuple(sorted({card.step_source for card in ranks if card.step_source})),
        frameworks=_frameworks(ranks),
        exit_codes=tuple(card.exit_code for card in runs if card.exit_code is not None),
        batch_size=_batch_size(ranks),
    )


def of_job(system: SystemTable, recorded: RecordedNode | None) -> SystemTable:
    """Return the samples without those of GPUs that the job does not use, as its ranks say."""
    gpus = () if recorded is None else recorded.gpus
    unused = {f"gpu{gpu.index}" for gpu in gpus if gpu.is_used is False}
    kept = [
        column
        for column, series in enumerate(system.series)
        if series.type != "gpu" or series.name not in unused
    ]
    if len(kept) == len(system.series):
        return system
    columns = picked(system.columns, kept)
    return replace(
        system,
        series=tuple(system.series[column] for column in kept),
        columns=columns,
        n_samples=sum(count_present(columns)),
    )


def _with_profiled(
    nodes: Sequence[RecordedNode], ranks: Sequence[RankCard]
) -> Iterator[RecordedNode]:
    ahead_ns = {node.node: node.ahead_ns for node in nodes}
    traced = [(ahead_ns.get(card.node, 0), sorted(card.trace.paused)) for card in ranks]
    found = sorted(
        (ranges[0][0] - ahead, ranges[-1][1] - ahead) for ahead, ranges in traced if ranges
    )
    for node in nodes:
        profiled = tuple((begin + node.ahead_ns, end + node.ahead_ns) for begin, end in found)
        yield replace(node, profiled=profiled)


def without_profiled(
    system: SystemTable, spans: SpanTable, recorded: RecordedNode | None
) -> tuple[SystemTable, SpanTable]:
    """Leave out what a profiler of ours has disturbed: samples, and steps as such.

    Steps of ranks that waited for a traced one get the phase of traced steps. A sample says what
    was since the one before it, so one more goes behind each stretch.
    """
    if recorded is None or not recorded.profiled:
        return system, spans
    begin_ns, end_ns = np.array(recorded.profiled, dtype=np.int64).T
    tick_ns, late_ns = system.tick_ns, system.interval_ns or 0
    is_kept = ~_touches(tick_ns, tick_ns, begin_ns, end_ns + late_ns)
    columns = system.columns
    kept = stored(
        lambda place: columns[place][is_kept],
        n_columns=len(columns),
        n_rows=int(np.count_nonzero(is_kept)),
    )
    system = replace(
        system, tick_ns=tick_ns[is_kept], columns=kept, n_samples=sum(count_present(kept))
    )
    steps = [phase for phase in spans.phases if phase.startswith(STEP_PREFIX)]
    is_hit = spans.in_phases(steps) & _touches(spans.start_ns, spans.end_ns, begin_ns, end_ns)
    phases = sorted({*spans.phases, _PROFILED})
    codes = np.array([phases.index(phase) for phase in spans.phases], dtype=code_type(len(phases)))
    phase = np.where(is_hit, codes.dtype.type(phases.index(_PROFILED)), codes[spans.phase])
    return system, replace(spans, phase=phase, phases=tuple(phases))


def with_whole_steps(spans: SpanTable, recorded: RecordedNode | None) -> SpanTable:
    """Return steps that last until their work is done, where they return before that.

    The host waits for that work before the next step at the latest, and nothing shows when.
    """
    if recorded is None or not recorded.runs_ahead:
        return spans
    steps = [phase for phase in spans.phases if phase.startswith(STEP_PREFIX)]
    is_step, end_ns = spans.in_phases(steps), spans.end_ns.copy()
    for worker in np.unique(spans.worker):
        rows = np.flatnonzero(is_step & (spans.worker == worker))
        rows = rows[np.argsort(spans.start_ns[rows], kind="stable")]
        end_ns[rows[:-1]] = np.maximum(end_ns[rows[:-1]], spans.start_ns[rows[1:]])
    return replace(spans, end_ns=end_ns)


def _touches(
    start_ns: Instants, end_ns: Instants, begin_ns: Instants, until_ns: Instants
) -> NDArray[np.bool_]:
    is_inside = (start_ns[:, None] < until_ns) & (end_ns[:, None] > begin_ns)
    return np.asarray(is_inside.any(axis=1), dtype=np.bool_)


def _cards(
    location: Location,
    keys: Mapping[str, str],
    pattern: re.Pattern[str],
    parse: Callable[[bytes], Card | None],
) -> list[Card]:
    contents = location.read_many([key for name, key in keys.items() if pattern.fullmatch(name)])
    cards = (parse(content) for content in contents if not isinstance(content, LocationError))
    return [card for card in cards if card is not None]


def _remark_losses(
    nodes: Sequence[RecordedNode], ranks: Sequence[RankCard], problems: Diagnostics
) -> None:
    for node in nodes:
        if node.missing:
            problems.remark(f"Not recorded on {node.node}: {'; '.join(node.missing)}.")
        if node.lost_ticks:
            problems.remark(f"{node.lost_ticks:,} ticks of {node.node} could not be written.")
    n_lost = sum(card.lost_events for card in ranks)
    if n_lost:
        problems.remark(f"{n_lost:,} events could not be written and are missing.")


def _remark_faults(faults: Iterable[ProcessFault], problems: Diagnostics) -> None:
    counts = Counter(
        (fault.kind, printable(fault.hook), printable(fault.error)) for fault in faults
    )
    for (kind, hook, error), count in sorted(counts.items()):
        text = _sentence(kind, hook, error)
        problems.remark(text if count == 1 else f"{text[:-1]}, {count} times.")


def _sentence(kind: str, hook: str, error: str) -> str:
    if kind == "open_range":
        return f"The annotation {hook!r} began and never ended; it is not shown."
    if kind == "not_seen" and hook:
        return f"Not seen: {hook}."
    return _SAID.get(kind) or (
        f"The hook {hook or 'of the recorder'} failed ({error or kind}) and was switched off; "
        "its later data are missing."
    )


def _with_ranks(node: RecordedNode, ranks: Sequence[RankCard]) -> RecordedNode:
    of_node = [card for card in ranks if printable(card.node) == node.node]
    return replace(
        node,
        work=work_of(of_node),
        alone=tuple(card.worker for card in of_node if card.is_alone),
        runs_ahead=any(card.runs_ahead for card in of_node),
        may_use_closures=any(card.may_use_closures for card in of_node),
    )


def _batch_size(ranks: Sequence[RankCard]) -> int | None:
    """Return the samples of a step of each rank, if all that made steps say the same."""
    sizes = {card.samples_per_step for card in ranks if card.n_steps}
    return sizes.pop() if len(sizes) == 1 else None


def _frameworks(ranks: Sequence[RankCard]) -> Mapping[str, str]:
    versions: dict[str, set[str]] = {}
    for card in ranks:
        for name, version in card.frameworks.items():
            versions.setdefault(printable(name), set()).add(printable(version))
    return {name: ", ".join(sorted(found)) for name, found in sorted(versions.items())}
