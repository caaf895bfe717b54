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


def python_blocks() -> list[str]:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", readme, re.DOTALL)


def test_the_rule_of_the_readme_runs_and_the_results_load(
    input_bound_job: Path, tmp_path: Path
) -> None:
    (loading,) = [block for block in python_blocks() if "reportgen.load" in block]
    (plugin,) = [block for block in python_blocks() if "RULE = Rule(" in block]
    (tmp_path / "my_rules.py").write_text(plugin, encoding="utf-8")
    # The console script, as users call it: the current folder is not on sys.path by itself.
    script = Path(sys.executable).with_name("make-profiler-report")
    command = [str(script)] if script.exists() else [sys.executable, "-P", "-m", "reportgen"]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    args = [str(input_bound_job), "--plugin", "my_rules", "--set", "HostMemory.limit=20"]

    done = subprocess.run(
        [*command, *args], cwd=tmp_path, capture_output=True, text=True, check=False, env=environ
    )

    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "profiler-report" / "HostMemory.json").read_text())
    assert result["reportgen"]["status"] in {"triggered", "ok"}, result["reportgen"]["reason"]
    assert result["Violations"] > 0
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
