"""The page's scripts: modules, joined to one text in the page.

A page opened from a file cannot import: browsers refuse it. So a module and all that it imports are
put one after the other, each after those that it needs, in one scope. The modules must allow this,
and ``tests/test_page_scripts.py`` checks that they do: they import by name without renaming, and
no two modules of a page declare the same name. The scripts of an installed package were joined when
it was built (``.ci/built_scripts.py``); joining them again changes nothing.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

_IMPORT = re.compile(r'^import [^;"]*"\./([\w.]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=const|let|function|async|class)", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*/\*.*?\*/[ \t]*\n|/\*\* @type [^*]*\*/ ?", re.MULTILINE | re.DOTALL)
_INDENT = re.compile(r"^[ \t]+|^\n", re.MULTILINE)


@lru_cache
def joined(entry: Path) -> str:
    """Return a module and its imports as one text, without comments and indents."""
    found: dict[Path, str] = {}
    _collect(entry, found)
    return "".join(
        _INDENT.sub("", _EXPORT.sub("", _COMMENT.sub("", _IMPORT.sub("", text))))
        for text in found.values()
    )


def _collect(path: Path, found: dict[Path, str]) -> None:
    text = path.read_text("utf-8")
    for name in _IMPORT.findall(text):
        if path.parent / name not in found:
            _collect(path.parent / name, found)
    found[path] = text
