"""No secret leaves: neither in results and pages nor in timelines, messages and logs."""

from __future__ import annotations

import json
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from reportgen.masking import json_without_secrets, without_secrets
from tests.traces import header, small_events

SECRETS = {
    "X-Amz-Signature=c4n4ry0001": "c4n4ry0001",
    "X-Amz-Credential=c4n4ry0002%2F20260101": "c4n4ry0002",
    "X-Goog-Signature=c4n4ry0003": "c4n4ry0003",
    "https://a.blob/b?sv=1&sig=c4n4ry0004%3D": "c4n4ry0004",
    "Authorization: Bearer c4n4ry0005abcdef": "c4n4ry0005",
    "bearer c4n4ry0006abcdefgh": "c4n4ry0006",
    "hf_c4n4ry0007abcdefghijklmnopqrst": "c4n4ry0007",
    "ghp_c4n4ry0008abcdefghijklmnopqrst": "c4n4ry0008",
    "github_pat_c4n4ry0009abcdefghij_klmnop": "c4n4ry0009",
    "AKIAC4N4RY0010ABCDEF": "C4N4RY0010",
    "ASIAC4N4RY0011ABCDEF": "C4N4RY0011",
    "WANDB_API_KEY=c4n4ry0012": "c4n4ry0012",
    "password=c4n4ry0013": "c4n4ry0013",
    "postgres://ada:c4n4ry0014@host/db": "c4n4ry0014",
    "-----BEGIN RSA PRIVATE KEY-----\nc4n4ry0015\n-----END RSA PRIVATE KEY-----": "c4n4ry0015",
    "eyJc4n4ry0016.eyJabcdef.ghijkl": "c4n4ry0016",
    "xoxb-c4n4ry0017-abcdef": "c4n4ry0017",
    "aws_secret_access_key: c4n4ry0018": "c4n4ry0018",
    "HF_TOKEN=c4n4ry0019": "c4n4ry0019",
    "{'password': 'c4n4ry0020'}": "c4n4ry0020",
}


@pytest.mark.parametrize("text", SECRETS)
def test_every_kind_of_secret_is_masked_in_texts_and_in_json(text: str) -> None:
    secret = SECRETS[text]
    assert secret not in without_secrets(f"gemm {text} (1)")
    tree = {"a": text, "b": [f"x {text}"], text: 1}
    masked = json_without_secrets(json.dumps(tree).encode())
    assert secret.encode() not in masked
    assert len(json.loads(masked)) == 3


@pytest.mark.parametrize(
    "text",
    [
        "aten::convolution_backward", "void gemm<float, 128>(int)", "tokens=512", "token = 12",
        "std::token::reader", "keys: a, b", "forward(key: str)", "assign=1", "design: new",
        "s3://bucket/key", "hf_transformers/model.py(12): forward", "task-with-a-very-long-name-1",
        "sk-learn", "DataLoader.__next__", "pad_token_id", "basic transformations", "é…\u4e2d",
    ],
)  # fmt: skip
def test_ordinary_names_stay_as_they_are(text: str) -> None:
    assert without_secrets(text) == text


def test_json_remains_json_whatever_its_keys_are_called() -> None:
    tree = {"password": None, "token": 1, "secret": {"a": [1]}, "sig": True, "x password=": 5}
    assert json.loads(json_without_secrets(json.dumps(tree).encode())) == tree


def _trace(folder: Path) -> Path:
    """Return a trace that has every secret in its environment, arguments, names and own name."""
    events = small_events()
    for number, text in enumerate(SECRETS):
        for event in small_events():
            event["ts"] += 300 * (number + 1)
            args = {key: value for key, value in event["args"].items() if key != "correlation"}
            events.append(event | {"name": f"{event['name']} {text}", "args": {**args, "x": text}})
    told = {"rank": 0, "world_size": 1, "backend": text, "pg_config": text}
    metadata = {"env": dict(enumerate(SECRETS)), "traceName": text, "host": text}
    head = header(distributedInfo=told, metadata=metadata, env=list(SECRETS), hostName=text)
    head["deviceProperties"] = [{"id": 0, "name": f"GPU {text}", "computeMinor": -(2**63)}]
    path = folder / "hf_c4n4ry0007abcdefghijklmnopqrst.pt.trace.json"
    path.write_text(json.dumps({**head, "traceEvents": events}))
    return path


def _texts(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield all that was written: files, and the packed texts of timelines unpacked."""
    for path in sorted(folder.rglob("*")):
        content = path.read_bytes() if path.is_file() else b""
        yield path.name, content
        at = content.find(b"\x78")
        while at >= 0:  # whatever is packed in it
            for bits in (15, -15):
                try:
                    yield f"{path.name} at {at}", zlib.decompressobj(bits).decompress(content[at:])
                except zlib.error:
                    continue
            at = content.find(b"\x78", at + 1) if path.name == "Timeline.bin" else -1


def _said(*words: str | Path) -> bytes:
    """Return all that a command prints."""
    command = [sys.executable, "-m", "reportgen.cli", *map(str, words)]
    done = subprocess.run(command, check=False, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_printed_answers_hold_nothing_that_a_terminal_obeys(tmp_path: Path) -> None:
    wild = "\x1b[31m\x9b2J\x1b]8;;x\x07\x1b]52;c;x\x07\u202e\r\x07\0"
    events = small_events()
    for event in events:
        event["name"] = f"{event['name']} {wild}"
    trace = tmp_path / f"a{wild[:-1]}.pt.trace.json"
    trace.write_text(json.dumps({**header(), "traceEvents": events}))
    out = tmp_path / "out"
    said = [_said("report", trace, "--output", out, "--format", "md", "-v")]
    for asked in ("job", "findings", "KernelTime", "exhibits"):
        said += [_said("query", out, asked, *more) for more in ((), ("--json",), ("--csv",))]
    for text in (content.decode() for content in said):
        assert not set(text) & set("\x1b\x9b\u202e\r\x07\0")


def test_a_trace_full_of_secrets_gives_none_away(tmp_path: Path) -> None:
    trace, out = _trace(tmp_path), tmp_path / "out"
    said = [
        _said("report", trace, "--output", out, "-v"),
        _said("timeline", trace, "--output", out / "t.json", "--format", "json"),
        _said("timeline", trace, "--output", out / "t.pftrace", "--format", "perfetto"),
        _said("query", out / "profiler-report", "job"),
        _said("query", out / "profiler-report", "exhibits", "--json"),
    ]
    assert not [
        (name, secret)
        for name, content in [*_texts(out), *enumerate(said)]
        for secret in SECRETS.values()
        if secret.encode() in content
    ]
