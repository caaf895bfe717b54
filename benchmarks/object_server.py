"""A plain object store for benchmarks: ListObjectsV2, HEAD and GET over a folder held in memory.

Real servers in Python cost more per request than the clients that are to be measured. This one
believes every signature and knows nothing else; it runs in a process of its own.
"""

from __future__ import annotations

import asyncio
import hashlib
import sys
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

PAGE_KEYS = 1_000
_WHEN = "2026-01-01T00:00:00.000Z"
_WHEN_HTTP = "Thu, 01 Jan 2026 00:00:00 GMT"


class Store:
    """The objects of one bucket: key to content."""

    def __init__(self, folder: Path) -> None:
        """Read every file of a folder."""
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        self.objects = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
        self.tags = {
            key: hashlib.md5(content, usedforsecurity=False).hexdigest()
            for key, content in self.objects.items()
        }
        self.keys = sorted(self.objects)

    def answer(self, method: str, target: str) -> bytes:
        """Return the bytes of the answer to a request."""
        url = urlsplit(target)
        key = unquote(url.path).lstrip("/").partition("/")[2]
        if key:
            content = self.objects.get(key)
            if content is None:
                return _message(404, b"<Error><Code>NoSuchKey</Code></Error>")
            return _message(200, content, tag=self.tags[key], is_head=method == "HEAD")
        if method == "HEAD":
            return _message(200, b"")
        return _message(200, self._page(parse_qs(url.query)))

    def _page(self, query: dict[str, list[str]]) -> bytes:
        prefix = query.get("prefix", [""])[0]
        start = int(query.get("continuation-token", ["0"])[0])
        keys = [key for key in self.keys if key.startswith(prefix)]
        page, rest = keys[start : start + PAGE_KEYS], keys[start + PAGE_KEYS :]
        more = f"<NextContinuationToken>{start + PAGE_KEYS}</NextContinuationToken>" if rest else ""
        items = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>{_WHEN}</LastModified>"
            f"<ETag>&quot;{self.tags[key]}&quot;</ETag><Size>{len(self.objects[key])}</Size>"
            "<StorageClass>STANDARD</StorageClass></Contents>"
            for key in page
        )
        return (
            '<?xml version="1.0" encoding="UTF-8"?>'
            '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<Name>bucket</Name><Prefix>{escape(prefix)}</Prefix><KeyCount>{len(page)}</KeyCount>"
            f"<MaxKeys>{PAGE_KEYS}</MaxKeys><IsTruncated>{str(bool(rest)).lower()}</IsTruncated>"
            f"{more}{items}</ListBucketResult>"
        ).encode()


def _message(status: int, content: bytes, *, tag: str = "", is_head: bool = False) -> bytes:
    kind = "application/octet-stream" if tag else "application/xml"
    quoted = f'ETag: "{tag}"\r\n' if tag else ""
    head = (
        f"HTTP/1.1 {status} {'OK' if status == 200 else 'Not Found'}\r\n"
        f"Content-Type: {kind}\r\n{quoted}Last-Modified: {_WHEN_HTTP}\r\n"
        f"x-amz-bucket-region: us-east-1\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + (b"" if is_head else content)


class Connection(asyncio.Protocol):
    """One client; requests have no body."""

    def __init__(self, store: Store) -> None:
        """Serve one store."""
        self._store = store
        self._waiting = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember whom to answer."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer each request that is complete."""
        self._waiting += data
        while (end := self._waiting.find(b"\r\n\r\n")) >= 0:
            line = self._waiting[: self._waiting.index(b"\r\n")].decode()
            self._waiting = self._waiting[end + 4 :]
            method, target, _ = line.split(" ", 2)
            self._transport.write(self._store.answer(method, target))


async def main() -> None:
    store = Store(Path(sys.argv[1]))
    server = await asyncio.get_running_loop().create_server(
        lambda: Connection(store), "127.0.0.1", 0
    )
    port = server.sockets[0].getsockname()[1]
    print(f"http://127.0.0.1:{port}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
