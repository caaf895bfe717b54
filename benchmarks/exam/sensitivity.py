"""Which thresholds the exam depends on: each is moved, one at a time, and the jobs judged again."""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import ModuleType

from benchmarks.exam.analyse import Answer, analyse
from benchmarks.exam.making import Order, make
from benchmarks.exam.marks import Result, mark
from benchmarks.exam.recording import write_recording
from benchmarks.exam.tables import figures_of
from benchmarks.exam.truth import Truth
from reportgen.rules.registry import all_rules
from reportgen.rules.settings import resolve_params

FACTORS = (0.25, 0.5, 2.0, 4.0)
_PACKAGES = ("reportgen.rules", "reportgen.facts", "reportgen.diagnosis")
_CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """A number that decides: a parameter of a rule, or a constant of a module.

    Attributes:
        home: The rule or the module.
        is_param: Whether it is a parameter of a rule.
    """

    home: str
    name: str
    value: float
    is_param: bool


def thresholds(patterns: Sequence[str] = ()) -> tuple[Threshold, ...]:
    """Return all numbers that decide, or those whose home and name match a pattern."""
    found = [*_params(), *_constants()]
    return tuple(
        each
        for each in found
        if not patterns or any(re.search(it, f"{each.home}.{each.name}") for it in patterns)
    )


def sensitivity(orders: Sequence[Order], *, only: Sequence[str], processes: int) -> str:
    """Return a table of what changes in an exam when a threshold is moved."""
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(processes) as pool:
        truths = list(pool.map(partial(_write, root=Path(folder)), orders))
        before = list(pool.map(partial(_answer, Path(folder)), truths))
        lines = ["| threshold | value | factor | findings that change | figures that change |"]
        lines.append("|---|---:|---:|---:|---|")
        still = 0
        for each in thresholds(only):
            rows = [_row(each, factor, truths, before, pool, Path(folder)) for factor in FACTORS]
            still += not any(rows)
            lines += [row for row in rows if row]
            print(f"{each.home}.{each.name}", file=sys.stderr)
    lines.append(f"\n{still} of {len(thresholds(only))} thresholds change nothing.")
    return "\n".join(lines)


def _params() -> Iterator[Threshold]:
    rules = tuple(all_rules())
    for rule, params in resolve_params(rules, {}).items():
        for name in getattr(type(params), "__slots__", ()):
            value = getattr(params, name)
            if _is_number(value):
                yield Threshold(home=str(rule), name=name, value=value, is_param=True)


def _constants() -> Iterator[Threshold]:
    for module in _modules():
        for name, value in vars(module).items():
            if _CONSTANT.fullmatch(name) and _is_number(value) and _is_own(module, name):
                yield Threshold(home=module.__name__, name=name, value=value, is_param=False)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value != 0


def _is_own(module: ModuleType, name: str) -> bool:
    source = Path(module.__file__ or "").read_text(encoding="utf-8")
    return re.search(rf"^{name}(: [^=]+)? = ", source, re.MULTILINE) is not None


def _modules() -> Iterator[ModuleType]:
    for package in map(importlib.import_module, _PACKAGES):
        yield package
        for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            yield importlib.import_module(each.name)


def _write(order: Order, *, root: Path) -> Truth:
    job = make(order)
    folder = root / job.truth.name / "profiler-output"
    write_recording(job.recording, seed=order.seed, root=folder)
    return job.truth


def _answer(root: Path, truth: Truth, moved: Threshold | None = None) -> Answer:
    """Judge a job again; a constant is changed in every module that has it."""
    if moved is None or moved.is_param:
        return analyse(root / truth.name, moved=_as_params(moved))
    homes = [importlib.import_module(moved.home)]
    homes += [each for each in _modules() if _imports(each, moved)]
    kept = [(home, getattr(home, moved.name)) for home in homes]
    try:
        for home in homes:
            setattr(home, moved.name, moved.value)
        return analyse(root / truth.name)
    finally:
        for home, value in kept:
            setattr(home, moved.name, value)


def _imports(module: ModuleType, moved: Threshold) -> bool:
    """Return whether a module has imported a constant by its name."""
    source = Path(module.__file__ or "").read_text(encoding="utf-8")
    pattern = rf"from {re.escape(moved.home)} import [^)]*?\b{moved.name}\b"
    return hasattr(module, moved.name) and re.search(pattern, source) is not None


def _as_params(moved: Threshold | None) -> dict[str, dict[str, float]]:
    return {moved.home: {moved.name: moved.value}} if moved else {}


def _row(
    each: Threshold,
    factor: float,
    truths: Sequence[Truth],
    before: Sequence[Answer],
    pool: ProcessPoolExecutor,
    root: Path,
) -> str:
    value = each.value * factor
    moved = replace(each, value=round(value) if isinstance(each.value, int) else value)
    if moved.value == each.value:
        return ""
    after = list(pool.map(partial(_answer, root, moved=moved), truths))
    n_changed = sum(_said(one) != _said(other) for one, other in zip(before, after, strict=True))
    if not n_changed:
        return ""
    old, new = _figures(truths, before), _figures(truths, after)
    figures = [f"{name} {old[name][0]} → {new[name][0]}" for name in old if old[name] != new[name]]
    name = f"{each.home.removeprefix('reportgen.')}.{each.name}"
    return f"| `{name}` | {each.value:g} | {factor:g} | {n_changed} | {', '.join(figures)} |"


def _said(answer: Answer) -> list[tuple[str, str, str]]:
    return [(finding.id, finding.cause, finding.severity) for finding in answer.findings]


def _figures(truths: Sequence[Truth], answers: Sequence[Answer]) -> dict[str, tuple[int, int]]:
    pairs = zip(truths, answers, strict=True)
    return figures_of([Result(truth=it, answer=said, marks=mark(it, said)) for it, said in pairs])
