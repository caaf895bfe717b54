"""SageMaker's BatchSize: what it counts and writes, from the same samples as our rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from reportgen.arrays import Floats, Instants, Integers, Mask
from reportgen.facts.distributions import box_of
from reportgen.facts.samples import minutes_of, window_percentiles
from reportgen.facts.usage import PERCENT_DIGITS, Samples
from reportgen.results import Role
from reportgen.rules.aws.details import LastViolation, Violations, box_member
from reportgen.units import NS_PER_MINUTE

CPU = "cpu"
Series = Mapping[str, Samples]
"""The mean of the cores, one GPU, and its memory, by the name of the resource."""


class _Params(Protocol):
    @property
    def limits_pct(self) -> Mapping[Role, float]: ...
    @property
    def window(self) -> int: ...
    @property
    def patience(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MinutesWithRoom:
    """The judged minutes of a GPU in which the 95th percentiles of the newest windows are low.

    Attributes:
        n_judged: how many minutes were judged.
        start_ns, stops: (m,) starts, and how many samples of the GPU there were at their ends.
        p95_pct: (3, m) of CPU, GPU and GPU memory.
    """

    n_judged: int
    start_ns: Instants
    stops: Integers
    p95_pct: Floats


def minutes_with_room(series: Series, params: _Params) -> MinutesWithRoom:
    """Find the minutes in which CPU, GPU and GPU memory are all below their limits.

    A minute is judged after more samples than ``patience`` (CPU) and than ``window`` (all three).
    """
    _, use, _ = series.values()
    start_ns = minutes_of(use.time_ns).start_ns
    stops = np.array([samples.before(start_ns + NS_PER_MINUTE) for samples in series.values()])
    is_judged = (stops[0] > params.patience) & (stops.min(axis=0) > params.window)
    stops = stops[:, is_judged]
    p95 = np.array([
        window_percentiles(samples.values, stop, window=params.window, points_pct=(95,))[:, 0]
        for samples, stop in zip(series.values(), stops, strict=True)
    ])  # fmt: skip
    is_roomy = all_below(p95, params)
    return MinutesWithRoom(
        n_judged=int(is_judged.sum()),
        start_ns=start_ns[is_judged][is_roomy],
        stops=stops[1][is_roomy],
        p95_pct=p95[:, is_roomy],
    )


def all_below(p95: Sequence[Floats] | Floats, params: _Params) -> Mask:
    """Return (m,) whether (3, m) 95th percentiles are all below their limits."""
    limits = np.array(list(params.limits_pct.values()))[:, None]
    return np.asarray((np.round(p95, PERCENT_DIGITS) < limits).all(axis=0))


def violations_of(
    node: str, cpu: Samples, series: Mapping[str, Series], params: _Params
) -> Violations:
    """Count the (GPU, minute) pairs of a node with room; ``series`` are those of each GPU."""
    found = {gpu: minutes_with_room(its, params).start_ns for gpu, its in series.items()}
    return Violations(
        node=node,
        n_samples=cpu.values.size,
        n_found=sum(start_ns.size for start_ns in found.values()),
        newest=tuple(_newest(found, series)),
    )


def _newest(found: Mapping[str, Instants], series: Mapping[str, Series]) -> Iterator[LastViolation]:
    """Yield what is kept of each GPU's newest minute with room: boxes up to its end."""
    roomy = {gpu: start_ns for gpu, start_ns in found.items() if start_ns.size}
    last_ns = max((int(start_ns[-1]) for start_ns in roomy.values()), default=0)
    for gpu, start_ns in roomy.items():
        members = {}
        for name, its in series[gpu].items():
            end_ns = (last_ns if name == CPU else int(start_ns[-1])) + NS_PER_MINUTE
            members[name] = box_member(box_of(its.values[its.time_ns < end_ns]))
        yield LastViolation(first_ns=int(start_ns[0]), last_ns=int(start_ns[-1]), members=members)
