"""Buckets: listed in pages, read in threads, every trouble retried and then named."""

from __future__ import annotations

import os.path
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import lru_cache, partial
from queue import Empty, Queue
from typing import TYPE_CHECKING, Any, TypeVar

import obstore
from obstore.store import S3Store

from reportgen.errors import LocationError, PlaceError
from reportgen.storage.location import Listed, ObjectInfo
from reportgen.storage.read_ahead import Fetched, read_ahead
from reportgen.storage.s3_access import (
    N_REMEMBERED,
    Environment,
    access,
    environment,
    only_this_host,
)
from reportgen.storage.s3_errors import explain, kind_of

if TYPE_CHECKING:
    from obstore import GetOptions
    from obstore.store import RetryConfig

_T = TypeVar("_T")
_Page = list[ObjectInfo] | Exception | None
"""A page of a list, the error that ended the list, or its end."""

_CHUNK_BYTES = 4 << 20
_TRIES = 4
_FIRST_PAUSE_S = 0.2
_LONGEST_PAGE_S = 90.0
"""Longer than all that is tried again for a page of a list."""
_QUIET_S, _PROMPT_S = 15.0, 2.0
"""A store that gives no page for so long, and yet answers at once, sends empty ones: those are not
seen here. One that is overloaded or gone does not answer at once; it gets the longer time."""

_MOST_PAGE_BYTES = 256 << 20
"""Memory that the process may gain while it waits for a page: one of a thousand keys takes 2 MB."""
_LOOK_EVERY_S = 0.05
_MOST_OBJECT_BYTES = 512 << 20
"""A larger object is not read as a whole; traces are read in ranges."""

MAX_OBJECTS = 5_000_000
"""A week of 500 nodes has as many minute files; their list takes 0.15 GB."""

_SILENCE = timedelta(seconds=30)
"""A connection that says nothing for so long hangs, and its request is sent again."""

_RETRY: RetryConfig = {
    "max_retries": 5,
    "retry_timeout": timedelta(seconds=60),
    "backoff": {
        "init_backoff": timedelta(seconds=0.1),
        "max_backoff": timedelta(seconds=4),
        "base": 2,
    },
}
_CONTENT_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".ipynb": "application/x-ipynb+json",
    ".json": "application/json",
    ".md": "text/markdown; charset=utf-8",
}
"""So that a browser shows what it gets from the store instead of saving it."""


class S3Location:
    """A bucket, or what lies below a prefix of it."""

    def __init__(self, url: str, *, listed: Mapping[str, Listed] | None = None) -> None:
        """Open ``s3://bucket`` or ``s3://bucket/prefix``; nothing is listed yet.

        Content that differs from what was ``listed`` before is noticed.

        Raises:
            PlaceError: no bucket of that name, or no credentials.
        """
        self._bucket, self._prefix = _split(url)
        self._listed = dict(listed or {})
        self._changed: set[str] = set()
        self._lock = threading.Lock()
        self._store = _store_of(self._bucket, self._prefix, environment())

    @property
    def root(self) -> str:
        """Return the URL, without a slash at its end."""
        return f"s3://{self._bucket}/{self._prefix}".rstrip("/")

    def list(self) -> Sequence[ObjectInfo]:
        """Return every object below the prefix, sorted by key.

        Raises:
            PlaceError: as ``read_bytes``; or the list does not end.
        """
        return self._ask("s3:ListBucket", "", partial(_listed, self._store, self.root))

    def read_bytes(self, key: str) -> bytes:
        """Return an object's content; a newer version than was listed is remembered.

        Raises:
            PlaceError: the store cannot be used (denied, throttled, no connection).
            LocationError: the object vanished.
        """
        return self._get(key, {}, 0, _MOST_OBJECT_BYTES)

    def read_range(self, key: str, start: int, n_bytes: int) -> bytes:
        """Return a part of an object that begins before its end; errors as ``read_bytes``."""
        return self._get(key, {"range": (start, start + n_bytes)}, start, n_bytes)

    def read_many(self, keys: Sequence[str]) -> Iterator[Fetched]:
        """Yield the content of objects in the order of the keys, some fetched ahead."""
        sizes_bytes = [self._listed[key].size_bytes if key in self._listed else 0 for key in keys]
        return read_ahead(keys, sizes_bytes, self.read_bytes)

    def local_path(self, key: str) -> str | None:  # noqa: ARG002  # as the protocol says
        """Return ``None``: objects have no path here."""
        return None

    def changed(self) -> Sequence[str]:
        """Return the keys whose content was newer than what was listed, sorted."""
        with self._lock:
            return sorted(self._changed)

    def write_bytes(self, key: str, content: bytes) -> None:
        """Write an object in one piece, replacing an older one."""
        kind = _CONTENT_TYPES.get(os.path.splitext(key)[1], "application/octet-stream")  # noqa: PTH122  # a key is no path
        put = partial(
            obstore.put,
            self._store,
            key,
            content,
            attributes={"Content-Type": kind},
            use_multipart=False,  # parts of one that was broken off would stay, unseen and paid for
        )
        self._ask("s3:PutObject", key, put)

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects."""
        for key in keys:
            self._ask("s3:DeleteObject", key, partial(obstore.delete, self._store, key))

    def _get(self, key: str, options: GetOptions, start: int, most_bytes: int) -> bytes:
        """Return the bytes that ``options`` name, and note whether they are a newer version's."""

        def fetch() -> bytes:
            answer = obstore.get(self._store, key, options=options)
            meta = answer.meta
            version, size_bytes = meta["e_tag"] or "", meta["size"]
            listed = self._listed.get(key)
            if not listed:
                return self._bounded(key, answer, most_bytes)
            is_same = version == listed.version != ""
            if is_same and size_bytes > listed.size_bytes:
                url = f"{self.root}/{key}"
                raise LocationError(
                    f"{url} was listed with {listed.size_bytes:,} bytes and has {size_bytes:,}.",
                    hint="Run the command again; check --endpoint-url.",
                    path=url,
                )
            content = self._bounded(key, answer, most_bytes)
            if is_same and len(content) < min(listed.size_bytes - start, most_bytes):
                raise ConnectionError  # cut off on its way, though the length says otherwise
            has_versions = version and listed.version
            if not is_same and (has_versions or size_bytes != listed.size_bytes):
                with self._lock:
                    self._changed.add(key)
            return content

        return self._ask("s3:GetObject", key, fetch)

    def _bounded(self, key: str, answer: Any, most_bytes: int) -> bytes:
        """Return the bytes of an answer as they come: what it claims to hold is not made room for.

        Raises:
            LocationError: it claims or holds more than was asked for.
        """
        claimed_bytes, blocks, n_bytes = answer.range[1] - answer.range[0], list[bytes](), 0
        if claimed_bytes <= most_bytes:
            for block in answer.stream(min_chunk_size=_CHUNK_BYTES):
                blocks.append(bytes(block))
                n_bytes += len(blocks[-1])
                if n_bytes >= claimed_bytes:  # to ask for the end would cost as much as a block
                    break
            if n_bytes <= most_bytes:
                return blocks[0] if len(blocks) == 1 else b"".join(blocks)
        url = f"{self.root}/{key}"
        raise LocationError(
            f"{url} is larger than it may be: {claimed_bytes:,} bytes are claimed, at most "
            f"{most_bytes:,} are read at once.",
            hint="Copy the job to this machine and pass the local folder.",
            path=url,
        )

    def _ask(self, action: str, key: str, request: Callable[[], _T]) -> _T:
        """Return the answer to a request; a lost connection is tried again a few times."""
        began_s = time.monotonic()
        for number in range(1, _TRIES + 1):
            try:
                return request()
            except (obstore.exceptions.BaseError, OSError) as err:
                if number == _TRIES or kind_of(err) != "connection":
                    url = f"{self.root}/{key}".rstrip("/")
                    tried_s = time.monotonic() - began_s
                    raise explain(err, action=action, url=url, tried_s=tried_s) from None
            time.sleep(_FIRST_PAUSE_S * 2 ** (number - 1))
        raise AssertionError


def _listed(store: Any, root: str) -> Sequence[ObjectInfo]:
    """Return the listed objects, sorted by key."""
    return sorted(_list(store, root), key=lambda info: info.key)


def _list(store: Any, root: str) -> Iterator[ObjectInfo]:
    """Yield the listed objects; a store may list without end, or give empty pages without end."""
    pages: Queue[_Page] = Queue(maxsize=4)
    threading.Thread(target=_put_pages, args=(store, pages), daemon=True).start()
    n_found = 0
    with suppress(Empty, MemoryError):
        while n_found <= MAX_OBJECTS:
            page = _next_page(store, pages)
            if page is None:
                return
            if isinstance(page, Exception):
                raise page
            n_found += len(page)
            yield from page
    raise PlaceError(
        f"{root} lists more than {MAX_OBJECTS:,} objects, or nothing and no end, or a page of "
        "hundreds of megabytes.",
        hint="Pass the prefix of one job; check --endpoint-url.",
        path=root,
    )


def _next_page(store: Any, pages: Queue[_Page]) -> _Page:
    """Return the next page, or raise as ``_waited_for`` where none will come."""
    try:
        return _waited_for(pages, min(_QUIET_S, _LONGEST_PAGE_S))
    except Empty:
        if _answers(store):
            raise
        return _waited_for(pages, max(_LONGEST_PAGE_S - _QUIET_S, 0))


def _waited_for(pages: Queue[_Page], seconds: float) -> _Page:
    """Return the next page; raise ``Empty`` after some seconds, ``MemoryError`` if it fills memory.

    Such a store is not asked whether it answers: that answer may fill the memory, too.
    """
    most_bytes, ends_at = _peak_bytes() + _MOST_PAGE_BYTES, time.monotonic() + seconds
    while True:
        left_s = ends_at - time.monotonic()
        try:
            return pages.get(timeout=max(min(left_s, _LOOK_EVERY_S), 0))
        except Empty:
            if left_s <= 0:
                raise
            if _peak_bytes() > most_bytes:
                raise MemoryError from None


def _peak_bytes() -> int:
    """Return the most memory that this process ever held; 0 where the system does not say."""
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak << 10


def _answers(store: Any) -> bool:
    """Return whether a store answers at once, whatever it says."""
    is_answered = threading.Event()

    def ask() -> None:
        with suppress(Exception):
            obstore.get(store, "no-such-object")
        is_answered.set()

    threading.Thread(target=ask, daemon=True).start()
    return is_answered.wait(_PROMPT_S)


def _put_pages(store: Any, pages: Queue[_Page]) -> None:
    try:
        for page in obstore.list(store, chunk_size=1000):
            infos = [(info["path"], info["size"], info["e_tag"] or "") for info in page]
            pages.put([ObjectInfo(key=k, size_bytes=n, version=tag) for k, n, tag in infos])
        pages.put(None)
    except Exception as err:  # noqa: BLE001  # raised again where it is waited for
        pages.put(err)


def _split(url: str) -> tuple[str, str]:
    bucket, _, prefix = url.partition("://")[2].partition("/")
    if not bucket or any(character in bucket for character in "@?#:"):
        raise PlaceError(
            "This is not the address of a bucket.", hint="Write s3://bucket/prefix, nothing else."
        )
    prefix = prefix.strip("/")
    if any(part in {"", ".", ".."} for part in prefix.split("/")) and prefix:
        raise PlaceError(
            f"s3://{bucket}/{prefix} has an empty folder (`//`), `.` or `..` in it; "
            "this version cannot read such keys.",
            hint="Copy the job with `aws s3 cp --recursive` and pass the local folder.",
        )
    return bucket, prefix


@lru_cache(maxsize=N_REMEMBERED)
def _store_of(bucket: str, prefix: str, settings: Environment) -> Any:
    """Return the client of a prefix, with its connections: all nodes of a job share it."""
    config = access(bucket, settings)
    return S3Store(
        bucket,
        prefix=prefix or None,
        client_options={
            "allow_http": config.get("endpoint", "").startswith("http://"),
            "connect_timeout": timedelta(seconds=5),
            "read_timeout": _SILENCE,
            "timeout": timedelta(minutes=10),
            **only_this_host(),
        },
        retry_config=_RETRY,
        **config,
    )
