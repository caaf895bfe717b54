"""Advice on a host that launches too slowly, as far as it fits the job."""

from __future__ import annotations

from collections.abc import Sequence

from reportgen.facts.host_costs import HostCosts

STACKS = """ Recorded Python functions slow the host down: record once without with_stack=True to
    see how slow it is by itself."""


def advice_on_launches(ranks: Sequence[HostCosts]) -> dict[str, str]:
    """Return the parts of the advice on a slow host, empty where they do not fit all ranks.

    ``graphs``: CUDA graphs, where none runs yet. ``optimizers``: fused ones, if the job trains.
    ``compile``: torch.compile, where no rank runs compiled code yet. ``stacks``: what the recording
    of Python functions costs, where some were recorded.
    """
    return {
        "graphs": "CUDA graphs, " * all(rank.suits_graphs for rank in ranks),
        "optimizers": "fused optimizers, " * all(rank.trains for rank in ranks),
        "compile": "torch.compile, " * (not any(rank.is_compiled for rank in ranks)),
        "stacks": STACKS * any(rank.has_stacks for rank in ranks),
    }
