"""The software of a process: two processes with the same software give the same results."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

MISSING = "not installed"
UNREADABLE = "unreadable"
_PACKAGES = ("make-profiler-report", "duckdb", "msgspec", "numpy")
_DIGITS = 8


@lru_cache(maxsize=4)
def software(modules: tuple[str, ...] = ()) -> Mapping[str, str]:
    """Return name and version of what computes here; of ``modules``, a hash of their source."""
    return {
        "Python": f"{sys.version_info.major}.{sys.version_info.minor}",
        **packages(),
        **{name: f"source {_digest(name)}" for name in modules},
    }


def packages() -> dict[str, str]:
    """Return name and version of the packages whose versions may change a number."""
    return {name: _version(name) for name in _PACKAGES}


def differences(ours: Mapping[str, str], theirs: Mapping[str, str]) -> Sequence[str]:
    """Return a clause for everything that differs.

    Example:
        >>> differences({"numpy": "2.4.6"}, {"numpy": "2.3.0"})
        ['numpy is 2.3.0 there and 2.4.6 here']
    """
    return [
        f"{name} is {theirs.get(name, MISSING)} there and {here} here"
        for name, here in ours.items()
        if theirs.get(name, MISSING) != here
    ]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return MISSING


def _digest(module: str) -> str:
    """Return a hash of a module's source, of a package's whole source."""
    digest = hashlib.sha256()
    try:
        found = importlib.util.find_spec(module)
        if found is None or not found.origin or not Path(found.origin).is_file():
            return MISSING
        origin = Path(found.origin)
        is_package = origin.name == "__init__.py"
        for path in sorted(origin.parent.rglob("*.py")) if is_package else [origin]:
            digest.update(path.read_bytes())
    except (ImportError, ValueError):
        return MISSING
    except OSError:
        return UNREADABLE
    return digest.hexdigest()[:_DIGITS]
