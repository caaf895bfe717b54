"""Names from before ``facts.device_busy`` had them."""

from __future__ import annotations

from reportgen.facts.device_busy import (
    DeviceTime,
    DeviceUnions,
    communication_rows,
    time_in,
    unions_of,
)

__all__ = [
    "DeviceTime",
    "DeviceUnions",
    "communication_rows",
    "time_in",
    "unions_of",
]
