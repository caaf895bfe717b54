"""Read a whole job with smdebug; print the seconds of reading and the rows as JSON.

``events`` asks its readers for everything: a list of Python objects. ``frame`` makes the pandas
frames its notebooks work on. Runs in smdebug's environment, so it imports nothing of ours.
"""

from __future__ import annotations

import json
import sys
import time

END_OF_TIME_US = 4_000_000_000_000_000  # wider than any job


def read_events(folder: str) -> tuple[int, int]:
    from smdebug.profiler.algorithm_metrics_reader import LocalAlgorithmMetricsReader
    from smdebug.profiler.system_metrics_reader import LocalSystemMetricsReader

    samples = LocalSystemMetricsReader(folder).get_events(0, END_OF_TIME_US)
    events = LocalAlgorithmMetricsReader(folder).get_events(0, END_OF_TIME_US)
    return len(samples), len(events)


def read_frames(folder: str) -> tuple[int, int]:
    from smdebug.profiler.analysis.utils.profiler_data_to_pandas import PandasFrame

    frames = PandasFrame(folder)
    samples = frames.get_all_system_metrics()
    events = frames.get_all_framework_metrics()
    return len(samples), len(events)


def main() -> None:
    import smdebug.profiler.analysis.utils.profiler_data_to_pandas  # noqa: F401

    read = {"events": read_events, "frame": read_frames}[sys.argv[1]]
    began = time.perf_counter()
    n_samples, n_events = read(sys.argv[2] + "/profiler-output")
    seconds = time.perf_counter() - began
    print(json.dumps({"seconds": seconds, "samples": n_samples, "events": n_events}))


if __name__ == "__main__":
    main()
