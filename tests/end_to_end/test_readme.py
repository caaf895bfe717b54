"""What the README shows works as shown."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_docs import ROOT

pytestmark = pytest.mark.notebook


def python_blocks(text: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def rule_of_the_docs() -> str:
    """Return the rule that docs/adding-a-rule.md writes."""
    text = (ROOT / "docs" / "adding-a-rule.md").read_text(encoding="utf-8")
    (rule,) = [block for block in python_blocks(text) if "RULE = Rule(" in block]
    return rule


def rule_of_an_old_plugin() -> str:
    """Return a rule whose judge makes the result itself."""
    return Path(__file__).with_name("old_plugin.py").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("plugin", "limit"),
    [(rule_of_the_docs(), "threshold_pct"), (rule_of_an_old_plugin(), "limit")],
    ids=["now", "before outcomes"],
)
def test_a_rule_runs_as_a_plugin_and_the_results_load(plugin, limit, input_bound_job, tmp_path):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = [block for block in python_blocks(readme) if "reportgen.load" in block]
    loading, _, _ = block.partition("\njob = ")  # what follows opens a job
    (tmp_path / "my_rules.py").write_text(plugin, encoding="utf-8")
    # The console script, as users call it: the current folder is not on sys.path by itself.
    script = Path(sys.executable).with_name("make-profiler-report")
    command = [str(script)] if script.exists() else [sys.executable, "-P", "-m", "reportgen"]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    args = [str(input_bound_job), "--plugin", "my_rules", "--set", f"HostMemory.{limit}=20"]

    done = subprocess.run(
        [*command, *args], cwd=tmp_path, capture_output=True, text=True, check=False, env=environ
    )

    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "profiler-report" / "HostMemory.json").read_text())
    assert result["reportgen"]["status"] == "triggered", result["reportgen"]["reason"]
    assert result["reportgen"]["exhibits"]
    assert "Host memory" in (tmp_path / "profiler-report.html").read_text(encoding="utf-8")

    shown = subprocess.run(
        [sys.executable, "-c", loading],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        env=environ,
    )
    assert shown.stdout.splitlines()
