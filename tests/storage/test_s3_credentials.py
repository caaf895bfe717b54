"""Credentials as the AWS CLI finds them; every service they come from runs on this machine."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reportgen.errors import PlaceError
from reportgen.storage import open_location
from reportgen.storage.s3_settings import _read_profile, endpoint, own_region
from tests.role_service import write_aws
from tests.s3_server import Bucket

pytestmark = pytest.mark.slow

METADATA = "AWS_EC2_METADATA_SERVICE_ENDPOINT"


@pytest.fixture
def bucket(s3: Bucket, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """A bucket with an object, and an environment without keys."""
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    s3.put("x", b"x")
    return s3


def keys_used(bucket: Bucket) -> set[str]:
    """Read the object; return the access keys that signed the requests."""
    assert open_location(bucket.url).read_bytes("x") == b"x"
    return {signer[0] for signer in bucket.trouble.signers if signer}


def refused(bucket: Bucket) -> PlaceError:
    """Return the error of opening the bucket; no address and no secret is in it."""
    with pytest.raises(PlaceError) as info:
        open_location(bucket.url)
    for word in ("127.0.0.1", "169.254", "http", "zSECRET", "token-of"):
        assert word not in str(info.value)
    return info.value


def test_keys_of_a_role_are_asked_for_again_before_they_end(bucket, service, monkeypatch) -> None:
    service.lasts_s = 1
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{service.address}/v1/credentials")
    place = open_location(bucket.url)
    place.read_bytes("x")
    before = set(bucket.trouble.signers)
    time.sleep(1.1)
    assert place.read_bytes("x") == b"x"
    assert set(bucket.trouble.signers) > before


def test_a_silent_metadata_address_is_not_waited_for(bucket: Bucket, monkeypatch, tmp_path: Path):
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
    write_aws(tmp_path, "config", "[default]\nregion = eu-central-1\n")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv(METADATA, f"http://127.0.0.1:{silent.getsockname()[1]}")
        began = time.monotonic()
        error = refused(bucket)
        # Two seconds on an idle machine; without a limit it would be minutes.
        assert time.monotonic() - began < 20
    assert str(error) == (
        "No AWS credentials found (looked at: environment, profiles, container role, "
        "instance role). Run `aws sso login`, set AWS_PROFILE, or pass --no-sign-request."
    )


def test_a_profile_that_is_not_there_is_named(bucket: Bucket, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    assert "'nobody' gives no credentials (ProfileNotFound)" in refused(bucket).message


def test_a_profile_can_start_a_program_that_prints_keys(bucket: Bucket, monkeypatch, tmp_path):
    program = tmp_path / "keys.py"
    program.write_text(
        "import datetime, json, pathlib, sys\n"
        "count = pathlib.Path(sys.argv[1])\n"
        "n = len(count.read_text()) + 1 if count.exists() else 1\n"
        "count.write_text('x' * n)\n"
        "until = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=1)\n"
        "print(json.dumps({'Version': 1, 'AccessKeyId': f'AKPROGRAM{n}',\n"
        "    'SecretAccessKey': 'zSECRET', 'SessionToken': 's',\n"
        "    'Expiration': until.isoformat()}))\n"
    )
    command = f"{sys.executable} {program} {tmp_path / 'count'}"
    write_aws(tmp_path, "config", f"[profile team]\ncredential_process = {command}\n")
    monkeypatch.setenv("AWS_PROFILE", "team")
    place = open_location(bucket.url)
    place.read_bytes("x")
    before = {signer[0] for signer in bucket.trouble.signers if signer}
    time.sleep(1.1)
    place.read_bytes("x")
    after = {signer[0] for signer in bucket.trouble.signers if signer}
    assert before < after
    assert all(key.startswith("AKPROGRAM") for key in after)


@pytest.mark.parametrize("is_service", [True, False])
def test_the_address_of_a_store_comes_from_the_profile(bucket, monkeypatch, tmp_path, is_service):
    address = endpoint()
    for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    keys = "aws_access_key_id = AKTEAM\naws_secret_access_key = zSECRET\nregion = eu-west-1\n"
    named = (
        f"services = mine\n[services mine]\ns3 =\n  endpoint_url = {address}\n"
        if is_service
        else f"endpoint_url = {address}\n"
    )
    write_aws(tmp_path, "config", f"[profile team]\n{keys}{named}")
    assert endpoint() == ""
    monkeypatch.setenv("AWS_PROFILE", "team")
    assert (endpoint(), own_region()) == (address, "eu-west-1")
    assert keys_used(bucket) == {"AKTEAM"}
    monkeypatch.setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")
    _read_profile.cache_clear()
    assert endpoint() == ""


def test_half_a_pair_of_keys_is_named(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKHALF")
    assert "gives no credentials (PartialCredentialsError)" in refused(bucket).message


def test_the_environment_is_looked_at_once_for_all_nodes_of_a_job(bucket, service, monkeypatch):
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{service.address}/v1/credentials")
    for _ in range(3):
        open_location(bucket.url)
    assert service.n_given == 1
    assert [method for method, _ in bucket.trouble.seen] == ["GET", "HEAD"]


def test_a_report_of_local_files_needs_no_boto3(tmp_path: Path, input_bound_job: Path) -> None:
    code = (
        "import sys\n"
        "sys.modules['boto3'] = sys.modules['botocore'] = None\n"
        "from reportgen.cli import main\n"
        "main()\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, input_bound_job, "-o", tmp_path / "out", "--format", "md"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "out" / "profiler-report.md").is_file()
