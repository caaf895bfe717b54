"""Jobs of many ranks with a planted fault: the report names it."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.rank_traces import Fault, write_job
from reportgen.intake import discover
from reportgen.pipeline.work import work_on
from reportgen.rules import collectives
from reportgen.rules.runner import judge_all
from reportgen.rules.settings import resolve_params


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault.NONE, []),
        (Fault.SLOW_RANK, ["Rank 20 is late and others wait for it: "]),
        (Fault.SLOW_LINK, ["Nearly all slow ones are with host node002"]),
        (Fault.SLOW_NODE, ["Host node002 is late and other ranks wait for it: "]),
    ],
)
def test_the_planted_rank_link_or_node_is_named(tmp_path: Path, fault, said) -> None:
    write_job(tmp_path, 32, n_steps=4, fault=fault)
    params = resolve_params([collectives.RULE], {})
    job = discover(str(tmp_path), name=None)
    parts = [work_on(part, rules=[collectives.RULE], params=params) for part in job.parts]
    (result,) = judge_all([part.measurements for part in parts], [collectives.RULE], params)
    findings = result.findings

    assert len(findings) == len(said)
    for finding, text in zip(findings, said, strict=True):
        assert text in f"{finding.title} {finding.text}"
