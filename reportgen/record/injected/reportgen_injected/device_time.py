"""How long each step took on the device, by events on its stream that are read later.

Nothing here waits for the device. Events are queried in the training thread only: a query from
another thread breaks the capture of a CUDA graph.
"""

from __future__ import annotations

import sys
from collections import deque
from typing import Any, Callable, Optional

from .output import Event

MOST_PENDING = 64
"""Steps whose device time is awaited at a time; the host is hardly ever further ahead."""


class DeviceTimer:
    """Times steps on the current stream of the training thread.

    Args:
        add: takes the finished events.
    """

    def __init__(self, add: Callable[[Event], None]) -> None:
        self._add = add
        self._before: Any = None
        self._mark: Any = None
        self._pending: deque[tuple[Event, Any, Any]] = deque()

    def is_used(self) -> bool:
        """Return whether the program uses CUDA."""
        return _cuda() is not None

    def mark(self) -> None:
        """Mark the end of a step on the stream, where the program uses CUDA."""
        cuda = _cuda()
        if cuda is not None and not cuda.is_current_stream_capturing():
            self._mark = cuda.Event(enable_timing=True)
            self._mark.record()
            self._resolve(2)

    def add_step(self, event: Event) -> None:
        """Take a step; it is passed on once its device time is known, at once without one."""
        before, mark = self._before, self._mark
        if mark is None:
            self._add(event)
            return
        self._before, self._mark = mark, None
        if before is None:
            self._add(event)
            return
        self._pending.append((event, before, mark))
        if len(self._pending) > MOST_PENDING:
            self._add(self._pending.popleft()[0])

    def _resolve(self, most: int) -> None:
        for _ in range(min(most, len(self._pending))):
            event, before, mark = self._pending[0]
            if not mark.query():
                return
            self._pending.popleft()
            device_us = round(before.elapsed_time(mark) * 1_000)
            self._add(event._replace(more=f'"device_us": {device_us}'))

    def finish(self) -> None:
        """Pass on all steps; the device times that are not known yet are left out."""
        while self._pending:
            n_before = len(self._pending)
            self._resolve(1)
            if len(self._pending) == n_before:
                self._add(self._pending.popleft()[0])

    def gpu_uuids(self) -> list[str]:
        """Return the GPUs that this process uses; none where it has not initialized CUDA."""
        cuda = _cuda()
        if cuda is None:
            return []
        used = {cuda.current_device()}
        used |= {index for index in range(cuda.device_count()) if cuda.memory_allocated(index)}
        uuids = [getattr(cuda.get_device_properties(index), "uuid", None) for index in sorted(used)]
        return [f"GPU-{uuid}" for uuid in uuids if uuid]


def _cuda() -> Optional[Any]:
    cuda = sys.modules.get("torch.cuda")
    return cuda if cuda is not None and cuda.is_initialized() else None
