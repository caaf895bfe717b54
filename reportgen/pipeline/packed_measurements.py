"""Measurements of a part, compressed until a rule asks for them: those of many ranks are large."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from reportgen.results import RuleId


class PackedMeasurements(Mapping[RuleId, Any]):
    """The measurement of each rule, unpacked whenever it is looked up.

    A measurement that cannot be pickled stays as it is.
    """

    def __init__(self, measurements: Mapping[RuleId, Any]) -> None:
        """Pack the measurements one by one."""
        self._packed = {rule: _packed(item) for rule, item in measurements.items()}

    def __getitem__(self, rule: RuleId) -> Any:
        found = self._packed[rule]
        return pickle.loads(zlib.decompress(found)) if isinstance(found, bytes) else found[0]  # noqa: S301  # we packed it

    def __contains__(self, rule: object) -> bool:
        return rule in self._packed  # Mapping's own would unpack the measurement

    def __iter__(self) -> Iterator[RuleId]:
        return iter(self._packed)

    def __len__(self) -> int:
        return len(self._packed)


def _packed(item: Any) -> bytes | tuple[Any]:
    try:
        return zlib.compress(pickle.dumps(item, protocol=pickle.HIGHEST_PROTOCOL), 1)
    except Exception:  # noqa: BLE001  # whatever a stranger's rule measured
        return (item,)
