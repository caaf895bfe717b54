"""``python -m benchmarks.exam.traces --seed 3 --only small_kernels --keep DIR``."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks.exam.tables import put_between
from benchmarks.exam.traces.faults import Kind
from benchmarks.exam.traces.runner import run
from benchmarks.exam.traces.scoring import Row
from benchmarks.exam.traces.tables import misses, summary


def main() -> int:
    """Print the tables, and what was expected and found for each miss."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.exam.traces", description=__doc__)
    parser.add_argument("--seed", type=int, nargs="+", default=[1], help="seeds of the exam")
    parser.add_argument("--traces", type=int, default=60, help="traces for each seed")
    parser.add_argument("--only", nargs="*", type=Kind, default=[], help="plant only these")
    parser.add_argument("--keep", type=Path, default=None, help="where the traces stay")
    parser.add_argument("--json", type=Path, default=None, help="where the rows are written")
    parser.add_argument("--write", type=Path, default=None, help="page that gets the table")
    parser.add_argument("--quiet", action="store_true", help="tables only")
    args = parser.parse_args()
    rows: list[Row] = []
    for seed in args.seed:
        rows += run(seed, args.traces, only=args.only, keep=args.keep)
    if not args.quiet:
        print("\n".join(misses(rows)), end="\n\n")
    print(summary(rows))
    if args.write is not None:
        seeds = ", ".join(map(str, args.seed))
        text = f"Seeds {seeds}, {args.traces} traces each.\n\n{summary(rows)}"
        page = args.write.read_text(encoding="utf-8")
        args.write.write_text(put_between(page, "trace exam", text), encoding="utf-8")
    if args.json is not None:
        args.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
