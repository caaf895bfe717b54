"""``python -m benchmarks.exam.real --venv .venv-frameworks --keep DIR``: record, report, mark."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.exam.analyse import Told, analyse
from benchmarks.exam.real.cases import CASES, Case
from benchmarks.exam.tables import put_between
from reportgen.results.causes import Cause

ROOT = Path(__file__).parents[3]
_SCRIPTS = Path(__file__).parent / "scripts"
_TRUE = re.compile(r"^TRUE steps=(\d+) seconds=([\d.]+)$", re.MULTILINE)
_LONG_S, _SHORT_S = 30, 5
_LEAST_SHARE = 0.05
_CROWDED_FROM = 2.0
_TIMEOUT_S = 240
_QUIET, _SHORT, _CROWDED = "long", "short", "crowded"
_TRUTH = "truth.json"
_BUSY = "while True: pass"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How one run of a case was answered.

    Attributes:
        kind: Long, short, or long beside a program that fills all cores.
        step_s: Mean time of a step; ``None`` if the script did not say.
        share_ratio: What the healthy twin takes less for a step; ``None`` for healthy cases.
        loud: The warnings.
        is_crowded: Whether other programs used the cores meanwhile, whoever started them; what
            steps take longer for their sake may be told of a healthy script.
    """

    case: Case
    kind: str
    step_s: float | None
    share_ratio: float | None
    loud: tuple[Told, ...]
    is_crowded: bool = False

    @property
    def is_counted(self) -> bool:
        """Return whether the fault costs enough to be asked for."""
        return bool(self.case.right) and (self.share_ratio or 0.0) >= _LEAST_SHARE

    @property
    def verdict(self) -> str:
        """Return how the first warning is marked."""
        if not self.case.right:
            theirs = {Cause.OTHER_PROGRAMS} if self.is_crowded else set()
            return (
                "right" if {finding.cause for finding in self.loud} <= theirs else "false warning"
            )
        if not self.loud:
            return "no warning"
        first, right = self.loud[0], {str(cause) for cause in self.case.right}
        if first.cause not in right and not right & set(first.possible_causes):
            return "wrong first"
        rank = self.case.rank
        is_elsewhere = rank is not None and first.device and not _is_of(first.device, rank)
        return "wrong place" if is_elsewhere else "right"


def _is_of(device: str, rank: int) -> bool:
    return str(rank) in re.findall(r"\d+-(\d+)\b", device)


def main(arguments: Sequence[str] | None = None) -> int:
    """Record every case, and print the tables and what is wrong."""
    options = _parser().parse_args(arguments)
    wanted = [
        (case, kind)
        for case in CASES
        if not options.only or re.search(options.only, case.name)
        for kind in (_QUIET, _SHORT, _CROWDED)
        if kind in options.kinds and _has(case, kind)
    ]
    with tempfile.TemporaryDirectory() as temporary:
        outcomes = list(_run(wanted, options.venv, options.keep or Path(temporary)))
    table = table_of(outcomes)
    print(table)
    print(wrong_of(outcomes))
    if options.write:
        text = options.write.read_text(encoding="utf-8")
        options.write.write_text(put_between(text, "real exam", table), encoding="utf-8")
    return 0


def _has(case: Case, kind: str) -> bool:
    return {_QUIET: True, _SHORT: case.is_short, _CROWDED: case.is_crowded}[kind]


def _run(wanted: Sequence[tuple[Case, str]], venv: Path, root: Path) -> Iterator[Outcome]:
    """Yield the outcome of each case; healthy twins come first, and give the truth."""
    healthy: dict[tuple[object, str], float] = {}
    for case, kind in sorted(wanted, key=lambda each: (each[1] != _QUIET, bool(each[0].fault))):
        folder = root / f"{case.name} {kind}".replace(" ", "-")
        if not (folder / _TRUTH).is_file():
            _record(case, kind, venv=venv, folder=folder)
        truth = json.loads((folder / _TRUTH).read_text(encoding="utf-8"))
        step_s = truth["step_s"]
        if step_s is not None and not case.fault:
            healthy[case.twin, kind] = step_s
        twin_s = healthy.get((case.twin, kind)) or healthy.get((case.twin, _QUIET))
        is_known = bool(case.right) and step_s and twin_s
        share = 1 - (twin_s or 0) / (step_s or 1) if is_known else None
        loud = tuple(finding for finding in analyse(folder).findings if finding.is_loud)
        outcome = Outcome(
            case=case,
            kind=kind,
            step_s=step_s,
            share_ratio=share,
            loud=loud,
            is_crowded=truth["is_crowded"],
        )
        print(f"{case.name}, {kind}: {outcome.verdict}", file=sys.stderr, flush=True)
        yield outcome


def _record(case: Case, kind: str, *, venv: Path, folder: Path) -> None:
    """Record a case as a user would; save the mean time of its steps beside the recording."""
    seconds = _SHORT_S if kind == _SHORT else _LONG_S
    words = [*case.command, "--seconds", str(seconds)]
    words += ["--fault", case.fault] if case.fault else []
    command = [sys.executable, "-m", "reportgen.cli", "record", "--out", str(folder), "--"]
    with _crowd(_BUSY if kind == _CROWDED else ""):
        done = subprocess.run(
            [*command, *words, *case.options],
            cwd=_SCRIPTS,
            env=_environment(venv),
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    if done.returncode and case.fault != "crash":
        raise RuntimeError(f"{case.name} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    found = _TRUE.findall(done.stdout)
    truth = {
        "step_s": float(found[-1][1]) / max(int(found[-1][0]), 1) if found else None,
        "is_crowded": kind == _CROWDED
        or os.getloadavg()[0] > _CROWDED_FROM * (os.cpu_count() or 1),
    }
    (folder / _TRUTH).write_text(json.dumps(truth), encoding="utf-8")


def _environment(venv: Path) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("REPORTGEN_", "PYTHON"))
    }
    return {
        **kept,
        "PATH": f"{venv.absolute() / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
    }


@contextmanager
def _crowd(code: str) -> Iterator[None]:
    """Run a program on every core meanwhile, unless there is none."""
    n = (os.cpu_count() or 1) if code else 0
    others = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(n)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def table_of(outcomes: Sequence[Outcome]) -> str:
    """Return the marks as Markdown: all runs, and one line for each kind of run."""
    lines = ["| runs | faults | right first | wrong first | healthy | false warning |"]
    lines.append("|---|---:|---:|---:|---:|---:|")
    for kind in (_QUIET, _SHORT, _CROWDED):
        mine = [each for each in outcomes if each.kind == kind]
        faulty = [each for each in mine if each.is_counted]
        healthy = [each for each in mine if not each.case.right]
        cells = [
            len(faulty),
            sum(each.verdict == "right" for each in faulty),
            sum(each.verdict.startswith("wrong") for each in faulty),
            len(healthy),
            sum(each.verdict != "right" for each in healthy),
        ]
        lines.append(f"| {kind} | {' | '.join(map(str, cells))} |")
    lines += ["", "| script | run | costs | marked | first warning |", "|---|---|---:|---|---|"]
    for each in outcomes:
        costs = f"{100 * each.share_ratio:.0f} %" if each.share_ratio is not None else "–"
        first = f"`{each.loud[0].id}` {each.loud[0].title}" if each.loud else "–"
        verdict = each.verdict if each.is_counted or not each.case.right else "not counted"
        lines.append(f"| {each.case.name} | {each.kind} | {costs} | {verdict} | {first} |")
    return "\n".join(lines) + "\n"


def wrong_of(outcomes: Sequence[Outcome]) -> str:
    """Return all warnings of the runs whose first one is not right."""
    lines = []
    for each in outcomes:
        if each.verdict != "right" and (each.is_counted or not each.case.right):
            truth = ", ".join(each.case.right) or "healthy"
            lines.append(f"\n{each.case.name}, {each.kind}: {each.verdict}; truth: {truth}")
            lines += [_line(finding) for finding in each.loud]
    return "\n".join(lines)


def _line(finding: Told) -> str:
    listed = f"  [may be: {', '.join(finding.possible_causes)}]" if finding.possible_causes else ""
    named = f"{finding.severity:8} {finding.id:9} {finding.cause:20}"
    return f"    {named} {finding.node or ''} {finding.device or ''}  {finding.title}{listed}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.exam.real", description=__doc__)
    parser.add_argument("--venv", type=Path, default=ROOT / ".venv-frameworks")
    parser.add_argument("--only", help="pattern for the names of the cases")
    kinds = (_QUIET, _SHORT, _CROWDED)
    parser.add_argument("--kinds", nargs="+", choices=kinds, default=kinds)
    parser.add_argument(
        "--keep",
        type=Path,
        help="keep the recordings here; those that lie there already are judged again",
    )
    parser.add_argument("--write", type=Path, help="write the table into this page")
    return parser


if __name__ == "__main__":
    sys.exit(main())
