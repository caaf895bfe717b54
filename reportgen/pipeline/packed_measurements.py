"""Measurements of a part that wait for their rule packed: those of a thousand ranks are large."""

from __future__ import annotations

import copyreg
import pickle
import zlib
from collections.abc import Iterable, Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reportgen.byte_planes import differences, from_planes, in_planes, summed
from reportgen.results import RuleId
from reportgen.results.model import PackedColumn
from reportgen.results.packed_columns import as_text, numbers_of

_SCALES = (1, 10, 100, 1_000, 10_000, 1_000_000, 1_000_000_000)
_ABSENT = -(1 << 53)


class PackedMeasurements(Mapping[RuleId, Any]):
    """The measurement of each rule, unpacked whenever it is looked up.

    They travel as they are, so that they are compressed well on the way, together with the rest.
    A value that cannot be pickled stays as it is. Those of many parts lie in files meanwhile; other
    processes of this machine are sent the path.
    """

    def __init__(self, packed: Mapping[RuleId, Any], *, file: Path | None = None) -> None:
        """``packed``: bytes are compressed pickles; where there is a file, they are in it."""
        self._packed = packed
        self.file = file

    @property
    def packed(self) -> Mapping[RuleId, Any]:
        """Return the measurements as they wait."""
        return self._packed if self.file is None else _read(self.file)

    def aside(self, file: Path) -> PackedMeasurements:
        """Return the same measurements, written to a file and read from it.

        Raises:
            Exception: one cannot be pickled, or the file cannot be written.
        """
        if self.file is not None:
            return self
        file.write_bytes(pickle.dumps(self._packed, protocol=pickle.HIGHEST_PROTOCOL))
        return _lying_in(file)

    @classmethod
    def of(cls, measurements: Mapping[RuleId, Any]) -> PackedMeasurements:
        """Return the measurements of a part, packed one by one."""
        return _compressed((rule, _pickled(item)) for rule, item in measurements.items())

    def __getitem__(self, rule: RuleId) -> Any:
        found = self.packed[rule]
        return pickle.loads(zlib.decompress(found)) if isinstance(found, bytes) else found  # noqa: S301  # we packed it

    def __contains__(self, rule: object) -> bool:
        return rule in self.packed  # Mapping's own would unpack the measurement

    def __iter__(self) -> Iterator[RuleId]:
        return iter(self.packed)

    def __len__(self) -> int:
        return len(self.packed)

    def __reduce__(self) -> tuple[Any, ...]:
        if self.file is not None:
            return _lying_in, (self.file,)
        raw = (
            (rule, zlib.decompress(item) if isinstance(item, bytes) else item)
            for rule, item in self.packed.items()
        )
        return _compressed, (tuple(raw),)


def _lying_in(file: Path) -> PackedMeasurements:
    return PackedMeasurements({}, file=file)


def _read(file: Path) -> Mapping[RuleId, Any]:
    found: Mapping[RuleId, Any] = pickle.loads(file.read_bytes())  # noqa: S301  # we wrote it
    return found


def _compressed(pickled: Iterable[tuple[RuleId, Any]]) -> PackedMeasurements:
    """Return pickled measurements, each compressed."""
    return PackedMeasurements(
        {
            rule: zlib.compress(item, 1) if isinstance(item, bytes) else item
            for rule, item in pickled
        }
    )


def _pickled(item: Any) -> Any:
    try:
        with BytesIO() as file:
            _Pickler(file, protocol=pickle.HIGHEST_PROTOCOL).dump(item)
            return file.getvalue()
    except Exception:  # noqa: BLE001  # whatever a stranger's rule measured
        return item


def _taken_apart(values: NDArray[Any]) -> Any:
    """Return how to pickle numbers: whole or with few decimals, so that they compress well.

    These become whole numbers, those of clocks their differences, all divided by what divides all:
    most times are whole microseconds. Bytes of one weight lie together.
    """
    scale, whole = _scaled(values) if values.dtype == np.float64 else (0, values)
    if whole.dtype.kind not in "iu" or whole.ndim == 0 or not whole.dtype.isnative:
        return values.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
    steps = differences(whole)
    is_clock = bool(np.abs(steps[1:]).max(initial=0) < np.abs(whole).max(initial=0) // 8)
    sent = steps if is_clock else whole
    factor = int(np.gcd.reduce(sent, axis=None, initial=0)) or 1
    planes = in_planes(sent // sent.dtype.type(factor))
    return _put_together, (planes, whole.dtype.str, whole.shape, is_clock, factor, scale)


def _put_together(
    planes: bytes, kind: str, shape: tuple[int, ...], is_clock: bool, factor: int, scale: int
) -> NDArray[Any]:
    """Return the array that was taken apart."""
    whole = from_planes(planes, kind).reshape(shape)
    whole *= whole.dtype.type(factor)
    whole = summed(whole) if is_clock else whole
    return _divided(whole, scale) if scale else whole


def _scaled(values: NDArray[np.float64]) -> tuple[int, NDArray[Any]]:
    """Return a power of ten and whole numbers; divided by it they are the values, bit by bit."""
    is_there = ~np.isnan(values)
    for scale in _SCALES:
        with np.errstate(invalid="ignore", over="ignore"):
            whole = np.where(is_there, np.rint(values * scale), _ABSENT).astype(np.int64)
        if np.array_equal(_divided(whole, scale).view(np.int64), values.view(np.int64)):
            return scale, whole
    return 0, values


def _divided(whole: NDArray[np.int64], scale: int) -> NDArray[np.float64]:
    return np.where(whole == _ABSENT, np.nan, whole / scale)


def _unpacked(column: PackedColumn) -> Any:
    """Return how to pickle a column: packed data do not compress again."""
    return _packed_again, (column.name, column.unit, numbers_of(column))


def _packed_again(name: str, unit: str, numbers: NDArray[np.int64]) -> PackedColumn:
    return PackedColumn(name=name, unit=unit, packed=as_text(numbers))


class _Pickler(pickle.Pickler):
    dispatch_table = {  # noqa: RUF012  # read only
        **copyreg.dispatch_table,
        np.ndarray: _taken_apart,
        PackedColumn: _unpacked,
    }
