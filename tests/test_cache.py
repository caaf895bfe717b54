"""The cache gives back what was put there, or nothing."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from reportgen.cache import Cache, user_cache_folder
from reportgen.errors import ConfigError


def entries(cache: Cache) -> list[Path]:
    return sorted(cache.folder.iterdir())


def test_what_was_put_comes_back(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "new")
    assert cache.get("a") is None
    cache.put("a", b"one")
    cache.put("b", b"two")
    assert Cache(tmp_path / "new").get("a") == b"one"
    assert cache.get("b") == b"two"


def test_the_folder_is_private(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put("a", b"one")
    assert cache.folder.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in entries(cache)] == [0o600]


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o720])
def test_a_folder_that_others_may_write_is_refused(tmp_path: Path, mode: int) -> None:
    Cache(tmp_path).folder.chmod(mode)
    with pytest.raises(ConfigError, match="could be changed by others"):
        Cache(tmp_path)


def test_a_link_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "reportgen-cache").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="could be changed by others"):
        Cache(tmp_path)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be made: not a directory") as caught:
        Cache(tmp_path / "file")
    assert "--cache off" in caught.value.hint


@pytest.mark.parametrize("damage", [b"", b"onf", b"one more"])
def test_an_entry_that_was_damaged_is_removed_and_not_believed(
    tmp_path: Path, damage: bytes
) -> None:
    cache = Cache(tmp_path)
    cache.put("a", b"one")
    entries(cache)[0].write_bytes(damage)
    assert cache.get("a") is None
    assert not entries(cache)


def test_an_entry_under_the_name_of_another_key_is_not_believed(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put("a", b"one")
    cache.put("b", b"two")
    first, second = entries(cache)
    second.rename(first.with_name(f"{first.name.partition('-')[0]}-{'0' * 64}"))
    values = {cache.get("a"), cache.get("b")}
    assert values <= {b"one", b"two", None}
    assert cache.get("a") in {b"one", None}
    assert cache.get("b") in {b"two", None}


def test_what_was_not_used_for_longest_makes_room(tmp_path: Path) -> None:
    cache = Cache(tmp_path, most_bytes=25)
    for number, key in enumerate("abc"):
        cache.put(key, f"{key:10}".encode())
        for path in entries(cache):
            if path.read_bytes().startswith(key.encode()):
                os.utime(path, (number, number))
        assert key != "b" or cache.get("a")  # used now
    assert [bool(cache.get(key)) for key in "abc"] == [True, False, True]


def test_what_a_killed_run_left_goes_after_a_day(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    old, new = cache.folder / "x.unfinished", cache.folder / "y.unfinished"
    for path in (old, new):
        path.write_bytes(b"half")
    before_s = time.time() - 100_000
    os.utime(old, (before_s, before_s))
    cache.put("a", b"one")
    assert not old.exists()
    assert new.exists()
    assert cache.get("a") == b"one"


def test_many_runs_share_a_folder(tmp_path: Path) -> None:
    wrong: list[object] = []

    def work(seed: int) -> None:
        cache = Cache(tmp_path, most_bytes=4_000)
        for turn in range(60):
            key = str((seed * 7 + turn) % 20)
            content = cache.get(key)
            if content is not None and content != key.encode() * 200:
                wrong.append((key, content))
            cache.put(key, key.encode() * 200)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert sum(path.stat().st_size for path in entries(Cache(tmp_path))) <= 4_000


def test_a_full_or_vanished_folder_costs_nothing_but_time(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.folder.rmdir()
    cache.put("a", b"one")
    assert cache.get("a") is None


def test_the_users_folder_is_where_the_system_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert user_cache_folder() == Path("/somewhere")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/me")
    assert user_cache_folder() == Path("/home/me/.cache")
