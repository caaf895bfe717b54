"""The page of results that are there: of a saved report, or of SageMaker's rules."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from reportgen.errors import AmbiguousJobError, ConfigError, LocationError, PlaceError
from reportgen.intake import AwsFolder, read_aws_folder
from reportgen.pipeline.imports import import_results
from reportgen.pipeline.options import MadeReport, Options, Watcher
from reportgen.pipeline.products import open_products, publish
from reportgen.pipeline.ranges import Wanted, check_uncut
from reportgen.pipeline.timing import timed
from reportgen.publish import job_path_of, read_notebook
from reportgen.report import Report
from reportgen.rules.base import AnyRule
from reportgen.rules.registry import all_rules
from reportgen.rules.settings import checked_value, find_param, select_rules, without_former
from reportgen.store import (
    OUTPUT_FOLDER,
    TIMELINE_FILE,
    copy_results,
    load,
    save,
    saved_report,
)


def make_from_results(
    options: Options, wanted: Wanted | None, watcher: Watcher
) -> MadeReport | None:
    """Make the report of results that lie where the user says; ``None`` where there are none.

    Raises:
        ReportgenError: they cannot be read, or what was asked for needs the data.
    """
    with saved_report(options.path) as saved:
        rules = () if saved is not None else all_rules(options.plugins)
        folder = None if saved is not None else _aws_folder(options, rules)
        if saved is None and folder is None:
            return None
        check_uncut(wanted, options.cycle)
        if folder is not None:
            return _import(folder, rules, options, watcher)
        assert saved is not None
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
        return make_page(report, saved, options, watcher)


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
    rules = all_rules(plugins) if settings else ()
    for key, value in without_former(settings).items():
        rule, spec = find_param(rules, key)
        wanted = checked_value(f"{rule.id}.{spec.name}", spec, value)
        result = report.results.get(rule.id)
        if result is None or result.params.get(spec.name) != wanted:
            return True
    return False


def make_page(report: Report, saved: Path, options: Options, watcher: Watcher) -> MadeReport:
    """Make the page of a saved report again, into the folder around it or another one."""
    target = options.output / OUTPUT_FOLDER
    keeps_results = target.exists() and target.samefile(saved)
    with open_products(options, watcher, keeps_results=keeps_results) as products:
        results = products.staging.results
        copy_results(saved, results)
        if report.timeline_data is not None:
            (results / TIMELINE_FILE).write_bytes(report.timeline_data)
        return publish(products, report)


def _aws_folder(options: Options, rules: tuple[AnyRule, ...]) -> AwsFolder | None:
    try:
        return read_aws_folder(options.path, [rule.id for rule in rules], name=options.name)
    except (AmbiguousJobError, PlaceError):
        raise
    except LocationError:
        return None


def _import(
    folder: AwsFolder, rules: tuple[AnyRule, ...], options: Options, watcher: Watcher
) -> MadeReport:
    chosen = select_rules(rules, options.rules) if options.rules else rules
    with timed(watcher, "rules") as step:
        report = import_results(folder, chosen, settings=options.settings)
        step.text = f"imported {len(report.results)} rules of SageMaker"
    with open_products(options, watcher) as products:
        save(report, products.staging.results)
        return publish(products, report)
