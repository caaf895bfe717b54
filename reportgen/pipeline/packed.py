"""Measurements of a part that wait for their rule packed: those of a thousand ranks are large."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from reportgen.results import RuleId


class PackedMeasurements(Mapping[RuleId, Any]):
    """The measurement of each rule, unpacked whenever it is looked up.

    They travel as they are, so that they are compressed well on the way, together with the rest.
    A value that cannot be pickled stays as it is.
    """

    def __init__(self, pickled: Mapping[RuleId, Any]) -> None:
        """Pack measurements: bytes are pickled ones."""
        self._packed = {
            rule: zlib.compress(item, 1) if isinstance(item, bytes) else item
            for rule, item in pickled.items()
        }

    @classmethod
    def of(cls, measurements: Mapping[RuleId, Any]) -> PackedMeasurements:
        """Return the measurements of a part, packed."""
        return cls({rule: _pickled(item) for rule, item in measurements.items()})

    def __getitem__(self, rule: RuleId) -> Any:
        found = self._packed[rule]
        return pickle.loads(zlib.decompress(found)) if isinstance(found, bytes) else found  # noqa: S301  # we packed it

    def __iter__(self) -> Iterator[RuleId]:
        return iter(self._packed)

    def __len__(self) -> int:
        return len(self._packed)

    def __reduce__(self) -> tuple[type[PackedMeasurements], tuple[dict[RuleId, Any]]]:
        raw = {
            rule: zlib.decompress(item) if isinstance(item, bytes) else item
            for rule, item in self._packed.items()
        }
        return PackedMeasurements, (raw,)


def _pickled(item: Any) -> Any:
    try:
        return pickle.dumps(item, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception:  # noqa: BLE001  # whatever a stranger's rule measured
        return item
