"""Names that a training program uses: ``step``, ``steps``, ``annotate``, ``recording``.

Everything here needs the standard library only, so that in a training environment
``pip install --no-deps make-profiler-report`` suffices. The first three are those of the injected
folder: the one that ``reportgen record`` has put into the process, else the one of this package.
"""

from __future__ import annotations

import importlib.util
import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, Self

from reportgen.record import OWN_COMMAND
from reportgen.text_safety import terminal_text

_NAME = "reportgen_injected"
_INJECTED = Path(__file__).parent / "injected" / _NAME
_ATTACH_S = 15.0
"""How long the sampler may take to start; without it steps are recorded alone."""


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
            variables = json.loads(_first_line(self._sampler))
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
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], _ATTACH_S)
    return process.stdout.readline() if ready else ""


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


def __getattr__(name: str) -> Any:
    """Return a mark of the injected folder, which is loaded when a program first uses one."""
    if name not in ("annotate", "step", "steps"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{_injected().__name__}.annotations"), name)
