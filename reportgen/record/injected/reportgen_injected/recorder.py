"""The recorder of one process: it joins marks, files and the trace."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections import deque
from typing import Any, Callable, Optional

from .fence import Fence
from .output import Event, Output
from .settings import Settings, number_in_environment, rank_of_process
from .steps import PROFILED, SOURCE_NAMES, TRAIN, Steps
from .tracing import Tracer
from .work import ProcessWork, WaitWork

_HOOKS = {
    "optimizer": "torch.optimizer",
    "forward": "torch.forward",
    "backward": "torch.forward",
    "epoch": "torch.loader",
    "wait": "torch.loader",
    "trainer": "trainer",
}
"""Whose marks they are, by the first word of the method."""
MOST_MARKS = 1 << 17
"""Marks that wait for the writer; while a disk hangs, the oldest are dropped."""
CARD_EVERY_NS = 60 * 10**9
MOST_ENDS = 128
"""Ends of steps that the card names."""
_MODULES = ("torch", "lightning", "pytorch_lightning", "transformers", "accelerate", "keras", "jax")


class Recorder:
    """The recorder of this process, once something can be recorded.

    Attributes:
        add: takes an event that is no step.
        steps: takes the marks.
        mark: takes the name of a method of ``Steps`` and its arguments. Hooks run with cold caches:
            they only leave marks, and ``replay`` lets ``Steps`` take them in the writer's thread.
        is_prompt: whether marks have to be taken by the hook itself: before the first step, and
            while a trace is wanted.
        loop_thread: the thread in which the training loop runs, ``None`` while unknown.
        open_ranges: names of annotations that have begun and not ended.
        look: the function that a hook calls before the mark of a batch or a forward pass.
        at_end: what hooks have to say at the end.
        at_write: what they do in the writer's thread, at each write.
        wait_work, process_work, n_batches: what was done while the loop waited, by this process and
            by loader processes, and how many batches those made meanwhile.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._fences: dict[str, Fence] = {}
        self.at_end: list[Callable[[], object]] = []
        self.at_write: list[Callable[[], object]] = []
        self.look: Callable[[], object] = _nothing_to_see
        self._reset()
        os.register_at_fork(after_in_child=self._reset)
        atexit.register(self.finish)

    def _reset(self) -> None:
        """Begin anew: nothing of the parent's is this process's, after a fork."""
        self.output = Output(self.settings)
        self.add = self.output.add
        self.steps = Steps(self.add, self._add_step, self._boundary)
        self._marks: deque[Any] = deque(maxlen=MOST_MARKS)
        self.mark: Callable[[tuple[Any, ...]], None] = self._marks.append
        self.is_prompt = True
        self._replaying = threading.RLock()
        self.tracer = Tracer(self.settings, self.output.report, self._pause)
        self.loop_thread: Optional[int] = None
        self.open_ranges: dict[int, str] = {}
        self.wait_work, self.process_work, self.n_batches = WaitWork(), ProcessWork(), 0
        self._pauses: list[list[int]] = []
        self._step_ends: list[tuple[int, int]] = []
        self._stride = 1
        self._stop = threading.Event()
        self._thread: Optional[threading.Thread] = None
        self._is_finished = False

    def stop(self) -> None:
        """Write everything and let all hooks rest."""
        self.finish()
        for fence in self._fences.values():
            fence.is_on = False

    def restart(self, settings: Settings) -> None:
        """Begin another recording with the hooks that are there already."""
        self.settings = settings
        self._reset()
        for fence in self._fences.values():
            fence.is_on = not fence.has_failed

    def fence(self, hook: str) -> Fence:
        """Return the border around a hook."""
        return self._fences.setdefault(hook, Fence(hook, self._report))

    def _report(self, kind: str, hook: str, error: str, line: str) -> None:
        self.output.report(kind, hook, error, line)

    def remark(self, kind: str, hook: str) -> None:
        """Leave a remark for the report."""
        self.output.report(kind, hook, "", "")

    # Events

    def take(self, *mark: Any) -> None:
        """Take a mark, at once where that has to be."""
        self.mark(mark)
        if self.is_prompt:
            self.replay()

    def replay(self) -> None:
        """Let ``Steps`` take the marks that wait; a fault switches the hook off that left one."""
        with self._replaying:
            marks, steps = self._marks, self.steps
            self.output.n_lost += len(marks) == MOST_MARKS
            while marks:
                mark = marks.popleft()
                try:
                    getattr(steps, mark[0])(*mark[1:])
                except Exception as error:
                    fence = self.fence(_HOOKS.get(mark[0].partition("_")[0], "step"))
                    if fence.is_on:
                        fence.switch_off(error)

    def _choose_thread(self) -> None:
        """Let the writer's thread take the marks, where nothing has to be done at once."""
        is_traced = self.tracer.is_wanted and not self.tracer.is_done
        self.is_prompt = self._thread is None or is_traced

    def _add_step(self, event: Event, mode: str) -> None:
        if not self.output.has_begun:
            self._begin()
        if mode != TRAIN:
            self.add(event)
            return
        if self.tracer.is_wanted and self.tracer.has_profiled(event.step or 0):
            event = event._replace(phase=PROFILED)
        self.add(event)
        self._note_end(event)
        self._choose_thread()

    def _note_end(self, event: Event) -> None:
        """Keep ends of steps with the same numbers on all nodes: they align the nodes' clocks."""
        ends, number = self._step_ends, event.step or 0
        if number % self._stride == 0:
            ends.append((number, self.settings.wall_of(event.end_ns)))
        if len(ends) > MOST_ENDS:
            self._stride *= 2
            ends[:] = [end for end in ends if end[0] % self._stride == 0]

    def _boundary(self, next_step: int) -> None:
        if self.is_prompt and self.tracer.is_wanted:
            self.tracer.boundary(next_step, self.output.card)

    def _pause(self, start_ns: int, end_ns: int, name: str) -> None:
        self.add(Event(PROFILED, name, start_ns, end_ns))
        self._pauses.append([self.settings.wall_of(start_ns), self.settings.wall_of(end_ns)])

    # The first step, and the last

    def _begin(self) -> None:
        card = self.output.card
        card.update(rank_of_process())
        self.output.begin()
        card.update(local_rank=number_in_environment("LOCAL_RANK"), python=sys.version.split()[0])
        card.update(gpu_uuids=_gpu_uuids())
        self._update_card(is_end=False)
        try:
            self._thread = threading.Thread(target=self._write, name="reportgen", daemon=True)
            self._thread.start()
        except RuntimeError:  # the limit of threads: everything is written at the end
            self._thread = None
        _finish_in_children_of_multiprocessing(self.finish)

    def _update_card(self, *, is_end: bool) -> None:
        modules = ((name, sys.modules.get(name)) for name in _MODULES)
        found = {name: getattr(module, "__version__", None) for name, module in modules}
        card = self.output.card
        card.update(
            step_source=SOURCE_NAMES[self.steps.step_source],
            n_steps=self.steps.n_steps,
            loop={
                "n_steps": self.steps.n_counted,
                "lasted_ns": self.steps.loop_ns,
                "waited_ns": self.steps.waited_ns,
            },
            samples_per_step=self.steps.samples_per_step() or None,
            frameworks={name: str(version) for name, version in found.items() if version},
            keras_backend=_keras_backend(),
            lost_events=self.output.n_lost,
            step_ends=list(self._step_ends),
            ended=is_end,
        )
        if self.wait_work.n:
            card["waits"] = self.wait_work.card()
        if self.process_work.n:
            card["loaders"] = {**self.process_work.card(), "n": self.n_batches}
        if self.tracer.is_chosen:
            first, last = self.tracer.first, self.tracer.last
            card["trace"] = {"first": first, "last": last, "paused": self._pauses}

    def _write(self) -> None:
        fence = self.fence("writer")
        flush, replay = fence(self.output.flush), fence(self.replay)
        update = fence(lambda: self._update_card(is_end=False))
        updated_ns = time.monotonic_ns()
        while not self._stop.wait(self.settings.every_s):
            if not self.is_prompt:
                replay()
            if time.monotonic_ns() - updated_ns > CARD_EVERY_NS:
                updated_ns = time.monotonic_ns()
                update()
            for write in self.at_write:
                write()
            flush()

    def finish(self) -> None:
        """Write what is left; called at the end of the process, or of a ``recording``."""
        if self._is_finished or self.output.pid != os.getpid():
            return
        self._is_finished = True
        self.fence("end")(self._finish)()

    def _finish(self) -> None:
        self.look()
        self.replay()
        self.steps.finish()
        for end in self.at_end:
            end()
        self.tracer.finish()
        for name in self.open_ranges.values():
            self.output.report("open_range", name, "", "")
        if not self.output.has_begun:
            return
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=5)
        self._update_card(is_end=True)
        self.output.flush(is_end=True)


def _keras_backend() -> Optional[str]:
    """Return what Keras computes with; it imports others too."""
    backend = getattr(getattr(sys.modules.get("keras"), "config", None), "backend", None)
    return str(backend()) if backend else None


def _nothing_to_see() -> None:
    """Stand in for what only some versions of a framework need."""


def _gpu_uuids() -> list[str]:
    """Return the GPUs that this process uses; none where it has not initialized CUDA."""
    cuda: Any = sys.modules.get("torch.cuda")
    if cuda is None or not cuda.is_initialized():
        return []
    used = {cuda.current_device()}
    used |= {index for index in range(cuda.device_count()) if cuda.memory_allocated(index)}
    uuids = [getattr(cuda.get_device_properties(index), "uuid", None) for index in sorted(used)]
    return [f"GPU-{uuid}" for uuid in uuids if uuid]


def _finish_in_children_of_multiprocessing(finish: Callable[[], None]) -> None:
    """Run ``finish`` in processes of ``multiprocessing`` too, which skip ``atexit`` until 3.12."""
    util = sys.modules.get("multiprocessing.util")
    process = sys.modules.get("multiprocessing.process")
    if util is not None and process is not None and process.parent_process() is not None:
        util.Finalize(None, finish, exitpriority=0)
