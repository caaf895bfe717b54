"""Secrets are masked in texts and in JSON; a terminal gets nothing that it obeys."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reportgen.masking import json_without_secrets, without_secrets
from tests.end_to_end.command import run_here
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
    masked = json_without_secrets(json.dumps({"a": text, "b": [f"x {text}"], text: 1}).encode())
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


def test_printed_answers_hold_nothing_that_a_terminal_obeys(tmp_path: Path) -> None:
    wild = "\x1b[31m\x9b2J\x1b]8;;x\x07\x1b]52;c;x\x07\u202e\r\x07\0"
    events = small_events()
    for event in events:
        event["name"] = f"{event['name']} {wild}"
    trace = tmp_path / f"a{wild[:-1]}.pt.trace.json"
    trace.write_text(json.dumps({**header(), "traceEvents": events}))
    out = tmp_path / "out"
    asked = [("query", out, part) for part in ("job", "findings", "KernelTime", "exhibits")]
    for words in (
        ("report", trace, "--output", out, "--format", "md", "-v"),
        *((*words, *more) for words in asked for more in ((), ("--json",), ("--csv",))),
    ):
        done = run_here(*words, of_family=True)
        assert done.code == 0, done.stderr
        assert not set(done.stdout + done.stderr) & set("\x1b\x9b\u202e\r\x07\0")
