from __future__ import annotations

import pytest

from reportgen.text import (
    device_label,
    format_above,
    format_duration,
    format_longer,
    format_pct,
    format_place,
    join_names,
    mode_word,
    part_of,
    plural,
    write,
)


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0, ""),
        (1, "g0"),
        (2, "g0 and g1"),
        (3, "g0, g1 and g2"),
        (4, "g0, g1, g2 and g3"),
        (5, "g0, g1, g2 and 2 more"),
    ],
)
def test_long_lists_are_cut_when_that_saves_words(count: int, expected: str) -> None:
    assert join_names([f"g{index}" for index in range(count)]) == expected


@pytest.mark.parametrize(
    ("part", "whole", "expected"),
    [
        (1, 1, "the only GPU"),
        (2, 2, "both GPUs"),
        (4, 4, "all 4 GPUs"),
        (1, 2, "1 of 2 GPUs"),
        (3, 512, "3 of 512 GPUs"),
    ],
)
def test_a_part_is_told_against_the_whole(part: int, whole: int, expected: str) -> None:
    assert part_of(part, whole, "GPU") == expected


def test_a_share_that_is_rounded_to_zero_has_no_sign() -> None:
    assert [format_pct(share) for share in (-0.04, -0.06, 0.04)] == ["0.0 %", "-0.1 %", "0.0 %"]


def test_counts_have_their_plural() -> None:
    assert plural(1, "minute") == "1 minute"
    assert plural(1250, "tick") == "1,250 ticks"
    assert plural(0, "tick") == "0 ticks"


def test_devices_are_named_with_their_node_only_when_there_are_several() -> None:
    assert format_place("algo-2", "gpu1") == "gpu1 on algo-2"
    assert device_label("algo-2", "gpu1", n_nodes=1) == "gpu1"
    assert device_label("algo-2", "gpu1", n_nodes=2) == "algo-2 gpu1"


@pytest.mark.parametrize(("n", "expected"), [(1, "is busy, has"), (2, "are busy, have")])
def test_verbs_that_take_more_than_an_s_are_written_for_one_and_many(n: int, expected: str) -> None:
    assert write("{n:verb are/is} busy, {n:verb have/has}", n=n) == expected


def test_a_text_over_several_lines_of_code_is_one_paragraph() -> None:
    text = """{n:count step} took
        {length:ns}."""

    assert write(text, n=2, length=1_000_000) == "2 steps took 1 ms."
    assert write("{name}", name="a\n b") == "a\n b"


@pytest.mark.parametrize(("length_s", "said"), [(78.5, "1 min 19 s"), (79.49, "1 min 19 s")])
def test_half_a_second_is_rounded_up_as_the_script_of_the_page_does(length_s, said) -> None:
    assert format_duration(length_s) == said


def test_what_takes_twice_as_long_is_written_as_times() -> None:
    assert write("{longer:longer} others", longer=45.23) == "45.2 % longer than others"
    assert format_longer(99.9) == "99.9 % longer than"
    assert format_longer(100) == "2× as long as"
    assert format_longer(14931) == "150× as long as"
    assert format_above(35.1) == "35.1 % above"


def test_modes_of_steps_have_the_names_that_people_use() -> None:
    assert [mode_word(mode) for mode in ("TRAIN", "EVAL", "custom")] == [
        "training",
        "validation",
        "custom",
    ]
