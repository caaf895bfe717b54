"""Read a whole job with reportgen; print the seconds of reading and the rows as JSON."""

from __future__ import annotations

import json
import sys
import time


def main() -> None:
    import duckdb  # noqa: F401
    import msgspec  # noqa: F401

    from reportgen.intake import discover, read  # its engines are imported before the clock starts

    used, began = time.process_time(), time.perf_counter()
    parts = [read(ref) for ref in discover(sys.argv[1]).parts]
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - used
    n_samples = sum(part.system.n_samples for part in parts)
    n_events = sum(part.spans.n_spans for part in parts)
    answer = {"seconds": seconds, "cpu_seconds": cpu_seconds}
    print(json.dumps(answer | {"samples": n_samples, "events": n_events}))


if __name__ == "__main__":
    main()
