"""The page of results that are there: of a saved report, or of SageMaker's rules."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from reportgen.errors import ConfigError
from reportgen.pipeline.imports import make_from_aws
from reportgen.pipeline.options import MadeReport, Options, Watcher, check_uncut
from reportgen.pipeline.products import make_page
from reportgen.publish import job_path_of, read_notebook
from reportgen.report import Report
from reportgen.rules.registry import all_rules
from reportgen.rules.settings import checked_settings
from reportgen.store import load, saved_report


def make_from_results(options: Options, watcher: Watcher) -> MadeReport | None:
    """Make the report of results that lie where the user says; ``None`` where there are none.

    Raises:
        ReportgenError: they cannot be read, or what was asked for needs the data.
    """
    with saved_report(options.path) as saved:
        if saved is None:
            return make_from_aws(options, watcher)
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
    if not settings:
        return False
    for rule_id, values in checked_settings(all_rules(plugins), settings).items():
        result = report.results.get(rule_id)
        if result is None or any(result.params.get(name) != values[name] for name in values):
            return True
    return False
