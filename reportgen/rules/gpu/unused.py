"""GPUs that the job does not use: which they are, and what to do about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reportgen.rules.bottlenecks.host_load import UNTOUCHED_PCT
from reportgen.rules.saying.wording import say_of, say_places, say_some


@dataclass(frozen=True, slots=True, kw_only=True)
class Unused:
    """The GPUs that the job does not use, with their nodes, and how many it has.

    ``nodes`` are those of which it uses no GPU at all.
    """

    places: tuple[tuple[str, str], ...]
    n_gpus: int
    nodes: tuple[str, ...]

    @classmethod
    def among(cls, gpus: Sequence[tuple[str, str, float]], *, idle_below: float) -> Unused:
        """Return those of (node, GPU, largest use) that never reach ``idle_below``.

        Where no GPU does, those that run nothing at all.
        """
        limit = idle_below if any(most >= idle_below for *_, most in gpus) else UNTOUCHED_PCT
        unused = [(node, gpu) for node, gpu, most in gpus if most < limit]
        used_nodes = {node for node, gpu, _ in gpus if (node, gpu) not in unused}
        return cls(
            places=tuple(unused),
            n_gpus=len(gpus),
            nodes=tuple(dict.fromkeys(node for node, _ in unused if node not in used_nodes)),
        )

    @property
    def is_all(self) -> bool:
        """Return whether the job uses none of its GPUs."""
        return bool(self.places) and len(self.places) == self.n_gpus

    @property
    def title(self) -> str:
        """Say which they are; empty without any."""
        if not self.places:
            return ""
        if self.is_all and self.n_gpus > 1:
            return f"None of {self.n_gpus:,} GPUs is ever used: {say_places(self.places)}"
        which = say_of(len(self.places), self.n_gpus, "GPU")
        verb = "is" if len(self.places) == 1 else "are"
        return f"{which[0].upper()}{which[1:]} {verb} never used: {say_places(self.places)}"

    @property
    def advice(self) -> str:
        """Say what to do about them; empty without any."""
        if not self.places:
            return ""
        if self.is_all:
            return (
                "Check that model and batches are moved to the GPU and that the framework is built "
                "for it; a job that needs none is cheaper on an instance without."
            )
        if self.nodes:
            return (
                f"See whether the processes on {say_some(self.nodes)} run and joined the others; "
                "start them, or take fewer nodes."
            )
        return (
            "Start one process per GPU (torchrun, DistributedDataParallel), or take an instance "
            "with fewer GPUs."
        )
