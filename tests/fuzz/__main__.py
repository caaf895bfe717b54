"""``python -m tests.fuzz``: mutate input for a minute and show what came of it."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from tests.fuzz.campaign import campaign
from tests.fuzz.formats import FORMATS


def main() -> int:
    """Return 0 when nothing went wrong, 1 otherwise."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--cases", type=int, help="so many instead of so long")
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--format", action="append", choices=sorted(FORMATS))
    options = parser.parse_args()
    names = tuple(options.format or FORMATS)
    ends = time.monotonic() + options.seconds
    done: Counter[str] = Counter()
    n_wrong, slowest = 0, 0.0
    for told in campaign(names, first_seed=options.seed):
        done[told.format] += 1
        slowest = max(slowest, told.seconds)
        if told.wrong:
            n_wrong += 1
            print(told, "", sep="\n", flush=True)
        if done.total() == options.cases or (options.cases is None and time.monotonic() > ends):
            break
    told_of = ", ".join(f"{count} {name}" for name, count in done.items())
    print(f"{done.total()} cases ({told_of}), slowest {slowest:.1f} s: {n_wrong} went wrong")
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
