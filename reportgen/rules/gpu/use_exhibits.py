"""Evidence of GPU use: one table with a row per GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reportgen.results import Exhibit, ExhibitKind, exhibit
from reportgen.rules.gpu.use import GpuUse, verdict_of

TABLE = "utilization"


def utilization_table(gpus: Sequence[GpuUse]) -> Exhibit:
    """Return one row per GPU: whole job, working range, judged minutes, verdict."""

    def column(
        name: str, unit: str, get: Callable[[GpuUse], object]
    ) -> tuple[str, str, list[object]]:
        return (name, unit, [get(gpu) for gpu in gpus])

    def rounded(name: str, get: Callable[[GpuUse], float]) -> tuple[str, str, list[object]]:
        return (name, "%", [round(get(gpu), 2) for gpu in gpus])

    return exhibit(
        TABLE,
        ExhibitKind.TABLE,
        title="Use of each GPU",
        caption=(
            "Mean and percentiles over the whole job; 'at work' leaves out what lies before and "
            "after the training loop (without step events: the idle start and end)."
        ),
        columns=[
            column("node", "", lambda gpu: gpu.node),
            column("gpu", "", lambda gpu: gpu.gpu),
            column("verdict", "", lambda gpu: verdict_of(gpu).value),
            rounded("mean_pct", lambda gpu: gpu.mean_pct),
            rounded("p5_pct", lambda gpu: gpu.p5_pct),
            rounded("p95_pct", lambda gpu: gpu.box.p95),
            rounded("max_pct", lambda gpu: gpu.max_pct),
            rounded("work_mean_pct", lambda gpu: gpu.work_mean_pct),
            rounded("work_p5_pct", lambda gpu: gpu.work_p5_pct),
            rounded("work_p95_pct", lambda gpu: gpu.work_p95_pct),
            rounded("work_idle_pct", lambda gpu: 100 * gpu.idle_ratio),
            column("judged_minutes", "", lambda gpu: gpu.minutes.start_ns.size),
            column("under_used_minutes", "", lambda gpu: int(gpu.minutes.is_low_at_work.sum())),
            column(
                "fluctuating_minutes", "", lambda gpu: int(gpu.minutes.is_fluctuating_at_work.sum())
            ),
            column("aws_violations", "", lambda gpu: gpu.minutes.n_violations),
            column("samples", "", lambda gpu: gpu.n_samples),
        ],
    )
