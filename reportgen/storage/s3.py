"""Buckets: listed in pages, read in threads, every trouble retried and then named."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reportgen.errors import LocationError, PlaceError
from reportgen.storage.location import ObjectInfo
from reportgen.storage.s3_access import credentials, endpoint, region_of
from reportgen.storage.s3_errors import explain, kind_of

if TYPE_CHECKING:
    from obstore import GetOptions
    from obstore.store import RetryConfig

N_THREADS = 32
"""Objects fetched at once. Source: DESIGN §2, measured 16 to 128."""

_TRIES = 4
_FIRST_PAUSE_S = 0.2
_RETRY: RetryConfig = {
    "max_retries": 5,
    "retry_timeout": timedelta(seconds=60),
    "backoff": {
        "init_backoff": timedelta(seconds=0.1),
        "max_backoff": timedelta(seconds=4),
        "base": 2,
    },
}


class S3Location:
    """A bucket, or what lies below a prefix of it."""

    def __init__(self, url: str, *, versions: Mapping[str, str] | None = None) -> None:
        """Open a bucket; nothing is listed yet.

        Args:
            url: ``s3://bucket`` or ``s3://bucket/prefix``.
            versions: the version (ETag) that each key had when it was listed.

        Raises:
            PlaceError: no bucket of that name, or no credentials.
        """
        self._bucket, self._prefix = _split(url)
        self._versions = dict(versions or {})
        self._lost: dict[str, LocationError] = {}
        self._changed: set[str] = set()
        self._sizes: dict[str, int] = {}
        self._lock = threading.Lock()
        self._store = _open_store(self._bucket, self._prefix)

    @property
    def root(self) -> str:
        """Return the URL, without a slash at its end."""
        return f"s3://{self._bucket}/{self._prefix}".rstrip("/")

    def list(self) -> Sequence[ObjectInfo]:
        """Return every object below the prefix, sorted by key."""
        import obstore

        try:
            found = [info for page in obstore.list(self._store) for info in page]
        except (obstore.exceptions.BaseError, OSError) as err:
            raise explain(err, action="s3:ListBucket", url=self.root) from None
        infos = (
            ObjectInfo(key=info["path"], size_bytes=info["size"], version=info["e_tag"] or "")
            for info in found
        )
        return sorted(infos, key=lambda info: info.key)

    def read_bytes(self, key: str) -> bytes:
        """Return an object's content; a newer version than was listed is remembered.

        Raises:
            PlaceError: the store cannot be used (denied, throttled, no connection).
            LocationError: the object vanished.
        """
        with self._lock:
            lost = self._lost.get(key)
        if lost is not None:
            raise lost
        try:
            return self._read(key)
        except LocationError as err:
            with self._lock:
                self._lost[key] = err
            raise

    def read_range(self, key: str, start: int, n_bytes: int) -> bytes:
        """Return a part of an object, shorter at its end; errors as ``read_bytes``."""
        import obstore

        size_bytes = self._size_bytes(key)
        n_bytes = min(n_bytes, size_bytes - start)
        if n_bytes <= 0:
            return b""

        def fetch() -> bytes:
            return bytes(obstore.get_range(self._store, key, start=start, length=n_bytes))

        content = self._ask("s3:GetObject", key, fetch)
        assert isinstance(content, bytes)
        return content

    def read_many(self, keys: Sequence[str]) -> Iterator[bytes]:
        """Yield the content of objects in the order of the keys, some fetched ahead."""
        with ThreadPoolExecutor(min(N_THREADS, max(len(keys), 1))) as pool:
            waiting: deque[Future[bytes]] = deque()
            try:
                for key in keys:
                    waiting.append(pool.submit(self.read_bytes, key))
                    if len(waiting) >= 2 * N_THREADS:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()

    def local_path(self, key: str) -> Path | None:  # noqa: ARG002  # as the protocol says
        """Return ``None``: objects have no path here."""
        return None

    def changed(self) -> Sequence[str]:
        """Return the keys whose content was newer than what was listed, sorted."""
        with self._lock:
            return sorted(self._changed)

    def write_bytes(self, key: str, content: bytes) -> None:
        """Write an object, replacing an older one."""
        import obstore

        self._ask("s3:PutObject", key, partial(obstore.put, self._store, key, content))

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects."""
        import obstore

        for key in keys:
            self._ask("s3:DeleteObject", key, partial(obstore.delete, self._store, key))

    def _size_bytes(self, key: str) -> int:
        import obstore

        with self._lock:
            known = self._sizes.get(key)
        if known is None:
            found = self._ask("s3:GetObject", key, partial(obstore.head, self._store, key))
            assert isinstance(found, dict)
            known = int(found["size"])
            with self._lock:
                self._sizes[key] = known
                if self._versions.get(key, found["e_tag"]) != found["e_tag"]:
                    self._changed.add(key)
        return known

    def _read(self, key: str) -> bytes:
        version = self._versions.get(key)
        if version is None:
            return self._get(key, {})
        try:
            return self._get(key, {"if_match": version})
        except LocationError as err:
            if err.details.get("reason") != "changed":
                raise
        content = self._get(key, {})
        with self._lock:
            self._changed.add(key)
        return content

    def _get(self, key: str, options: GetOptions) -> bytes:
        import obstore

        def fetch() -> bytes:
            return bytes(obstore.get(self._store, key, options=options).bytes())

        content = self._ask("s3:GetObject", key, fetch)
        assert isinstance(content, bytes)
        return content

    def _ask(self, action: str, key: str, request: Any) -> object:
        """Return what a request answers; a lost connection is tried again a few times."""
        import obstore

        for number in range(1, _TRIES + 1):
            try:
                return request()
            except (obstore.exceptions.BaseError, OSError) as err:
                if number == _TRIES or kind_of(err) != "connection":
                    raise explain(err, action=action, url=f"{self.root}/{key}") from None
            time.sleep(_FIRST_PAUSE_S * 2 ** (number - 1))
        raise AssertionError


def _split(url: str) -> tuple[str, str]:
    bucket, _, prefix = url.partition("://")[2].partition("/")
    if not bucket or any(character in bucket for character in "@?#:"):
        raise PlaceError(
            "This is not the address of a bucket.", hint="Write s3://bucket/prefix, nothing else."
        )
    return bucket, prefix.strip("/")


def _open_store(bucket: str, prefix: str) -> Any:
    from obstore.store import S3Store

    address = endpoint()
    config: dict[str, Any] = {"region": region_of(bucket), **credentials()}
    if address:
        config["endpoint"] = address
    return S3Store(
        bucket,
        prefix=prefix or None,
        client_options={
            "allow_http": address.startswith("http://"),
            "connect_timeout": timedelta(seconds=5),
            "read_timeout": timedelta(seconds=30),
            "timeout": timedelta(minutes=10),
        },
        retry_config=_RETRY,
        **config,
    )
