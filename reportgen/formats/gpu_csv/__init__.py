"""Logs of GPUs as tables: ``nvidia-smi`` and its ``dmon``, ``amd-smi``, and tables made by hand.

Columns are found by their names, whose spelling varies with program, version and author. A table
without times, or without names, is of no use and is not read.
"""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from reportgen.formats.csv_rows import cells_of, instant_in, lines_of, number_in, place_of, words_of
from reportgen.formats.diagnostics import Diagnostics, printable
from reportgen.formats.format import Claim, EventFile, FileRole, Format
from reportgen.formats.monitoring import MIB, UNREAD, Meaning, Monitored, of_gpu
from reportgen.formats.series_codes import MAX_GPUS
from reportgen.profile import Quality
from reportgen.recorded_job import RecordedGpu

_USE, _MEMORY_USE = of_gpu("GPUUtilization"), of_gpu("GPUMemoryUtilization")
_USED, _TOTAL = of_gpu("GPUMemoryUsedBytes", MIB), of_gpu("GPUMemoryTotalBytes", MIB)
_POWER, _HEAT = of_gpu("GPUPowerWatts"), of_gpu("GPUTemperatureCelsius")
_CLOCK, _REASONS = of_gpu("GPUSMClockMHz"), of_gpu("GPUThrottleReasons")

_METRICS: Mapping[str, Meaning] = {
    name: meaning
    for meaning, names in (
        (_USE, """utilization_gpu gpu_utilization gpu_util util_gpu utilization_gpu_percent
            gpu_utilization_percent gpu_util_percent gpu_util_pct gpu_percent sm gfx_activity gfx
            gpu_use gpu_use_percent utilization"""),
        (_MEMORY_USE, "utilization_memory mem umc_activity memory_utilization mem_util"),
        (_USED, """memory_used mem_used memory_used_mib memory_used_mb mem_used_mib mem_used_mb
            vram_used vram_used_mb used_vram fb gpu_memory_used gpu_memory_used_mb
            memory_used_gb mem_used_gb memory_used_gib memory_used_bytes gpu_memory_mb"""),
        (_TOTAL, """memory_total mem_total memory_total_mib memory_total_mb vram_total total_vram
            mem_total_mb gpu_memory_total memory_total_gb memory_total_gib memory_total_bytes"""),
        (_POWER, """power_draw power_draw_average power_draw_instant power_draw_w power_w power
            pwr socket_power current_socket_power average_socket_power power_usage power_watts
            gpu_power gpu_power_w"""),
        (_HEAT, """temperature_gpu gtemp temperature temperature_c temp temp_c gpu_temp
            temperature_gpu_c gpu_temp_c temperature_hotspot hotspot_temperature hotspot
            temperature_edge edge"""),
        (_CLOCK, """clocks_sm clocks_current_sm clock_sm sm_clock pclk gfx_clock gfx_clk
            gfx_0_clk clocks_sm_mhz clock_sm_mhz"""),
        (_REASONS, "clocks_throttle_reasons_active clocks_event_reasons_active"),
    )
    for name in names.split()
}  # fmt: skip
"""Names of columns, as ``words_of`` writes them. Memory is in MiB where no unit is told."""
_UNIT_BYTES = {"gib": 1 << 30, "gb": 1 << 30, "bytes": 1, "kib": 1 << 10, "b": 1}
_TIMES = (
    "timestamp",
    "time",
    "datetime",
    "date_time",
    "ts",
    "unix_time",
    "unix_timestamp",
    "epoch",
)
_ELAPSED = ("elapsed", "elapsed_s", "elapsed_sec", "elapsed_seconds", "relative_time", "seconds")
_GPUS = ("index", "gpu", "gpu_id", "gpu_index", "id", "device", "uuid", "gpu_uuid", "pci_bus_id")
_NAMES = ("name", "gpu_name", "product_name", "market_name")
_SOURCE_OF_DMON = "nvidia-smi dmon"
_DMON = re.compile(r"#[\s#]*(?:Date|Time|gpu)\b", re.IGNORECASE)
_SAME_S_RATIO = 0.25
_MOST_DIFFS_PCT = 97
_CANDIDATE = re.compile(r".*\.csv", re.IGNORECASE)
_LEAST_EQUAL_RATIO = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class _Columns:
    """Where the columns of a table stand; ``metrics`` with the factors to our units."""

    source: str
    times: tuple[int, ...]
    is_elapsed: bool
    gpu: int | None
    name: int | None
    metrics: tuple[tuple[int, Meaning, float], ...]


def _columns_of(titles: Sequence[str], source: str) -> _Columns | None:
    """Return the columns of a header; ``None`` where it has no times or no metric of a GPU."""
    words = [words_of(title) for title in titles]
    names = [name for name, _ in words]
    metrics, seen = [], set()
    for place, (name, unit) in enumerate(words):
        meaning = _METRICS.get(name)
        if meaning is not None and meaning.dimension not in seen:
            seen.add(meaning.dimension)
            metrics.append((place, meaning, _factor(meaning, name, unit)))
    times, elapsed = place_of(names, _TIMES), place_of(names, _ELAPSED)
    date = place_of(names, ("date",))
    at = elapsed if times is None else times
    has_day = source != _SOURCE_OF_DMON or date is not None
    if at is None or not metrics or not has_day:
        return None
    return _Columns(
        source=source,
        times=(at,) if date is None or times is None else (date, at),
        is_elapsed=times is None,
        gpu=place_of(names, _GPUS),
        name=place_of(names, _NAMES),
        metrics=tuple(metrics),
    )


def _factor(meaning: Meaning, name: str, unit: str) -> float:
    if meaning not in (_USED, _TOTAL):
        return meaning.factor
    return _UNIT_BYTES.get(unit or name.rpartition("_")[2], MIB)


def _table(lines: Iterable[str]) -> tuple[_Columns | None, Iterator[list[str]]]:
    """Return the columns of a table and the cells of its lines, repeated headers left out."""
    stream = iter(lines)
    first = next((line for line in stream if line.strip()), "")
    if _DMON.match(first):
        titles = first.lstrip("# ").replace(",", " ").split()
        rows = (
            line.replace(",", " ").split() for line in stream if not line.lstrip().startswith("#")
        )
        return _columns_of(titles, _SOURCE_OF_DMON), (row for row in rows if row)
    cells = cells_of(chain([first], stream))
    titles = next(cells, [])
    source = "amd-smi" if re.search(r"\bgfx|umc|vram", first) else "a table of GPU metrics"
    source = "nvidia-smi" if re.search(r"utilization\.|power\.draw", first) else source
    return _columns_of(titles, source), (row for row in cells if row and row != titles)


@dataclass(slots=True)
class _CsvRows:
    """The rows of a table: instants, what tells their GPU, their name and the values."""

    time_s: array[float] = field(default_factory=lambda: array("d"))
    gpu: list[str] = field(default_factory=list)
    values: list[array[float]] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    is_local: bool = False
    n_broken: int = 0


def _rows(columns: _Columns, cells: Iterable[list[str]]) -> _CsvRows:
    rows = _CsvRows(values=[array("d") for _ in columns.metrics])
    least = max(*columns.times, *(place for place, *_ in columns.metrics)) + 1
    for row in cells:
        time_s, is_local = math.nan, False
        if len(row) >= least:
            stamp = " ".join(row[place] for place in columns.times)
            if len(columns.times) == 2:
                stamp = f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:]}" if stamp[:8].isdigit() else stamp
            time_s, is_local = instant_in(stamp)
        if math.isnan(time_s):
            rows.n_broken += 1
            continue
        rows.is_local |= is_local
        rows.time_s.append(time_s)
        gpu = row[columns.gpu] if columns.gpu is not None and columns.gpu < len(row) else ""
        rows.gpu.append(gpu[:64])
        if columns.name is not None and columns.name < len(row) and len(rows.names) < MAX_GPUS:
            rows.names.setdefault(rows.gpu[-1], row[columns.name])
        for values, (place, _, factor) in zip(rows.values, columns.metrics, strict=True):
            value = number_in(row[place])
            values.append(math.inf if value is None else value * factor)
    return rows


def _numbers(rows: _CsvRows, columns: _Columns) -> list[int] | None:
    """Return the number of the GPU of each row; ``None`` where GPUs cannot be told apart.

    Without a column that tells them, rows of one moment are of the GPUs in their order.
    """
    if columns.gpu is not None:
        ids = list(dict.fromkeys(rows.gpu))
        is_number = all(text.isdigit() and int(text) < MAX_GPUS for text in ids)
        number = {text: int(text) if is_number else place for place, text in enumerate(ids)}
        return [number[text] for text in rows.gpu]
    passed_s = np.diff(np.array(rows.time_s))
    if not passed_s.size:
        return [0] * len(rows.time_s)
    apart_s = _SAME_S_RATIO * float(np.percentile(passed_s, _MOST_DIFFS_PCT))
    numbers, sizes = [0], []
    for passed in passed_s.tolist():
        if passed > apart_s:
            sizes.append(numbers[-1] + 1)
        numbers.append(0 if passed > apart_s else numbers[-1] + 1)
    usual, n_usual = Counter(sizes or [len(numbers)]).most_common(1)[0]
    is_told = n_usual >= _LEAST_EQUAL_RATIO * max(len(sizes), 1) and max(numbers) < usual
    return numbers if is_told else None


def _read(file: EventFile, blocks: Iterable[bytes], *, problems: Diagnostics) -> Monitored:
    """Return the samples of a table; lines that are none are counted."""
    columns, cells = _table(lines_of(blocks))
    if columns is None:
        problems.remark(_SAY_NO_COLUMNS, path=file.key)
        return Monitored(source="a table of GPU metrics")
    rows = _rows(columns, cells)
    problems.add(Quality.LINES_BROKEN, file.key, rows.n_broken)
    found = Monitored(source=columns.source, is_local=rows.is_local, is_relative=columns.is_elapsed)
    numbers = _numbers(rows, columns)
    if numbers is None:
        problems.remark(_SAY_UNTOLD, path=file.key)
        return found
    if columns.name is not None:
        of_gpu_number = dict(zip(rows.gpu, numbers, strict=True))
        found.gpus = [
            RecordedGpu(index=of_gpu_number[gpu], name=printable(name))
            for gpu, name in rows.names.items()
        ]
    for values, (_, meaning, _) in zip(rows.values, columns.metrics, strict=True):
        gpus = sorted(set(numbers))[:MAX_GPUS]
        codes = {gpu: found.code_of(meaning, str(gpu)) for gpu in gpus}
        for time_s, gpu, value in zip(rows.time_s, numbers, values, strict=True):
            code = codes.get(gpu, UNREAD)
            if code != UNREAD and not math.isinf(value):
                found.add(time_s, code, value)
    return found


_SAY_NO_COLUMNS = "This table has no column of times, or none of a known metric of a GPU."
_SAY_UNTOLD = (
    "The rows of this table are of several GPUs that no column tells apart, and their order "
    "varies: nothing was read. Query index as well: nvidia-smi --query-gpu=timestamp,index,…"
)


def _header(head: bytes) -> _Columns | None:
    return _table(lines_of([head]))[0]


GPU_TABLES = Format(
    id="gpu_table",
    role=FileRole.MONITORING,
    may_be=_CANDIDATE,
    looks_like=lambda head: _header(head) is not None,
    claim_named=lambda name: Claim(format_id="gpu_table", node=name),
    has_base=lambda head: (found := _header(head)) is None or not found.is_elapsed,
    read=_read,
)
