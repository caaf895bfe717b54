"""Write the tables of the documents that come from code: rules, parameters, exhibits.

``python docs/build.py`` rewrites them between their markers; a test proves that they are fresh.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from reportgen.intake import discover, read
from reportgen.results import Exhibit, ExhibitKind, RuleResult, Scalar
from reportgen.rules.base import Rule, param_specs
from reportgen.rules.registry import BUILTIN_RULES
from reportgen.rules.runner import judge_all, measure_part
from reportgen.rules.settings import resolve_params, valid_range
from sample_data.horovod import horovod_bytes, late_rank, negotiation_lines
from sample_data.make import make_job
from sample_data.python_profiles import write_python_profiles
from sample_data.spec import NAMED_JOBS, Fault, JobSpec

ROOT = Path(__file__).resolve().parents[1]
MAX_COLUMNS = 16
TRACES = (ROOT / "sample_data" / "kernel_traces", ROOT / "sample_data" / "recorded_trace")
EXHIBIT_JOBS = (
    *NAMED_JOBS.values(),
    JobSpec(name="leak", faults=frozenset({Fault.MEMORY_LEAK})),
    JobSpec(name="imbalance", gpus=4, faults=frozenset({Fault.IMBALANCE})),
    JobSpec(name="io", faults=frozenset({Fault.IO_BOUND})),
)


def rule_table() -> str:
    """Return the table of all rules, their questions and needs."""
    rows = ["| rule | checks | needs |", "|---|---|---|"]
    rows.extend(
        f"| `{rule.id}` | {rule.about.checks} | {', '.join(rule.needs)} |"
        for rule in _sorted_rules()
    )
    return "\n".join(rows)


def parameter_table() -> str:
    """Return the table of all parameters: default, valid values, meaning."""
    rows = ["| parameter | default | valid | meaning |", "|---|---|---|---|"]
    for rule in _sorted_rules():
        rows += [
            f"| `{rule.id}.{spec.name}` | {_code(spec.default)} | {valid_range(spec)} | "
            f"{spec.meaning} |"
            for spec in param_specs(rule.params)
        ]
    return "\n".join(rows)


def exhibit_table() -> str:
    """Return the table of all exhibits that the sample jobs bring forth, rule by rule."""
    found: dict[tuple[str, str], Exhibit] = {}
    with tempfile.TemporaryDirectory() as folder:
        timeline = Path(folder) / "horovod_timeline.json"
        timeline.write_bytes(horovod_bytes(negotiation_lines(late_rank(100))))
        jobs = [make_job(spec, output=Path(folder)) for spec in EXHIBIT_JOBS]
        write_python_profiles(jobs[0] / "profiler-output", _first_steps(EXHIBIT_JOBS[0]))
        for job in (*jobs, *TRACES, timeline):
            for result in _results(job):
                for item in result.exhibits:
                    found.setdefault((result.id, item.id), item)
    rows = ["| rule | exhibit | kind | columns |", "|---|---|---|---|"]
    rows.extend(
        f"| `{rule_id}` | `{item.id}` | {item.kind} | {_columns(item)} |"
        for (rule_id, _), item in sorted(found.items(), key=lambda pair: pair[0])
    )
    return "\n".join(rows)


def _first_steps(spec: JobSpec) -> Iterator[tuple[int, int, int, int]]:
    """Yield number, start, middle and next start of some seconds of training, µs UTC."""
    first_us = round(1e6 * (spec.start_s + spec.init_s))
    for second in range(3):
        start_us = first_us + 10**6 * second
        yield second, start_us, start_us + 10**5, start_us + 10**6


def _results(job: Path) -> tuple[RuleResult, ...]:
    params = resolve_params(BUILTIN_RULES, {})
    parts = [read(ref) for ref in discover(str(job)).parts]
    measured = [measure_part(part, BUILTIN_RULES, params) for part in parts]
    return judge_all(measured, BUILTIN_RULES, params)


def _columns(item: Exhibit) -> str:
    """Name the columns; those that are named after nodes, devices or workers are listed as one."""
    if item.kind in (ExhibitKind.BAND, ExhibitKind.SERIES):
        return "see above"
    return ", ".join(f"`{column.name}`" for column in item.columns[:MAX_COLUMNS]) + (
        ", …" if len(item.columns) > MAX_COLUMNS else ""
    )


def rewritten(text: str, *, name: str, table: str) -> str:
    """Return a document with the table between its markers replaced.

    Raises:
        ValueError: the document has no such markers.
    """
    pattern = re.compile(rf"(<!-- {name}:begin[^>]*-->\n).*?(<!-- {name}:end -->)", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"no markers for {name}")
    return pattern.sub(lambda match: f"{match[1]}\n{table}\n\n{match[2]}", text)


def fresh_documents() -> dict[Path, str]:
    """Return each document that holds generated tables, as it should be."""
    path = ROOT / "docs" / "reference.md"
    text = path.read_text(encoding="utf-8")
    tables = {"rules": rule_table(), "parameters": parameter_table(), "exhibits": exhibit_table()}
    for name, table in tables.items():
        text = rewritten(text, name=name, table=table)
    return {path: text}


def _sorted_rules() -> list[Rule]:
    return sorted(BUILTIN_RULES, key=lambda rule: rule.id)


def _code(value: Scalar) -> str:
    return f"`{value}`"


if __name__ == "__main__":
    for path, text in fresh_documents().items():
        path.write_text(text, encoding="utf-8")
        sys.stderr.write(f"{path.relative_to(ROOT)}\n")
