"""Earlier measurements of parts whose files have not changed since."""

from __future__ import annotations

import gzip
import logging
import pickle
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

from reportgen.cache import Cache, state_of
from reportgen.engine.software import software
from reportgen.intake.open_part import SAY_CHANGED
from reportgen.pipeline.packed_measurements import PackedMeasurements
from reportgen.pipeline.work import Measured, StagedAt
from reportgen.profile import NodeId, PartRef, Quality
from reportgen.rules.base import AnyRule
from reportgen.storage import is_remote, settings_to_send

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Measurements of parts by everything they depend on: files, rules, parameters, software.

    Attributes:
        cache: where they lie; ``None`` remembers nothing.
        rules, params, modules: what measures, and the modules of rules that are not ours.
        lanes: where lanes are staged, as they are kept with the measurements.
        later: packs and writes the last part that is kept, which takes 0.4 s of a large trace.
    """

    cache: Cache | None
    rules: Sequence[AnyRule]
    params: Mapping[Any, Any]
    modules: tuple[str, ...]
    lanes: StagedAt | None
    later: ThreadPoolExecutor | None = None

    def keys(self, parts: Iterable[PartRef]) -> Mapping[NodeId, str]:
        """Return the key of each part that may be remembered."""
        if self.cache is None:
            return {}
        names = [rule.id for rule in self.rules]
        common = (
            f"{software(self.modules)} {names} {self.params} {self.lanes and self.lanes.n_parts}"
        )
        found = {part.node: _identity(part) for part in parts}
        return {node: f"{common} {text}" for node, text in found.items() if text}

    def recall(self, keys: Mapping[NodeId, str]) -> Mapping[NodeId, Measured]:
        """Return the parts that were measured before."""
        found = {}
        for node, key in keys.items():
            content = None if self.cache is None else self.cache.get(key)
            if content is not None:
                try:
                    found[node] = pickle.loads(gzip.decompress(content))  # noqa: S301  # we wrote it, in a folder that is ours alone
                except Exception as err:  # noqa: BLE001  # whatever it is, it is measured again
                    logger.debug("cache: %s", err)
        return found

    def keep(
        self, parts: Sequence[Measured], refs: Sequence[PartRef], keys: Mapping[NodeId, str]
    ) -> None:
        """Remember what was measured, unless the files changed meanwhile or could not be read."""
        if self.cache is None:
            return
        now = self.keys(refs)
        by_node = {ref.node: ref for ref in refs}
        for part in parts:
            key = keys.get(part.node)
            if key is None or now.get(part.node) != key or _is_doubtful(part):
                continue
            files = part.lane_files
            if self.lanes is not None and not files:
                files = _files_of(self.lanes.of(by_node[part.node]))
            here = PackedMeasurements(part.measurements.packed)
            put = partial(_put, self.cache, key, replace(part, lane_files=files, measurements=here))
            if self.later is not None and part is parts[-1]:
                self.later.submit(put)
            else:
                put()


def _put(cache: Cache, key: str, part: Measured) -> None:
    packed = BytesIO()
    with gzip.GzipFile(mode="wb", fileobj=packed, compresslevel=1, mtime=0) as file:
        pickle.dump(part, file, protocol=pickle.HIGHEST_PROTOCOL)
    cache.put(key, packed.getvalue())


def _is_doubtful(part: Measured) -> bool:
    """Return whether files were skipped, or newer than listed: the next run may see others."""
    return any(
        note.counts.get(Quality.FILES_SKIPPED) or note.text == SAY_CHANGED for note in part.notes
    )


def _files_of(folder: Path) -> Mapping[str, bytes]:
    if not folder.is_dir():
        return {}
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def _identity(part: PartRef) -> str:
    """Return the identity of a part and of its files' content; empty where that may yet change."""
    if is_remote(part.root):
        is_known = all(file.version for file in part.files)
        return f"{part} {settings_to_send()}" if is_known else ""
    states = [state_of(f"{part.root}/{file.key}", file.size_bytes) for file in part.files]
    if not all(states):
        return ""
    return f"{replace(part, root='')} {states}"
