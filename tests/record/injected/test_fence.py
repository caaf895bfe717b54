"""A hook that breaks is switched off and reported; the program notices nothing."""

from __future__ import annotations

import pytest

from reportgen.record.injected.reportgen_injected.fence import Fence, own_line

Word = tuple[str, ...]


@pytest.fixture
def said() -> list[Word]:
    return []


@pytest.fixture
def fence(said: list[Word]) -> Fence:
    return Fence("torch.loader", lambda *words: said.append(words))


def test_a_sound_hook_gives_its_value(fence: Fence, said: list[Word]) -> None:
    assert fence(lambda a, b: a + b)(1, 2) == 3
    assert said == []


def test_a_fault_switches_the_hook_off_and_is_said_once(fence: Fence, said: list[Word]) -> None:
    calls = []

    def broken() -> None:
        calls.append(1)
        raise KeyError("a secret of the user")

    hook = fence(broken)
    for _ in range(3):
        assert hook() is None
    assert calls == [1]
    assert said == [("fault", "torch.loader", "KeyError", said[0][3])]
    assert said[0][3].startswith("fence.py:")


def test_all_hooks_of_a_fence_go_off_together(fence: Fence) -> None:
    fence(lambda: 1 // 0)()
    assert fence(lambda: 5)() is None


def test_a_report_that_fails_is_no_fault_of_the_program() -> None:
    def full(*_words: str) -> None:
        raise OSError

    assert Fence("x", full)(lambda: 1 // 0)() is None


def test_an_interrupt_is_the_users(fence: Fence) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fence(interrupted)()


def test_the_line_of_a_fault_is_one_of_ours() -> None:
    from reportgen.record.injected.reportgen_injected import settings

    with pytest.raises(TypeError) as caught:
        settings.Settings(None, None)  # type: ignore[arg-type]
    assert own_line(caught.value).startswith("settings.py:")
