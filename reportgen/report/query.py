"""Answer questions about a saved report with one table each."""

from __future__ import annotations

import dataclasses
import difflib
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from reportgen.errors import ConfigError
from reportgen.report.model import RankedFinding, Report
from reportgen.report.replaced import said_of
from reportgen.results import Exhibit, RuleId, Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A table: ``columns`` maps each name to its unit, ``rows`` hold values in that order.

    Attributes:
        is_list: whether the rows say what else can be asked, so that all of them matter.
    """

    title: str
    caption: str = ""
    columns: Mapping[str, str]
    rows: Sequence[Sequence[Scalar]]
    is_list: bool = False

    def position(self, column: str) -> int:
        """Return where a column stands; raise ``ConfigError`` if there is none of this name."""
        if column not in self.columns:
            raise _unknown(column, self.columns, noun="column", hint="The columns are {}.")
        return list(self.columns).index(column)


def ask(report: Report, what: str = "") -> Answer:
    """Return the answer to one question.

    Args:
        report: a saved report with its results.
        what: empty for a list of everything; ``job``, ``findings``, ``rules``, ``exhibits``; the id
            of a rule or a finding; or ``RULE.EXHIBIT``. Letter case does not matter.

    Raises:
        ConfigError: the report holds nothing of that name.
    """
    found = _questions(report).get(what.strip().lower())
    if found is None:
        names = [name for name, *_ in _contents(report)]
        raise _unknown(
            what, names, noun="part of the report", hint="Leave it out for a list of all parts."
        )
    return found()


def narrowed(
    answer: Answer, conditions: Sequence[str] = (), *, sort: str = "", columns: Sequence[str] = ()
) -> Answer:
    """Return the rows that meet all conditions (``pct > 5``), in an order, with some columns.

    ``sort`` names a column, ``-`` in front of it puts the largest first; rows without a value
    come last.

    Raises:
        ConfigError: a condition of another form, or a column that does not exist.
    """
    rows = list(answer.rows)
    for condition in conditions:
        rows = list(filter(_condition(answer, condition), rows))
    if sort:
        at = answer.position(sort.removeprefix("-"))
        known = [row for row in rows if row[at] is not None]
        known.sort(key=lambda row: (isinstance(row[at], str), row[at]), reverse=sort[0] == "-")
        rows = [*known, *(row for row in rows if row[at] is None)]
    if columns:
        chosen = {name: answer.position(name) for name in columns}
        rows = [[row[at] for at in chosen.values()] for row in rows]
        answer = dataclasses.replace(
            answer, columns={name: answer.columns[name] for name in chosen}
        )
    return dataclasses.replace(answer, rows=rows)


def _questions(report: Report) -> Mapping[str, Callable[[], Answer]]:
    ways: dict[str, Callable[[], Answer]] = {}
    for rule_id in report.rules:
        ways[rule_id.lower()] = partial(_about_rule, report, rule_id)
    for result in report.results.values():
        for item in result.exhibits:
            ways[f"{result.id}.{item.id}".lower()] = partial(_of_exhibit, item)
    for ranked in report.findings:
        ways[ranked.finding.id.lower()] = partial(_about_finding, report, ranked.finding.id)
    return ways | {
        "": partial(_list_of, report, "contents", is_all=True),
        "exhibits": partial(_list_of, report, "exhibits", is_all=False),
        "job": lambda: _pairs("job", _job(report)),
        "findings": lambda: _findings(report),
        "rules": lambda: _rules(report),
    }


_NO_EXHIBIT = frozenset({"list", "finding", "rule"})


def _contents(report: Report) -> Iterator[tuple[str, str, int | None, str]]:
    yield "job", "list", None, f"{report.job.name}: times, set-up, figures, data quality"
    yield "findings", "list", len(report.findings), "all findings, most important first"
    yield "rules", "list", len(report.rules), "question and outcome of each rule"
    n_exhibits = sum(len(result.exhibits) for result in report.results.values())
    yield "exhibits", "list", n_exhibits, "the evidence of all rules"
    for ranked in report.findings:
        finding = ranked.finding
        yield finding.id, "finding", None, f"{finding.severity}: {finding.title}"
    for rule_id, entry in report.rules.items():
        reason = f": {entry.reason.text}" if entry.reason else ""
        yield rule_id, "rule", None, f"{entry.status}{reason}"
        result = report.results.get(rule_id)
        for item in result.exhibits if result else ():
            yield f"{rule_id}.{item.id}", item.kind.value, item.n_rows, item.title


def _list_of(report: Report, title: str, *, is_all: bool) -> Answer:
    rows = [row for row in _contents(report) if is_all or row[1] not in _NO_EXHIBIT]
    columns = dict.fromkeys(("name", "kind", "n_rows", "meaning"), "")
    return Answer(title=title, columns=columns, rows=rows, is_list=True)


def _rules(report: Report) -> Answer:
    names = ("rule", "status", "reason", "n_findings", "checks")
    n_findings = Counter(ranked.rule for ranked in report.findings)
    rows = []
    for rule_id, entry in report.rules.items():
        result, reason = report.results.get(rule_id), entry.reason.text if entry.reason else None
        checks = result.about.checks if result and result.about else None
        rows.append((rule_id, entry.status.value, reason, n_findings[rule_id], checks))
    return Answer(title="rules", columns=dict.fromkeys(names, ""), rows=rows, is_list=True)


def _findings(report: Report) -> Answer:
    rows = [list(_flat_finding(ranked).values()) for ranked in report.findings]
    return Answer(title="findings", columns=dict.fromkeys(_OF_FINDING, ""), rows=rows, is_list=True)


_OF_FINDING: Mapping[str, Callable[[RankedFinding], Scalar]] = {
    "id": lambda ranked: ranked.finding.id,
    "rule": lambda ranked: ranked.rule,
    "severity": lambda ranked: ranked.finding.severity.value,
    "title": lambda ranked: ranked.finding.title,
    "cause": lambda ranked: ranked.finding.cause,
    "symptom_of": lambda ranked: _joined(ranked.finding.symptom_of),
    "attributed_ratio": lambda ranked: ranked.finding.attributed_ratio,
    "share_ratio": lambda ranked: getattr(ranked.finding.estimate, "share_ratio", None),
    "measured": lambda ranked: ranked.finding.measured,
    "threshold": lambda ranked: ranked.finding.threshold,
    "unit": lambda ranked: ranked.finding.unit,
    "exhibit": lambda ranked: (
        f"{ranked.rule}.{ranked.finding.exhibit}" if ranked.finding.exhibit else None
    ),
    "node": lambda ranked: ranked.finding.where.node,
    "device": lambda ranked: ranked.finding.where.device,
    "start_s": lambda ranked: ranked.finding.where.start_s,
    "end_s": lambda ranked: ranked.finding.where.end_s,
    "speedup_at_most": lambda ranked: getattr(ranked.finding.estimate, "speedup_at_most", None),
    "text": lambda ranked: ranked.finding.text,
    "advice": lambda ranked: ranked.finding.advice,
    "possible_causes": lambda ranked: _joined(ranked.finding.possible_causes),
    "evidence_for": lambda ranked: _joined(
        e.text for e in ranked.finding.evidence if not e.is_against
    ),
    "evidence_against": lambda ranked: _joined(
        e.text for e in ranked.finding.evidence if e.is_against
    ),
}
"""The columns of the findings, the same whether a report has any or none."""


def _flat_finding(ranked: RankedFinding) -> dict[str, Scalar]:
    return {name: value(ranked) for name, value in _OF_FINDING.items()}


def _joined(texts: Iterable[str]) -> str | None:
    return "; ".join(texts) or None


def _about_finding(report: Report, finding_id: str) -> Answer:
    same = [ranked for ranked in report.findings if ranked.finding.id == finding_id]
    pairs = [
        (f"{number}.{key}" if len(same) > 1 else key, value)
        for number, ranked in enumerate(same, start=1)
        for key, value in _flat_finding(ranked).items()
    ]
    return _pairs(finding_id, pairs)


def _about_rule(report: Report, rule_id: RuleId) -> Answer:
    entry, result = report.rules[rule_id], report.results.get(rule_id)
    whole: dict[str, Any] = {
        "status": entry.status.value,
        "reason": entry.reason.text if entry.reason else None,
        "findings": [item.finding.id for item in report.findings if item.rule == rule_id],
    }
    if result is not None:
        whole |= {"exhibits": [item.id for item in result.exhibits]}
        whole |= {"params": result.params, "metrics": result.metrics}
        about = result.about
        words = ("title", "checks", "reading", "advice") if about else ()
        whole |= {name: getattr(about, name) for name in words}
    return _pairs(rule_id, _flattened(whole, ""))


def _job(report: Report) -> Iterator[tuple[str, Scalar]]:
    parts = ("job", "summary", "figures", "setup", "recording", "profiling", "data_quality")
    yield "report_id", report.report_id
    yield "nodes", _joined(report.nodes)
    yield "sampling_interval_ms", report.sampling_interval_ms
    for part in (*parts, "versions"):
        yield from _flattened(msgspec.to_builtins(getattr(report, part)), part)


def _of_exhibit(item: Exhibit) -> Answer:
    return Answer(
        title=item.title,
        caption=item.caption,
        columns={column.name: column.unit for column in item.columns},
        rows=list(zip(*(column.values for column in item.columns), strict=True)),
    )


def _pairs(title: str, pairs: Iterable[tuple[str, Scalar]]) -> Answer:
    return Answer(title=title, columns={"key": "", "value": ""}, rows=list(pairs), is_list=True)


def _flattened(value: Any, path: str) -> Iterator[tuple[str, Scalar]]:
    """Yield each value below a tree with its path in dots; texts in a list are joined."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flattened(inner, f"{path}.{key}".lstrip("."))
    elif isinstance(value, list | tuple) and any(isinstance(item, Mapping) for item in value):
        for number, item in enumerate(value, start=1):
            yield from _flattened(item, f"{path}.{number}")
    else:
        yield path, _joined(map(str, value)) if isinstance(value, list | tuple) else value


_CONDITION = re.compile(r"(?P<column>[^\s=!<>~]+)\s*+(?P<sign>!=|>=|<=|=|>|<|~)\s*+(?P<value>.*)")
_ORDERS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}


def _condition(answer: Answer, text: str) -> Callable[[Sequence[Scalar]], bool]:
    match = _CONDITION.fullmatch(text.strip())
    if match is None:
        raise ConfigError(
            f"--where {text!r} is no condition.",
            hint="Write COLUMN, one of = != > >= < <= ~ and a value: 'pct > 5', 'name ~ conv'.",
        )
    at, sign, wanted = answer.position(match["column"]), match["sign"], match["value"]
    if sign == "~":
        return lambda row: row[at] is not None and wanted.lower() in str(row[at]).lower()
    if sign in ("=", "!="):
        return lambda row: _is_equal(row[at], wanted) == (sign == "=")
    limit = _number(wanted)
    if limit is None:
        raise ConfigError(f"--where {text!r} compares with {wanted!r}, which is no number.")
    is_ordered = _ORDERS[sign]
    return lambda row: isinstance(value := row[at], int | float) and is_ordered(value, limit)


def _is_equal(value: Scalar, wanted: str) -> bool:
    if value is None or isinstance(value, bool):
        said = ("null", "-", "") if value is None else (str(value).lower(),)
        return wanted.lower() in said
    number = None if isinstance(value, str) else _number(wanted)
    return value == number if number is not None else str(value).lower() == wanted.lower()


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _unknown(name: str, known: Any, *, noun: str, hint: str) -> ConfigError:
    names = list(dict.fromkeys(known))
    lowered = {item.lower(): item for item in names}
    near = difflib.get_close_matches(name.lower(), list(lowered), n=1, cutoff=0.5)
    nearest = f" Did you mean {lowered[near[0]]}?" if near else ""
    nearest = f" {said}" if (said := said_of(name)) else nearest
    return ConfigError(f"There is no {noun} {name!r}.{nearest}", hint=hint.format(", ".join(names)))
