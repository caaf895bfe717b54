"""Follow a page of instructions to the letter, in a copy of the project."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def copy_project(target: Path) -> Path:
    """Copy the project as it is to a folder, as the first commit of a repository."""
    listed = run(["git", "ls-files", "-z"], ROOT).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_bytes((ROOT / name).read_bytes())
    run(["git", "init", "-q"], target)
    run(["git", "add", "-A"], target)
    who = ["-c", "user.name=reader", "-c", "user.email=reader@example.org"]
    run(["git", *who, "commit", "-q", "-m", "as it was"], target)
    return target


def follow(page: Path, project: Path, *, changed: str) -> None:
    """Write the files that a page shows, and make its changes of one other file."""
    text = page.read_text(encoding="utf-8")
    for name, code in re.findall(
        r"^`([\w/]+\.py)`:\n\n```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL
    ):
        (project / name).write_text(code, encoding="utf-8")
    for hunk in re.findall(r"^```diff\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        _apply(hunk, project / changed)


def changed_files(project: Path) -> set[str]:
    """Return the files that are new or different since the project was copied."""
    changed = run(["git", "status", "--porcelain", "-uall"], project).stdout.split("\n")
    return {line[3:] for line in changed if line and "__pycache__" not in line}


def named_files(page: Path) -> set[str]:
    """Return the files in the table of a page."""
    return set(
        re.findall(r"^\| `([\w/-]+\.\w+)` \|", page.read_text(encoding="utf-8"), re.MULTILINE)
    )


def append_line(path: Path, line: str) -> None:
    """Write a line at the end of a document."""
    path.write_text(f"{path.read_text(encoding='utf-8')}\n{line}\n", encoding="utf-8")


def _apply(hunk: str, path: Path) -> None:
    """Insert the added lines of a hunk where its unchanged lines stand."""
    lines = hunk.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if line[0] != "+")
    after = "".join(line[1:] for line in lines)
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1, f"the page's change of {path.name} fits no longer"
    path.write_text(text.replace(before, after), encoding="utf-8")


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command that must succeed."""
    env = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, f"{' '.join(command)}:\n{done.stdout}\n{done.stderr}"
    return done
