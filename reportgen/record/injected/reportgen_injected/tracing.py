"""``--trace A:B``: a trace of torch's profiler over some steps, on some ranks."""

from __future__ import annotations

import gzip
import os
import re
import sys
import threading
import time
from itertools import islice
from typing import Any, Callable, Optional

from .fence import Report
from .output import create, make_folder
from .settings import Settings, rank_of_process

_PRIVATE = re.compile(rb'("(?:host_name|traceName)": ")[^"]*"')
"""Entries of traces about the machine: its name, and the path of the file."""
_CHUNK_LINES = 20_000
_REQUEST = re.compile(r"(\d+):(\d+)(?:@(\d+(?:,\d+)*))?")


class Tracer:
    """Takes the trace of this process, if it is one of the chosen ranks.

    Attributes:
        first, last: the steps to trace, both included.
        is_wanted: whether there is anything to trace.
        is_done: whether nothing is to come any more.
    """

    def __init__(
        self, settings: Settings, report: Report, pause: Callable[[int, int, str], None]
    ) -> None:
        self._settings, self._report, self._pause = settings, report, pause
        # Nothing shows where the first step begins, so that step 0 cannot be traced.
        match = _REQUEST.fullmatch(settings.trace)
        self.first, self.last = (int(match[1]), int(match[2])) if match else (0, -1)
        self._ranks = (match[3] or "") if match else ""
        self._profile: Any = None
        self._range: Any = None
        self.is_wanted = self.first <= self.last
        self.is_done = not self.is_wanted
        self._packing: Optional[threading.Thread] = None
        self._profiled_from: Optional[int] = None
        self._profiled_to = -1
        self._rank = 0

    @property
    def is_chosen(self) -> bool:
        """Return whether a trace was begun here."""
        return self._profiled_from is not None

    def has_profiled(self, step: int) -> bool:
        """Return whether the profiler was active during a step."""
        first = self._profiled_from
        return first is not None and first <= step <= max(self._profiled_to, first)

    def boundary(self, next_step: int, card: dict[str, Any]) -> None:
        """Begin or end the trace between two steps."""
        if self.is_done:
            return
        if self._profile is not None and next_step > self.last:
            self._stop()
        elif self._profile is not None:
            self._next_range(next_step)
        elif self.first <= next_step <= self.last:
            self._start(next_step, card)

    def _start(self, step: int, card: dict[str, Any]) -> None:
        torch = sys.modules.get("torch")
        if torch is None or not self._is_rank_chosen(card):
            self.is_done = True
            return
        profiler = _import_profiler()
        if torch.autograd.profiler._is_profiler_enabled:  # noqa: SLF001 - ours would end it
            self.is_done = True
            self._report("trace_failed", "a profiler of the program is active", "", "")
            return
        began_ns = time.monotonic_ns()
        profile = profiler.profile()
        try:
            profile.start()
        except Exception as error:
            self.is_done = True
            self._report("trace_failed", "trace", type(error).__name__, "")
            return
        self._profile, self._profiled_from, self._profiled_to = profile, step, self.last
        self._pause(began_ns, time.monotonic_ns(), "start of the trace")
        self._next_range(step)

    def _is_rank_chosen(self, card: dict[str, Any]) -> bool:
        found = {**card, **rank_of_process()}
        n_ranks = int(found.get("world_size") or 1)
        self._rank = int(found.get("rank", os.environ.get("RANK", "0")))
        if self._ranks:
            return str(self._rank) in self._ranks.split(",")
        return self._rank in {0, n_ranks // 2, n_ranks - 1}

    def _next_range(self, step: int) -> None:
        if self._range is not None:
            self._range.__exit__(None, None, None)
        record_function = sys.modules["torch"].profiler.record_function
        self._range = record_function(f"ProfilerStep#{step}")
        self._range.__enter__()

    def _stop(self) -> None:
        profile, self._profile, self.is_done = self._profile, None, True
        began_ns = time.monotonic_ns()
        self._range.__exit__(None, None, None)
        steps = f"{self._profiled_from}-{self._profiled_to}"
        name = f"rank-{self._rank}.steps-{steps}.pt.trace.json.gz"
        try:
            profile.stop()
            path = os.path.join(make_folder(self._settings.folder, "traces"), name)
            os.close(create(path + ".tmp"))
            profile.export_chrome_trace(path + ".tmp")
            self._say_if_without_kernels(path + ".tmp")
        except Exception as error:
            self._report("trace_failed", "trace", type(error).__name__, "")
            return
        finally:
            self._pause(began_ns, time.monotonic_ns(), "end and export of the trace")
        self._packing = threading.Thread(target=self._pack, args=(path,), daemon=True)
        self._packing.start()

    def _say_if_without_kernels(self, path: str) -> None:
        """Another profiler that has CUPTI leaves a trace without anything of the GPU."""
        cuda = sys.modules.get("torch.cuda")
        if cuda is None or not cuda.is_initialized():
            return
        with open(path, "rb") as file:
            if not any(b'"kernel"' in line for line in file):
                self._report("cupti_taken", "trace", "", "")

    def _pack(self, path: str) -> None:
        """Compress the trace beside the training, without the name of the machine."""
        packed = path + ".packing.tmp"
        try:
            descriptor = create(packed)
            with (
                open(path + ".tmp", "rb") as source,
                open(descriptor, "wb") as raw,
                gzip.GzipFile("", "wb", 5, raw, mtime=0) as target,
            ):
                while lines := list(islice(source, _CHUNK_LINES)):
                    target.write(_PRIVATE.sub(rb'\1"', b"".join(lines)))
            os.rename(packed, path)
            os.remove(path + ".tmp")
        except Exception as error:
            self._report("trace_failed", "trace", type(error).__name__, "")

    def finish(self) -> None:
        """End the trace with the process: it then has fewer steps than were asked for."""
        if self._profile is not None:
            self._stop()
        if self._packing is not None:
            self._packing.join(timeout=60)


def _import_profiler() -> Any:
    import torch.profiler

    return torch.profiler
