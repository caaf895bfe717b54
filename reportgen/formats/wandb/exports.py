"""Exports of Weights & Biases: ``run.history(stream="system")``, or a chart, as CSV or Parquet."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from reportgen.formats.csv_rows import cells_of, instant_in, lines_of, number_in
from reportgen.formats.diagnostics import Diagnostics
from reportgen.formats.format import Claim, EventFile, FileRole, Format
from reportgen.formats.monitoring import UNREAD, LoggedNumbers, Monitored, add_totals
from reportgen.formats.wandb.metrics import SOURCE, Metrics, is_progress, progress_by
from reportgen.profile import Quality
from reportgen.scratch import scratch_folder

if TYPE_CHECKING:
    from reportgen.formats.nsight.parquet import Folder

_TIMES = ("_timestamp", "_runtime", "Relative Time (Process)", "Relative Time (Wall)")
"""Columns of instants, the best first; all but the first count from the start of the run."""
_CANDIDATE = re.compile(r".*\.csv", re.IGNORECASE)
_RUN = re.compile(r"(?s).* - (system/.*)")
_SAY_SAMPLED = (
    "An export of Weights & Biases holds a sample of what was recorded, 500 rows unless more are "
    'asked for: run.history(stream="system", samples=100_000).'
)
_SAY_SEVERAL = "This export holds several runs; the first one was read. Export each alone."
_SAY_BROKEN = "{n} [file|files] cannot be read to the end"
_PARQUET = b"PAR1"


class _Table:
    """Takes the rows of an export whose columns have these titles."""

    def __init__(self, titles: Sequence[str]) -> None:
        self.time = next((titles.index(name) for name in _TIMES if name in titles), -1)
        is_relative = self.time < 0 or titles[self.time] != _TIMES[0]
        self.found = Monitored(source=f"an export of {SOURCE}", is_relative=is_relative)
        self.numbers = LoggedNumbers()
        self.n_broken = 0
        metrics = Metrics(self.found)
        keys = [_key_of(title) for title in titles]
        codes = {key: (keys.index(key), *metrics.code_of(key)) for key in dict.fromkeys(keys)}
        self.samples = [item for item in codes.values() if item[1] != UNREAD]
        self.progress = [(place, key) for place, key in enumerate(titles) if is_progress(key)]
        self.has_several = len(keys) > len({*keys})

    @property
    def is_of_use(self) -> bool:
        """Return whether there are times, and anything at them."""
        return self.time >= 0 and bool(self.samples or self.progress)

    @property
    def places(self) -> list[int]:
        """Return the columns that are read."""
        read = [*(item[0] for item in self.samples), *(place for place, _ in self.progress)]
        return sorted({self.time, *read})

    def take(self, row: Sequence[float | None]) -> None:
        """Take the numbers of a row, as many as there are titles; ``None`` is an empty cell."""
        time_s = row[self.time]
        if time_s is None or math.isnan(time_s):
            self.n_broken += 1
            return
        for place, code, factor in self.samples:
            if (value := row[place]) is not None:
                self.found.add(time_s, code, value * factor)
        for place, key in self.progress:
            if (value := row[place]) is not None:
                self.numbers.add(key, time_s, value)


def _key_of(title: str) -> str:
    """Return the metric of a column: ``system.gpu.0.gpu``, ``my run - system/gpu.0.gpu``."""
    match = _RUN.fullmatch(title)
    bare = match[1] if match else title
    return bare[7:] if bare.startswith(("system.", "system/")) else title


def _read(file: EventFile, blocks: Iterable[bytes], *, problems: Diagnostics) -> Monitored:
    """Return the samples of an export."""
    stream = iter(blocks)
    head = next(stream, b"")
    every = chain((head,), stream)
    table = _of_parquet(file, every, problems) if head[:4] == _PARQUET else _of_text(every)
    problems.add(Quality.LINES_BROKEN, file.key, table.n_broken)
    problems.remark(_SAY_SAMPLED, path=file.key)
    if table.has_several:
        problems.remark(_SAY_SEVERAL, path=file.key)
    add_totals(table.found)
    table.found.progress = progress_by(table.numbers)
    return table.found


def _of_text(blocks: Iterable[bytes]) -> _Table:
    cells = cells_of(lines_of(blocks))
    titles = next(cells, [])
    table = _Table(titles)
    if not table.is_of_use:
        return table
    places = table.places
    for row in cells:
        if len(row) != len(titles):
            table.n_broken += 1
            continue
        numbers: list[float | None] = [None] * len(titles)
        for place in places:
            numbers[place] = number_in(row[place])
        numbers[table.time] = instant_in(row[table.time])[0]
        table.take(numbers)
    return table


def _of_parquet(file: EventFile, blocks: Iterable[bytes], problems: Diagnostics) -> _Table:
    import duckdb

    from reportgen.formats.nsight.database import TooMuchError
    from reportgen.formats.nsight.parquet import open_folder

    table = _Table([])
    with scratch_folder() as folder:
        with (folder / "export.parquet").open("wb") as copy:
            copy.writelines(blocks)
        with open_folder(folder) as opened:
            problems.add(Quality.FILES_SKIPPED, file.key, len(opened.broken), what=_SAY_BROKEN)
            try:
                titles = sorted(opened.tables.get("export", ()))
                table = _Table(titles)
                if table.is_of_use:
                    _take_all(table, titles, opened)
            except (duckdb.Error, TooMuchError):
                problems.add(Quality.FILES_SKIPPED, file.key, what=_SAY_BROKEN)
    return table


def _take_all(table: _Table, titles: Sequence[str], opened: Folder) -> None:
    places = table.places
    names = ['"' + titles[place].replace('"', '""') + '"' for place in places]
    wanted = ", ".join(f"TRY_CAST({name} AS DOUBLE)" for name in names)
    for batch in opened.rows(f"SELECT {wanted} FROM export", at_once=4_096):  # noqa: S608  # quoted
        for row in batch:
            numbers: list[float | None] = [None] * len(titles)
            for place, value in zip(places, row, strict=True):
                numbers[place] = value
            table.take(numbers)


def _header(head: bytes) -> _Table:
    return _Table(next(cells_of(lines_of([head])), []))


WANDB_EXPORTS = Format(
    id="wandb_export",
    role=FileRole.MONITORING,
    may_be=_CANDIDATE,
    looks_like=lambda head: _header(head).is_of_use,
    claim_named=lambda name: Claim(format_id="wandb_export", node=name),
    has_base=lambda head: not _header(head).found.is_relative,
    read=_read,
)
WANDB_PARQUET = Format(
    id="wandb_parquet",
    role=FileRole.MONITORING,
    looks_like=lambda head: head.startswith(_PARQUET),
    claim_named=lambda name: Claim(format_id="wandb_parquet", node=name),
    read=_read,
)
