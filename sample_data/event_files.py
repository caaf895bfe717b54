"""Write timelines as the profiler does: Chrome trace arrays, a new file every minute."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from sample_data.schedule import Schedule
from sample_data.spec import JobSpec, node_name
from sample_data.timelines import Event, Worker, model_timeline, python_timeline, workers

ROTATE_US = 60_000_000
ROTATE_BYTES = 10_485_760
_HOUR_US = 3_600_000_000


def write_event_files(spec: JobSpec, schedule: Schedule, *, root: Path) -> int:
    """Write ``framework/`` below ``root`` (``profiler-output``); return the number of events."""
    if spec.steps_per_second == 0:
        return 0
    n_events = 0
    for worker in workers(spec):
        init_us = round(spec.init_s * 1e6)
        for events, suffix, share in (
            (python_timeline(spec, schedule, worker), "pythontimeline", 0.62),
            (model_timeline(spec, schedule, worker), "model_timeline", 0.55),
        ):
            base_us = worker.zero_us + round(init_us * share)
            write_timeline(events, worker=worker, suffix=suffix, base_us=base_us, root=root)
            n_events += len(events)
    (root / "framework" / "training_job_end.ts").touch()
    return n_events


def write_timeline(
    events: Sequence[Event], *, worker: Worker, suffix: str, base_us: int, root: Path
) -> None:
    """Write the events of one worker, sorted by end, into files of a minute each."""
    for part in _rotate(events):
        end_us = part[-1].end_us
        hour = datetime.fromtimestamp(end_us // 1_000_000, tz=UTC).strftime("%Y%m%d%H")
        node_id = f"{worker.pid}-{node_name(worker.node)}"
        path = root / "framework" / "pevents" / hour / f"{end_us}_{node_id}_{suffix}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(render_timeline(part, base_us).encode("ascii"))


def _rotate(events: Sequence[Event]) -> Iterator[Sequence[Event]]:
    """Split events, sorted by end, where the writer opens a new file.

    That is after a minute, at a new hour, and well before 10 MiB.
    """
    first = 0
    most = ROTATE_BYTES // 400
    for index, event in enumerate(events):
        opened_us = events[first].end_us
        is_full = event.end_us - opened_us >= ROTATE_US or index - first >= most
        is_new_hour = event.end_us // _HOUR_US != opened_us // _HOUR_US
        if index > first and (is_full or is_new_hour):
            yield events[first:index]
            first = index
    if events:
        yield events[first:]


def render_timeline(events: Sequence[Event], base_us: int) -> str:
    """Return one file: header, then each event; phases are named when they first appear.

    The newest writer numbers the first phase 0 like the header, and names it again before each
    of its events (docs/formats.md, Base time).
    """
    base = f'{{"start_time_since_epoch_in_micros": {base_us}}}'
    lines = [_metadata("process_name", 0, base), _sort_index(0)]
    numbers: dict[str, int] = {}
    for event in events:
        number = numbers.get(event.phase)
        if not number:
            number = numbers.setdefault(event.phase, len(numbers))
            lines += [
                _metadata("process_name", number, f'{{"name": "{event.phase}"}}'),
                _sort_index(number),
            ]
        lines.append(
            f'{{"name": "{event.name}", "pid": {number}, "ph": "X", '
            f'"ts": {event.start_us - base_us}, "dur": {event.end_us - event.start_us}, '
            f'"args": {event.args}}}'
        )
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _metadata(name: str, number: int, args: str) -> str:
    return f'{{"name": "{name}", "ph": "M", "pid": {number}, "args": {args}}}'


def _sort_index(number: int) -> str:
    return _metadata("process_sort_index", number, f'{{"sort_index": {number}}}')
