"""The cards that ``reportgen record`` leaves beside a job's data (docs/record.md, Files)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, TypeVar

import msgspec

from reportgen.formats.diagnostics import printable
from reportgen.recorded_job import RecordedGpu, RecordedNode, RecordedWork

Card = TypeVar("Card")

NODE_CARD = re.compile(r"recorder(?:\.[^/]+)?\.json")
RANK_CARD = re.compile(r"recorder/ranks/[^/]+\.json")
FAULTS = re.compile(r"recorder/faults/[^/]+\.jsonl")
RUN = re.compile(r"recorder/runs/[^/]+\.json")

MOST_BYTES = 1 << 20
"""A card is smaller: a larger file is something else."""


_Int = Annotated[int, msgspec.Meta(ge=-(1 << 62), le=1 << 62)]
"""A number whose difference from another one is an int64 too; recorders write no larger ones."""


class _Cost(msgspec.Struct, frozen=True):
    core_pct: float | None = None
    memory_bytes: _Int | None = None


class _Gpu(msgspec.Struct):
    index: _Int
    name: str = ""
    memory_bytes: _Int | None = None
    is_used: bool | None = None


class _Node(msgspec.Struct):
    node: str
    versions: dict[str, str | None] = {}
    interval_s: float | None = None
    n_cores: _Int | None = None
    quota_cores: float | None = None
    memory_limit_bytes: _Int | None = None
    gpus: list[_Gpu] = []
    missing: list[str] = []
    lost_ticks: _Int = 0
    own_cost: _Cost = _Cost()


class _Trace(msgspec.Struct, frozen=True):
    paused: list[tuple[_Int, _Int]] = []


class _WorkSums(msgspec.Struct, frozen=True):
    n: _Int = 0
    wall_ns: _Int = 0
    cpu_ns: _Int = 0
    queued_ns: _Int | None = None


class RankCard(msgspec.Struct):
    """The statements of a rank about itself."""

    node: str = ""
    pid: _Int | None = None
    step_source: str | None = None
    n_steps: _Int | None = None
    samples_per_step: _Int | None = None
    frameworks: dict[str, str] = {}
    keras_backend: str | None = None
    lost_events: _Int = 0
    rank: _Int | None = None
    world_size: _Int | None = None
    step_ends: list[tuple[_Int, _Int]] = []
    trace: _Trace = _Trace()
    waits: _WorkSums | None = None
    loaders: _WorkSums | None = None

    @property
    def worker(self) -> str:
        """Return the name of its process in the events."""
        return printable(f"{self.node}-{self.pid if self.rank is None else self.rank}")

    @property
    def runs_ahead(self) -> bool:
        """Return whether its steps return before their work is done: those of Keras on JAX.

        Keras on PyTorch imports JAX too; older cards do not say on which one it is.
        """
        backend = self.keras_backend
        is_jax = backend == "jax" or (
            not backend and not {"torch", "tensorflow"} & {*self.frameworks}
        )
        return is_jax and self.step_source == "trainer" and "jax" in self.frameworks

    @property
    def may_use_closures(self) -> bool:
        """Return whether the optimizer may run the passes itself, as Lightning lets it."""
        is_lightning = bool({"lightning", "pytorch_lightning"} & {*self.frameworks})
        return is_lightning and self.step_source == "trainer"

    @property
    def is_alone(self) -> bool:
        """Return whether no other process trains the same model."""
        return self.world_size == 1 or (self.world_size is None and self.rank is None)


class ProcessFault(msgspec.Struct):
    """A problem in a process, without its words."""

    kind: str = ""
    hook: str = ""
    error: str = ""


class RunCard(msgspec.Struct):
    """The statements of a ``reportgen record`` about its run."""

    is_other_job: bool = False
    exit_code: _Int | None = None


def card_of(content: bytes, kind: type[Card]) -> Card | None:
    """Return the content of a card; ``None`` when it is no card of that kind."""
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def node_card(content: bytes) -> RecordedNode | None:
    """Return the content of a node's card; ``None`` when it is no card."""
    card = card_of(content, _Node)
    if card is None:
        return None
    return RecordedNode(
        node=printable(card.node),
        n_cores=card.n_cores,
        quota_cores=card.quota_cores,
        memory_limit_bytes=card.memory_limit_bytes,
        gpus=tuple(
            RecordedGpu(
                index=gpu.index,
                name=printable(gpu.name),
                memory_bytes=gpu.memory_bytes,
                is_used=gpu.is_used,
            )
            for gpu in card.gpus
        ),
        interval_s=card.interval_s,
        missing=tuple(map(printable, card.missing)),
        lost_ticks=card.lost_ticks,
        core_pct=card.own_cost.core_pct,
        memory_bytes=card.own_cost.memory_bytes,
        versions={name: printable(value) for name, value in card.versions.items() if value},
    )


def work_of(cards: Sequence[RankCard]) -> tuple[RecordedWork, ...]:
    """Return what was done while the loops of some ranks waited, of each rank that measured it."""
    of_waits = [(False, card.waits) for card in cards]
    of_loaders = [(True, card.loaders) for card in cards]
    return tuple(
        RecordedWork(
            has_processes=has_processes,
            n=work.n,
            wall_ns=work.wall_ns,
            cpu_ns=min(max(work.cpu_ns, 0), work.wall_ns),
            queued_ns=min(max(work.queued_ns or 0, 0), work.wall_ns),
        )
        for has_processes, work in of_waits + of_loaders
        if work is not None and work.wall_ns > 0
    )


def faults_of(content: bytes) -> Sequence[ProcessFault]:
    """Return the faults of a process; broken lines are skipped."""
    lines = (card_of(line, ProcessFault) for line in content.splitlines())
    return [fault for fault in lines if fault is not None]
