"""The engine of the real Perfetto UI without its pictures: SQL over a trace, in seconds.

The UI runs the engine in a worker and speaks to it in protocol buffers, which are written and read
here; the messages are those of ``trace_processor.proto`` of Perfetto.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import suppress
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from playwright.sync_api import Page

_START = """(script) => {
  const channel = new MessageChannel(), waiting = [], answers = [];
  const pair = () => {
    while (waiting.length && answers.length) waiting.shift()(new Blob([answers.shift()]));
  };
  channel.port1.onmessage = ({data}) => { answers.push(data); pair(); };
  new Worker(script).postMessage(channel.port2, [channel.port2]);
  window.ask = async (url) => {
    const buffer = await (await fetch(url)).arrayBuffer();
    channel.port1.postMessage(new Uint8Array(buffer));
  };
  window.answer = async () => {
    const reader = new FileReader();
    const late = new Promise((_, reject) => setTimeout(reject, 120_000, 'no answer'));
    const next = new Promise((resolve) => { waiting.push(resolve); pair(); });
    reader.readAsDataURL(await Promise.race([late, next]));
    return new Promise((resolve) => { reader.onload = () => resolve(reader.result); });
  };
}"""
_TRACE_BYTES = 32 << 20
"""Of one message at most, as the UI sends a trace."""


class _Method(IntEnum):
    APPEND_TRACE_DATA = 1
    FINALIZE_TRACE_DATA = 2
    QUERY_STREAMING = 3
    RESET_TRACE_PROCESSOR = 11


class _Cell(IntEnum):
    NULL = 1
    VARINT = 2
    FLOAT64 = 3
    STRING = 4


_MESSAGE = 1  # of a stream
_SEQ, _REQUEST, _FATAL_ERROR, _TRACE_DATA, _QUERY, _RESULT = 1, 2, 5, 101, 103, 203  # of a message
_SQL = 1  # of a query
_ERROR, _BATCH = 2, 3  # of a result
_CELLS, _VARINTS, _FLOATS, _STRINGS, _IS_LAST = 1, 2, 3, 5, 6  # of a batch
_COLUMN = 1  # of a result
_VARINT_KIND, _FIXED64_KIND, _BYTES_KIND, _FIXED32_KIND = 0, 1, 2, 5


class PerfettoEngine:
    """One engine in a page of the UI's address; opening a trace forgets the one before."""

    def __init__(self, page: Page, address: str, script: str) -> None:
        self._page = page
        self._address = address
        self._n_sent = 0
        self._unread = b""
        page.route(
            f"{address}empty", lambda route: route.fulfill(content_type="text/html", body="")
        )
        page.goto(f"{address}empty")
        page.evaluate(_START, f"{address}{script}")

    def open(self, path: Path) -> None:
        """Read a trace whole."""
        content = path.read_bytes()
        parts = [content[at : at + _TRACE_BYTES] for at in range(0, len(content), _TRACE_BYTES)]
        self._ask(_Method.RESET_TRACE_PROCESSOR)
        for part in parts:
            self._ask(_Method.APPEND_TRACE_DATA, _field(_TRACE_DATA, part))
        self._ask(_Method.FINALIZE_TRACE_DATA)

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Return rows."""
        results = self._ask(_Method.QUERY_STREAMING, _field(_QUERY, _field(_SQL, sql.encode())))
        cells: list[Any] = []
        n_columns = 0
        for number, value in (part for result in results for part in _fields(result)):
            assert number != _ERROR, value.decode()
            n_columns += number == _COLUMN
            if number == _BATCH:
                cells += _cells(value)
        return list(zip(*[iter(cells)] * n_columns, strict=True))

    def number(self, sql: str) -> int:
        """Return one whole number."""
        return int(self.query(sql)[0][0])

    def _ask(self, method: _Method, arguments: bytes = b"") -> list[bytes]:
        """Return the results of a query; nothing for what has none."""
        head = _number_field(_SEQ, self._n_sent) + _number_field(_REQUEST, method)
        self._n_sent += 1
        body = _field(_MESSAGE, head + arguments)
        url = f"{self._address}request"
        self._page.route(url, lambda route: route.fulfill(body=body))
        self._page.evaluate("ask", url)
        self._page.unroute(url)
        results: list[bytes] = []
        while True:
            fields = self._next_message()
            assert _FATAL_ERROR not in fields, fields[_FATAL_ERROR]
            if method is not _Method.QUERY_STREAMING:
                return []
            results.append(fields[_RESULT])
            batches = [value for number, value in _fields(results[-1]) if number == _BATCH]
            if any((_IS_LAST, 1) in _fields(batch) for batch in batches):
                return results

    def _next_message(self) -> dict[int, Any]:
        """Return the fields of the next message, which may arrive in several pieces."""
        while True:
            with suppress(IndexError, StopIteration):
                _, message, end = next(_fields_and_ends(self._unread))
                self._unread = self._unread[end:]
                return dict(_fields(message))
            self._unread += base64.b64decode(self._page.evaluate("answer()").partition(",")[2])


def _varint(value: int) -> bytes:
    digits = []
    while value > 127:
        digits.append(value % 128 + 128)
        value //= 128
    return bytes([*digits, value])


def _number_field(number: int, value: int) -> bytes:
    return _varint(number << 3 | _VARINT_KIND) + _varint(value)


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | _BYTES_KIND) + _varint(len(content)) + content


def _fields(content: bytes) -> Iterator[tuple[int, Any]]:
    """Yield the number and the value of each field: bytes, or a whole number."""
    return ((number, value) for number, value, _ in _fields_and_ends(content))


def _fields_and_ends(content: bytes) -> Iterator[tuple[int, Any, int]]:
    """Yield each field with the place where it ends.

    Raises:
        IndexError: the content ends within a field.
    """
    at = 0

    def take_number() -> int:
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = content[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(content):
        number, kind = divmod(take_number(), 8)
        if kind == _VARINT_KIND:
            value = take_number()
            yield number, value, at
            continue
        length = {_FIXED64_KIND: 8, _FIXED32_KIND: 4}.get(kind) or take_number()
        at += length
        if at > len(content):
            raise IndexError(at)
        yield number, content[at - length : at], at


def _cells(batch: bytes) -> Iterator[Any]:
    """Yield the cells of a batch, which holds the values of each kind together."""
    parts = dict(_fields(batch))
    values: dict[int, Iterator[Any]] = {
        _Cell.VARINT: iter(_varints(parts.get(_VARINTS, b""))),
        _Cell.FLOAT64: iter(np.frombuffer(parts.get(_FLOATS, b"")).tolist()),
        _Cell.STRING: iter(parts.get(_STRINGS, b"").decode().split("\0")),
    }
    for kind in parts.get(_CELLS, b""):
        yield None if kind == _Cell.NULL else next(values[kind])


def _varints(content: bytes) -> list[int]:
    """Return the whole numbers of 64 bits that are packed one after the other."""
    if not content:
        return []
    data = np.frombuffer(content, dtype=np.uint8)
    starts = np.flatnonzero(np.concatenate([[True], data[:-1] < 128]))
    places = np.arange(data.size) - np.repeat(starts, np.diff([*starts, data.size]))
    digits = (data & 127).astype(np.uint64) << (7 * places).astype(np.uint64)
    values: list[int] = np.add.reduceat(digits, starts).view(np.int64).tolist()
    return values
