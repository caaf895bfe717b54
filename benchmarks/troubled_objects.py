"""Many objects of a bucket behind a proxy that makes trouble: what a report of them takes.

``python benchmarks/troubled_objects.py 100000`` writes minute files of 50 nodes, serves them as
objects, and makes their report through the proxy of the tests: some answers are 503, some
connections drop half way. The results must be those of the same files on disk.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import small_files

from tests.s3_server import Trouble, running_proxy

RESULT = Path("profiler-report", "OverallSystemUsage.json")
EVERY = {"says_slow_down": 100, "drops_midway": 500}
"""Of so many GETs of objects one is answered 503, or loses its connection."""


class Spread:
    """Trouble at regular places, and how often it was made."""

    def __init__(self) -> None:
        """Begin without trouble."""
        self.asked: Counter[str] = Counter()
        self.made: Counter[str] = Counter()

    def takes(self, name: str) -> bool:
        """Return whether it is the turn of a kind of trouble."""
        self.asked[name] += 1
        is_turn = name in EVERY and self.asked[name] % EVERY[name] == 0
        self.made[name] += is_turn
        return is_turn


def main() -> int:
    """Print requests, time and whether the results are those of the files."""
    small_files.N_FILES = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        small_files.make_files(folder / "served" / "job")
        made = _report(str(folder / "served" / "job"), folder / "disk", {})
        with (
            small_files.running_server(folder / "served") as server,
            running_proxy(server) as (address, trouble),
        ):
            spread = Spread()
            trouble.takes = spread.takes  # type: ignore[method-assign]  # spread over all requests
            env = {
                "AWS_ENDPOINT_URL": address,
                "AWS_ACCESS_KEY_ID": "benchmark",
                "AWS_SECRET_ACCESS_KEY": "benchmark",
                "AWS_REGION": "us-east-1",
            }
            troubled = _report("s3://bucket/job", folder / "troubled", env)
        same = (folder / "disk" / RESULT).read_bytes() == (
            folder / "troubled" / RESULT
        ).read_bytes()
        print(f"disk: {made}", f"objects: {troubled}", sep="\n")
        print(f"{_requests(trouble)}; trouble: {dict(+spread.made)}")
        print(f"equal results: {same}")
    return 0 if same else 1


def _report(source: str, output: Path, env: dict[str, str]) -> str:
    command = [sys.executable, "-m", "reportgen", source, "-o", str(output), "--quiet"]
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    options = ["--format", "json", "--name", "job"]
    code = os.spawnvpe(os.P_WAIT, command[0], [*command, *options], {**os.environ, **env})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if code:
        raise SystemExit(f"the report of {source} failed ({code})")
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return f"{cpu_s:.1f} s of processor time, {time.perf_counter() - began:.0f} s"


def _requests(trouble: Trouble) -> str:
    counts = Counter(method for method, _ in trouble.seen)
    return f"requests: {dict(counts)}"


if __name__ == "__main__":
    raise SystemExit(main())
