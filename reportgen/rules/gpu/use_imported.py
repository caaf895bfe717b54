"""What LowGPUUtilization says of SageMaker's own result: what the last violation left there."""

from __future__ import annotations

from collections.abc import Sequence

from reportgen.results import Counters, Details, Finding, Severity, Where
from reportgen.rules.base import Presentation
from reportgen.rules.gpu.unused import Unused
from reportgen.rules.gpu.use import Params
from reportgen.rules.gpu.use_words import FLUCTUATING, UNDER_USED
from reportgen.rules.saying.boxes import NamedBox, boxes_exhibit
from reportgen.rules.saying.verdict import estimate_of, fault_severity
from reportgen.rules.saying.violations import entries_of, last_timestamp_s
from reportgen.rules.saying.wording import label, say_place, say_places, say_times
from reportgen.units import say_pct


def present_details(counters: Counters, details: Details, params: Params) -> Presentation:
    """Return findings and exhibits from AWS's JSON alone: what the last violation left there."""
    entries = entries_of(details)
    if not entries or not counters.rule_triggered:
        return Presentation()
    stamp_s = last_timestamp_s(details)
    known = [(node, gpu, its.get("gpu_max", 100.0)) for node, gpu, its in entries]
    findings = []
    rests = entries
    for finding_id, field, threshold in (
        (UNDER_USED, "gpu_95", params.threshold_p95),
        (FLUCTUATING, "gpu_5", params.threshold_p5),
    ):
        found = [item for item in rests if item[2].get(field, threshold) < threshold]
        rests = [item for item in rests if item not in found]
        if found:
            findings.append(_imported(finding_id, field, threshold, found, stamp_s, params, known))
    n_nodes = len({node for node, *_ in entries})
    boxes = [
        NamedBox.from_numbers(label(node, device, n_nodes=n_nodes), numbers, "gpu_max")
        for node, device, numbers in entries
    ]
    shown = [box for box in boxes if box is not None]
    return Presentation(
        findings=tuple(findings),
        exhibits=(boxes_exhibit("boxes", shown, title="GPU utilization", unit="%"),),
    )


def _imported(
    finding_id: str,
    field: str,
    threshold: float,
    found: Sequence[tuple[str, str, dict[str, float]]],
    stamp_s: float | None,
    params: Params,
    known: Sequence[tuple[str, str, float]],
) -> Finding:
    node, device, numbers = min(found, key=lambda item: item[2][field])
    is_low = finding_id == UNDER_USED
    unused = Unused.among(known if is_low else (), idle_below=params.threshold_p5)
    for_a_time = is_low and all(its.get("p50", 0.0) >= params.threshold_p95 for _, _, its in found)
    what = "under-used" if is_low else "swings between busy and idle"
    names = say_places([(its_node, its_device) for its_node, its_device, _ in found])
    wasted_ratio = len(unused.places) / unused.n_gpus if unused.places else None
    return Finding(
        id=finding_id,
        severity=Severity.INFO if for_a_time else fault_severity(wasted_ratio),
        title=unused.title or f"GPU {what}: {say_place(node, device)}",
        text=(
            f"The {'95th' if is_low else '5th'} percentile of the last "
            f"{say_times(params.window, 'sample')} was {say_pct(numbers[field])} when the rule "
            f"last triggered (threshold {say_pct(threshold)}). Affected: {names}."
            f"{_FOR_A_TIME if for_a_time else ''}"
        ),
        advice=unused.advice or (ADVICE_FOR_A_TIME if for_a_time else ADVICE_IMPORTED),
        where=Where(node=node, device=device, start_s=stamp_s),
        measured=round(numbers[field], 4),
        threshold=float(threshold),
        unit="%",
        estimate=None if unused.is_all else estimate_of(wasted_ratio),
        exhibit="boxes",
        causes=() if unused.places or for_a_time else ("CPU-1", "IO-1", "BATCH-1"),
    )


_FOR_A_TIME = " Their median over the whole job is above it: they idled for a time only."
ADVICE_FOR_A_TIME = (
    "See when they idled: before the first and after the last step the training loses nothing."
)
ADVICE_IMPORTED = (
    "Look at the CPU, I/O and data loading sections for what the GPU waits for; if there is "
    "nothing, raise the batch size."
)
