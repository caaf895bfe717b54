"""``reportgen doctor``: versions, access, and the data that would be recorded here."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import click

from reportgen import __version__
from reportgen.cli.places import Grouped, bucket_options
from reportgen.cli.streams import say
from reportgen.text import format_bytes

_FRAMEWORKS = (
    "torch", "lightning", "pytorch-lightning", "transformers", "accelerate", "keras", "jax",
)  # fmt: skip
_CREDENTIALS = (
    "AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)  # fmt: skip
_ANSWERS_WITHIN_S = 10.0
"""A broken driver or store may never answer; a healthy one takes less than two seconds."""

_GPUS = """
from reportgen.record.nvidia import open_gpus
from reportgen.text import format_bytes
source, missing = open_gpus()
for gpu in source.gpus if source else ():
    print(f"{gpu.name}, {format_bytes(gpu.memory_bytes)}: use, memory, power, clocks")
for text in (*missing, *(source.missing if source else ())):
    print(f"not recorded: {text}")
"""
_MACHINE = """
import time
try:
    from reportgen.record.host import Host
    from reportgen.record.limits import read_limits
except ImportError as err:
    how = "pip install make-profiler-report[record]"
    raise SystemExit(f"not recorded: the machine ({err.name} is missing: {how})")
host, found = Host(read_limits()), []
for _ in range(2):
    time.sleep(0.1)
    found = host.read(time.monotonic_ns())
n_cores = len({reading.name for reading in found if reading.type == "cpu"})
others = sorted({reading.type for reading in found} - {"cpu"})
print(f"machine: {n_cores} cores, " + ", ".join(others))
for text in host.missing:
    print(f"not recorded: {text}")
"""
_BUCKET = """
import sys
from reportgen.errors import ReportgenError
from reportgen.storage import open_location
try:
    print(f"{sys.argv[1]}: readable, {len(open_location(sys.argv[1]).list()):,} objects")
except ReportgenError as err:
    raise SystemExit(str(err))
"""


@click.command(cls=Grouped)
@click.argument("path", metavar="[PATH]", required=False)
@bucket_options
def command(path: str | None) -> int:
    """Show installed software, access, and the data that would be recorded on this machine.

    With PATH, a folder or s3://bucket/prefix, it is listed once. Otherwise nothing is asked of the
    network. No value of a credential is read or printed. Exit code 1: PATH cannot be read.
    """
    probes = {"GPUs": _started(_GPUS), "machine": _started(_MACHINE)}
    place = _started(_BUCKET, path) if path else None
    deadline_s = time.monotonic() + _ANSWERS_WITHIN_S
    _section("Versions", _versions())
    recorded = [line for probe in probes.values() for line in _answer(probe, deadline_s)]
    _section("Recorded here by reportgen record", [*recorded, *_frameworks()])
    _section("Credentials for s3://", _credentials())
    _section("Free disk", _disks())
    if place is not None:
        _section("Access", _answer(place, deadline_s))
    return 1 if place is not None and place.returncode != 0 else 0


def _section(title: str, lines: Iterator[str] | list[str]) -> None:
    say("\n".join([title, *(f"  {line}" for line in lines), ""]), err=False)


def _started(code: str, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603  # our own code
        [sys.executable, "-P", "-c", code, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _answer(probe: subprocess.Popen[str], deadline_s: float) -> list[str]:
    """Return the output of a probe; one that does not answer is killed, and not waited for."""
    try:
        said, _ = probe.communicate(timeout=max(0.0, deadline_s - time.monotonic()))
    except subprocess.TimeoutExpired:
        probe.kill()
        if probe.stdout:
            probe.stdout.close()
        return [f"no answer within {_ANSWERS_WITHIN_S:g} s"]
    lines = said.strip().splitlines()
    return lines if probe.returncode == 0 or len(lines) < 2 else lines[-1:]


def _versions() -> Iterator[str]:
    yield f"make-profiler-report {__version__} in {Path(__file__).parents[1]}"
    system = f"{platform.platform(terse=True)}, {platform.machine()}"
    yield f"Python {platform.python_version()} on {system}"
    yield f"Dask: {_version('distributed') or 'not installed; only --engine dask:… needs it'}"


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


def _frameworks() -> Iterator[str]:
    found = ", ".join(f"{name} {_version(name)}" for name in _FRAMEWORKS if _version(name))
    yield f"training frameworks in this environment: {found or 'none'}"


def _credentials() -> Iterator[str]:
    found = [name for name in _CREDENTIALS if os.environ.get(name)]
    if any((Path.home() / ".aws" / name).is_file() for name in ("config", "credentials")):
        found.append("profiles in ~/.aws")
    yield ", ".join(found) or "none here; on a cloud machine its role is used"


def _disks() -> Iterator[str]:
    for place in dict.fromkeys((Path.cwd(), Path(tempfile.gettempdir()))):
        yield f"{format_bytes(shutil.disk_usage(place).free)} in {place}"
