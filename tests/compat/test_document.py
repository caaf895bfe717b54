"""Every call of ``docs/from-smdebug.md`` runs on a sample job."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import reportgen
from reportgen import compat, explore
from reportgen.compat import jobs
from reportgen.explore import causes, charts, loading, selections, statistics
from reportgen.explore import job as job_module
from reportgen.storage import DescribedJob as Described

PAGE = Path(__file__).resolve().parents[2] / "docs" / "from-smdebug.md"
_NEW = re.compile(r"(causes|job|charts|statistics|s)\.\w+.*\(")


def rows_below(heading: str) -> list[list[str]]:
    """Return the cells of the table below a heading, without the head of the table."""
    text = PAGE.read_text(encoding="utf-8").partition(heading)[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return rows[1:]


@pytest.fixture
def names(input_bound_job: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    def described(path: str) -> Described:
        assert path == "sagemaker:eu-west-1/my-job"
        return Described(name="my-job", region="", status="", profiler_path=str(input_bound_job))

    for module in (jobs, job_module):
        monkeypatch.setattr(module, "training_job", described)
    job = reportgen.open(str(input_bound_job))
    pf = compat.PandasFrame(str(input_bound_job))
    system = job.system_metrics()
    return {
        **{name: getattr(compat, name) for name in compat.__all__},
        "reportgen": reportgen,
        "explore": explore,
        "causes": causes,
        "charts": charts,
        "loading": loading,
        "selections": selections,
        "statistics": statistics,
        "path": str(input_bound_job),
        "name": "my-job",
        "region": "eu-west-1",
        "job": job,
        "s": system,
        "f": job.framework_metrics(),
        "pf": pf,
        "loader": job.dataloader_metrics(),
        "pt": compat.PT_dataloader_analysis(pf),
        "tj": compat.TrainingJob(str(input_bound_job)),
        "times": system["timestamp"][5000:5010],
        "start": 150_000_000,
        "end": system["timestamp"].iloc[-1],
    }


def test_both_columns_run(names: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    rows = rows_below("a sample job")
    assert len(rows) > 15
    for _, *both in rows:
        for cell in both:
            (code,) = re.findall("`([^`]+)`", cell)
            found = eval(code, dict(names))  # our own document
            assert (found is None) == ("wait_for_sys" in code), code
            if not re.match(r"pt\.|loading\.(worker|.*outliers)", code):  # healthy loader
                assert not getattr(found, "empty", False), code
    assert "Selected timerange" in capsys.readouterr().out


def test_what_is_missing_is_refused_and_what_is_named_instead_runs(names: dict[str, Any]) -> None:
    n_run = n_refused = 0
    homes = {"TrainingJob": names["tj"], "readers": compat.MetricsReader(names["path"])}
    homes["PandasFrameAnalysis"] = compat.PandasFrameAnalysis(names["s"], names["f"])
    homes["PandasFrame"] = names["pf"]
    for old, instead in rows_below("## Missing names"):
        for code in filter(_NEW.match, re.findall("`([^`]+)`", instead)):
            n_run += 1
            assert eval(code, dict(names)) is not None, code  # our own document
        home = next((home for word, home in homes.items() if word in old), compat)
        for name in re.findall(r"`(\w+)`", old.partition("update_data")[0]):
            if name not in homes:
                n_refused += 1
                with pytest.raises((AttributeError, ImportError), match=f"has no {name};"):
                    getattr(home, name)
    assert (n_run, n_refused) == (13, 21)
