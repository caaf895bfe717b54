"""The type of a column is declared: it is the same in every job, also where all is absent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from reportgen.intake import discover, list_files, read, read_aws_folder
from reportgen.pipeline.from_results import import_results
from reportgen.results import ColumnType, RuleResult
from reportgen.rules.registry import BUILTIN_RULES
from reportgen.rules.runner import judge_all, measure_part
from tests.rules.samples import busy_node, nodes, ranks, run
from tests.shared_data import SHARED_DATA
from tests.test_docs import ROOT

TRACES = (ROOT / "sample_data" / "kernel_traces", ROOT / "sample_data" / "recorded_trace")


def test_columns_have_one_type_in_all_jobs(input_bound_job: Path) -> None:
    seen: dict[tuple[str, str, str], set[ColumnType]] = defaultdict(set)
    for result in _results(input_bound_job):
        for item in result.exhibits:
            for column in item.columns:
                seen[result.id, item.id, column.name].add(column.type)

    assert len(seen) > 500
    assert {place: types for place, types in seen.items() if len(types) > 1} == {}


def _results(job: Path) -> Iterable[RuleResult]:
    for rule in BUILTIN_RULES:
        for parts in ((busy_node(),), nodes(), ranks(), ranks()[:1]):
            yield run(rule, *parts)
    params = {rule.id: rule.params() for rule in BUILTIN_RULES}
    for path in (job, *TRACES):
        parts_read = [read(part) for part in discover(str(path)).parts]
        measured = [measure_part(part, BUILTIN_RULES, params) for part in parts_read]
        yield from judge_all(measured, BUILTIN_RULES, params)
    reports = SHARED_DATA / "aws-reports"
    for path in sorted(reports.iterdir()) if reports.is_dir() else ():
        yield from import_results(read_aws_folder(list_files(str(path)))).results.values()
