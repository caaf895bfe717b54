"""Wait until the program imports a framework itself; import none for it."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # typing itself takes 6 ms of the program's start
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import ModuleType
    from typing import Any, Callable, Optional

    Installer = Callable[[ModuleType], object]


class StandIn:
    """The last finder: it knows a small ``reportgen`` where no other finder knows any."""

    def find_spec(self, name: str, _path: object, _target: object = None) -> Any:
        """Return the spec of the stand-in for the package."""
        if name != "reportgen":
            return None
        from importlib.util import spec_from_file_location
        from os.path import dirname, join

        return spec_from_file_location(name, join(dirname(__file__), "stand_in.py"))


class ImportWatcher:
    """A finder that finds nothing itself: it calls an installer once a module was executed.

    Args:
        installers: what to do after which module; they must not raise.
    """

    def __init__(self, installers: Mapping[str, Installer]) -> None:
        self._waiting = dict(installers)

    def start(self) -> None:
        """Watch the coming imports; modules that are there already are taken at once."""
        for name in [name for name in self._waiting if name in sys.modules]:
            self._waiting.pop(name)(sys.modules[name])
        sys.meta_path.insert(0, self)
        sys.meta_path.append(StandIn())

    def find_spec(
        self, name: str, path: Optional[Sequence[str]], target: Optional[ModuleType] = None
    ) -> Any:
        """Return the spec that the other finders find, with the installer behind its module."""
        installer = self._waiting.get(name)
        if installer is None:
            return None
        spec = self._find_elsewhere(name, path, target)
        execute = getattr(getattr(spec, "loader", None), "exec_module", None)
        if spec is None or execute is None:
            return spec

        def execute_then_install(module: ModuleType) -> None:
            execute(module)
            if self._waiting.pop(name, None):
                installer(module)

        try:  # the loader keeps its class: other tools look at it
            spec.loader.exec_module = execute_then_install
        except Exception:
            return None
        return spec

    def _find_elsewhere(
        self, name: str, path: Optional[Sequence[str]], target: Optional[ModuleType]
    ) -> Any:
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find else None
            if spec is not None:
                return spec
        return None
