"""Jobs and commands that several tests share."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from sample_data.make import make_job
from sample_data.spec import NAMED_JOBS
from tests.role_service import RoleService, running_role_service
from tests.s3_server import Bucket, running_proxy, running_server

LONG_FILES = (
    "tests/end_to_end/test_analysis_notebooks.py",
    "tests/browser/test_lanes.py",
    "tests/browser/test_kernel_page.py",
    "tests/record/test_supervise.py",
    "tests/end_to_end/test_hostile_input.py",
    "tests/end_to_end/test_kill.py",
)
"""Each takes a minute or so. They begin first: a file's tests stay on one worker, and a long one
that begins last keeps the others waiting."""

settings.register_profile("house", deadline=None)  # a busy machine is no mistake of the code
settings.load_profile("house")

# A shell that runs this suite with "&" has it ignore what Ctrl-C and Ctrl-\ send, and with it all
# that the tests start: they would not see a command end by them.
for key in (signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(key) is signal.SIG_IGN:
        signal.signal(key, signal.SIG_DFL)

_leave = subprocess.Popen.__exit__


def _end_and_leave(process: subprocess.Popen[Any], kind: Any, *raised: Any) -> None:
    """Leave ``with Popen()`` where a test fails in it: the process is ended, not waited for."""
    if kind is not None:
        process.kill()
    _leave(process, kind, *raised)


subprocess.Popen.__exit__ = _end_and_leave  # type: ignore[method-assign]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the tests of the long files first, in the order above."""
    places = {config.rootpath / name: place for place, name in enumerate(LONG_FILES)}
    items.sort(key=lambda item: places.get(item.path, len(LONG_FILES)))


@pytest.fixture(scope="session")
def input_bound_job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample job of ``make report``; treat it as read-only."""
    return make_job(NAMED_JOBS["input_bound"], output=tmp_path_factory.mktemp("jobs"))


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """The address of a real S3 server on this machine."""
    with running_server() as address:
        yield address


@pytest.fixture
def s3(s3_server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Bucket]:
    """A new bucket behind a proxy, and the environment of somebody who may use it."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrSECRET")
    with running_proxy(s3_server) as (address, trouble):
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        yield Bucket.create(s3_server, trouble)


@pytest.fixture
def service() -> Iterator[RoleService]:
    """A service that hands out keys of a role."""
    with running_role_service() as running:
        yield running
