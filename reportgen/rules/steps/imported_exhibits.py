"""What SageMaker's own result says of steps: statistics, histograms, what ran meanwhile."""

from __future__ import annotations

from collections.abc import Mapping

from reportgen.facts.steps import phase_word
from reportgen.results import Details, Exhibit, ExhibitKind, exhibit
from reportgen.results.exhibits import ColumnSpec
from reportgen.rules.aws.breakdown import exhibits_of_members
from reportgen.rules.steps.exhibits import DURING, PREFIX


def exhibits_of_details(details: Details) -> tuple[Exhibit, ...]:
    """Return what AWS's JSON holds: statistics, one histogram per worker, what ran meanwhile."""
    entries = details.get("step_details")
    workers = {
        worker: entry
        for worker, entry in (entries.items() if isinstance(entries, dict) else ())
        if isinstance(entry, dict) and isinstance(entry.get("step_stats"), dict)
    }
    shares = exhibits_of_members(details, prefix=PREFIX, during=DURING)
    if not workers:
        return shares
    return (
        _steps_of_details(workers),
        *(
            _histogram_of_details(worker, entry, is_alone=len(workers) == 1)
            for worker, entry in workers.items()
        ),
        *shares,
    )


def _steps_of_details(workers: Mapping[str, Mapping[str, object]]) -> Exhibit:
    def stat(entry: Mapping[str, object], name: str) -> object:
        stats = entry["step_stats"]
        return stats.get(name) if isinstance(stats, dict) else None

    entries = list(workers.values())
    columns: list[ColumnSpec] = [
        ("worker", "", list(workers)),
        ("phase", "", [phase_word(str(entry.get("phase"))) for entry in entries]),
    ]
    columns += [
        (f"{name}_s", "s", [stat(entry, name) for entry in entries])
        for name in ("mean", "max", "p99", "p95", "p50", "min")
    ]
    columns.append(("outliers", "", [entry.get("number_of_outliers") for entry in entries]))
    return exhibit(
        "steps",
        ExhibitKind.TABLE,
        title="Step durations by worker",
        caption="The source keeps one phase of each worker.",
        columns=columns,
    )


def _histogram_of_details(worker: str, entry: Mapping[str, object], *, is_alone: bool) -> Exhibit:
    counts, edges = entry.get("probs"), entry.get("binedges")
    counts = counts if isinstance(counts, list) else []
    edges = edges if isinstance(edges, list) and len(edges) == len(counts) + 1 else []
    return exhibit(
        "step_histogram" if is_alone else f"step_histogram_{worker}",
        ExhibitKind.HISTOGRAM,
        title=f"How long steps of {worker} take",
        caption="Without the outliers.",
        columns=[
            ("bin_start", "s", edges[:-1]),
            ("bin_end", "s", edges[1:]),
            (worker, "steps", counts if edges else []),
        ],
    )
