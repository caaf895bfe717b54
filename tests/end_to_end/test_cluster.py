"""A report made by a cluster is the local one, byte by byte, whichever worker dies meanwhile."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from sample_data.make import make_job
from sample_data.spec import JobSpec
from tests.end_to_end.command import Run, run_command
from tests.engine.clusters import Cluster, running_cluster
from tests.traces import ranked, write_trace

pytestmark = pytest.mark.cluster

_DEADLY_RULE = """
import os
import signal
from dataclasses import replace
from pathlib import Path

from reportgen.results import RuleId
from reportgen.rules.base import Need
from reportgen.rules.registry import BUILTIN_RULES

OF_NODES = next(rule for rule in BUILTIN_RULES if rule.needs == (Need.SYSTEM,))


def measure(part, params):
    victim, _, died = os.environ.get("VICTIM", "").partition("@")
    if part.node == victim and not (died and Path(died).exists()):
        if died:
            Path(died).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return OF_NODES.measure(part, params)


RULE = replace(OF_NODES, id=RuleId("Deadly"), measure=measure)
"""


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A job of four nodes and two kernel traces."""
    spec = JobSpec(name="job", nodes=4, gpus=2, cores=4, duration_s=120.0, init_s=20.0)
    job = make_job(spec, output=tmp_path_factory.mktemp("jobs"))
    for rank in range(2):
        write_trace(job / f"rank{rank}.json", ranked(rank))
    return job


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    folder = tmp_path / "plugins"
    folder.mkdir()
    (folder / "deadly.py").write_text(_DEADLY_RULE)
    return folder


def report(
    job: Path | str,
    output: Path,
    plugins: Path,
    *options: str,
    env: Mapping[str, str] | None = None,
) -> Run:
    own = os.pathsep.join((str(Path(__file__).resolve().parents[2]), str(plugins)))
    return run_command(
        str(job), "--output", output, "--plugin", "deadly", "--format", "md", *options,
        cwd=plugins, env={"PYTHONPATH": own, **(env or {})},
    )  # fmt: skip


def files_of(output: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(output)): path.read_bytes()
        for path in output.rglob("*")
        if path.is_file() and path.name != "Input.sha256"
    }


def test_a_worker_that_is_killed_changes_no_byte(job: Path, tmp_path: Path, plugins: Path) -> None:
    here, there, died = tmp_path / "here", tmp_path / "there", tmp_path / "died"
    assert report(job, here, plugins).code == 0
    with running_cluster(tmp_path, env={"VICTIM": f"algo-3@{died}"}) as cluster:
        made = report(job, there, plugins, "--engine", f"dask:{cluster.address}")
        assert (made.code, made.stderr) == (0, "")
        assert sum(worker.poll() is None for worker in cluster.workers) == 1
    assert died.exists()
    assert files_of(there) == files_of(here)
    assert len(files_of(here)) > 10


def test_a_part_that_kills_each_worker_is_missing_only_where_that_is_allowed(
    job: Path, tmp_path: Path, plugins: Path
) -> None:
    output = tmp_path / "out"
    with _deadly_cluster(tmp_path / "first") as cluster:
        engine = ("--engine", f"dask:{cluster.file}")
        made = report(job, output, plugins, *engine)
    assert made.code == 1
    assert "1 of 6 parts of the job could not be read. node algo-2: 4 workers died" in made.stderr
    assert "--allow-missing" in made.stderr
    assert not (output / "profiler-report").exists()
    with _deadly_cluster(tmp_path / "second") as cluster:
        engine = ("--engine", f"dask:{cluster.file}")
        made = report(job, output, plugins, *engine, "--allow-missing")
    assert made.code == 0
    said = (output / "profiler-report" / "report.json").read_text()
    assert "node algo-2 is missing in this report: 4 workers died" in said


def _deadly_cluster(folder: Path) -> AbstractContextManager[Cluster]:
    folder.mkdir()
    return running_cluster(folder, n_workers=5, env={"VICTIM": "algo-2"})


def test_workers_read_a_bucket_with_credentials_of_their_own(job, tmp_path, plugins, s3):
    s3.put_folder(job, "jobs/job")
    endpoint = os.environ.pop("AWS_ENDPOINT_URL")
    url = f"{s3.url}/jobs/job"
    options = ("--endpoint-url", endpoint)
    here, there = tmp_path / "here", tmp_path / "there"
    assert report(url, here, plugins, *options).code == 0
    keys = {"AWS_ACCESS_KEY_ID": "AKIDWORKER", "AWS_SECRET_ACCESS_KEY": "workers"}
    with running_cluster(tmp_path, env=keys) as cluster:
        s3.trouble.seen.clear()
        s3.trouble.signers.clear()
        made = report(url, there, plugins, *options, "--engine", f"dask:{cluster.address}")
        assert (made.code, made.stderr) == (0, "")
    assert {signer[0] for signer in s3.trouble.signers if signer} == {"AKIDEXAMPLE", "AKIDWORKER"}
    assert files_of(there) == files_of(here)


def test_workers_that_cannot_be_used_are_said_without_a_traceback(job, tmp_path, plugins):
    made = report(job, tmp_path / "out", plugins, "--engine", "dask:tcp://127.0.0.1:1")
    assert made.code == 1
    assert made.stderr.startswith("error: No Dask scheduler answers at tcp://127.0.0.1:1.")
    assert "Traceback" not in made.stderr
    assert report(job, tmp_path / "out", plugins, "--engine", "dask").code == 2
