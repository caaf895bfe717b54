"""Marks of PyTorch's data loaders: how long the loop waits, and how each loader is set up."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, Optional

from .output import Event
from .work import LEAST_WAIT_NS

if TYPE_CHECKING:
    from .recorder import Recorder

INITIALIZE = "DataLoaderIterInitialize"
PROCESS = "DataLoaderWorker"
MOST_BATCHES = 32
"""Batches whose tokens are counted: sequences differ in length, and each look has a cost."""
_TOKEN_TYPES = frozenset({"torch.int64", "torch.int32"})
now_ns, get_ident = time.monotonic_ns, threading.get_ident


class LoaderHooks:
    """Wrappers around the iterators of ``torch.utils.data.dataloader``."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        fence = recorder.fence("torch.loader")
        self._before, self._after = fence(self._wait_began), fence(self._wait_ended)
        self._over, self._made = fence(self._epoch_ended), fence(self._initialized)
        self._ended = fence(self._shut_down)
        self._lives: dict[int, tuple[int, list[int]]] = {}
        self._waited: set[int] = set()
        self._n_made: dict[int, int] = {}
        self._n_told: dict[int, int] = {}
        self._asked: Optional[int] = None
        recorder.at_end.append(fence(self._end_all))
        self._look = fence(self._look_at_processes)
        recorder.at_write.append(self._look)
        self.n_waits = 0
        self._n_tokens = 0

    def install(self, module: ModuleType) -> None:
        """Wrap ``__next__`` and the constructors of both iterators."""
        base: Any = module._BaseDataLoaderIter  # noqa: SLF001
        following, before, after = base.__next__, self._before, self._after
        over = self._over

        @functools.wraps(following)
        def wait(self: Any) -> Any:
            began_ns = before(self)
            try:
                batch = following(self)
            except StopIteration:
                over(began_ns)
                raise
            after(self, began_ns, batch)
            return batch

        base.__next__ = wait
        for kind in (module._SingleProcessDataLoaderIter, module._MultiProcessingDataLoaderIter):  # noqa: SLF001
            self._wrap_constructor(kind)
        self._wrap_shutdown(module._MultiProcessingDataLoaderIter)  # noqa: SLF001

    def _wrap_shutdown(self, kind: Any) -> None:
        shut_down, ended, look = kind._shutdown_workers, self._ended, self._look  # noqa: SLF001

        @functools.wraps(shut_down)
        def shut_down_then_tell(self: Any) -> None:
            look()
            shut_down(self)
            ended(id(self))

        kind._shutdown_workers = shut_down_then_tell  # noqa: SLF001

    def _wrap_constructor(self, kind: Any) -> None:
        construct, made = kind.__init__, self._made

        @functools.wraps(construct)
        def construct_timed(self: Any, loader: Any, *args: Any, **kwargs: Any) -> None:
            began_ns = now_ns()
            construct(self, loader, *args, **kwargs)
            made(self, loader, began_ns)

        kind.__init__ = construct_timed

    def _is_in_loop(self) -> bool:
        """Return whether this thread runs the loop; a thread that loads ahead does not wait."""
        loop = self._recorder.loop_thread or threading.main_thread().ident
        return get_ident() == loop

    def _wait_began(self, iterator: Any) -> int:
        at_ns, recorder = now_ns(), self._recorder
        if get_ident() != recorder.loop_thread and not self._is_in_loop():
            return 0
        recorder.look()
        recorder.take("wait_began", at_ns)
        recorder.wait_work.began()
        self._asked = id(iterator)
        return now_ns()

    def _wait_ended(self, iterator: Any, began_ns: int, batch: Any) -> None:
        if not began_ns:
            return
        at_ns, recorder = now_ns(), self._recorder
        self.n_waits += 1
        self._asked, has_processes = None, hasattr(iterator, "_workers")
        recorder.wait_work.ended(at_ns - began_ns, is_own=not has_processes)
        if has_processes:
            self._batch_made(id(iterator), at_ns - began_ns)
        name, size = f"{type(iterator).__name__}::GetNext", _batch_size(iterator)
        if size and self.n_waits <= MOST_BATCHES:
            self._n_tokens += tokens_per_sample(batch, size)
            recorder.output.card["tokens_per_sample"] = self._n_tokens / self.n_waits
        recorder.take("wait_ended", began_ns, at_ns, name, "", size)

    def _epoch_ended(self, began_ns: int) -> None:
        self._asked = None
        if began_ns:
            self._recorder.take("epoch_ended", began_ns)

    def _batch_made(self, iterator: int, waited_ns: int) -> None:
        """Count a batch of loader processes; what they do before their first one is a start."""
        n_before = self._n_made.get(iterator, 0)
        self._n_made[iterator] = n_before + 1
        if not n_before:
            for pid in self._lives.get(iterator, (0, []))[1]:
                self._recorder.process_work.look(pid, counts=False)
        elif waited_ns >= LEAST_WAIT_NS:
            self._waited.add(iterator)

    def _initialized(self, iterator: Any, loader: Any, began_ns: int) -> None:
        if not self._is_in_loop():
            return
        facts = {
            "num_workers": int(loader.num_workers),
            "pin_memory": str(bool(loader.pin_memory)).lower(),
            "prefetch_factor": loader.prefetch_factor or 0,
            "persistent_workers": str(bool(loader.persistent_workers)).lower(),
        }
        more = ", ".join(f'"{name}": {value}' for name, value in facts.items())
        kind, at_ns = type(iterator).__name__, now_ns()
        add = self._recorder.add
        add(Event(INITIALIZE, f"{kind}.__init__", began_ns, at_ns, None, more))
        self._lives[id(iterator)] = began_ns, [one.pid for one in getattr(iterator, "_workers", ())]

    def _look_at_processes(self) -> None:
        """Measure the loader processes; called by the writer's thread."""
        waited, self._waited = self._waited, set()
        for iterator, (_, pids) in list(self._lives.items()):
            n_made = self._n_made.get(iterator, 0)
            if not n_made:
                continue
            counts = iterator in waited or iterator == self._asked
            n_new, self._n_told[iterator] = n_made - self._n_told.get(iterator, 1), n_made
            self._recorder.n_batches += n_new if counts else 0
            for pid in pids:
                self._recorder.process_work.look(pid, counts=counts)

    def _shut_down(self, iterator: int) -> None:
        began_ns, pids = self._lives.pop(iterator, (0, []))
        self._n_made.pop(iterator, None)
        self._n_told.pop(iterator, None)
        for index, pid in enumerate(pids):
            self._recorder.process_work.forget(pid)
            more = f'"pid": {pid}, "worker_id": {index}'
            self._recorder.add(Event(PROCESS, PROCESS, began_ns, now_ns(), None, more))

    def _end_all(self) -> None:
        for iterator in list(self._lives):
            self._shut_down(iterator)


def tokens_per_sample(batch: Any, n_samples: int) -> int:
    """Return how many tokens each sample of a batch has; 0 for a batch that is no text.

    Text is whole numbers, a row for each sample: ``input_ids`` of a mapping, else what comes first.
    """
    for _ in range(3):
        if isinstance(batch, Mapping):
            batch = batch.get("input_ids", next(iter(batch.values()), None))
        elif isinstance(batch, (list, tuple)):
            batch = next(iter(batch), None)
    shape: tuple[int, ...] = getattr(batch, "shape", ())
    if len(shape) != 2 or shape[0] != n_samples or str(batch.dtype) not in _TOKEN_TYPES:
        return 0
    return int(shape[1])


def _batch_size(iterator: Any) -> int:
    """Return of how many samples the loader makes a batch; 0 where the program does that itself."""
    size = getattr(getattr(iterator, "_index_sampler", None), "batch_size", None)
    return size if isinstance(size, int) else 0
