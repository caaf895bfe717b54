"""A job as tables of a database, node by node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reportgen.explore.frames import framework_frame, system_frame
from reportgen.explore.traces import events_of
from reportgen.intake import read_samples
from reportgen.profile import PartRef

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_SCHEMAS = {
    "system": (
        "time TIMESTAMP, timestamp_us BIGINT, value DOUBLE, system_metric VARCHAR, "
        "dimension VARCHAR, nodeID VARCHAR, type VARCHAR"
    ),
    "framework": (
        "start_time TIMESTAMP, end_time TIMESTAMP, start_time_us BIGINT, end_time_us BIGINT, "
        "tid BIGINT, pid BIGINT, framework_metric VARCHAR, step BIGINT, bytes BIGINT, "
        "process VARCHAR, nodeID VARCHAR"
    ),
}
_INSERTS = {
    "system": (
        "INSERT INTO system SELECT make_timestamp(timestamp_us + $origin), "
        "* EXCLUDE (timestamp) FROM frame"
    ),
    "framework": (
        "INSERT INTO framework SELECT make_timestamp(start_time_us + $origin), "
        "make_timestamp(end_time_us + $origin), * EXCLUDE (start_time, end_time) FROM frame"
    ),
}


def load_tables(parts: Sequence[PartRef], path: str, *, origin_us: int) -> DuckDBPyConnection:
    """Return a database, a file or ``:memory:``, with the samples and events of some nodes.

    The frames' microseconds count from ``origin_us``.
    """
    import duckdb

    connection = duckdb.connect(path)
    for table, schema in _SCHEMAS.items():
        connection.execute(f"CREATE OR REPLACE TABLE {table} ({schema})")
    for part in parts:
        frames = {
            "system": system_frame(read_samples(part), part.node, origin_us=origin_us),
            "framework": framework_frame(events_of(part), origin_us=origin_us),
        }
        for table, frame in frames.items():
            connection.register("frame", frame)
            connection.execute(_INSERTS[table], {"origin": origin_us})
            connection.unregister("frame")
    return connection
