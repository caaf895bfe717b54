"""What the GPUs did as shares: active or idle, the exclusive parts, overlap, durations."""

from __future__ import annotations

from collections.abc import Sequence

from reportgen.results import Exhibit
from reportgen.rules.kernels.device_time import DeviceTime
from reportgen.rules.kernels.saying import pct_of, say_ns, say_window
from reportgen.rules.kernels.time_shares import time_shares
from reportgen.units import say_pct

ACTIVE, SPLIT, OVERLAP, SUMS = "active_time", "activity_split", "overlap", "activity_sums"


def split_ns(rows: Sequence[DeviceTime]) -> dict[str, int]:
    """Return the exclusive parts of the windows, added up over devices; they fill the windows."""
    return {
        "compute": sum(row.compute_ns - row.overlap_ns for row in rows),
        "compute with communication": sum(row.overlap_ns for row in rows),
        "exposed communication": sum(row.exposed_communication_ns for row in rows),
        "memory operations": sum(row.busy_ns - row.kernel_ns for row in rows),
        "idle": sum(row.idle_ns for row in rows),
    }


def active_time(rows: Sequence[DeviceTime]) -> Exhibit:
    """Return active against idle time, by both of its definitions."""
    window_ns = sum(row.window.length_ns for row in rows)
    kernel_pct = pct_of(sum(row.kernel_ns for row in rows), window_ns)
    return time_shares(
        ACTIVE,
        {"active": sum(row.busy_ns for row in rows), "idle": sum(row.idle_ns for row in rows)},
        title="GPU active time",
        caption=(
            f"Shares of {window_of(rows)}. Active: a kernel, copy or memset runs. Kernels alone "
            f"run {say_pct(kernel_pct)} of it, which is what nvidia-smi calls GPU-Util."
        ),
    )


def activity_split(rows: Sequence[DeviceTime]) -> Exhibit:
    """Return the parts that exclude each other."""
    return time_shares(
        SPLIT,
        split_ns(rows),
        title="What the GPUs did",
        caption=(
            f"Shares of {window_of(rows)}. Every moment is in one part; memory operations are "
            "copies and memsets while no kernel ran."
        ),
    )


def overlap(rows: Sequence[DeviceTime]) -> tuple[Exhibit, ...]:
    """Return how much of communication hides behind compute; nothing without communication."""
    hidden_ns = sum(row.overlap_ns for row in rows)
    exposed_ns = sum(row.exposed_communication_ns for row in rows)
    communication_ns = hidden_ns + exposed_ns
    if communication_ns <= 0:
        return ()
    share_pct = pct_of(communication_ns, sum(row.window.length_ns for row in rows))
    return (
        time_shares(
            OVERLAP,
            {"communication behind compute": hidden_ns, "exposed communication": exposed_ns},
            title="Overlap of communication and compute",
            caption=(
                f"Shares of the {say_ns(communication_ns)} in which communication kernels ran, "
                f"{say_pct(share_pct)} of {window_of(rows)}."
            ),
        ),
    )


def sums_of(*, kernels_ns: int, memory_ns: int, synchronization_ns: int) -> Exhibit:
    """Return durations added up, as SageMaker Profiler divides the activity."""
    return time_shares(
        SUMS,
        {
            "kernels": kernels_ns,
            "memory operations": memory_ns,
            "synchronization": synchronization_ns,
        },
        title="Durations of kernels, memory operations and synchronization",
        caption=(
            "Durations added up over the whole trace, also where they ran at the same time; "
            "synchronization is the host's waiting calls and the waits that devices recorded."
        ),
    )


def window_of(rows: Sequence[DeviceTime]) -> str:
    """Name the windows of some rows and their lengths."""
    return say_window([row.window for row in rows])
