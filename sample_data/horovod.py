"""A timeline as Horovod's coordinator writes it, from a few readable numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

CLOCK_US = 77_567_277_433
"""Where a machine's clock stands when the timeline begins: about 21 hours."""

Ready = tuple[str, Mapping[int, int]]
"""A tensor, and by rank when it was ready for it, in µs after the clock's start."""


def negotiation_lines(
    negotiations: Sequence[Ready], *, clock_us: int = CLOCK_US, tick_dur_us: int = 0
) -> list[str]:
    """Return a timeline's lines: each negotiation, and 100 µs of ALLREDUCE behind it."""
    tensors = list(dict.fromkeys(tensor for tensor, _ in negotiations))
    events: list[dict[str, Any]] = [{"ph": "i", "name": "CYCLE_START", "ts": clock_us, "s": "g"}]
    for number, tensor in enumerate(tensors, start=1):
        args = {"name": tensor}
        events.append({"name": "process_name", "ph": "M", "pid": number, "args": args})
    for tensor, ready in negotiations:
        pid = tensors.index(tensor) + 1
        times_us = [clock_us + at_us for at_us in ready.values()]
        begin_us, end_us = min(times_us), max(times_us) + 2
        events.append({"ph": "B", "name": "NEGOTIATE_ALLREDUCE", "ts": begin_us, "pid": pid})
        for rank, at_us in sorted(ready.items(), key=lambda item: item[1]):
            tick = {"ph": "X", "name": str(rank), "ts": clock_us + at_us, "pid": pid}
            events.append(tick | {"dur": tick_dur_us})
        events.append({"ph": "E", "ts": end_us, "pid": pid})
        events.append({"ph": "B", "name": "ALLREDUCE", "ts": end_us, "pid": pid})
        events.append({"ph": "E", "ts": end_us + 100, "pid": pid})
    return [json.dumps(event) for event in events]


def horovod_bytes(lines: Sequence[str]) -> bytes:
    """Return the file as Horovod leaves it: an array that is never closed."""
    return ("[\n" + "".join(f"{line},\n" for line in lines)).encode()


def late_rank(
    n_negotiations: int, *, late: int = 2, n_ranks: int = 4, late_us: int = 4_000
) -> list[Ready]:
    """Return negotiations, one each 10 ms, in which one rank is always last."""
    return [
        (
            f"grad_{number % 5}",
            {
                rank: number * 10_000 + (late_us if rank == late else 10 * rank)
                for rank in range(n_ranks)
            },
        )
        for number in range(n_negotiations)
    ]
