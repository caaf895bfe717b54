"""Write ``docs/api.md``, the reference of the Python API, from signatures and docstrings.

``python docs/api_build.py`` rewrites it; a test proves that it is fresh.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import reportgen
from reportgen import compat, explore, views
from reportgen.explore import (
    causes,
    charts,
    loading,
    notebook,
    selections,
    statistics,
    utilization_within,
)
from reportgen.explore.profiles import PythonProfiles

PAGE = Path(__file__).resolve().parent / "api.md"
_INTRO = """\
# Python API

Written by `docs/api_build.py` from the docstrings. Frames are pandas frames; microseconds count
from `Job.origin_us` unless a name ends in `_ns` (UTC). A unit is part of a name: `_pct` is 0-100,
`_ratio` 0-1. Errors are of `reportgen.errors` and say what, where, and what to do.
"""
_SECTIONS = ("Args", "Returns", "Raises", "Edge cases", "Source", "Example", "Attributes")


def api_text() -> str:
    """Return the whole page."""
    parts = [
        _INTRO,
        "## `reportgen`\n",
        _function("reportgen.open", reportgen.open),
        _class("reportgen.explore.Job", explore.Job),
        _function("reportgen.load", reportgen.load),
        _function("reportgen.judge_again", reportgen.judge_again),
        *_module("reportgen.explore", explore, skip={"Job", "open_job"}),
        *_module("reportgen.explore.selections", selections),
        *_module("reportgen.explore.causes", causes, skip=set(explore.__all__)),
        *_module("reportgen.explore.utilization_within", utilization_within),
        *_module("reportgen.explore.statistics", statistics),
        *_module("reportgen.explore.loading", loading),
        *_module("reportgen.explore.charts", charts),
        *_module("reportgen.explore.notebook", notebook),
        "## `reportgen.explore.profiles`\n",
        _class("reportgen.explore.profiles.PythonProfiles", PythonProfiles),
        *_module("reportgen.views", views),
        *_module("reportgen.compat", compat),
    ]
    return "\n".join(part.rstrip() + "\n" for part in parts)


def _module(
    name: str, module: ModuleType, *, skip: frozenset[str] | set[str] = frozenset()
) -> Iterator[str]:
    yield f"## `{name}`\n"
    yield _prose(module.__doc__ or "")
    for public in _public(module):
        if public in skip:
            continue
        item = getattr(module, public)
        if inspect.isclass(item):
            yield _class(f"{name}.{public}", item)
        elif inspect.isfunction(item):
            yield _function(f"{name}.{public}", item)


def _public(module: ModuleType) -> list[str]:
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return list(listed)
    return [
        name
        for name, item in vars(module).items()
        if not name.startswith("_") and getattr(item, "__module__", None) == module.__name__
    ]


def _function(name: str, item: Any) -> str:
    return f"### `{name}{_signature(item)}`\n\n{_prose(inspect.getdoc(item) or '')}"


def _class(name: str, item: type[Any]) -> str:
    parts = [f"### `{name}`\n\n{_prose(inspect.getdoc(item) or '')}"]
    for public, member in vars(item).items():
        if public.startswith("_") and public != "__init__":
            continue
        if isinstance(member, property) or type(member).__name__ == "cached_property":
            parts.append(f"**`.{public}`**: {_prose(inspect.getdoc(member) or '')}")
        elif inspect.isfunction(member) and (member.__doc__ or "").strip():
            title = name.rpartition(".")[2] if public == "__init__" else f".{public}"
            parts.append(
                f"**`{title}{_signature(member)}`**: {_prose(inspect.getdoc(member) or '')}"
            )
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def _signature(item: Any) -> str:
    signature = inspect.signature(item)
    parameters = [
        parameter for parameter in signature.parameters.values() if parameter.name != "self"
    ]
    text = str(signature.replace(parameters=parameters)).replace("'", "")
    return re.sub(r"<[^<>]*(?:<[^<>]*>)?[^<>]* at 0x[0-9a-f]+>", "…", text)


def _prose(docstring: str) -> str:
    """Turn a Google-style docstring into Markdown: sections become lists."""
    lines, section = [], ""
    for line in inspect.cleandoc(docstring).replace("``", "`").splitlines():
        heading = re.fullmatch(rf"({'|'.join(_SECTIONS)}):\s*(.*)", line)
        if heading:
            section = heading[1]
            lines += ["", f"*{section}*: {heading[2]}".rstrip(), ""]
        elif section and re.match(r" {4}\S", line):
            is_item = section in {"Args", "Raises", "Attributes"}
            lines.append(f"{'- ' if is_item else ''}{line.strip()}")
        else:
            lines.append(f"  {line.strip()}" if section and line.strip() else line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


def main() -> None:
    """Write the page."""
    PAGE.write_text(api_text(), encoding="utf-8")


if __name__ == "__main__":
    sys.path.insert(0, str(PAGE.parents[1]))
    main()
