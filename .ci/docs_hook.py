"""MkDocs hook: pages of the root join the site, and links to code become plain text."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
ROOT_PAGES = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", ".github/SECURITY.md")
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#\s]+)(#[^)\s]*)?\)")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages of the root."""
    for name in ROOT_PAGES:
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, posixpath.basename(name), content=text))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Point links at the pages of the site; what is not part of it is named without a link."""
    homes = {posixpath.basename(name): posixpath.dirname(name) for name in ROOT_PAGES}
    home = homes.get(page.file.src_path, "docs")

    def relinked(match: re.Match[str]) -> str:
        words, target, anchor = match[1], match[2], match[3] or ""
        if "://" in target:
            return match[0]
        path = posixpath.normpath(posixpath.join(home, target))
        if path == "README.md":
            return f"[{words}](index.md)"
        if path in ROOT_PAGES:
            return f"[{words}]({posixpath.basename(path)}{anchor})"
        if path.startswith("docs/"):
            return f"[{words}]({path.removeprefix('docs/')}{anchor})"
        return words

    return _LINK.sub(relinked, markdown)


def on_post_page(output: str, *, page: Any, **_: Any) -> str:
    """Refuse a page that would ask the network for something."""
    loaded = re.findall(r'<(?:script|img|iframe|source|link)\b[^>]*?(?:src|href)="([^"]+)"', output)
    foreign = [address for address in loaded if re.match(r"(?:https?:)?//", address)]
    if foreign:
        where = page.file.src_path
        raise PluginError(f"{where} loads {', '.join(foreign)}; keep the site offline.")
    return output
