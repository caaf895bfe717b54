"""Functions that a training program calls: ``step``, ``steps``, ``annotate``, ``recording``.

Everything here needs the standard library only, so that in a training environment
``pip install --no-deps make-profiler-report`` suffices. The work is done by the injected folder:
the one that ``reportgen record`` has put into the process, else the one of this package.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, Self, TypeVar, cast

from reportgen.record import OWN_COMMAND
from reportgen.text_safety import terminal_text

Item = TypeVar("Item")
Function = TypeVar("Function", bound=Callable[..., Any])

_NAME = "reportgen_injected"
_INJECTED = Path(__file__).parent / "injected" / _NAME
_ATTACH_S = 15.0
"""How long the sampler may take to start; without it steps are recorded alone."""


def step() -> None:
    """Say that a training step has ended; call it once at the end of each turn of the loop.

    Does nothing where nothing is recorded.

    Example:
        >>> for _ in range(2):
        ...     step()
    """
    if _is_recording():
        _annotations().step()


def steps(loader: Iterable[Item]) -> Iterator[Item]:
    """Yield the batches of a loader; each turn of the loop is a step, each request a wait.

    Args:
        loader: anything that a ``for`` loop takes.

    Edge cases: a turn that ``break`` leaves counts where an optimizer of PyTorch has stepped in it.

    Example:
        >>> [batch for batch in steps([1, 2])]
        [1, 2]
    """
    if not _is_recording():
        return iter(loader)
    return cast("Iterator[Item]", _annotations().steps(loader))


class annotate:  # noqa: N801 - used like a function
    """A named range: a context manager, a decorator, or ``begin`` and ``end``.

    Ranges may contain each other and may begin and end in different functions. While a trace is
    taken they are in it too. One that never ends is reported and not drawn.

    Args:
        name: under which the range appears in the report.

    Example:
        >>> with annotate("evaluation"):
        ...     pass
    """

    __slots__ = ("_open", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._open: list[Any] = []

    def begin(self) -> annotate:
        """Begin the range; each ``begin`` needs its ``end``."""
        if _is_recording():
            self._open.append(_annotations().Range(self.name).begin())
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
        return cast("Function", _annotations().annotated(function, self.name, annotate))


class recording:  # noqa: N801 - used like a function
    """Record what runs inside a ``with`` block, in a notebook or any Python process.

    The machine is sampled beside it where this environment can run ``reportgen record``; without,
    steps and waits are recorded alone. Inside ``reportgen record`` nothing is begun anew.

    Args:
        out: the folder; without it a new one below ``profiler-runs``.

    Attributes:
        folder: where the recording lies; beside ``out``, where that holds another one.
    """

    def __init__(self, out: str | os.PathLike[str] | None = None) -> None:
        stem = Path("profiler-runs") / f"{time.strftime('%Y%m%d-%H%M%S')}-recording"
        self.folder = Path(out if out is not None else stem).absolute()
        self._sampler: subprocess.Popen[str] | None = None
        self._is_own = False

    def __enter__(self) -> Self:
        injected = _injected()
        if injected.is_recording():
            return self
        from reportgen.record.folder import make_folder, refuse_foreign

        try:
            refuse_foreign(make_folder(self.folder))
        except OSError as err:
            said = terminal_text(f"{self.folder}: {err.strerror}")
            sys.stderr.write(f"reportgen: not recorded: {said}\n")
            return self
        self._is_own = bool(injected.start(self._settings(injected)))
        if self._is_own:
            injected.active().steps.loop_began(time.monotonic_ns())
        return self

    def _settings(self, injected: ModuleType) -> Any:
        variables = self._attach()
        if variables is None:
            sys.stderr.write("reportgen: steps only; the machine is not sampled here\n")
            return injected.settings.settings_for(str(self.folder))
        if (folder := Path(variables["REPORTGEN_RECORD_DIR"])) != self.folder:
            sys.stderr.write(
                f"reportgen: {terminal_text(self.folder.name)} holds another run; "
                f"see {terminal_text(folder.name)}\n"
            )
            self.folder = folder
        return injected.settings.read_settings(variables)

    def _attach(self) -> dict[str, str] | None:
        arguments = ("record", "--attach", str(os.getpid()), "--out", str(self.folder))
        try:
            self._sampler = subprocess.Popen(  # noqa: S603 - our own command
                [sys.executable, *OWN_COMMAND, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            line = _first_line(self._sampler)
            variables = json.loads(line)
        except (OSError, ValueError):
            self._end_sampler()
            return None
        return {str(name): str(value) for name, value in variables.items()}

    def __exit__(self, *_error: object) -> None:
        if self._is_own:
            _injected().stop()
        self._end_sampler()

    def _end_sampler(self) -> None:
        sampler, self._sampler = self._sampler, None
        if sampler is None:
            return
        with suppress(OSError):
            sampler.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            sampler.wait(timeout=_ATTACH_S)


def _first_line(process: subprocess.Popen[str]) -> str:
    """Return the first line that a process writes, empty when it takes too long."""
    import select

    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], _ATTACH_S)
    return process.stdout.readline() if ready else ""


def _is_recording() -> bool:
    injected = sys.modules.get(_NAME)
    return injected is not None and bool(injected.is_recording())


def _injected() -> ModuleType:
    found = sys.modules.get(_NAME)
    if found is not None:
        return found
    spec = importlib.util.spec_from_file_location(
        _NAME, _INJECTED / "__init__.py", submodule_search_locations=[str(_INJECTED)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[_NAME] = module
    spec.loader.exec_module(module)
    return module


def _annotations() -> ModuleType:
    _injected()
    return importlib.import_module(f"{_NAME}.annotations")
