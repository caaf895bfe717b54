"""Where the templates, the notebook and the schemas lie: in the wheel, or in the checkout."""

from __future__ import annotations

from pathlib import Path

from reportgen.errors import OutputError

_PACKAGE = Path(__file__).resolve().parent
_PACKED = _PACKAGE / "_assets"
_CHECKOUT = _PACKAGE.parent


def templates_dir() -> Path:
    """Return the folder with ``page/``, ``fragments/``, ``style/`` and ``script/``."""
    return _find(_PACKED / "templates", _CHECKOUT / "templates")


def notebook_path(name: str = "profiler_report") -> Path:
    """Return a notebook as it is before it is run; the report's, or one for analysis by hand."""
    file = f"{name}.ipynb"
    return _find(_PACKED / file, _CHECKOUT / "report_notebook" / file)


def schema_dir() -> Path:
    """Return the folder with the JSON Schemas of ``<Id>.json`` and ``report.json``."""
    return _find(_PACKED / "schema", _CHECKOUT / "docs" / "schema")


def skill_path() -> Path:
    """Return the file that explains to an assistant how to read a report."""
    return _find(_PACKED / "SKILL.md", _CHECKOUT / "docs" / "SKILL.md")


def _find(packed: Path, in_checkout: Path) -> Path:
    if packed.exists():
        return packed
    if (_CHECKOUT / "pyproject.toml").is_file() and in_checkout.exists():
        return in_checkout
    raise OutputError(
        f"The installed package is incomplete: {packed.name} is missing.",
        hint="Reinstall with: pip install --force-reinstall make-profiler-report",
        path=str(packed),
    )
