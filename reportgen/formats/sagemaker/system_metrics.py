"""System metrics: one JSON object per line, one file per node and minute, or hour.

DuckDB parses blocks of large files of this machine, msgspec any others, one by one. What either
cannot read is read again line by line, that file alone, which finds every variant and the line
numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reportgen.arrays import join, select
from reportgen.errors import LocationError, PlaceError
from reportgen.formats.diagnostics import MAX_FILES_NAMED, Diagnostics, printable
from reportgen.formats.sagemaker.minute_files import SystemFile
from reportgen.formats.sagemaker.system_lines import (
    LineReading,
    RawRows,
    read_lines,
    read_typed,
    series_of,
)
from reportgen.formats.series_codes import MAX_GPUS, MAX_SERIES, UNKNOWN, UNREADABLE, SeriesCodes
from reportgen.profile import Quality

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_SERIES = "Type: 'VARCHAR', Name: 'VARCHAR', Dimension: 'VARCHAR'"
_MAX_LINE_BYTES = 1 << 20
_HASH = "hash(Type, Name, Dimension)"
_SAMPLE = "Value: 'DOUBLE', Timestamp: 'DOUBLE'"
_NODE = "NodeId: 'VARCHAR'"
_SAMPLE_LINES = 8_192


def read_block(
    connection: DuckDBPyConnection,
    files: Sequence[SystemFile],
    codes: SeriesCodes,
    problems: Diagnostics,
) -> list[RawRows]:
    """Return the lines of some minute files of one node that DuckDB can open, in their order.

    Nothing is kept in the connection; the node's series, ``codes``, are extended.

    Raises:
        KeyboardInterrupt: Ctrl-C while DuckDB was parsing.
    """
    import duckdb

    with suppress(duckdb.Error):
        try:
            return _read_fast(connection, files, codes, problems)
        except RuntimeError as err:
            if "interrupted" in str(err).lower():  # how DuckDB passes Ctrl-C on
                raise KeyboardInterrupt from err
            raise
    if len(files) == 1:
        return [_read_slowly(files[0], codes, problems)]
    middle = len(files) // 2
    return [
        *read_block(connection, files[:middle], codes, problems),
        *read_block(connection, files[middle:], codes, problems),
    ]


def read_small_block(
    files: Sequence[SystemFile], codes: SeriesCodes, problems: Diagnostics
) -> list[RawRows]:
    """Read some minute files of one node without DuckDB; see ``read_block``."""
    contents = files[0].location.read_many([file.key for file in files])
    return [
        _rows_of_content(file, content, codes, problems)
        if isinstance(content, bytes)
        else _unread(file, content, codes, problems)
        for file, content in zip(files, contents, strict=True)
    ]


def _read_fast(
    connection: DuckDBPyConnection,
    files: Sequence[SystemFile],
    codes: SeriesCodes,
    problems: Diagnostics,
) -> list[RawRows]:
    """Let DuckDB parse the block."""
    paths = [path for file in files if (path := file.path()) is not None]
    columns: dict[str, Any] = connection.execute(
        f"SELECT file_index::USMALLINT AS file, {_HASH} AS line, Timestamp AS time_s, "  # noqa: S608  # paths are quoted
        f"Value AS value FROM {_table(paths, _SAMPLE)}"
    ).fetchnumpy()
    starts = np.searchsorted(columns["file"], np.arange(len(files) + 1, dtype=np.uint16)).tolist()
    code = _codes_of(connection, paths, files[0].node, columns, codes, problems)
    del columns["line"], columns["file"]
    time_s, value = (np.ma.filled(columns.pop(name), np.nan) for name in ("time_s", "value"))
    whole = RawRows(code=code, time_s=time_s, value=value)
    is_broken = np.isnan(time_s) | (code < 0)
    slow = set(np.searchsorted(starts, np.flatnonzero(is_broken), side="right").tolist())
    rows = []
    for index, (start, end) in enumerate(pairwise(starts)):
        if index + 1 in slow or start == end:  # DuckDB leaves out a file of one byte
            rows.append(_read_slowly(files[index], codes, problems))
        else:
            rows.append(select(whole, slice(start, end)))
    return rows


def _table(paths: Sequence[str], columns: str) -> str:
    listed = ", ".join("'" + path.replace("'", "''") + "'" for path in paths)
    return (
        f"read_json([{listed}], format='newline_delimited', columns={{{_SERIES}, {columns}}}, "
        f"ignore_errors=true, maximum_object_size={_MAX_LINE_BYTES})"
    )


def _codes_of(
    connection: DuckDBPyConnection,
    paths: Sequence[str],
    node: str,
    columns: dict[str, Any],
    codes: SeriesCodes,
    problems: Diagnostics,
) -> NDArray[np.int32]:
    """Return each line's series code; below 0 where the line cannot be read."""
    if not codes.series:
        middle = paths[len(paths) // 2]
        _learn(_distinct(connection, [middle], limit=_SAMPLE_LINES), node, codes, problems)
    code = codes.look_up(columns["line"])
    is_unknown = code == UNKNOWN
    if is_unknown.any():
        unknown = [paths[index] for index in np.unique(columns["file"][is_unknown])]
        _learn(_distinct(connection, unknown), node, codes, problems)
        code = codes.look_up(columns["line"])
    return code


_SeriesLine = tuple[int, str | None, str | None, str | None, str | None]


def _distinct(
    connection: DuckDBPyConnection, paths: Sequence[str], *, limit: int | None = None
) -> list[_SeriesLine]:
    lines = f"SELECT * FROM {_table(paths, _NODE)}" + (f" LIMIT {limit}" if limit else "")  # noqa: S608  # paths are quoted
    return connection.execute(
        f"SELECT DISTINCT {_HASH}, Type, Name, Dimension, NodeId FROM ({lines}) "  # noqa: S608  # paths are quoted
        "ORDER BY Type, Name, Dimension, NodeId"
    ).fetchall()


def _learn(
    lines: Sequence[_SeriesLine], node: str, codes: SeriesCodes, problems: Diagnostics
) -> None:
    codes.learn(
        {
            line: UNREADABLE if kind is None else codes.code(series_of(kind, name, dimension))
            for line, kind, name, dimension, _ in lines
        }
    )
    _remark_foreign({named for *_, named in lines if named}, node, problems)


def _remark_foreign(named: set[str], node: str, problems: Diagnostics) -> None:
    """Say that lines name another node. A sample of the lines is looked at: it costs time."""
    for other in sorted(named - {node})[:MAX_FILES_NAMED]:
        problems.remark(
            f"Lines in files of {node} name the node {printable(other)}; they were counted to "
            f"{node}, which the files' names say."
        )


def _read_slowly(file: SystemFile, codes: SeriesCodes, problems: Diagnostics) -> RawRows:
    try:
        content = file.location.read_bytes(file.key)
    except PlaceError:
        raise
    except LocationError as err:
        return _unread(file, err, codes, problems)
    return _rows_of_content(file, content, codes, problems)


def _unread(
    file: SystemFile, why: LocationError, codes: SeriesCodes, problems: Diagnostics
) -> RawRows:
    reason = str(why.details.get("reason", ""))
    problems.add(
        Quality.FILES_SKIPPED, file.key, what="{n} [file|files] cannot be read", detail=reason
    )
    return _rows_of(LineReading(), codes)


def _rows_of_content(
    file: SystemFile, content: bytes, codes: SeriesCodes, problems: Diagnostics
) -> RawRows:
    parts, n_lines = [_rows_of(LineReading(), codes)], 0
    for piece in file.pieces(content, problems):
        parts.append(_rows_of_piece(file, piece, codes, problems, after_line=n_lines))
        n_lines += piece.count(b"\n")
    return join(parts)


def _rows_of_piece(
    file: SystemFile, piece: bytes, codes: SeriesCodes, problems: Diagnostics, *, after_line: int
) -> RawRows:
    read = read_typed(piece, codes)
    if read is not None:
        _remark_foreign(read[1], file.node, problems)
        return read[0]
    reading = read_lines(piece)
    for number in reading.broken_lines:
        problems.add(Quality.LINES_BROKEN, file.key, detail=f"line {after_line + number}")
    problems.add(Quality.BYTES_LOST, file.key, reading.bytes_lost)
    if reading.encoding != "UTF-8":
        problems.remark(f"This file is {reading.encoding}, not UTF-8; it was read.", path=file.key)
    _remark_foreign({sample.node for sample in reading.samples} - {""}, file.node, problems)
    rows = _rows_of(reading, codes)
    problems.add(
        Quality.LINES_BROKEN, file.key, len(reading.samples) - len(rows.code), what=_TOO_MANY
    )
    return rows


_TOO_MANY = (
    f"{{n}} [line|lines] of other metrics than the first {MAX_SERIES:,}, or of other GPUs than the "
    f"first {MAX_GPUS}, [was|were] left out"
)


def _rows_of(reading: LineReading, codes: SeriesCodes) -> RawRows:
    numbered = [(codes.code(sample.series), sample) for sample in reading.samples]
    kept = [(code, sample) for code, sample in numbered if code >= 0]
    return RawRows(
        code=np.array([code for code, _ in kept], dtype=np.int32),
        time_s=np.array([sample.time_s for _, sample in kept], dtype=np.float64),
        value=np.array([sample.value for _, sample in kept], dtype=np.float64),
    )
