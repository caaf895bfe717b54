"""The tree of errors a user can meet. Each says what happened, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reportgen.masking import without_secrets

EXIT_FAILED = 1
EXIT_USAGE = 2


class ReportgenError(Exception):
    """Any failure that ends a run with a message instead of a traceback.

    Args:
        message: The problem and its place, one or two plain sentences.
        hint: What to do about it, one sentence; empty when there is nothing to do.
        details: Facts for programs (``path``, ``line``, ``rule_id``, ``cell``).
    """

    exit_code: int = EXIT_FAILED

    def __init__(self, message: str, *, hint: str = "", **details: object) -> None:
        self.message = without_secrets(message)
        self.hint = without_secrets(hint)
        super().__init__(self.message)
        self.details = details

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class LocationError(ReportgenError):
    """A place that does not exist, cannot be read, or holds no job."""


class PlaceError(LocationError):
    """A whole place that cannot be used: every further read would fail as well."""


class AmbiguousJobError(LocationError):
    """More than one job lies under the path that was given."""

    exit_code = EXIT_USAGE


class FormatError(ReportgenError):
    """A file that is not what its name promises."""


class ConfigError(ReportgenError):
    """An option, rule or parameter that does not exist or is out of range."""

    exit_code = EXIT_USAGE


class PluginError(ReportgenError):
    """A rule or notebook from outside the package that cannot be used."""


class OutputError(ReportgenError):
    """Results that cannot be written."""


class WouldOverwriteError(OutputError):
    """A file in the output folder is not ours to replace."""

    exit_code = EXIT_USAGE


_REMEDIES = {
    "Too many open files": "Raise the limit of open files (`ulimit -n 256`).",
    "No space left on device": "Free space on that disk, or choose another folder with --output.",
}


@contextmanager
def writing(
    path: Path, *, action: str = "", hint: str = "Choose another folder with --output."
) -> Iterator[None]:
    """Turn an ``OSError`` into an ``OutputError`` that names the path.

    Args:
        path: the written file.
        action: the failed action, ``"replace the report"``; by default to write that file.
        hint: what to do about it.
    """
    try:
        yield
    except OSError as err:
        failed = action or f"write {err.filename or path}"
        hint = remedy(err) or hint
        raise OutputError(f"Cannot {failed}: {err.strerror}.", hint=hint, path=str(path)) from err


def remedy(err: BaseException) -> str:
    """Return what to do about an error of the system; empty where its text says nothing of that.

    Libraries that could not be loaded name their cause in words only.
    """
    return next((hint for words, hint in _REMEDIES.items() if words in str(err)), "")
