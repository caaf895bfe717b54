"""A plugin whose exhibits hold what their kind cannot be drawn from, and yet can be saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from reportgen.profile import NodeProfile
from reportgen.results import Exhibit, ExhibitKind, RuleId, RuleResult, Scalar, Status, exhibit
from reportgen.rules.base import About, Presentation, Rule

STRANGE: Mapping[str, Sequence[Scalar]] = {
    "text": ("fast", "<b>slow</b>", None),
    "mixed": ("fast", 1.5, None),
    "truth": (True, False, None),
    "nothing": (None, None, None),
    "none_at_all": (),
    "backwards": (3.0, -2.0, 1.0),
    "the_same": (7, 7, 7),
    "endless": (-1e308, 1e308, 5e-324),
    "one": (1.0,),
}
_COLUMNS: Mapping[ExhibitKind, Sequence[str]] = {
    ExhibitKind.SERIES: ("time_s", "busy"),
    ExhibitKind.BAND: ("time_s", "busy_min", "busy_mean", "busy_max"),
    ExhibitKind.HISTOGRAM: ("bin_start", "bin_end", "count"),
    ExhibitKind.BOXES: ("name", "lower", "p25", "p50", "p75", "upper"),
    ExhibitKind.BARS: ("name", "busy"),
    ExhibitKind.SHARES: ("part", "spent", "pct"),
    ExhibitKind.HEATMAP: ("row", "time_s", "busy"),
    ExhibitKind.SPANS: ("lane", "name", "start_s", "end_s"),
    ExhibitKind.ROOFLINE: (
        "name", "group", "format", "flop_per_byte", "tflops_per_s", "time_us", "peak_tflops_per_s",
        "memory_gb_per_s",
    ),
    ExhibitKind.TABLE: ("time_s", "busy"),
    ExhibitKind.TIMELINE: ("lane", "kind", "node", "events"),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class NoParams:
    """Nothing to set."""


def strange(kind: ExhibitKind, values: str) -> Exhibit:
    """Return an exhibit of a kind all of whose columns hold the same strange values."""
    return exhibit(
        f"{kind}-{values}",
        kind,
        title=f"{values} as {kind}",
        columns=[(name, "s", STRANGE[values]) for name in _COLUMNS[kind]],
    )


def rule_id_of(kind: ExhibitKind) -> RuleId:
    """Return the name of the rule that shows a kind."""
    return RuleId(f"Strange{kind.title()}")


def _measure(part: NodeProfile, params: NoParams) -> None:
    return None


def _judge(kind: ExhibitKind, measurements: Sequence[None], params: NoParams) -> RuleResult:
    shown = tuple(strange(kind, values) for values in STRANGE)
    return RuleResult(id=rule_id_of(kind), status=Status.OK, exhibits=shown)


RULES = tuple(
    Rule(
        id=rule_id_of(kind),
        title=f"Strange {kind}",
        about=About(checks="c", reading="r", advice="a"),
        needs=(),
        params=NoParams,
        measure=_measure,
        judge=partial(_judge, kind),
        present=lambda *_: Presentation(),
    )
    for kind in ExhibitKind
)
