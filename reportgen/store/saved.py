"""Where a saved report lies, on this machine or in a bucket."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from reportgen.storage import is_remote, open_location
from reportgen.store.directory import OUTPUT_FOLDER, REPORT_FILE, report_folder
from reportgen.store.remote import fetched_report
from reportgen.store.replace import put_back


@contextmanager
def saved_report(path: str) -> Iterator[Path | None]:
    """Yield the folder of a saved report: ``path``, ``profiler-report`` below it, or around it.

    The last is for the path of ``report.json`` itself, which may be a link as any that users name.

    Of a report in a bucket it is a copy, which is gone afterwards. Yields ``None`` without one.
    Results that a killed run had moved aside are put back first.
    """
    if is_remote(path):
        with fetched_report(open_location(path.removesuffix(f"/{REPORT_FILE}"))) as folder:
            yield folder
        return
    place = Path(path)
    if place.name == REPORT_FILE and place.is_file():
        place = place.resolve().parent
    with suppress(OSError):  # where nothing can be renamed nothing is lost either
        put_back(place.parent if place.name == OUTPUT_FOLDER else place)
    yield report_folder(place)
