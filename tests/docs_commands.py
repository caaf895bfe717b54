"""The shell blocks of the documents, and a folder in which they can be run."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))
PARSE_ONLY = re.compile(r"<!-- parse only: .+ -->")
OURS = ("reportgen", "make-profiler-report")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block: its language, its title, its lines, and whether it can only be parsed."""

    page: str
    language: str
    title: str
    is_parsed_only: bool
    lines: tuple[str, ...]

    def commands(self) -> Iterator[str]:
        """Yield the commands of a shell block, continued lines joined, comments left out."""
        for line in "\n".join(self.lines).replace("\\\n", " ").splitlines():
            if line.strip() and not line.startswith("#"):
                yield line.strip()


def blocks(page: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a page in order."""
    fence = re.compile(r'^```(\w*)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
    text = page.read_text(encoding="utf-8")
    for match in fence.finditer(text):
        before = text[: match.start()].rstrip("\n").rpartition("\n")[2]
        yield Block(
            page=page.name,
            language=match[1],
            title=match[2] or "",
            is_parsed_only=bool(PARSE_ONLY.fullmatch(before)),
            lines=tuple(match[3].splitlines()),
        )


def calls_of(command: str) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield each call of ours in a line of shell: its name and its arguments."""
    inner = re.sub(r'"\$\((.*)\)"', r"\1", command)
    words = shlex.split(inner, comments=True)
    for at, word in enumerate(words):
        if word in OURS:
            yield word, words[at + 1 :]
            return


def make_sandbox(folder: Path, *, jobs: Path, report: Path) -> None:
    """Fill a folder with everything that the documents name.

    Args:
        folder: an empty folder.
        jobs: a folder with the jobs ``input_bound`` and ``healthy``.
        report: a folder with a saved report and its page.
    """
    for name in ("my-training-job", "path/to/my-training-job"):
        shutil.copytree(jobs / "input_bound", folder / name)
    samples = folder / "sample_data"
    samples.mkdir()
    (samples / "jobs").symlink_to(jobs)
    for name in ("kernel_traces", "nsight_reports", "tensorflow_training"):
        (samples / name).symlink_to(ROOT / "sample_data" / name)
    shutil.copy(
        ROOT / "sample_data/kernel_traces/rank-0.pt.trace.json.gz", folder / "trace.json.gz"
    )
    for name in ("report.sqlite", "run.sqlite"):
        shutil.copy(ROOT / "sample_data/nsight_reports/training.sqlite", folder / name)
    for name in (".", "before", "after", "baseline", "runs/one", "runs/two"):
        shutil.copytree(report, folder / name, dirs_exist_ok=True)
    (folder / "notebooks").mkdir()
    tutorial = [block for block in blocks(ROOT / "docs/tutorial.md") if block.title == "train.py"]
    shorter = "\n".join(tutorial[0].lines).replace("batches(450)", "batches(150)")
    (folder / "train.py").write_text(shorter, encoding="utf-8")
    _make_programs(folder / "bin")


def _make_programs(folder: Path) -> None:
    """Write the programs that the documents call: ours from this checkout, and stand-ins."""
    folder.mkdir()
    python = shlex.quote(sys.executable)
    bodies = {
        "reportgen": f'exec {python} -m reportgen.cli "$@"',
        "make-profiler-report": f'exec {python} -m reportgen "$@"',
        "python": f'exec {python} "$@"',
        "pip": "exit 0",
        "nsys": "exit 0",
        "open": 'test -f "$1"',
        "make": f'grep -q "^$1:" {shlex.quote(str(ROOT / "Makefile"))}',
    }
    for name, body in bodies.items():
        program = folder / name
        program.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        program.chmod(0o755)
