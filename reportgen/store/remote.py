"""A report in a bucket: what lies there is looked at first, the page is uploaded last."""

from __future__ import annotations

from pathlib import Path

from reportgen.errors import ConfigError, LocationError, OutputError, WouldOverwriteError
from reportgen.storage import Location
from reportgen.store.replace import OUTPUT_FOLDER, OUTPUT_NOTEBOOK, OUTPUT_PAGE, check_replaceable

_RAW_SIGNS = ("system/incremental/", "framework/pevents/", "system/training_job_end.ts")


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
        self._keys = [info.key for info in self._place.list()]
        if any(key.startswith(_RAW_SIGNS) for key in self._keys):
            raise ConfigError(
                f"The output {self.url} lies in the raw data of a job.",
                hint="Choose another prefix with --output.",
                path=self.url,
            )

    @property
    def url(self) -> str:
        """Return its address, without a slash at its end."""
        return self._place.root

    @property
    def page(self) -> str:
        """Return the address of the page."""
        return f"{self.url}/{OUTPUT_PAGE}"

    def fetch(self, folder: Path) -> None:
        """Copy the report that lies there, and whatever is in its way, into an empty folder."""
        fetch_report(self._place, self._keys, folder)

    def check_replaceable(self, copy: Path, *, notebook_is_ours: bool) -> None:
        """Refuse to replace what a run of ours did not write.

        Args:
            copy: what ``fetch`` copied.
            notebook_is_ours: whether the notebook in it is absent or unchanged.

        Raises:
            WouldOverwriteError: an object that is not ours, or was edited, is in the way.
        """
        try:
            check_replaceable(copy, keeps_results=False, notebook_is_ours=notebook_is_ours)
        except WouldOverwriteError as err:
            message = err.message.replace(str(copy), self.url)
            raise WouldOverwriteError(message, hint=err.hint, path=self.url) from None

    def upload(self, made: Path) -> None:
        """Upload results, notebook and page in this order; drop results of the report before.

        Raises:
            OutputError: something cannot be written.
        """
        results = [
            f"{OUTPUT_FOLDER}/{path.name}" for path in sorted((made / OUTPUT_FOLDER).iterdir())
        ]
        old = [key for key in self._keys if _is_result(key) and key not in results]
        try:
            for key in (*results, OUTPUT_NOTEBOOK):
                self._place.write_bytes(key, (made / key).read_bytes())
            self._place.delete(old)
            self._place.write_bytes(OUTPUT_PAGE, (made / OUTPUT_PAGE).read_bytes())
        except LocationError as err:
            raise OutputError(
                f"Cannot write the report to {self.url}. {err.message}",
                hint=err.hint,
                path=self.url,
            ) from err


def fetch_report(place: Location, keys: list[str], folder: Path) -> None:
    """Copy the report in a place into a folder: results, notebook, page."""
    names = [key for key in keys if _is_result(key) or key in {OUTPUT_NOTEBOOK, OUTPUT_PAGE}]
    for key, content in zip(names, place.read_many(names), strict=True):
        target = folder / key
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def _is_result(key: str) -> bool:
    return key.startswith(f"{OUTPUT_FOLDER}/") and key.count("/") == 1
