"""The text around the events of a kernel trace: an allow-list, never the rest.

Traces carry environment variables, user and host names and command lines between the keys that
are read here, so keys are looked up one by one and nothing else is decoded.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from reportgen.formats.diagnostics import printable
from reportgen.formats.format import TraceHeader
from reportgen.profile import Device

_DECODER = json.JSONDecoder(strict=False)
_VERSIONS = {
    "cuda_runtime_version": "cuda_runtime",
    "cuda_driver_version": "cuda_driver",
    "cupti_version": "cupti",
    "hip_runtime_version": "hip_runtime",
    "hip_driver_version": "hip_driver",
    "roctracer_version": "roctracer",
}
_VERSION = re.compile(r"\d[\w.+-]{0,40}")
_MAX_TEXT = 80
_MAX_DEVICES = 1024
_MAX_VALUES = 16
"""If a key is repeated more often, only its last values are looked at. The very last one counts."""

_MAX_NUMBER, _MAX_VERSION = 2**53, 1000


def read_header(parts: Sequence[bytes]) -> TraceHeader:
    """Read the text around the events; a key that occurs twice has its last value.

    Edge cases: values that cannot be read are left out; a text broken off anywhere is fine.
    """
    text = b"\n".join(parts).decode("utf-8", "replace")
    distributed = _object(_values(text, "distributedInfo"))
    versions = {name: _values(text, key)[-1:] for key, name in _VERSIONS.items()}
    versions["nccl"] = [distributed.get("nccl_version")]
    return TraceHeader(
        rank=_whole(distributed.get("rank")),
        world_size=_whole(distributed.get("world_size")),
        base_ns=_whole(_last(_values(text, "baseTimeNanoseconds")), most=2**63),
        devices=tuple(_devices(_last(_values(text, "deviceProperties")))),
        versions={
            name: str(value[0])
            for name, value in versions.items()
            if value and _VERSION.fullmatch(str(value[0]))
        },
    )


def _values(text: str, key: str) -> list[Any]:
    found = []
    for match in deque(re.finditer(rf'"{key}"\s*+:\s*+', text), _MAX_VALUES):
        try:
            found.append(_DECODER.raw_decode(text, match.end())[0])
        except (ValueError, RecursionError):
            continue
    return found


def _last(values: Sequence[Any]) -> Any:
    return values[-1] if values else None


def _object(values: Sequence[Any]) -> dict[str, Any]:
    return next((value for value in reversed(values) if isinstance(value, dict)), {})


def _devices(value: Any) -> list[Device]:
    found: dict[int, Device] = {}
    for item in value[:_MAX_DEVICES] if isinstance(value, list) else []:
        number = _whole(item.get("id")) if isinstance(item, dict) else None
        if number is not None:
            found[number] = _device(number, item)
    return [found[number] for number in sorted(found)]


def _device(number: int, item: Mapping[str, Any]) -> Device:
    major, minor = (
        _whole(item.get(key), most=_MAX_VERSION) for key in ("computeMajor", "computeMinor")
    )
    units = _whole(item.get("numSms")) or _whole(item.get("maxComputeUnits"))
    return Device(
        id=number,
        name=printable(str(item.get("name") or f"GPU {number}"))[:_MAX_TEXT],
        compute_capability=None if major is None or minor is None else f"{major}.{minor}",
        multiprocessors=units,
    )


def _whole(value: Any, *, most: int = _MAX_NUMBER) -> int | None:
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 20:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < most else None
