"""Steps and named ranges that a program marks itself."""

from __future__ import annotations

import functools
import itertools
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any, Callable, Optional, TypeVar, cast

from . import _part, active

Item = TypeVar("Item")
Function = TypeVar("Function", bound=Callable[..., Any])
_NUMBERS = itertools.count()
now_ns = time.monotonic_ns


def step() -> None:
    """Say that a training step has ended; call it once at the end of each turn of the loop.

    Does nothing where nothing is recorded.
    """
    at_ns, recorder = now_ns(), active()
    if recorder is not None:
        recorder.fence("step")(recorder.take)("explicit_step", at_ns)


def steps(loader: Iterable[Item]) -> Iterator[Item]:
    """Yield the batches of a loader; each turn of the loop is a step, each ``next`` a wait.

    Args:
        loader: anything that a ``for`` loop takes.

    Edge cases: a turn that ``break`` leaves counts where an optimizer of PyTorch has stepped in it.
    """
    recorder = active()
    if recorder is None:
        yield from loader
        return
    marks, batches = MarkedLoop(recorder, type(loader).__name__), iter(loader)
    while True:
        began_ns = marks.ask()
        try:
            batch = next(batches)
        except StopIteration:
            return
        marks.take(began_ns)
        is_whole = False
        try:
            yield batch
            is_whole = True
        finally:
            marks.end(is_whole)


class MarkedLoop:
    """The marks of one loop over ``steps(loader)``, or of Keras's; none of them raises."""

    def __init__(self, recorder: Any, name: str) -> None:
        fence = recorder.fence("steps")
        self._own, self._name = recorder, name
        self.take, self.end = fence(self._take), fence(self._end)
        self._ask = fence(self._began)
        self._loader, self._n_waits, self._began_ns = _part("loader"), 0, 0

    def ask(self) -> int:
        """Begin to wait; return when."""
        self._ask(now_ns())
        self._n_waits = self._loader.n_waits
        return now_ns()

    def _began(self, at_ns: int) -> None:
        self._own.look()
        self._own.take("wait_began", at_ns)
        self._own.wait_work.began()

    def _take(self, began_ns: int) -> None:
        self._began_ns = now_ns()
        if self._loader.n_waits == self._n_waits:  # a loader of torch says it itself
            self._own.wait_work.ended(self._began_ns - began_ns, is_own=True)
            self._own.take("wait_ended", began_ns, self._began_ns, f"{self._name}::GetNext")

    def _end(self, is_whole: bool) -> None:
        at_ns = now_ns()
        if not is_whole:
            self._own.replay()
        if is_whole or self._own.steps.has_optimizer_step():
            self._own.take("explicit_step", at_ns, self._began_ns)


class Range:
    """One run of a named range."""

    __slots__ = ("_name", "_number", "_own", "_profiled", "_start_ns")

    def __init__(self, name: str) -> None:
        self._own: Any = active()
        self._name, self._profiled, self._start_ns, self._number = name, None, 0, 0

    def begin(self) -> Range:
        """Begin the range, in a trace too if one is taken; return it."""
        if self._own is not None and not _is_compiling():
            self._own.fence("annotate")(self._begin)()
        return self

    def _begin(self) -> None:
        self._profiled = _profiled_range(self._name)
        self._number = next(_NUMBERS)
        self._own.open_ranges[self._number] = self._name
        self._start_ns = now_ns()

    def end(self) -> None:
        """End the range."""
        if self._start_ns:
            self._own.fence("annotate")(self._end)()

    def _end(self) -> None:
        end_ns, recorder = now_ns(), self._own
        if self._profiled is not None:
            self._profiled.__exit__(None, None, None)
        if recorder.open_ranges.pop(self._number, None) is not None:
            more = f'"tid": {threading.get_native_id()}'
            recorder.take("annotated", self._name, self._start_ns, end_ns, more)


class annotate:  # noqa: N801 - used like a function
    """A named range: a context manager, a decorator, or ``begin`` and ``end``.

    Ranges may contain each other and may begin and end in different functions. While a trace is
    taken they are in it too. One that never ends is reported and not drawn.

    Args:
        name: under which the range appears in the report.
    """

    __slots__ = ("_open", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._open: list[Range] = []

    def begin(self) -> annotate:
        """Begin the range; each ``begin`` needs its ``end``."""
        self._open.append(Range(self.name).begin())
        return self

    def end(self) -> None:
        """End the range that ``begin`` began last; without one, do nothing."""
        if self._open:
            self._open.pop().end()

    __enter__ = begin

    def __exit__(self, *_error: object) -> None:
        self.end()

    def __call__(self, function: Function) -> Function:
        """Return the function with the range around each of its calls."""
        return cast("Function", _annotated(function, self.name))


def _annotated(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    import inspect

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def annotated_coroutine(*args: Any, **kwargs: Any) -> Any:
            with annotate(name):
                return await function(*args, **kwargs)

        return annotated_coroutine

    @functools.wraps(function)
    def annotated_function(*args: Any, **kwargs: Any) -> Any:
        with annotate(name):
            return function(*args, **kwargs)

    return annotated_function


def _is_compiling() -> bool:
    compiler = sys.modules.get("torch.compiler")
    return compiler is not None and bool(compiler.is_compiling())


def _profiled_range(name: str) -> Optional[Any]:
    """Return the same range in a trace of torch's profiler, begun, while one is taken."""
    profiler = sys.modules.get("torch.autograd.profiler")
    if profiler is None or not getattr(profiler, "_is_profiler_enabled", False):
        return None
    return profiler.record_function(name).__enter__()
