"""The node's sampler: a thread of the recorder that takes a tick at each interval."""

from __future__ import annotations

import resource
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from reportgen.record.folder import NodeFolder, SamplerLock, replace_json
from reportgen.record.gpu_use import GpuUse
from reportgen.record.job_cpu import JobCpu
from reportgen.record.limits import ResourceLimits, read_limits
from reportgen.record.nvidia import open_gpus
from reportgen.record.readings import LineWriter, MinuteFiles, Reading, Source

_SECOND_NS = 1_000_000_000
_CARD_EVERY_NS = 60 * _SECOND_NS
_LOOK_EVERY_NS = 10 * _SECOND_NS
"""How often slow things are looked at: which GPUs the ranks use, and who else is on them."""


class Sampler:
    """Samples a node while no other recorder does, until it is stopped."""

    def __init__(
        self, recording: NodeFolder, *, every_s: float, command_pid: int, version: str
    ) -> None:
        """Prepare; nothing is loaded before the thread runs.

        Args:
            recording: where the samples go.
            every_s: the interval.
            command_pid: the command, whose processes are not foreign ones.
            version: of this package, for ``recorder.json``.
        """
        self._recording = recording
        self._every_ns = round(every_s * 1e9)
        self._command_pid = command_pid
        self._version = version
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="reportgen sampler", daemon=True)
        self._files = MinuteFiles(recording.root, recording.node)
        self._lines = LineWriter(recording.node)
        self._missing: list[str] = []
        self._sources: list[Source] = []
        self._gpu_use: GpuUse | None = None
        self._own_ns = 0
        self._n_ticks = 0

    def start(self) -> None:
        """Begin to sample."""
        self._thread.start()

    def stop(self, timeout_s: float) -> None:
        """Take no more ticks; a driver that hangs is not waited for."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    @property
    def losses(self) -> list[str]:
        """Return the metrics that could not be recorded, one phrase each."""
        lost = list(self._missing)
        if self._files.n_lost_ticks:
            lost.append(f"{self._files.n_lost_ticks} ticks of samples ({self._files.why_lost})")
        return lost

    def _run(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # the main thread's
        try:
            self._take_turn()
        except Exception as err:  # noqa: BLE001  # a traceback would go into the command's stderr
            self._missing.append(f"samples since a fault ({type(err).__name__}: {err})")

    def _take_turn(self) -> None:
        lock = SamplerLock(self._recording)
        try:
            while not lock.is_ours():
                if self._stop.wait(self._every_ns / 1e9):
                    return
        except OSError as err:
            self._missing.append(f"samples ({err.strerror})")
            return
        try:
            limits = read_limits()
            self._open_sources(limits)
            self._sample(limits)
        finally:
            lock.release()

    def _open_sources(self, limits: ResourceLimits) -> None:
        try:
            from reportgen.record.host import Host

            self._sources.append(Host(limits))
        except ImportError:
            self._missing.append("CPU, memory, disk and network (psutil is not installed)")
        self._sources.append(JobCpu(self._recording, self._command_pid))
        gpus, why_not = open_gpus()
        self._missing.extend(why_not)
        if gpus is not None:
            self._gpu_use = GpuUse(self._recording, gpus, self._command_pid)
            self._sources.insert(0, gpus)  # their stamps are the anchors of ticks

    def _sample(self, limits: ResourceLimits) -> None:
        clock = self._recording.clock
        begun_ns = next_ns = clock.now_ns()
        next_card_ns = next_look_ns = begun_ns
        is_last = False
        while not is_last:
            is_last = self._stop.wait(max(next_ns - clock.now_ns(), 0) / 1e9)
            before_ns = time.thread_time_ns()
            now_ns = clock.now_ns()
            self._tick(now_ns)
            if now_ns >= next_look_ns or is_last:
                next_look_ns = now_ns + _LOOK_EVERY_NS
                self._write(() if self._gpu_use is None else self._gpu_use.look(), now_ns)
            if now_ns >= next_card_ns or is_last:
                next_card_ns = now_ns + _CARD_EVERY_NS
                self._write_card(limits, begun_ns, now_ns)
            next_ns = max(next_ns + self._every_ns, now_ns)
            self._own_ns += time.thread_time_ns() - before_ns

    def _tick(self, now_ns: int) -> None:
        self._write([item for source in self._sources for item in source.read(now_ns)], now_ns)
        self._n_ticks += 1

    def _write(self, readings: Sequence[Reading], now_ns: int) -> None:
        if readings:
            self._files.write(self._lines.lines(readings, now_ns), now_ns)

    def _write_card(self, limits: ResourceLimits, begun_ns: int, now_ns: int) -> None:
        """Write what the report says of the recording itself."""
        root, node = self._recording.root, self._recording.node
        with suppress(OSError):
            name = "recorder.json" if node == "node-1" else f"recorder.{node}.json"
            replace_json(root / name, self._card(limits, begun_ns, now_ns))

    def _card(self, limits: ResourceLimits, begun_ns: int, now_ns: int) -> Mapping[str, object]:
        memory = limits.memory
        return {
            "format": 1,
            "node": self._recording.node,
            "versions": {
                "reportgen": self._version,
                "python": ".".join(map(str, sys.version_info[:3])),
                "system": sys.platform,
                "driver": None if self._gpu_use is None else self._gpu_use.driver,
            },
            "begun_ns": begun_ns,
            "until_ns": now_ns,
            "interval_s": self._every_ns / 1e9,
            "n_cores": None if limits.cores is None else len(limits.cores),
            "quota_cores": None if limits.quota is None else limits.quota.cores,
            "memory_limit_bytes": None if memory is None else memory.limit_bytes,
            "gpus": [] if self._gpu_use is None else self._gpu_use.cards(),
            "missing": self._all_missing(),
            "lost_ticks": self._files.n_lost_ticks,
            "own_cost": {
                "ticks": self._n_ticks,
                "core_pct": round(100 * self._own_ns / max(now_ns - begun_ns, 1), 3),
                "memory_bytes": _own_memory_bytes(),
            },
        }

    def _all_missing(self) -> list[str]:
        found = list(self._missing)
        for source in self._sources:
            found.extend(getattr(source, "missing", ()))
        return found


def _own_memory_bytes() -> int:
    """Return the most memory that this process had; ``getrusage`` would count its parent's too."""
    with suppress(OSError, ValueError, IndexError):
        status = Path("/proc/self/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
