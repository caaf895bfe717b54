"""A report directory: one ``<Id>.json`` per rule and ``report.json``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from reportgen.errors import LocationError, writing
from reportgen.report import Report, codec
from reportgen.results import RuleId, RuleResult
from reportgen.results import codec as result_codec

REPORT_FILE = "report.json"


def save(
    report: Report, report_dir: Path, *, originals: Mapping[RuleId, bytes] | None = None
) -> tuple[Path, ...]:
    """Write a report into an empty or missing folder and return the files written.

    The five keys of imported results are copied unchanged from the bytes of ``originals``.

    Raises:
        OutputError: a file cannot be written.
    """
    files = {f"{rule_id}.json": result for rule_id, result in report.results.items()}
    with writing(report_dir):
        report_dir.mkdir(parents=True, exist_ok=True)
        for name, result in files.items():
            (report_dir / name).write_bytes(_encoded(result, originals or {}))
        (report_dir / REPORT_FILE).write_bytes(codec.encode(report))
    return tuple(report_dir / name for name in (*files, REPORT_FILE))


def load(report_dir: str | Path) -> Report:
    """Read ``report.json`` in a folder ``profiler-report``, and the results of it that are there.

    Raises:
        LocationError: no such folder, or no ``report.json`` in it.
        FormatError: a file in it is not ours or damaged.
    """
    folder = Path(report_dir)
    raw = _read(folder / REPORT_FILE)
    named = codec.decode(raw, path=str(folder / REPORT_FILE), results={})
    results: dict[RuleId, RuleResult] = {}
    present = {path.name: path for path in folder.glob("*.json")}
    for rule_id, entry in named.rules.items():
        path = present.get(Path(entry.file).name)
        if path is not None and path.is_file():
            results[rule_id] = _declared(result_codec.decode(_read(path), path=str(path)))
    return codec.decode(raw, path=str(folder / REPORT_FILE), results=results)


def _declared(result: RuleResult) -> RuleResult:
    """Return a result with what it does not declare: in format 1 only the page knew its place."""
    if result.about is not None and result.about.needs:
        return result
    from reportgen.rules.registry import BUILTIN_RULES
    from reportgen.rules.runner import with_about

    rule = next((rule for rule in BUILTIN_RULES if rule.id == result.id), None)
    return with_about(result, rule) if rule else result


def _encoded(result: RuleResult, originals: Mapping[RuleId, bytes]) -> bytes:
    original = originals.get(result.id)
    if original is None:
        return result_codec.encode(result)
    return result_codec.encode_beside(result, original)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as err:
        raise LocationError(
            f"Cannot read {path}: {err.strerror}.",
            hint="Pass the folder profiler-report/ that make-profiler-report wrote.",
            path=str(path),
        ) from err
