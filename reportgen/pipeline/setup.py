"""Hardware and software of a job: its GPUs and ranks, from samples, traces and the recorder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from reportgen.profile import NodeProfile, RankTrace, SeriesKind
from reportgen.recorded_job import Recording
from reportgen.report import Setup

_NAMED = frozenset({"driver", "python"})
"""Keys of a node's card for the software that a job runs on."""


def setup_of_part(part: NodeProfile | RankTrace) -> Setup:
    """Return the setup of one node or rank."""
    if isinstance(part, RankTrace):
        return Setup(
            gpu_names=_distinct(device.name for device in part.devices),
            n_gpus=int(np.unique(part.gpu_ops.device).size) or None,
            n_ranks=part.world_size,
            versions=part.versions,
        )
    gpus = part.recorded.gpus if part.recorded is not None else ()
    steps = part.spans.steps()
    return Setup(
        gpu_names=_distinct(gpu.name for gpu in gpus),
        n_gpus=len(part.system.names(SeriesKind.GPU_UTILIZATION)) or None,
        n_ranks=int(np.unique(steps.worker).size) or None,
    )


def setup_of_job(parts: Sequence[Setup], recording: Recording | None, *, is_traced: bool) -> Setup:
    """Return the common setup of a job's parts.

    Each trace says how many ranks the job has; of nodes, those that made steps are added up.
    """
    ranks = [part.n_ranks for part in parts if part.n_ranks]
    n_gpus = sum(part.n_gpus or 0 for part in parts)
    versions = {name: text for part in parts for name, text in part.versions.items()}
    if recording is not None:
        for node in recording.nodes:
            versions |= {name: node.versions[name] for name in _NAMED & set(node.versions)}
        versions |= recording.frameworks
    return Setup(
        gpu_names=_distinct(name for part in parts for name in part.gpu_names),
        n_gpus=n_gpus or None,
        n_ranks=(max(ranks) if is_traced else sum(ranks)) if ranks else None,
        batch_size=recording.batch_size if recording is not None else None,
        versions=dict(sorted(versions.items())),
    )


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({name for name in names if name}))
