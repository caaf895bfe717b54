"""Where reports lie; in buckets what is there is looked at first, the page is uploaded last."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from reportgen.errors import ConfigError, FormatError, LocationError, OutputError
from reportgen.plain_files import MOST_BYTES
from reportgen.scratch import scratch_folder
from reportgen.storage import Location, ObjectInfo, is_remote, of_each, open_location
from reportgen.store.directory import OUTPUT_FOLDER, REPORT_FILE, TIMELINE_FILE, report_folder
from reportgen.store.replace import OUTPUT_NOTEBOOK, OUTPUT_PAGE, OUTPUT_SUMMARY, put_back

RAW_SIGNS = ("system/incremental", "framework/pevents", "system/training_job_end.ts")
"""Beginnings of the keys of raw data of a job."""
_PRODUCTS = (OUTPUT_NOTEBOOK, OUTPUT_SUMMARY, OUTPUT_PAGE)
"""In the order in which they are uploaded: the page is last."""

_LARGEST_BYTES = 1 << 28
"""A larger page was not written by us, so its content need not be looked at."""


class RemoteOutput:
    """A bucket's prefix that gets a report."""

    def __init__(self, url: str) -> None:
        """Look at what lies there.

        Raises:
            PlaceError: the bucket cannot be used.
            ConfigError: raw data of a job lie there.
        """
        from reportgen.storage.s3 import S3Location

        self._place = S3Location(url)
        self._infos = list(self._place.list())
        if any(info.key.startswith(RAW_SIGNS) for info in self._infos):
            raise ConfigError(
                f"The output {self.url} lies in the raw data of a job.",
                hint="Choose another prefix with --output.",
                path=self.url,
            )

    @property
    def url(self) -> str:
        """Return its address, without a slash at its end."""
        return self._place.root

    def address(self, name: str) -> str:
        """Return the address of something in it."""
        return f"{self.url}/{name}"

    def fetch(self, folder: Path) -> None:
        """Copy the files that a report would replace into an empty folder.

        A file that cannot be ours is there by name, without content.
        """
        infos = [info for info in self._infos if _is_result(info.key) or info.key in _PRODUCTS]
        _copy(self._place, [info for info in infos if _may_be_ours(info)], folder)
        for info in infos:
            if not _may_be_ours(info):
                (folder / info.key).parent.mkdir(parents=True, exist_ok=True)
                (folder / info.key).touch()

    def upload(self, made: Path, *, outdated: Collection[str] = ()) -> None:
        """Upload rule files, ``report.json``, notebook, summary, page, in this order.

        Results of an earlier report that this one does not have are deleted before the page is
        uploaded, and so are ``outdated`` products.

        Raises:
            OutputError: something cannot be written; the page is the old one then.
        """
        results = sorted(
            f"{OUTPUT_FOLDER}/{path.name}" for path in (made / OUTPUT_FOLDER).iterdir()
        )
        there = {info.key for info in self._infos}
        old = {key for key in there if _is_result(key) and key not in results}
        old |= there.intersection(outdated)
        last = f"{OUTPUT_FOLDER}/{REPORT_FILE}"
        products = [name for name in _PRODUCTS if (made / name).exists()]

        def write(key: str) -> None:
            self._place.write_bytes(key, (made / key).read_bytes())

        try:
            of_each(write, [key for key in results if key != last])
            for key in (last, *products):
                if key == (last, *products)[-1]:
                    self._place.delete(sorted(old))
                write(key)
        except LocationError as err:
            raise OutputError(
                f"Cannot write the report to {self.url}. {err.message}",
                hint=err.hint,
                path=self.url,
            ) from err


@contextmanager
def fetched_report(place: Location) -> Iterator[Path | None]:
    """Yield a copy of the results that lie in a place, or in ``profiler-report/`` below it.

    Yields ``None`` where there is no ``report.json``. The copy is gone afterwards.

    Raises:
        LocationError: a result cannot be read.
        FormatError: of a result that is used; it names the place, not the copy.
    """
    infos = place.list()
    for prefix in ("", f"{OUTPUT_FOLDER}/"):
        if any(info.key == f"{prefix}{REPORT_FILE}" for info in infos):
            with scratch_folder() as folder:
                parts = [info for info in infos if _is_part_of(info.key, prefix)]
                _refuse_large(place, parts)
                _copy(place, parts, folder)
                try:
                    yield folder / prefix
                except FormatError as err:
                    message = err.message.replace(f"{folder}/", f"{place.root}/")
                    raise FormatError(message, hint=err.hint, **err.details) from err
            return
    yield None


def _refuse_large(place: Location, infos: list[ObjectInfo]) -> None:
    large = next((info for info in infos if info.size_bytes > MOST_BYTES), None)
    if large is not None:
        raise LocationError(
            f"{place.root}/{large.key} has {large.size_bytes:,} bytes, more than a file of a saved "
            f"report may have ({MOST_BYTES:,}).",
            hint="Make the report again from the data.",
            path=large.key,
        )


def _copy(place: Location, infos: list[ObjectInfo], folder: Path) -> None:
    keys = [info.key for info in infos]
    for key, content in zip(keys, place.read_many(keys), strict=True):
        if isinstance(content, LocationError):
            raise content
        target = folder / key
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def _is_part_of(key: str, prefix: str) -> bool:
    name = key[len(prefix) :]
    is_named_so = name.endswith(".json") or name == TIMELINE_FILE
    return key.startswith(prefix) and "/" not in name and is_named_so


def _is_result(key: str) -> bool:
    return key.startswith(f"{OUTPUT_FOLDER}/") and key.count("/") == 1


def _may_be_ours(info: ObjectInfo) -> bool:
    if info.key in _PRODUCTS:
        return info.size_bytes <= _LARGEST_BYTES
    return info.key.endswith((".json", f"/{TIMELINE_FILE}")) and info.size_bytes <= MOST_BYTES


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
