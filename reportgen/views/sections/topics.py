"""The sections by topic: which rule each shows, and under which heading."""

from __future__ import annotations

from reportgen.profiling import ProfilingKind
from reportgen.report import Report
from reportgen.results import RuleId, Status
from reportgen.views.blocks import Section, Sections, State
from reportgen.views.depth import blocks_of
from reportgen.views.outline import (
    SECTION_OF_RULE,
    is_about_operators,
    is_of_traces,
)
from reportgen.views.profiling import why_not_recorded
from reportgen.views.sections.rule import (
    card_blocks,
    findings_of,
    head_block,
    notice_block,
    rule_section,
)
from reportgen.views.status import is_applicable
from reportgen.views.timeline.lanes import STEP_NUMBERS
from reportgen.views.timeline.panels import hosted

_FRAMEWORK = "OverallFrameworkMetrics"
_OPERATORS_ID, _OPERATORS_TITLE = "operators", "Operators"
_OPERATORS_LEAD = "The framework's operators by the time they took, on the CPU and on the GPU."
_OPERATORS_HINT = (
    "To record them, pass a DetailedProfilingConfig in the job's FrameworkProfile: it traces every "
    "operator of the steps that you name."
)


def system_usage(report: Report) -> Section:
    """Show how much of each resource the job used, per node and over time."""
    return rule_section(
        report,
        "OverallSystemUsage",
        title="System usage",
        elsewhere=hosted(report),
    )


def gpu_time(report: Report) -> Section:
    """Show what each GPU's time went into; without GPUs in traces the list of absences says so."""
    entry = report.rules.get(RuleId("GPUTimeBudget"))
    if entry is not None and entry.status is Status.SKIPPED and is_of_traces(report):
        return Section(id=SECTION_OF_RULE["GPUTimeBudget"], title="GPU time budget")
    return rule_section(report, "GPUTimeBudget", title="GPU time budget")


def framework(report: Report) -> Section:
    """Show where the framework's time went: phases, passes, devices, communication."""
    return rule_section(
        report, _FRAMEWORK, title="Framework", shows=lambda exhibit: not is_about_operators(exhibit)
    )


def operators(report: Report) -> Section:
    """Show the operators that took most time; say so where none were recorded."""
    result = report.results.get(RuleId(_FRAMEWORK))
    if result is None or result.status in {Status.SKIPPED, Status.FAILED}:
        return Section(id=_OPERATORS_ID, title=_OPERATORS_TITLE)
    exhibits = [item for item in result.exhibits if is_about_operators(item.id)]
    if not exhibits:
        state = State(kind="skipped", word="not recorded")
        why = why_not_recorded(ProfilingKind.DETAILED, report)
        hint = f"{why} {_OPERATORS_HINT}".strip()
        blocks = [
            head_block(_OPERATORS_TITLE, state, ""),
            notice_block("skipped", "The framework events hold no operators.", hint),
        ]
        return Section(id=_OPERATORS_ID, title=_OPERATORS_TITLE, state=state, blocks=tuple(blocks))
    findings = [
        item for item in findings_of(_FRAMEWORK, report) if is_about_operators(item.exhibit)
    ]
    blocks = [
        head_block(_OPERATORS_TITLE, None, _OPERATORS_LEAD),
        *card_blocks(_FRAMEWORK, findings, report),
        *blocks_of(exhibits, _FRAMEWORK, report),
    ]
    return Section(id=_OPERATORS_ID, title=_OPERATORS_TITLE, blocks=tuple(blocks))


def step_durations(report: Report) -> Section:
    """Show how long steps took and which stand out."""
    return rule_section(
        report, "StepOutlier", title="Step durations", elsewhere=frozenset({STEP_NUMBERS})
    )


def step_periodicity(report: Report) -> Section:
    """Show slow steps, and pauses between steps, that come back in a rhythm."""
    return rule_section(report, "StepPeriodicity", title="Periodic slow steps")


def gpu_utilization(report: Report) -> Section:
    """Show how busy each GPU was."""
    return rule_section(report, "LowGPUUtilization", title="GPU utilization")


def workload_balance(report: Report) -> Section:
    """Show whether the GPUs of a node share the work evenly."""
    return rule_section(report, "LoadBalancing", title="Workload balance")


def data_loading(report: Report) -> Section:
    """Show how the data loader is set up and how long training waits for it."""
    return rule_section(report, "Dataloader", title="Data loading")


def python_functions(report: Report) -> Section:
    """Show which Python functions took the time; traces without nodes have no such section."""
    return rule_section(report, "PythonFunctions", title="Python functions")


def batch_size(report: Report) -> Section:
    """Show whether CPU, GPU and GPU memory leave room for larger batches."""
    return rule_section(report, "BatchSize", title="Batch size")


def cpu_bottlenecks(report: Report) -> Section:
    """Show when GPUs idled while a CPU core was busy, and what ran then."""
    return rule_section(report, "CPUBottleneck", title="CPU bottlenecks")


def io_bottlenecks(report: Report) -> Section:
    """Show when GPUs idled while the CPU waited for I/O, and what ran then."""
    return rule_section(report, "IOBottleneck", title="I/O bottlenecks")


def network_bottlenecks(report: Report) -> Section:
    """Show when GPUs idled while their node received as much as the network gives."""
    return rule_section(report, "NetworkBottleneck", title="Network bottlenecks")


def gpu_memory(report: Report) -> Section:
    """Show how GPU memory use grew."""
    return rule_section(report, "GPUMemoryIncrease", title="GPU memory")


def initialization(report: Report) -> Section:
    """Show how long it took until the first step."""
    return rule_section(report, "MaxInitializationTime", title="Initialization")


def other_rules(report: Report) -> Sections:
    """Show every rule that no other section shows: those of plugins and of later versions.

    One that does not apply to the job stands in the list of all checks only.
    """
    return Sections(
        parts=tuple(
            rule_section(report, rule_id)
            for rule_id in report.rules
            if rule_id not in SECTION_OF_RULE and is_applicable(rule_id, report)
        )
    )
