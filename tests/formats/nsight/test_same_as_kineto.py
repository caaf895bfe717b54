"""The same events give the same results, whether PyTorch's profiler or Nsight wrote them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reportgen import intake
from reportgen.pipeline.compose import compose_report
from reportgen.pipeline.work import work_on
from reportgen.results.codec import encode
from reportgen.rules.registry import all_rules
from reportgen.rules.runner import judge_all, rules_for
from reportgen.rules.settings import resolve_params
from sample_data.kernel_trace import BASE_NS, N_RANKS
from sample_data.nsight_report import Event, ReportTables, Schema, events_of

KEPT = frozenset(
    {"device", "stream", "correlation", "bytes", "grid", "block", "context", "graph node id"}
)
"""Arguments that both profilers write."""


def common_events(rank: int) -> list[Event]:
    """The events of a rank, with what both profilers write, in whole nanoseconds."""
    found: list[Event] = []
    for event in events_of(rank):
        if event["ph"] == "X":
            args = {key: value for key, value in event["args"].items() if key in KEPT}
            found.append({**event, "args": args})
    return found


def more_events(rank: int) -> list[Event]:
    """Kinds of events that the sample has not."""
    pid, first = 4100 + rank, events_of(rank)[0]["ts"]
    where = {"device": rank, "stream": 7}
    host = {"ph": "X", "pid": pid, "tid": pid + 1}
    return [
        {**host, "cat": "gpu_memset", "name": "Memset (Device)", "ts": first + 5.5, "dur": 2.25,
         "args": {**where, "correlation": 90_001, "bytes": 4096}},
        {**host, "cat": "cuda_runtime", "name": "cudaMemsetAsync", "ts": first + 1.125, "dur": 3.0,
         "args": {"correlation": 90_001}},
        {**host, "cat": "cuda_sync", "name": "Stream Sync", "ts": first + 9.0, "dur": 4.0,
         "args": {**where, "correlation": 90_002}},
        {**host, "cat": "cuda_runtime", "name": "cudaGraphLaunch", "ts": first + 15.0, "dur": 9.0,
         "args": {"correlation": 90_003}},
        *({**host, "cat": "kernel", "name": f"node_{node}", "ts": first + 40.0 + 9 * node,
           "dur": 8.5, "args": {**where, "correlation": 90_003, "graph node id": node}}
          for node in range(3)),
        {**host, "cat": "overhead", "name": "Command Buffer Full", "ts": first + 60.0, "dur": 7.0,
         "args": {}},
    ]  # fmt: skip


def write_kineto(folder: Path) -> Path:
    for rank in range(N_RANKS):
        head = {"schemaVersion": 1, "baseTimeNanoseconds": BASE_NS}
        events = [*common_events(rank), *more_events(rank)]
        path = folder / f"rank-{rank}.pt.trace.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({**head, "traceEvents": events}))
    return folder


def write_nsight(folder: Path, kind: str, schema: Schema) -> Path:
    for rank in range(N_RANKS):
        report = ReportTables(schema=schema)
        report.add_process([*common_events(rank), *more_events(rank)], pid=4100 + rank)
        report.write(folder / (f"rank-{rank}.sqlite" if kind == "sqlite" else f"rank-{rank}_dir"))
    return folder


def results_of(path: Path) -> dict[str, Any]:
    """The results of all rules as JSON, without the words that name the job."""
    rules = all_rules()
    job = intake.discover(str(path), name="job", source="job")
    chosen = rules_for(job, rules)
    params = resolve_params(rules, {})
    measured = [work_on(part, rules=chosen, params=params) for part in job.parts]
    judged = judge_all([item.measurements for item in measured], chosen, params)
    report = compose_report(job, measured, judged)
    return {rule: json.loads(encode(result)) for rule, result in report.results.items()}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    found = results_of(write_kineto(tmp_path_factory.mktemp("kineto") / "job"))
    speaking = [rule for rule, result in found.items() if result["reportgen"]["exhibits"]]
    assert len(speaking) >= 8
    return found


@pytest.mark.parametrize(
    ("kind", "schema"),
    [("sqlite", Schema.OF_2026), ("sqlite", Schema.OF_2021), ("parquet", Schema.OF_2026)],
)
def test_every_rule_says_the_same(tmp_path: Path, expected: dict[str, Any], kind, schema) -> None:
    found = results_of(write_nsight(tmp_path / "job", kind, schema))
    assert list(found) == list(expected)
    for rule, result in expected.items():
        assert found[rule] == result, rule
