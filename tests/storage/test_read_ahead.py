"""Reading ahead: in order, in parallel, and never more in memory than allowed."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator

import pytest

from reportgen.errors import LocationError, PlaceError
from reportgen.storage.read_ahead import AHEAD_BYTES, N_THREADS, read_ahead


class Shelf:
    """Files that take a moment to fetch; counts what is fetched and not yet taken."""

    def __init__(self, size_bytes: int = 0, pause_s: float = 0.0) -> None:
        self.size_bytes, self.pause_s = size_bytes, pause_s
        self.begun: list[str] = []
        self.at_once = self.most_at_once = 0
        self.lock = threading.Lock()

    def fetch(self, key: str) -> bytes:
        with self.lock:
            self.begun.append(key)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        time.sleep(self.pause_s)
        with self.lock:
            self.at_once -= 1
        return key.encode()


def keys(count: int) -> list[str]:
    return [f"{number:05}" for number in range(count)]


@pytest.mark.parametrize("count", [0, 1, 2, 63, 64, 65, 2_000])
def test_files_come_in_the_order_of_their_keys(count: int) -> None:
    wanted = keys(count)
    shelf = Shelf()
    assert list(read_ahead(wanted, [0] * count, shelf.fetch)) == [key.encode() for key in wanted]
    assert sorted(shelf.begun) == wanted


def test_files_are_fetched_many_at_once() -> None:
    shelf = Shelf(pause_s=0.05)
    assert len(list(read_ahead(keys(20), [4_000_000] * 20, shelf.fetch))) == 20
    assert 2 <= shelf.most_at_once <= AHEAD_BYTES // 4_000_000


def test_no_more_is_held_than_allowed() -> None:
    size_bytes = AHEAD_BYTES // 4
    shelf = Shelf()
    for taken, _ in enumerate(read_ahead(keys(40), [size_bytes] * 40, shelf.fetch), start=1):
        assert len(shelf.begun) - taken <= 4


def test_a_file_that_cannot_be_read_is_an_answer_and_the_others_come() -> None:
    def fetch(key: str) -> bytes:
        if key == "00002":
            raise LocationError("It vanished.")
        return b"x"

    found = list(read_ahead(keys(5), [0] * 5, fetch))
    assert [type(item) for item in found] == [bytes, bytes, LocationError, bytes, bytes]


def test_a_place_that_cannot_be_used_ends_everything() -> None:
    begun: list[str] = []

    def fetch(key: str) -> bytes:
        begun.append(key)
        raise PlaceError("Access denied.")

    with pytest.raises(PlaceError):
        list(read_ahead(keys(10_000), [0] * 10_000, fetch))
    assert len(begun) < 10 * N_THREADS


def test_who_stops_taking_stops_the_fetching() -> None:
    shelf = Shelf()
    files = read_ahead(keys(10_000), [0] * 10_000, shelf.fetch)
    assert isinstance(files, Generator)
    next(files)
    files.close()
    assert len(shelf.begun) < 10_000
