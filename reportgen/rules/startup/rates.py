"""Network and disk rates before the first step against those of the loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.facts.activity import training_loop_ns
from reportgen.facts.samples import sum_over
from reportgen.profile import NodeProfile, SeriesKind
from reportgen.profile.system import Floats
from reportgen.results import Exhibit, ExhibitKind, exhibit
from reportgen.units import say_bytes

EXHIBIT = "startup_rates"
QUIET_BYTES_PER_S = 1_000_000
"""Below one megabyte a second nothing is copied that could explain a wait. Source: ours."""

_KINDS: Mapping[str, tuple[SeriesKind, ...]] = {
    "received": (SeriesKind.RECEIVE_ALGORITHM, SeriesKind.RECEIVE_PLATFORM),
    "sent": (SeriesKind.TRANSMIT_ALGORITHM, SeriesKind.TRANSMIT_PLATFORM),
    "read from disk": (SeriesKind.READ_RATE,),
    "written to disk": (SeriesKind.WRITE_RATE,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """One rate of one node in bytes/s; ``loop_mean`` is ``None`` without a sample in the loop."""

    node: str
    what: str
    mean: float
    highest: float
    loop_mean: float | None
    n_samples: int


def startup_rates(part: NodeProfile) -> tuple[Rate, ...]:
    """Return the rates of one node before its first step, those that were sampled then."""
    loop_ns = training_loop_ns(part.spans)
    if loop_ns is None:
        return ()
    tick_ns = part.system.tick_ns
    is_before = tick_ns < loop_ns[0]
    is_in_loop = ~is_before & (tick_ns <= loop_ns[1])
    found = []
    for what, kinds in _KINDS.items():
        rate = sum_over(np.hstack([part.system.matrix(kind) for kind in kinds]))
        before, inside = _known(rate[is_before]), _known(rate[is_in_loop])
        if before.size:
            found.append(
                Rate(
                    node=part.node,
                    what=what,
                    mean=float(before.mean()),
                    highest=float(before.max()),
                    loop_mean=float(inside.mean()) if inside.size else None,
                    n_samples=int(before.size),
                )
            )
    return tuple(found)


def rates_exhibit(rates: Sequence[Rate]) -> tuple[Exhibit, ...]:
    """Return the table of all rates; nothing where none was sampled."""
    if not rates:
        return ()
    return (
        exhibit(
            EXHIBIT,
            ExhibitKind.TABLE,
            title="Network and disks before the first step",
            caption=(
                "Means over the samples before the node's first step, and over its training loop. "
                "Received and sent add up the container's and the platform's network."
            ),
            columns=[
                ("node", "", [rate.node for rate in rates]),
                ("what", "", [rate.what for rate in rates]),
                ("mean", "bytes/s", [round(rate.mean, 1) for rate in rates]),
                ("highest", "bytes/s", [round(rate.highest, 1) for rate in rates]),
                (
                    "loop_mean",
                    "bytes/s",
                    [None if r.loop_mean is None else round(r.loop_mean, 1) for r in rates],
                ),
                ("samples", "", [rate.n_samples for rate in rates]),
            ],
        ),
    )


def say_rates(rates: Sequence[Rate]) -> str:
    """Say what the busiest node received and read meanwhile; empty where nothing was sampled."""
    incoming = [rate for rate in rates if rate.what in ("received", "read from disk")]
    if not incoming:
        return ""
    busiest = max(incoming, key=lambda rate: (rate.mean, rate.node))
    if busiest.mean < QUIET_BYTES_PER_S:
        return (
            "Meanwhile network and disks were nearly quiet (at most "
            f"{say_bytes(busiest.mean)}/s on average): the time went into something else, such "
            "as imports, compilation or the start of processes."
        )
    told = [
        f"{rate.what} {say_bytes(rate.mean)}/s (at most {say_bytes(rate.highest)}/s)"
        for rate in incoming
        if rate.node == busiest.node
    ]
    return f"Meanwhile on {busiest.node} on average: {', '.join(told)}."


def _known(values: Floats) -> Floats:
    return values[np.isfinite(values)]
