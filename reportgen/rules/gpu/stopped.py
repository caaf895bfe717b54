"""GPUs that worked for a part of the time only: they began late, or stopped."""

from __future__ import annotations

from dataclasses import dataclass

from reportgen.facts.activity import EDGE_AT_MOST_RATIO
from reportgen.results import Where
from reportgen.rules.gpu.use import GpuUse
from reportgen.rules.saying.wording import say_place
from reportgen.units import NS_PER_S, say_duration, say_pct, seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """The longer idle edge of a GPU's working range, in words: a title, a sentence, advice."""

    title: str
    text: str
    advice: str
    where: Where


def stopped_of(gpu: GpuUse) -> Stopped | None:
    """Return what to say of a GPU that idles for long at one edge, ``None`` of others.

    An edge of a quarter of the working range, as in ``facts.activity``.
    """
    ratio = max(gpu.idle_before, gpu.idle_after) / gpu.n_work_samples
    if ratio < EDGE_AT_MOST_RATIO:
        return None
    place, share = say_place(gpu.node, gpu.gpu), say_pct(100 * ratio)
    if gpu.idle_before > gpu.idle_after:
        before = say_duration((gpu.first_work_ns - gpu.first_ns) / NS_PER_S)
        return Stopped(
            title=f"GPU begins late: {place} idles for the first {share} of the time",
            text=f" It first worked {before} after its first sample.",
            advice=(
                "Shorten what runs before its work begins: downloads, preprocessing, compilation, "
                "waiting for other workers."
            ),
            where=_where(gpu, gpu.first_ns, gpu.first_work_ns),
        )
    after = say_duration((gpu.last_ns - gpu.last_work_ns) / NS_PER_S)
    return Stopped(
        title=f"GPU stopped: {place} idles for the last {share} of the time",
        text=f" It last worked {after} before its last sample.",
        advice=(
            "Find out what ended its work then: if training was over, end the job sooner; if not, "
            "its process hung or died."
        ),
        where=_where(gpu, gpu.last_work_ns, gpu.last_ns),
    )


def _where(gpu: GpuUse, start_ns: int, end_ns: int) -> Where:
    return Where(node=gpu.node, device=gpu.gpu, start_s=seconds(start_ns), end_s=seconds(end_ns))
