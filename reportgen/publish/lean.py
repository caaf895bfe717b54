"""Import papermill without the libraries of what it is not used for here.

papermill also reads notebooks from buckets and web sites, and finds engines of other packages;
nbformat compares each output with a schema, which only a foreign notebook can break. Their
imports are two thirds of papermill's (0.35 of 0.55 s of processor time), so stand-ins take their
place meanwhile. Where one does not fit a later version of papermill, everything is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from threading import RLock
from types import ModuleType
from typing import Any

IMPORTING = RLock()
"""Held while packages of Jupyter are imported: of their circular imports a second thread can see
half."""

SCHEMA_CHECKERS = ("fastjsonschema", "jsonschema")
"""Imported before papermill, they check."""

_NEVER = ("black", "rfc3987_syntax")
"""One would format the cell of parameters, one compiles a grammar on import (0.75 s)."""

_DISPENSABLE = ("azure", "boto3", "gcsfs", "github", "pyarrow")
"""papermill works without these."""

_REQUIRED = (*SCHEMA_CHECKERS, "jsonschema.exceptions", "entrypoints", "requests")


class _Nothing(Exception):  # noqa: N818  # stands for exceptions and for a class that checks
    def __init__(self, *args: object, **_: object) -> None:
        super().__init__(*args)

    def iter_errors(self, *_: object) -> list[object]:
        return []


class _StandIn(ModuleType):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__ = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return {"get_group_all": _none, "compile": _any}.get(name, _Nothing)


def _none(_: str) -> list[object]:
    return []


def _any(_: object) -> Any:
    return lambda data: data


def import_papermill() -> Any:
    """Return papermill, fit to run a notebook that is given as an object."""
    with IMPORTING:
        papermill = _papermill()
        _write_nothing_nowhere(import_module("papermill.execute"))
        return papermill


def _write_nothing_nowhere(module: Any) -> None:
    """Let papermill make no text of a notebook that has no path: it takes four times its size."""
    write = getattr(module, "write_ipynb", None)
    if write is None or hasattr(write, "of_papermill"):
        return

    def write_ipynb(notebook: Any, path: Any) -> None:
        if path is not None:
            write(notebook, path)

    write_ipynb.of_papermill = write  # type: ignore[attr-defined]  # a mark
    module.write_ipynb = write_ipynb


def _papermill() -> Any:
    for name in _NEVER:
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]  # None blocks the import
    if "papermill" in sys.modules:
        return import_module("papermill")
    known = set(sys.modules)
    try:
        with _stand_ins():
            return import_module("papermill")
    except Exception:  # noqa: BLE001  # whatever a later version asks of a stand-in
        for name in set(sys.modules) - known:
            if name.startswith(("papermill", "nbformat", "nbclient")):
                del sys.modules[name]
        return import_module("papermill")


@contextmanager
def _stand_ins() -> Iterator[None]:
    made: dict[str, Any] = {name: _StandIn(name) for name in _REQUIRED}
    made |= dict.fromkeys(_DISPENSABLE)
    made = {name: module for name, module in made.items() if name not in sys.modules}
    sys.modules.update(made)
    try:
        yield
    finally:
        for name in made:
            sys.modules.pop(name, None)
