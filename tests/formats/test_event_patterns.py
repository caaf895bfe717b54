"""Arguments that differ in numbers alone are what the decoder reads, event by event."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reportgen.formats.event_args import ArgumentRows
from reportgen.formats.event_lines import KnownLines, read_regular
from tests.formats.test_event_lines import BASE, NAMED, event, lines, read, read_line_by_line

N_EVENTS = 80

PATTERNED = {
    "numbers-as-text": '{{"pid": 27, "step_num": "{n}"}}',
    "two-numbers": '{{"pid": {more}, "worker_id": {n}}}',
    "few-combinations": '{{"pid": {few}, "worker_id": {few}}}',
    "numbers-nobody-reads": '{{"start_cpu_thread": {more}, "step_num": {n}, "sort_index": {n}}}',
    "a-label": '{{"layer_name": "conv1", "step_num": {n}}}',
    "digits-in-a-label": '{{"name": "conv2d_17", "step_num": {n}}}',
    "truth": '{{"pin_memory": true, "num_workers": {few}}}',
    "other-values": '{{"step_num": {n}, "loss": -1.5e3, "seen": [1, 2], "at": null}}',
    "the-same-key-twice": '{{"step_num": {few}, "step_num": {n}}}',
    "a-number-inside": '{{"inner": {{"step_num": {n}, "pid": 3}}, "pid": {few}}}',
    "no-numbers": '{{"device": "cpu"}}',
    "no-object": "null",
    "quotes-in-a-text": '{{"note": "\\": {n}, \\"pid\\": {more},", "pid": {few}}}',
}
OTHER = {
    "labels-that-are-numbers": '{{"name": "{n}", "step_num": 3}}',
    "labels-with-numbers": '{{"layer_name": "conv{n}"}}',
    "fractions": '{{"step_num": {n}.5}}',
    "texts": '{{"note": "at {n} of many"}}',
    "compact": '{{"step_num":{n}}}',
}


def timeline(arguments: str, n_events: int = N_EVENTS) -> bytes:
    return lines(
        BASE,
        NAMED,
        *(
            event(n, args=arguments.format(n=n, more=10**6 + n * n, few=n % 3))
            for n in range(n_events)
        ),
    )


def n_by_pattern(content: bytes, known: KnownLines | None = None) -> int:
    found = read_regular([content], known or KnownLines())
    assert found is not None
    return sum(matches.rows.size for matches in found.arguments.matches)


@pytest.mark.parametrize("arguments", PATTERNED.values(), ids=PATTERNED)
def test_arguments_of_one_pattern_are_read_as_the_decoder_reads_them(arguments: str) -> None:
    content = timeline(arguments)
    assert n_by_pattern(content) == N_EVENTS
    assert read(content) == read_line_by_line(content)


@pytest.mark.parametrize("arguments", OTHER.values(), ids=OTHER)
def test_arguments_that_differ_otherwise_are_decoded(arguments: str) -> None:
    content = timeline(arguments)
    assert n_by_pattern(content) == 0
    assert read(content) == read_line_by_line(content)


@pytest.mark.parametrize("odd", ["07", "-7", "7.0", "7e1", "12345678901234567", '"7"', "true", ""])
def test_an_odd_number_among_many_is_left_to_the_decoder(odd: str) -> None:
    arguments = [f'{{"step_num": {n}}}' for n in range(N_EVENTS)]
    arguments[40] = f'{{"step_num": {odd}}}'
    content = lines(*(event(args=one) for one in arguments))
    assert read(content) == read_line_by_line(content)


def test_equal_numbers_are_kept_once_where_few_are_possible() -> None:
    found = read_regular([timeline(PATTERNED["few-combinations"])], KnownLines())
    assert found is not None
    table = ArgumentRows()
    rows = found.arguments.rows_in(table)
    assert table.n_rows == 3
    assert table.table().worker_id[rows].tolist() == [n % 3 for n in range(N_EVENTS)]


def test_a_pattern_of_one_file_is_found_in_a_short_one() -> None:
    known = KnownLines()
    short = timeline(PATTERNED["two-numbers"], n_events=5)
    assert n_by_pattern(short, known) == 0
    assert n_by_pattern(timeline(PATTERNED["two-numbers"]), known) == N_EVENTS
    assert n_by_pattern(short, known) == 5


def test_patterns_that_are_met_push_out_those_that_are_not() -> None:
    known = KnownLines()
    for number in range(40):
        arguments = f'{{{{"key_{number}": {{n}}}}}}'
        assert n_by_pattern(timeline(arguments), known) == N_EVENTS
    assert n_by_pattern(timeline('{{"key_39": {n}}}', n_events=5), known) == 5
    assert n_by_pattern(timeline('{{"key_0": {n}}}', n_events=5), known) == 0


NUMBERS = st.one_of(
    st.integers(0, 99), st.integers(0, 2**63), st.sampled_from(["007", -1, 1.5, "1e3", '"9"'])
)
ARGUMENTS = st.builds(
    str.replace, st.sampled_from([*PATTERNED.values(), *OTHER.values()]), st.just("{few}"),
    st.sampled_from(["{n}", "{more}"]),
)  # fmt: skip


@given(
    st.lists(ARGUMENTS, min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 2), NUMBERS, NUMBERS), min_size=40, max_size=60),
    st.sampled_from([",\n", "\n", ",\r\n", ", "]),
)
def test_any_mixture_is_read_as_the_decoder_reads_it(
    shapes: list[str], numbers: list[tuple[int, object, object]], between: str
) -> None:
    arguments = [shapes[which % len(shapes)].format(n=n, more=m) for which, n, m in numbers]
    content = lines(*(event(args=one) for one in arguments), between=between)
    assert read(content) == read_line_by_line(content)
