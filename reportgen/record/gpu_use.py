"""Owners of GPUs: which ones the job's ranks use, and whether other jobs use them too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from reportgen.record.folder import NodeFolder, process_stat, read_json
from reportgen.record.nvidia import NvidiaGpus
from reportgen.record.readings import Reading

_MOST_ANCESTORS = 64


class GpuUse:
    """Looks from time to time at the cards of the node's ranks and at the processes on GPUs."""

    def __init__(self, recording: NodeFolder, gpus: NvidiaGpus, command_pid: int) -> None:
        self._ranks = recording.root / "recorder" / "ranks"
        self._runs = recording.root / "recorder" / "runs"
        self._node = recording.node
        self._gpus = gpus
        self._command_pid = command_pid
        self._used: set[str] = set()
        self.driver = gpus.driver

    def look(self) -> list[Reading]:
        """Return how many processes of others are on each of the job's GPUs.

        Nothing is returned where that cannot be judged: inside a container the driver counts
        processes by numbers that mean nothing there, and then none of them is one of ours.
        """
        cards = list(self._cards())
        for card in cards:
            self._used.update(uuid for uuid in card.get("gpu_uuids") or () if isinstance(uuid, str))
        if not self._used:
            return []
        running = self._gpus.processes()
        ours = self._own_pids(cards)
        is_ours = {pid: _descends(pid, ours) for pids in running.values() for pid in pids}
        if not any(is_ours.values()):
            return []
        others = {
            index: {pid for pid in pids if not is_ours[pid]} for index, pids in running.items()
        }
        return [
            Reading("gpu", f"gpu{gpu.index}", "GPUOtherProcesses", len(others[gpu.index]))
            for gpu in self._gpus.gpus
            if gpu.uuid in self._used and gpu.index in others
        ]

    def cards(self) -> list[Mapping[str, object]]:
        """Return each GPU's entry in ``recorder.json``; ``is_used`` is ``None`` while unknown."""
        return [
            {
                "index": gpu.index,
                "name": gpu.name,
                "memory_bytes": gpu.memory_bytes,
                "is_used": gpu.uuid in self._used if self._used else None,
            }
            for gpu in self._gpus.gpus
        ]

    def _cards(self) -> Iterator[Mapping[str, Any]]:
        with suppress(OSError):
            for path in sorted(self._ranks.glob("*.json")):
                card = read_json(path)
                if card.get("node") == self._node:
                    yield card

    def _own_pids(self, cards: Sequence[Mapping[str, Any]]) -> set[int]:
        """Return processes whose descendants are the job's: ranks, and recorders of this node."""
        runs = [read_json(path) for path in sorted(self._runs.glob(f"{self._node}-*.json"))]
        known = [entry.get("pid") for entry in (*cards, *runs)]
        return {self._command_pid, *(pid for pid in known if isinstance(pid, int))}


def _descends(pid: int, ancestors: set[int]) -> bool:
    for _ in range(_MOST_ANCESTORS):
        if pid in ancestors:
            return True
        stat = process_stat(pid)
        pid = int(stat[1]) if stat else 0
        if pid <= 1:
            return False
    return False
