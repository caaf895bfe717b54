"""FLOPs of recorded operators are those of torch.utils.flop_counter but for its two defects."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from reportgen.facts.operator_flops import Inputs, has_formula, work_of
from tests.frameworks.recorded import NEEDS_FRAMEWORKS, PYTHON, SCRIPTS

pytestmark = NEEDS_FRAMEWORKS
N_CASES = 300


def ours(operators: Sequence[Mapping[str, Any]]) -> int:
    """Return the FLOPs of the innermost operators with a formula."""
    counted = [item for item in operators if has_formula(item["name"])]
    inner = [
        item
        for item in counted
        if not any(
            other is not item and item["start"] <= other["start"] and other["end"] <= item["end"]
            for other in counted
        )
    ]
    works = [
        work_of(item["name"], Inputs(dims=tuple(item["dims"]), values=tuple(item["values"])))
        for item in inner
    ]
    assert None not in works, inner
    return sum(work.flops for work in works if work)


def expected(case: Mapping[str, Any]) -> int:
    """Return what torch counts, without its defects.

    It counts causal attention in full, and the gradient of a grouped convolution's weight once
    for each group: of three equal works of a training step the third is that many times as large.
    """
    flops: int = case["flops"]
    if case.get("causal"):
        return flops // 2
    if case.get("has_gradients"):
        return 3 * flops // (2 + int(case["groups"]))
    return flops


def test_random_shapes_are_counted_as_torch_counts_them() -> None:
    script = SCRIPTS / "counted_flops.py"
    done = subprocess.run(
        [PYTHON, script, str(N_CASES)], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    cases = [json.loads(line) for line in done.stdout.splitlines()]

    assert len(cases) == N_CASES
    for case in cases:
        assert ours(case["operators"]) == expected(case), case
