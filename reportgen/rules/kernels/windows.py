"""Names from before ``facts.device_busy`` had them."""

from __future__ import annotations

from reportgen.facts.device_busy import (
    Window,
    WindowKind,
    headline,
    launch_end_ns,
    launch_start_ns,
    own_clock_ns,
    windows_of,
)

__all__ = [
    "Window",
    "WindowKind",
    "headline",
    "launch_end_ns",
    "launch_start_ns",
    "own_clock_ns",
    "windows_of",
]
