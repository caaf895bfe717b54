"""Analyse a kernel trace with HolisticTraceAnalysis; print the seconds and the GPU events as JSON.

What of its analyses compares with our panels: breakdowns of time and kernels, idle time, overlap
of communication, launches, memory bandwidth, queue length. Runs in its environment.
"""

from __future__ import annotations

import json
import sys
import time


def main() -> None:
    from hta.trace_analysis import TraceAnalysis

    began = time.perf_counter()
    analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="")
    analysis.get_temporal_breakdown(visualize=False)
    analysis.get_gpu_kernel_breakdown(visualize=False)
    analysis.get_idle_time_breakdown(visualize=False)
    analysis.get_comm_comp_overlap(visualize=False)
    analysis.get_cuda_kernel_launch_stats(visualize=False)
    analysis.get_memory_bw_summary()
    analysis.get_queue_length_summary()
    seconds = time.perf_counter() - began
    frame = analysis.t.get_trace(0)
    print(json.dumps({"seconds": seconds, "gpu_events": int((frame["stream"] >= 0).sum())}))


if __name__ == "__main__":
    main()
