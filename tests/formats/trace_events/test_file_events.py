"""Timelines of every variant: headers, phases, marks, damage."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

import pytest

from reportgen.formats import Diagnostics
from reportgen.formats.trace_events.file_events import FileEvents, read_event_file
from reportgen.formats.trace_events.rows import Vocabulary
from reportgen.profile import Quality, SpanArguments
from reportgen.profile.spans import NUMBER_COLUMNS
from tests.builders import known, timeline_lines

BASE_US = 1_783_071_000_000_000
TRAIN = "Step:ModeKeys.TRAIN"


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What came out of a file, in words."""

    events: FileEvents
    problems: Diagnostics
    names: tuple[str, ...]
    phases: tuple[str, ...]
    arguments: SpanArguments

    def numbers(self, column: str) -> list[int]:
        """Return a column of arguments, one number an event."""
        found: list[int] = getattr(self.arguments, column)[self.events.argument].tolist()
        return found

    @property
    def rows(self) -> list[tuple[str, str, float, float]]:
        """Return (phase, name, start, end) in microseconds after ``BASE_US``."""
        of = self.events
        columns = zip(of.phase, of.name, of.start_ns, of.end_ns, strict=True)
        return [
            (
                self.phases[phase],
                self.names[name],
                (start - BASE_US * 1000) / 1000,
                (end - BASE_US * 1000) / 1000,
            )
            for phase, name, start, end in columns
        ]

    def counted(self, quality: Quality) -> int:
        return self.problems.count(quality)


def read(content: bytes | list[object]) -> Read:
    if isinstance(content, list):
        content = ("[\n" + ",\n".join(json.dumps(item) for item in content) + "\n]\n").encode()
    vocabulary, problems = Vocabulary(), Diagnostics()
    events = read_event_file(content, "t.json", problems, vocabulary=vocabulary)
    return Read(
        events=events,
        problems=problems,
        names=tuple(vocabulary.names),
        phases=tuple(vocabulary.phases),
        arguments=vocabulary.arguments.table(),
    )


def header(base_us: int = BASE_US) -> dict[str, object]:
    args = {"start_time_since_epoch_in_micros": base_us}
    return {"name": "process_name", "ph": "M", "pid": 0, "args": args}


def phase(pid: int, name: str) -> dict[str, object]:
    return {"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}}


def event(ph: str = "X", pid: int = 1, ts: float = 0, **more: object) -> dict[str, object]:
    return {"ph": ph, "name": "n", "pid": pid, "ts": ts} | more


LINES = timeline_lines(
    [(TRAIN, TRAIN, 1_783_071_000.0 + step, 1_783_071_000.5 + step, {"step": step, "os_pid": 27})
     for step in range(3)]
)  # fmt: skip
STEPS = [(TRAIN, TRAIN, step * 1e6, step * 1e6 + 5e5) for step in range(3)]


@pytest.mark.parametrize(
    "text",
    [
        "[\n" + ",\n".join(LINES) + "\n]\n",
        "[\n" + ",\n".join(LINES) + ",\n",
        "[\n" + ",\n".join(LINES) + "\n",
        "[" + ", ".join(LINES) + "]",
        "[" + ", ".join(LINES) + ",",
        "\n".join(LINES),
        "[\r\n" + ",\r\n".join(LINES) + "\r\n]",
        json.dumps([json.loads(line) for line in LINES], indent=2),
        "\ufeff[\n" + ",\n".join(LINES) + "\n]\n",
        "[\n" + ",\n".join(LINES) + ",{}\n]\n",
        ("[\n" + ",\n".join(LINES) + "\n]").encode("utf-16"),
    ],
    ids=[
        "closed", "comma", "open", "one-line", "one-line-open", "bare", "crlf", "indented", "bom",
        "empty-object", "utf-16",
    ],
)  # fmt: skip
def test_complete_and_unfinished_arrays_give_the_same_events(text: str | bytes) -> None:
    found = read(text.encode() if isinstance(text, str) else text)
    assert found.rows == STEPS
    assert found.numbers("step") == [0, 1, 2]
    assert found.numbers("os_pid") == [27, 27, 27]
    assert found.problems.notes() == ()


def test_a_truncated_last_line_is_counted_with_its_bytes() -> None:
    found = read(("[\n" + ",\n".join(LINES) + ",\n" + LINES[-1][:50]).encode())
    assert found.rows == STEPS
    assert found.counted(Quality.LINES_BROKEN) == 1
    assert found.counted(Quality.BYTES_LOST) == 50


def test_garbage_in_the_middle_costs_its_line() -> None:
    found = read(("[\n" + ",\n".join([*LINES[:3], "}garbage{", *LINES[3:]]) + "\n]\n").encode())
    assert found.rows == STEPS
    assert found.counted(Quality.LINES_BROKEN) == 1
    assert "line 5" in found.problems.notes()[0].text


def test_lines_far_into_a_large_file_keep_their_numbers() -> None:
    many = [json.dumps(event(ts=index, dur=1)) for index in range(40_000)]
    lines = ["[", *(f"{line}," for line in [json.dumps(header()), *many]), "oops", "]"]
    found = read("\n".join(lines).encode())
    assert len(found.rows) == 40_000
    assert "line 40003" in found.problems.notes()[0].text


@pytest.mark.parametrize(
    "step", [7, "7", 7.0, "7.0", " 7"], ids=["int", "str", "float", "float-str", "space"]
)
def test_steps_are_numbers_however_they_are_written(step: object) -> None:
    assert read([header(), event(dur=1, args={"step_num": step})]).numbers("step") == [7]


def test_arguments_become_columns_and_absence_is_minus_one() -> None:
    args = {
        "pid": 67, "worker_id": 3, "num_workers": 8, "pin_memory": True, "bytes_fetched": 2**40,
        "tid": 5,
    }  # fmt: skip
    found = read([header(), event(dur=1, args=args), event(dur=1), event(dur=1, args={})])
    numbers = {column: found.numbers(column) for column in NUMBER_COLUMNS}
    assert numbers == {
        "os_pid": [67, -1, -1],
        "worker_id": [3, -1, -1],
        "num_workers": [8, -1, -1],
        "pin_memory": [1, -1, -1],
        "bytes_fetched": [2**40, -1, -1],
        "tid": [5, -1, -1],
        "step": [-1, -1, -1],
        "label": [-1, -1, -1],
    }


@pytest.mark.parametrize("args", [None, "text", [1], 5])
def test_arguments_that_are_no_object_are_no_arguments(args: object) -> None:
    found = read([header(), event(dur=2, args=args)])
    assert [row[2:] for row in found.rows] == [(0, 2)]
    assert found.counted(Quality.LINES_BROKEN) == 0


def test_fields_of_odd_types_are_left_out_and_the_event_stays() -> None:
    odd = event(ts="4", dur="2", name=5, args={"step_num": [1], "pid": {"a": 1}, "worker_id": 2})  # type: ignore[arg-type]  # on purpose
    found = read([header(), odd])
    assert [row[1:] for row in found.rows] == [("5", 4, 6)]
    assert found.numbers("worker_id") == [2]
    assert found.numbers("step") == [-1]


def test_the_last_name_of_a_phase_holds_from_its_line_on() -> None:
    found = read(
        [header(), phase(0, "Forward"), event(pid=0, dur=1), phase(0, "Backward"),
         event(pid=0, dur=1), header(), event(pid=0, dur=1)]
    )  # fmt: skip
    assert [row[0] for row in found.rows] == ["Forward", "Backward", "Backward"]


def test_a_phase_without_a_name_is_its_number() -> None:
    assert read([header(), event(pid=4, dur=1)]).rows[0][0] == "process 4"


def test_a_name_that_comes_after_the_event_is_used_for_it() -> None:
    assert read([header(), event(dur=1), phase(1, "Late")]).rows[0][0] == "Late"


def test_each_header_resets_the_base_for_the_lines_after_it() -> None:
    found = read([header(), event(ts=5, dur=1), header(BASE_US + 1000), event(ts=5, dur=1)])
    assert [row[2] for row in found.rows] == [5, 1005]
    assert found.events.base_ns == BASE_US * 1000


def test_a_base_as_text_or_after_the_first_event_is_understood() -> None:
    found = read([event(ts=5, dur=1), header(str(BASE_US))])  # type: ignore[arg-type]  # on purpose
    assert [row[2] for row in found.rows] == [5]


def test_without_a_base_times_count_from_zero() -> None:
    found = read([event(ts=5, dur=1)])
    assert found.events.base_ns is None
    assert found.events.start_ns.tolist() == [5000]


def test_fractions_of_a_microsecond_are_kept() -> None:
    found = read([header(), event(ts=0.125, dur=0.25)])
    assert found.events.start_ns.tolist() == [BASE_US * 1000 + 125]
    assert found.events.end_ns.tolist() == [BASE_US * 1000 + 375]


def test_instants_have_no_duration() -> None:
    found = read([header(), event("i", ts=3, s="g"), event("I", ts=4)])
    assert [row[2:] for row in found.rows] == [(3, 3), (4, 4)]


def test_begin_and_end_nest_per_phase_and_thread() -> None:
    found = read(
        [header(), event("B", ts=0, name="outer"), event("B", pid=2, ts=1, name="other"),
         event("B", ts=2, name="inner"), event("E", ts=3, name=""),
         {"ph": "E", "pid": 1, "ts": 5}, event("E", pid=2, ts=9, name="x")]
    )  # fmt: skip
    assert sorted(row[1:] for row in found.rows) == [
        ("inner", 2, 3), ("other", 1, 9), ("outer", 0, 5),
    ]  # fmt: skip


def test_marks_match_across_a_new_header() -> None:
    found = read([header(), event("B", ts=10), header(BASE_US + 100), event("E", ts=10)])
    assert [row[2:] for row in found.rows] == [(10, 110)]


def test_marks_without_a_partner_in_the_file_are_left_for_the_next() -> None:
    found = read([header(), event("E", ts=1), event(dur=1), event("B", ts=2, name="open")])
    loose = known(found.events.loose)
    assert len(found.rows) == 1
    assert loose.is_begin.tolist() == [False, True]
    assert loose.time_ns.tolist() == [BASE_US * 1000 + 1000, BASE_US * 1000 + 2000]


def test_marks_without_a_time_are_counted() -> None:
    found = read([header(), event("B", ts=1), event("E", ts=None), event("E", ts=4)])  # type: ignore[arg-type]  # on purpose
    assert [row[2:] for row in found.rows] == [(1, 4)]
    assert found.counted(Quality.EVENTS_UNMATCHED) == 1


def test_an_event_that_ends_before_it_begins_is_dropped() -> None:
    found = read([header(), event("B", ts=5), event("E", ts=4)])
    assert found.rows == []
    assert found.counted(Quality.EVENTS_DROPPED) == 1


@pytest.mark.parametrize(
    ("ts", "dur"), [(0, -1), (1e300, 1), (-1e300, 1), (0, 1e300), (0, 10**40), (None, 1), (0, None)]
)
def test_times_that_cannot_be_are_dropped_and_counted(ts: object, dur: object) -> None:
    found = read([header(), event(ts=ts, dur=dur), event(ts=1, dur=1)])  # type: ignore[arg-type]  # on purpose
    assert [row[2:] for row in found.rows] == [(1, 2)]
    assert found.counted(Quality.EVENTS_DROPPED) == 1


def test_nan_and_infinity_are_dropped_and_counted() -> None:
    odd = [event(ts=math.nan, dur=1), event(ts=1, dur=math.inf)]
    found = read([header(), *odd, event(ts=1, dur=1)])
    assert [row[2:] for row in found.rows] == [(1, 2)]
    assert found.counted(Quality.EVENTS_DROPPED) == 2


def test_an_event_that_lost_its_length_or_its_kind_is_dropped_and_counted() -> None:
    lost = {"name": "n", "pid": 1, "ts": 5, "dur": 2}
    found = read([header(), event(ts=5), lost, {"x": 1}, event(ts=1, dur=1), {}])
    assert [row[2:] for row in found.rows] == [(1, 2)]
    assert found.counted(Quality.EVENTS_DROPPED) == 3


def test_counters_are_no_events_and_flows_are_counted() -> None:
    found = read([header(), event("C"), event("s"), event("f"), event(dur=1)])
    assert len(found.rows) == 1
    assert found.counted(Quality.EVENTS_DROPPED) == 2


def test_names_may_hold_anything() -> None:
    name = '<script>alert("1")</script>\u2028\U0001f600'
    assert read([header(), event(dur=1, name=name)]).rows[0][1] == name


def test_lone_surrogates_in_names_become_writable() -> None:
    found = read(
        b'[\n{"ph":"X","name":"a\\ud800","pid":1,"ts":1,"dur":1},\n'
        b'{"ph":"M","name":"process_name","pid":1,"args":{"name":"p\\udfff"}}\n]'
    )
    for words in found.rows[0][:2]:
        words.encode()


@pytest.mark.parametrize("content", [b"", b"[", b"[]", b"[\n]\n", b"\n\n", b"\x00" * 100, b"null"])
def test_a_file_without_events_gives_none(content: bytes) -> None:
    assert read(content).rows == []
