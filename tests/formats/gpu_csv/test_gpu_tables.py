"""Tables of GPU metrics are read however they are spelled, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from reportgen import intake
from reportgen.errors import LocationError
from reportgen.formats.csv_rows import cells_of, instant_in, lines_of
from reportgen.profile import Clock, NodeProfile, SeriesKind
from reportgen.units import parse_instant

MIB = 1 << 20
NVIDIA = (
    "timestamp, name, index, utilization.gpu [%], memory.used [MiB], memory.total [MiB], "
    "power.draw [W], clocks_event_reasons.active\n"
)
ROW = "2026/07/03 {time}, NVIDIA A10G, {gpu}, {use} %, 4096 MiB, 23028 MiB, 301.22 W, 0x04\n"
LOCAL_NS = parse_instant("2026-07-03T15:36:50Z")


def rows(n_gpus: int = 2, n: int = 3) -> str:
    return "".join(
        ROW.format(time=f"15:36:{50 + at}.{100 + gpu}", gpu=gpu, use=10 * at + gpu)
        for at in range(n)
        for gpu in range(n_gpus)
    )


def read(path: Path, content: str | bytes, *, offset_s: int | None = None) -> NodeProfile:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    (part,) = intake.discover(str(path), utc_offset_s=offset_s).parts
    return intake.read_node(part)


def use_of(node: NodeProfile) -> list[list[float]]:
    use: list[list[float]] = node.system.matrix(SeriesKind.GPU_UTILIZATION).tolist()
    return use


def test_nvidia_smi_is_read_with_units_names_and_reasons(tmp_path: Path) -> None:
    node = read(tmp_path / "node-a.csv", NVIDIA + rows())
    assert node.node == "node-a"
    assert use_of(node) == [[0, 1], [10, 11], [20, 21]]
    assert node.system.matrix(SeriesKind.GPU_USED_BYTES)[0].tolist() == [4096 * MIB] * 2
    assert node.system.matrix(SeriesKind.GPU_THROTTLE_BITS)[0].tolist() == [4.0, 4.0]
    assert node.monitoring is not None
    assert node.monitoring.source == "nvidia-smi"
    assert [gpu.name for gpu in node.monitoring.gpus] == ["NVIDIA A10G"] * 2
    assert node.monitoring.is_ended is None
    assert any("name no zone" in note.text for note in node.notes)


def test_local_times_are_moved_by_what_the_user_says(tmp_path: Path) -> None:
    content = NVIDIA + rows()
    for offset_s in (None, 7_200, -19_800):
        node = read(tmp_path / "a.csv", content, offset_s=offset_s)
        ahead_ns = (offset_s or 0) * 1_000_000_000
        assert node.system.first_ns == LOCAL_NS + 100_000_000 - ahead_ns
        assert any("name no zone" in note.text for note in node.notes) == (offset_s is None)


def test_numbers_without_units_and_absent_ones(tmp_path: Path) -> None:
    header = "timestamp, index, utilization.gpu, memory.used, power.draw\n"
    lines = "2026/07/03 15:36:50.1, 0, 97, 4096, [N/A]\n2026/07/03 15:36:51.1, 0, 98, [N/A], -\n"
    node = read(tmp_path / "a.csv", header + lines)
    assert use_of(node) == [[97], [98]]
    assert node.system.names(SeriesKind.GPU_WATTS) == ()
    assert not any("without a finite value" in note.text for note in node.notes)


def test_gpus_without_index_are_told_by_their_order(tmp_path: Path) -> None:
    header = "timestamp, utilization.gpu [%]\n"
    lines = [
        f"2026/07/03 15:36:{50 + at}.{100 + gpu}, {10 * at + gpu} %\n"
        for at in range(9)
        for gpu in range(3)
    ]
    assert use_of(read(tmp_path / "a.csv", header + "".join(lines)))[4] == [40, 41, 42]
    alone = [line for line in lines if ".100," in line]
    assert use_of(read(tmp_path / "a.csv", header + "".join(alone)))[4] == [40]
    mixed = "".join(line for at, line in enumerate(lines) if at % 4 != 2)
    node = read(tmp_path / "a.csv", header + mixed)
    assert not node.system.n_ticks
    assert any("no column tells apart" in note.text for note in node.notes)


def test_dmon_has_comments_for_headers(tmp_path: Path) -> None:
    header = (
        "#Date       Time        gpu   pwr  gtemp  mtemp    sm   mem  mclk  pclk\n"
        "#YYYYMMDD   HH:MM:SS    Idx     W      C      C     %     %   MHz   MHz\n"
    )
    row = " 20260703   15:36:{at}      {gpu}    70     41      -    {use}     3  5001  1590\n"
    ticks = [
        "".join(row.format(at=50 + at, gpu=gpu, use=10 * at + gpu) for gpu in range(2))
        for at in range(3)
    ]
    node = read(tmp_path / "log.txt", header.join(["", *ticks]))
    assert use_of(node) == [[0, 1], [10, 11], [20, 21]]
    assert node.system.first_ns == LOCAL_NS
    assert node.monitoring is not None
    assert node.monitoring.source == "nvidia-smi dmon"


def test_amd_smi_and_tables_made_by_hand(tmp_path: Path) -> None:
    amd = "timestamp,gpu,socket_power,hotspot_temperature,gfx_activity,vram_used\n"
    node = read(
        tmp_path / "a.csv", amd + '1783071000,0,"512",60,88,1024\n\n1783071002,0,1,2,89,3\n'
    )
    assert use_of(node) == [[88], [89]]
    assert node.monitoring is not None
    assert node.monitoring.source == "amd-smi"
    own = "Time,GPU,temperature_C,utilization_gpu_percent,memory_used_gb,power_W\n"
    node = read(tmp_path / "b.csv", own + "2026-07-03T17:36:50+02:00,GPU-a,50,77,1.5,200\n")
    assert node.system.first_ns == LOCAL_NS
    assert node.system.matrix(SeriesKind.GPU_USED_BYTES)[0, 0] == 1.5 * (1 << 30)


def test_times_since_the_start_have_no_wall_clock(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("elapsed_s,gpu_util\n0.0,10\n1.0,20\n")
    job = intake.discover(str(tmp_path / "a.csv"))
    assert job.info.clock is Clock.RELATIVE
    assert intake.read_node(job.parts[0]).system.tick_ns.tolist() == [0, 1_000_000_000]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_what_windows_writes_is_read(tmp_path: Path, encoding: str) -> None:
    content = (NVIDIA + rows()).replace("\n", "\r\n").encode(encoding)
    assert use_of(read(tmp_path / "a.csv", content)) == [[0, 1], [10, 11], [20, 21]]


def test_broken_lines_are_counted(tmp_path: Path) -> None:
    broken = "2026/07/03 25:99:99, x\nkilled\n" + ROW.format(time="15:36:59", gpu=0, use="?")
    texts = [note.text for note in read(tmp_path / "a.csv", NVIDIA + rows() + broken).notes]
    assert "2 lines cannot be read and were skipped." in texts
    assert "1 sample without a finite value was left out." in texts


@pytest.mark.parametrize(
    "content",
    [
        rows(), "epoch,loss\n1,2\n", "timestamp,cpu\n1,2\n", "index,gpu_util\n0,5\n", "a",
        "#Time gpu sm\n#HH:MM:SS Idx %\n 10:00:00 0 97\n",
    ],
)  # fmt: skip
def test_other_tables_are_no_input(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.csv").write_text(content)
    for path in (tmp_path, tmp_path / "a.csv"):
        with pytest.raises(LocationError) as caught:
            intake.discover(str(path))
        assert "with a header" in str(caught.value.hint)


def test_tables_of_a_folder_are_nodes_of_a_job(tmp_path: Path) -> None:
    for node in ("node2", "node10"):
        (tmp_path / f"{node}.csv").write_text(NVIDIA + rows())
    (tmp_path / "results.csv").write_text("epoch,loss\n1,2\n")
    assert [part.node for part in intake.discover(str(tmp_path)).parts] == ["node2", "node10"]


def test_lines_of_any_length_and_instants_of_any_form() -> None:
    pieces = [b"a,b\n", b"x" * (3 << 20), b"y\nc", b', "d, e"\n\n', b"f"]
    assert list(cells_of(lines_of(pieces))) == [["a", "b"], ["c", "d, e"], ["f"]]
    for cell in ("1783093010", "1783093010000", "1783093010000000", "2026-07-03T15:36:50Z"):
        assert instant_in(cell) == (LOCAL_NS / 1e9, False)
    assert instant_in("2026/07/03 15:36:50") == (LOCAL_NS / 1e9, True)
