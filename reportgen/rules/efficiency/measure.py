"""What a rank's operators did: operations, bytes and time by size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reportgen.facts.device_busy import gpu_time_ns, rows_named
from reportgen.facts.host_costs import is_compiled
from reportgen.facts.kernel_names import fused_operators
from reportgen.facts.operator_flops import WorkClass
from reportgen.facts.operator_work import Gpu, OperatorKey, OperatorSums, operator_work
from reportgen.facts.traced_steps import step_rows
from reportgen.profile.trace import RankTrace
from reportgen.rules import kit
from reportgen.rules.efficiency.params import Params

_GRAPH_LAUNCHES = ("cudaGraphLaunch", "hipGraphLaunch")


def _largest(values: Sequence[int | None]) -> int | None:
    return max((value for value in values if value), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankWork:
    """The work of a rank, or of all.

    Attributes:
        work: sums by operator, sizes, format and GPU.
        n_steps: recorded steps by kind of GPU; of a rank with several, the part that each has of
            its GPUs.
        world_size: ranks of the job, ``None`` where no trace says it.
        step_ns: time of the recorded steps on each kind of GPU, times its number of GPUs.
        window_ns: first to last GPU operation, over all devices.
        fused_ns: time of the kernels that torch.compile made of several operators.
        has_graphs: whether graphs were launched.
        is_compiled: whether code of torch.compile ran.
    """

    work: Mapping[OperatorKey, OperatorSums] = kit.merged(kit.sum_by_key)
    n_steps: Mapping[Gpu, float] = kit.merged(kit.sum_by_key)
    world_size: int | None = kit.merged(_largest)
    step_ns: Mapping[Gpu, int] = kit.merged(kit.sum_by_key)
    window_ns: int = kit.merged(sum)
    fused_ns: int = kit.merged(sum)
    has_graphs: bool = kit.merged(any)
    is_compiled: bool = kit.merged(any)

    @property
    def kernel_ns(self) -> int:
        """Return the time of all kernels but communication."""
        return sum(
            sums.time_ns for key, sums in self.work.items() if key.work_class != WorkClass.COPY
        )


def measure(trace: RankTrace, params: Params) -> RankWork:
    """Measure the work of a rank's kernels."""
    ops, used = trace.gpu_ops, np.unique(trace.gpu_ops.device).tolist()
    steps = step_rows(trace)
    period_ns = int(steps.period_ns.sum()) if steps else 0
    devices = {item.id: (item.name, item.multiprocessors) for item in trace.devices}
    n_steps = steps.period_ns.size if steps else 0
    kinds: list[Gpu] = [devices.get(device, ("", None)) for device in used]
    return RankWork(
        work=operator_work(trace, params.communication_names),
        n_steps={kind: n_steps * kinds.count(kind) / len(kinds) for kind in dict.fromkeys(kinds)},
        world_size=trace.world_size,
        step_ns={kind: period_ns * kinds.count(kind) for kind in dict.fromkeys(kinds)},
        window_ns=gpu_time_ns(trace),
        fused_ns=int(ops.duration_ns[rows_named(trace, ops.name, fused_operators)].sum()),
        has_graphs=any(name.startswith(_GRAPH_LAUNCHES) for name in trace.names),
        is_compiled=is_compiled(trace),
    )
