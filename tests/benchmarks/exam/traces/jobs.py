"""Small made-up jobs without noise, whose times can be added up by hand."""

from __future__ import annotations

from typing import Any

from benchmarks.exam.traces.clock import Noise
from benchmarks.exam.traces.faults import Fault, Kind
from benchmarks.exam.traces.plan import Family, Job, Plan


def plan(**changes: Any) -> Plan:
    values: dict[str, Any] = {
        "name": "0-0",
        "family": Family.EAGER,
        "noise": Noise.gaussian("0", host=0.0, gpu=0.0),
        "n_ranks": 1,
        "n_steps": 4,
        "n_layers": 6,
        "unit_us": 200.0,
        "host_us": 8.0,
    }
    return Plan(**(values | changes))


def job(kind: Kind, size: float, *, of: Plan | None = None, **where: Any) -> Job:
    return Job(plan=of or plan(), faults=(Fault(kind=kind, size=size, **where),))
