"""The sections of a comparison, as the cells of its notebook call them."""

from __future__ import annotations

from dataclasses import replace

from reportgen.comparison import Comparison, Verdict, exhibits
from reportgen.errors import PluginError
from reportgen.results import Depth
from reportgen.views.cell_output import Block, PageSection, State, headed_section
from reportgen.views.charts.layout import ChartContext
from reportgen.views.exhibits import exhibit_blocks
from reportgen.views.facts import Fact
from reportgen.views.fragments import notebook_style, render
from reportgen.views.sections.dashboard import words_of
from reportgen.views.values import format_value, prose, shorten
from reportgen.views.verdict import ReportVerdict

_STATES = {
    Verdict.FASTER: ("ok", "faster"),
    Verdict.SLOWER: ("critical", "slower"),
    Verdict.NO_DIFFERENCE: ("info", "no difference"),
    Verdict.NOT_COMPARABLE: ("skipped", "cannot be compared"),
}
_LEADS = {
    "comparability": ("Comparability", "Other differences may be the reason: look at them first."),
    "step-time": ("Time per step", "How long steps took, and how sure the difference is."),
    "waterfall": ("Where the difference comes from", "Parts of the mean step, before and after."),
    "findings": ("Findings", "Which findings are new, worse, better, resolved or unchanged."),
    "moved": ("Changed times", "Kernels, operators and functions whose time changed."),
    "resources": ("System and settings", "Settings, costs of 1,000 steps, use of the machines."),
    "metrics": ("Numbers", "Every number of both reports side by side."),
}


def comparison_section(comparison: Comparison, section_id: str) -> PageSection:
    """Show a section of a comparison by its anchor; it may have nothing to show.

    Raises:
        PluginError: there is no such section; the message lists those there are.
    """
    if section_id == "verdict":
        return _verdict(comparison)
    if section_id not in _LEADS:
        raise PluginError(
            f"A comparison has no section {section_id}.",
            hint=f"It has: verdict, {', '.join(_LEADS)}.",
            rule_id="",
        )
    title, lead = _LEADS[section_id]
    context = ChartContext(rule_id=section_id, is_unix=False)
    made = exhibits.SECTIONS[section_id](comparison)
    folded = [item for item in made if item.depth is Depth.FOLDED]
    blocks = [
        *exhibit_blocks([item for item in made if item not in folded], context),
        *(replace(block, fold=words_of(folded)) for block in exhibit_blocks(folded, context)),
    ]
    return headed_section(section_id, title, blocks, lead=lead)


def _verdict(comparison: Comparison) -> PageSection:
    kind, word = _STATES[comparison.verdict]
    html = render(
        "header",
        kind="Comparison of two jobs, before → after",
        job_name=shorten(f"{comparison.before.name} → {comparison.after.name}"),
        verdict=ReportVerdict(
            kind=kind, headline=prose(comparison.headline), lead=prose(comparison.lead)
        ),
        link="#waterfall" if comparison.waterfall else "",
        picture=None,
        facts=_facts(comparison),
        running_until=None,
        warning="",
        faults=[],
        has_dashboard=True,
    )
    blocks = [Block(html=html), Block(html=notebook_style(), is_for_notebook=True)]
    if comparison.warnings:
        text = f"The jobs differ: {'; '.join(comparison.warnings)}."
        blocks.insert(1, Block(html=render("notice", kind="warning", text=text, hint="")))
    state = State(kind=kind, word=word)
    return PageSection(id="verdict", title="Verdict", state=state, blocks=tuple(blocks))


def _facts(comparison: Comparison) -> list[Fact]:
    step = comparison.step
    if step is None:
        return []
    return [
        Fact(name="Step before (median)", text=format_value(step.before_p50_s, "s")),
        Fact(name="Step after (median)", text=format_value(step.after_p50_s, "s")),
        Fact(name="Steps per second before", text=f"{1 / step.before_p50_s:,.4g}"),
        Fact(name="Steps per second after", text=f"{1 / step.after_p50_s:,.4g}"),
        *(
            Fact(name=f"Samples per second {side}", text=f"{rate:,.4g}")
            for side, rate in (
                ("before", step.before_samples_per_s),
                ("after", step.after_samples_per_s),
            )
            if rate is not None
        ),
        Fact(name="Steps compared", text=f"{step.before_n:,} and {step.after_n:,}"),
    ]
