"""Blocks of minute files as columns in a cache, so that a job that grew is not parsed anew."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import astuple
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from reportgen.cache import Cache, state_of, user_cache_folder
from reportgen.engine.software import software
from reportgen.errors import ConfigError
from reportgen.formats import Diagnostics
from reportgen.formats.columns import joined, selected
from reportgen.formats.sagemaker.minute_files import SystemFile
from reportgen.formats.sagemaker.system_lines import RawRows, SeriesCodes
from reportgen.formats.sagemaker.system_metrics import read_block
from reportgen.profile import JobProfile, Series
from reportgen.scratch import scratch_folder
from reportgen.storage import is_remote, settings_to_send

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


logger = logging.getLogger(__name__)

OFF = "off"
WORTH_BYTES = 200 << 20
"""Measured: less data are read as fast as they are looked up."""


def cache_for(wanted: str | None, job: JobProfile) -> Cache | None:
    """Return the cache that was asked for; without a word the user's own, for a large job.

    Raises:
        ConfigError: the one that was asked for cannot be used.
    """
    if wanted == OFF:
        return None
    if wanted is not None:
        if is_remote(wanted):
            raise ConfigError(
                "The cache is a folder of this machine.", hint="Write --cache DIR or --cache off."
            )
        return Cache(Path(wanted).expanduser())
    if sum(file.size_bytes for part in job.parts for file in part.files) < WORTH_BYTES:
        return None
    try:
        return Cache(user_cache_folder())
    except (ConfigError, RuntimeError) as err:  # no home
        logger.debug("no cache: %s", err)
        return None


class KeptBlocks:
    """Reads blocks as ``read_block`` does, those that were read before from the cache.

    Only blocks without any trouble are kept: remarks on a file need the file.
    """

    def __init__(self, connection: DuckDBPyConnection, cache: Cache) -> None:
        self._connection = connection
        self._cache = cache

    def __call__(
        self, files: Sequence[SystemFile], codes: SeriesCodes, problems: Diagnostics
    ) -> list[RawRows]:
        """Return the lines of some readable minute files; see ``read_block``."""
        key = _key(files)
        found = self._find(key, codes) if key else None
        if found is not None:
            return found
        told = Diagnostics()
        rows = read_block(self._connection, files, codes, told)
        problems.merge(told)
        if key and not told.notes() and _key(files) == key:
            self._keep(key, rows, codes)
        return rows

    def _find(self, key: str, codes: SeriesCodes) -> list[RawRows] | None:
        import duckdb

        path = self._cache.path(key)
        if path is None:
            return None
        try:
            about = self._connection.execute(
                "SELECT decode(value) FROM parquet_kv_metadata(?) WHERE decode(key) = 'about'",
                [str(path)],
            ).fetchone()
            columns = self._connection.execute(
                "SELECT code, time_s, value FROM read_parquet(?)", [str(path)]
            ).fetchnumpy()
        except duckdb.Error:  # another run made room
            return None
        assert about is not None
        told = json.loads(about[0])
        series = [Series(*item) for item in told["series"]]
        code_of = np.array([codes.code(item) for item in series], dtype=np.int32)
        if (code_of < 0).any():
            return None
        code = code_of[columns["code"]]
        rows = RawRows(code=code, time_s=columns["time_s"], value=columns["value"])
        ends = [0, *accumulate(told["n_lines"])]
        return [selected(rows, slice(start, end)) for start, end in pairwise(ends)]

    def _keep(self, key: str, rows: Sequence[RawRows], codes: SeriesCodes) -> None:
        import duckdb

        whole = joined(rows)
        known = np.unique(whole.code)
        code = np.searchsorted(known, whole.code).astype(np.uint16)
        block = {"code": code, "time_s": whole.time_s, "value": whole.value}
        about = json.dumps(
            {
                "series": [astuple(codes.series[number]) for number in known.tolist()],
                "n_lines": [len(part.code) for part in rows],
            }
        ).replace("'", "''")
        assert block  # DuckDB finds it by its name
        try:
            with scratch_folder() as folder:
                path = folder / "block.parquet"
                self._connection.execute(
                    f"COPY (SELECT * FROM block) TO '{path}' "  # noqa: S608  # our own path and text
                    f"(FORMAT parquet, COMPRESSION snappy, KV_METADATA {{about: '{about}'}})"
                )
                self._cache.put(key, path.read_bytes())
        except (duckdb.Error, OSError):
            return


def _key(files: Sequence[SystemFile]) -> str:
    """Return the identity of a block's files and of our source; empty where it may change yet."""
    location = files[0].location
    if is_remote(location.root):
        is_known = all(file.version for file in files)
        changed = {file.key for file in files} & set(location.changed()) if is_known else ()
        tags = [(file.key, file.size_bytes, file.version) for file in files]
        said = f"columns {software()} {location.root} {settings_to_send()} {tags}"
        return said if is_known and not changed else ""
    paths = [location.local_path(file.key) for file in files]
    states = [
        path and state_of(path, file.size_bytes) for path, file in zip(paths, files, strict=True)
    ]
    return f"columns {software()} {states}" if all(states) else ""
