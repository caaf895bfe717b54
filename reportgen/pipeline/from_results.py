"""The page of results that are there: of a saved report, or of SageMaker's rules."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from reportgen.errors import ConfigError
from reportgen.intake import AwsFolder, Listing, read_aws_folder
from reportgen.pipeline.options import MadeReport, Options, Watcher, timed
from reportgen.pipeline.products import make_page
from reportgen.profile import Clock
from reportgen.profile.system import device_order
from reportgen.publish import job_path_of, read_notebook
from reportgen.report import Extent, JobHeader, Report, summarize
from reportgen.report.compose import compose
from reportgen.results import JsonValue, RuleId
from reportgen.results.codec import encode_beside
from reportgen.rules.aws.imported import judge_imported
from reportgen.rules.registry import all_rules
from reportgen.rules.settings import checked_settings, select_rules
from reportgen.store import load, saved_report
from reportgen.units import LATEST_US, NS_PER_US, US_PER_S


def make_from_results(listing: Listing, options: Options, watcher: Watcher) -> MadeReport:
    """Make the report of results that lie where the user says, among files that are of no job.

    Raises:
        ReportgenError: there are none, they cannot be read, or what was asked for needs the data.
    """
    with saved_report(options.path) as saved:
        report = _imported(listing, options, watcher) if saved is None else _loaded(saved, options)
        return make_page(report, saved, options, watcher)


def _loaded(saved: Path, options: Options) -> Report:
    """Return a saved report, which was made with the parameters that are asked for."""
    check_uncut(options)
    report = load(saved)
    if differ(report, options.settings, plugins=options.plugins):
        raise ConfigError(
            f"{options.path} is a saved report, whose results have their parameters.",
            hint=(
                "To judge by other values, pass the job in place of the report, with the same "
                f"options: {_command(options)}"
            ),
            path=options.path,
        )
    return report


def _imported(listing: Listing, options: Options, watcher: Watcher) -> Report:
    """Return the report of the rule results that SageMaker wrote."""
    folder = read_aws_folder(listing, name=options.name)
    check_uncut(options)
    if options.settings:
        raise ConfigError(
            "These are rule results that SageMaker computed with its own parameters; "
            f"{next(iter(options.settings))} cannot be set any more.",
            hint="Pass the raw profiler output of the job, or leave the parameters out.",
        )
    with timed(watcher, "rules") as step:
        report = import_results(folder, plugins=options.plugins, wanted=options.rules)
        step.text = f"imported {len(report.results)} rules of SageMaker"
    return report


def import_results(
    folder: AwsFolder, *, plugins: Sequence[str] = (), wanted: Sequence[str] = ()
) -> Report:
    """Return the report of a folder of results, of all of its rules or of those that are wanted.

    Its files hold the five keys of SageMaker's files unchanged.

    Raises:
        ConfigError: no such rule or plugin.
    """
    extent, nodes = _extent(folder), _nodes(folder)
    names = wanted or tuple(folder.results)
    report = compose(
        JobHeader(name=folder.name, source=folder.source, clock=Clock.UNIX.value),
        judge_imported(select_rules(all_rules(plugins), names), folder.results),
        contents={},
        summary=summarize(extent),
        nodes=nodes,
        notes=folder.notes,
    )
    beside = {
        rule_id: encode_beside(result, folder.results[rule_id].raw)
        for rule_id, result in report.results.items()
    }
    return replace(report, contents=beside)


def _extent(folder: AwsFolder) -> Extent:
    """Return when job and loop ran, from MaxInitializationTime; nothing without it."""
    result = folder.results.get(RuleId("MaxInitializationTime"))
    details = result.details if result else {}
    step_num = details.get("step_num")
    steps = step_num if isinstance(step_num, dict) else {}
    first_ns, last_ns = _ordered(details.get("job_start"), details.get("job_end"), US_PER_S)
    loop_start_ns, loop_end_ns = _ordered(steps.get("first"), steps.get("last"), 1)
    return Extent(
        first_ns=first_ns, last_ns=last_ns, first_step_ns=loop_start_ns, last_step_ns=loop_end_ns
    )


def _ordered(
    start: JsonValue, end: JsonValue, us_per_unit: int
) -> tuple[int, int] | tuple[None, None]:
    start_ns, end_ns = (_ns(value, us_per_unit) for value in (start, end))
    if start_ns is None or end_ns is None or end_ns < start_ns:
        return None, None
    return start_ns, end_ns


def _ns(value: JsonValue, us_per_unit: int) -> int | None:
    """Return an instant in ns, by way of whole microseconds; ``None`` where there is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    time_us = value * us_per_unit
    return round(time_us) * NS_PER_US if 0 <= time_us < LATEST_US else None


def _nodes(folder: AwsFolder) -> tuple[str, ...]:
    usage = folder.results.get(RuleId("OverallSystemUsage"))
    metrics = list(usage.details.values()) if usage else []
    balance = folder.results.get(RuleId("LoadBalancing"))
    if balance:
        metrics.append(balance.details)
    named = {node for metric in metrics if isinstance(metric, dict) for node in metric}
    return tuple(sorted(named, key=device_order))


def check_uncut(options: Options) -> None:
    """Refuse a range, or another cycle than the newest, for results that are already there.

    Raises:
        ConfigError: one of them was asked for.
    """
    if options.cycle != 1:
        raise ConfigError(
            "Saved results cannot show another cycle of the profiler.",
            hint="Pass the kernel traces, or leave --cycle out.",
        )
    if options.wanted is not None:
        raise ConfigError(
            "Saved results cannot be cut to a range any more.",
            hint="Pass the raw profiler output of the job, or leave the range out.",
        )


def _command(options: Options) -> str:
    """Return the command with the job; a notebook may set it beside its thresholds."""
    command = ["make-profiler-report", "JOB"]
    if options.notebook is not None:
        command[1] = job_path_of(read_notebook(options.notebook)) or "JOB"
        command += ["--notebook", str(options.notebook)]
    return shlex.join(command)


def differ(
    report: Report, settings: Mapping[str, object], *, plugins: tuple[str, ...] = ()
) -> bool:
    """Return whether a report was made with other values of some parameters, ``"Rule.param"``.

    Raises:
        ConfigError: no such parameter, or a value out of range.
    """
    if not settings:
        return False
    for rule_id, values in checked_settings(all_rules(plugins), settings).items():
        result = report.results.get(rule_id)
        if result is None or any(result.params.get(name) != values[name] for name in values):
            return True
    return False
