"""``python -m tests.fuzz``: mutate input of each family and show what came of it.

**What is counted.** An input is one mutated file or folder, built from its seed. Every input goes
through the pipeline of the command within a worker process: it is listed, read, measured by every
rule, judged, and its results are saved; they must be strict JSON, no rule may break, and where the
loss is known the numbers must be those of a twin without the lost lines. Of every 20th seed the
files are held against their schemas, loaded again, all sections of the page are drawn and the
command itself runs; of every 200th the page is written, too (``tests.fuzz.case.Depth``). With
``--others read`` the others are only found and read. The
seconds of computing and the memory of its process are those of the whole case, twin included.

The column *reports* tells how many inputs still gave a report; the others gave one message.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from threading import Lock

from tests.fuzz.campaign import Told, Worker, campaign
from tests.fuzz.formats import FAMILIES, FORMATS

TALLY_EVERY_S = 60.0


class Tally:
    """What came of the cases of each family."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._began = self._shown = time.monotonic()
        self.done: Counter[str] = Counter()
        self.wrong: Counter[str] = Counter()
        self.reports: Counter[str] = Counter()
        self._most: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])

    def take(self, outcome: Told) -> None:
        """Count a case, show it where something is wrong, and now and then the whole tally."""
        family = next(name for name, formats in FAMILIES.items() if outcome.format in formats)
        with self._lock:
            self.done[family] += 1
            self.wrong[family] += bool(outcome.wrong)
            self.reports[family] += outcome.has_report
            most = self._most[family]
            most[:] = max(most[0], outcome.cpu_s), max(most[1], outcome.mib)
            if outcome.wrong:
                print(outcome, "", sep="\n", flush=True)
            if time.monotonic() - self._shown > TALLY_EVERY_S:
                self._shown = time.monotonic()
                print(self, "", sep="\n", flush=True)

    def __str__(self) -> str:
        """Return a line for each family, and the speed."""
        head = "family              inputs    reports    wrong   most CPU s   most MiB"
        lines = [head, *(self._line(name) for name in self.done)]
        passed_s = max(time.monotonic() - self._began, 1e-9)
        return "\n".join(
            [*lines, f"{passed_s:,.0f} s, {self.done.total() / passed_s:.1f} inputs per second"]
        )

    def _line(self, name: str) -> str:
        cpu_s, mib = self._most[name]
        counts = f"{self.done[name]:>10,} {self.reports[name]:>10,} {self.wrong[name]:>8}"
        return f"{name:15} {counts} {cpu_s:12.1f} {mib:10.0f}"


def turns(
    runs: Mapping[str, Iterator[Told]], n_cases: int, *, ends_at: float = float("inf")
) -> Iterator[Told]:
    """Yield a case of each family in turn, ``n_cases`` of each, until it is late."""
    for _ in range(n_cases):
        for run in runs.values():
            if time.monotonic() > ends_at:
                return
            yield from islice(run, 1)


def main() -> int:
    """Return 0 when nothing went wrong, 1 otherwise."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000, help="of each family")
    parser.add_argument("--seconds", type=float, help="so long at most")
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument(
        "--others", choices=["read", "results"], default="results",
        help="how far the inputs go that do not go to the command",
    )  # fmt: skip
    parser.add_argument("--format", action="append", choices=sorted(FORMATS))
    parser.add_argument("--family", action="append", choices=sorted(FAMILIES))
    options = parser.parse_args()
    families = {name: FAMILIES[name] for name in options.family or FAMILIES}
    if options.format:
        families = {"": tuple(options.format)}
    ends_at = time.monotonic() + options.seconds if options.seconds else float("inf")
    tally = Tally()

    def work(number: int) -> None:
        first = options.seed + number
        with Worker() as worker:
            runs = {
                name: campaign(
                    worker, formats, first_seed=first, stride=options.jobs, others=options.others
                )
                for name, formats in families.items()
            }
            n_cases = len(range(number, options.cases, options.jobs))
            for outcome in turns(runs, n_cases, ends_at=ends_at):
                tally.take(outcome)

    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(work, range(options.jobs)))
    print(tally)
    return 1 if tally.wrong.total() else 0


if __name__ == "__main__":
    sys.exit(main())
