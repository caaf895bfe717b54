"""Read, measure and judge an input within this process, save the results and draw the sections.

It is the pipeline of the command with all its steps but notebook and page. What costs time and
cannot differ is done once: starting DuckDB, the search for installed rules and for the versions of
packages, what a rule measures on an equal part, and what it judges of equal measurements. Rules
are pure functions of both, which ``tests/rules/test_family.py`` checks.
"""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from reportgen import views
from reportgen.cli.settings import read_settings
from reportgen.errors import ReportgenError
from reportgen.intake import system
from reportgen.pipeline import (
    Options,
    compose,
    judging,
    make_report,
    packed_measurements,
    work,
)
from reportgen.pipeline.packed_measurements import PackedMeasurements
from reportgen.profile import NodeProfile, RankTrace
from reportgen.report import Report
from reportgen.results import RuleId, RuleResult, codec
from reportgen.rules import registry, runner
from reportgen.rules.base import AnyRule
from reportgen.store import OUTPUT_FOLDER, directory
from reportgen.views.cell_output import outputs
from tests.views.pages import SECTIONS

_MOST_HELD = 256
_COLLECT_EVERY = 200
_RULES = "other-rules"


class _Deaf:
    """A watcher that is not interested."""

    def step(self, name: str) -> None:
        pass

    def progress(self, text: str) -> None:
        pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What came of an input: a report and the files of its results, or an error of ours."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    report: Report | None = None
    error: ReportgenError | None = None


class Once:
    """Calls a function once for equal arguments, as long as not too many others came between."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._held: dict[bytes, Any] = {}

    def __call__(self, key: object, *args: Any) -> Any:
        """Return what the function returns for ``args``, which ``key`` stands for."""
        packed = pickle.dumps(key)
        if packed not in self._held:
            if len(self._held) >= _MOST_HELD:
                self._held.clear()
            self._held[packed] = self._function(*args)
        return self._held[packed]


class OnceEach:
    """Turns an object into bytes once, however often the pipeline asks for them."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function
        self._held: dict[int, tuple[Any, Any]] = {}

    def __call__(self, item: Any) -> Any:
        """Return what the function returns for this very object."""
        if id(item) not in self._held:
            if len(self._held) >= _MOST_HELD:
                self._held.clear()
            self._held[id(item)] = (item, self._function(item))
        return self._held[id(item)][1]


class Reader:
    """Makes reports one after the other; there is one in a process, whose garbage it collects."""

    def __init__(self) -> None:
        self._n_made = 0
        self._measure, self._judge = Once(runner.measure_part), Once(runner.judge_all)
        registry.entry_points = cache(registry.entry_points)  # type: ignore[attr-defined,assignment]  # import
        compose.version = cache(compose.version)  # type: ignore[attr-defined]  # import
        work.measure_part = self._measured  # type: ignore[attr-defined]  # import
        judging.judge_all = self._judged  # type: ignore[attr-defined,assignment]  # import
        packed_measurements._pickled = OnceEach(packed_measurements._pickled)
        self._encoded = OnceEach(codec.encode)
        compose.encoded_parts = self._parts  # type: ignore[attr-defined]  # import
        directory.result_codec = SimpleNamespace(  # type: ignore[attr-defined,assignment]  # import
            **{**vars(codec), "encoded_parts": self._parts}
        )
        database = system._connect()
        system._connect = lambda: database.cursor()  # one a thread

    def make(self, path: Path, config: Path | None, output: Path) -> Made:
        """Make the files of a report; whatever is no error of ours escapes."""
        self._n_made += 1
        if self._n_made % _COLLECT_EVERY == 1:
            gc.unfreeze()
            gc.collect()
            gc.freeze()
            gc.disable()
        try:
            options = Options(
                path=str(path),
                output=output,
                settings=read_settings((), config),
                formats=frozenset(),
            )
            report = make_report(options, _Deaf()).report
        except ReportgenError as err:
            return Made(error=err)
        place = output / OUTPUT_FOLDER
        files = {path.name: path.read_bytes() for path in sorted(place.glob("*.json"))}
        return Made(files=files, report=report)

    def _measured(
        self, part: NodeProfile | RankTrace, rules: Sequence[AnyRule], params: Mapping[RuleId, Any]
    ) -> Any:
        asked = [(rule.id, params[rule.id]) for rule in rules]
        return self._measure((replace(part, notes=()), asked), part, rules, params)

    def _judged(
        self,
        measured: Sequence[PackedMeasurements],
        rules: Sequence[AnyRule],
        params: Mapping[RuleId, Any],
    ) -> list[RuleResult]:
        found = []
        for rule in rules:
            packed = [part.packed[rule.id] for part in measured if rule.id in part]
            found += self._judge((rule.id, packed, params[rule.id]), measured, (rule,), params)
        return found

    def _parts(self, result: RuleResult) -> Iterator[bytes]:
        yield self._encoded(result)


def draw(report: Report) -> None:
    """Draw all sections as the cells of the notebook do."""
    named = [views.section(report, name) for name in SECTIONS if name != _RULES]
    for part in (*named, *views.other_rules(report).parts):
        list(outputs(part))
