"""``python -m tests.fuzz``: mutate input of each family and show what came of it."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from threading import Lock

from tests.fuzz.campaign import Told, campaign
from tests.fuzz.formats import FAMILIES, FORMATS


class Tally:
    """What came of the cases of each family."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.done: Counter[str] = Counter()
        self.wrong: Counter[str] = Counter()
        self._most: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])

    def take(self, told: Told) -> None:
        """Count a case and show it where something is wrong."""
        family = next(name for name, formats in FAMILIES.items() if told.format in formats)
        with self._lock:
            self.done[family] += 1
            self.wrong[family] += bool(told.wrong)
            most = self._most[family]
            most[:] = max(most[0], told.cpu_s), max(most[1], told.mib)
            if told.wrong:
                print(told, "", sep="\n", flush=True)

    def __str__(self) -> str:
        """Return a line for each family."""
        lines = ["family              inputs    wrong   most CPU s   most MiB"]
        for name, n_done in self.done.items():
            cpu_s, mib = self._most[name]
            lines.append(f"{name:15} {n_done:>10,} {self.wrong[name]:>8} {cpu_s:12.1f} {mib:10.0f}")
        return "\n".join(lines)


def main() -> int:
    """Return 0 when nothing went wrong, 1 otherwise."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000, help="of each family")
    parser.add_argument("--seconds", type=float, help="so long at most")
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--format", action="append", choices=sorted(FORMATS))
    parser.add_argument("--family", action="append", choices=sorted(FAMILIES))
    options = parser.parse_args()
    families = {name: FAMILIES[name] for name in options.family or FAMILIES}
    if options.format:
        families = {"": tuple(options.format)}
    ends = time.monotonic() + options.seconds if options.seconds else float("inf")
    tally = Tally()

    def work(number: int) -> None:
        runs = {
            formats: campaign(formats, first_seed=options.seed + number, stride=options.jobs)
            for formats in families.values()
        }
        left = {formats: len(range(number, options.cases, options.jobs)) for formats in runs}
        while any(left.values()) and time.monotonic() < ends:
            for formats, run in runs.items():
                for told in islice(run, min(left[formats], len(formats))):
                    tally.take(told)
                    left[formats] -= 1

    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(work, range(options.jobs)))
    print(tally)
    return 1 if tally.wrong.total() else 0


if __name__ == "__main__":
    sys.exit(main())
