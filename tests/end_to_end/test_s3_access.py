"""The options that say how a bucket is reached, through the whole command."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.builders import START_S, system_line, write_minute
from tests.end_to_end.command import Run, run_command
from tests.role_service import RoleService, write_aws
from tests.s3_server import Bucket

pytestmark = pytest.mark.slow

SUMMARY = ("--format", "md")
TEAM = "[team]\naws_access_key_id = AKTEAM\naws_secret_access_key = zSECRET\n"


@pytest.fixture
def bucket(s3: Bucket, tmp_path: Path) -> Bucket:
    """A bucket with a small job."""
    write_minute(tmp_path / "made", [system_line("gpu0", 50, START_S)], minute_s=START_S)
    s3.put_folder(tmp_path / "made", "job")
    return s3


def report(bucket: Bucket, *options: str, cwd: Path, env: Mapping[str, str] | None = None) -> Run:
    return run_command(f"{bucket.url}/job", *SUMMARY, "--force", *options, cwd=cwd, env=env)


def signers(bucket: Bucket, run: Run) -> set[tuple[str, str] | None]:
    """Return who signed the requests of a run that went well, and for which region.

    One request, the first, is not signed: it asks whether the store redirects.
    """
    assert (run.code, run.stderr) == (0, "")
    first, *others = bucket.trouble.signers
    bucket.trouble.signers.clear()
    assert first is None
    return set(others)


def test_a_profile_that_is_named_wins_over_keys_of_the_environment(bucket: Bucket, tmp_path: Path):
    write_aws(tmp_path, "credentials", TEAM)
    assert signers(bucket, report(bucket, cwd=tmp_path)) == {("AKIDEXAMPLE", "eu-central-1")}
    run = report(bucket, "--profile", "team", cwd=tmp_path)
    assert signers(bucket, run) == {("AKTEAM", "eu-central-1")}
    run = report(bucket, "--profile", "nobody", cwd=tmp_path)
    assert (run.code, run.stdout) == (1, "")
    assert "The profile 'nobody' gives no credentials (ProfileNotFound)." in run.stderr
    assert "aws sso login --profile nobody" in run.stderr


def test_a_region_that_is_named_wins_over_that_of_the_bucket(bucket: Bucket, tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_REGION", "us-west-2")
    assert signers(bucket, report(bucket, cwd=tmp_path)) == {("AKIDEXAMPLE", "eu-central-1")}
    run = report(bucket, "--region", "ap-south-1", cwd=tmp_path)
    assert signers(bucket, run) == {("AKIDEXAMPLE", "ap-south-1")}


def test_the_address_of_a_store_can_be_named(bucket: Bucket, tmp_path: Path, monkeypatch) -> None:
    address = os.environ["AWS_ENDPOINT_URL"]
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    run = report(bucket, "--endpoint-url", f"{address}/", cwd=tmp_path)
    assert signers(bucket, run) == {("AKIDEXAMPLE", "eu-central-1")}


@pytest.mark.parametrize("address", ["localhost:9000", "ftp://host", "http://me:zSECRET@host", ""])
def test_what_is_no_address_is_wrong_usage(bucket: Bucket, tmp_path: Path, address: str) -> None:
    run = report(bucket, "--endpoint-url", address, cwd=tmp_path)
    assert (run.code, run.stdout) == (2, "")
    assert "--endpoint-url needs an address, https://host or http://host." in run.stderr
    assert "zSECRET" not in run.stderr


def test_a_public_bucket_is_read_without_credentials(bucket: Bucket, tmp_path: Path, monkeypatch):
    bucket.client.put_bucket_acl(Bucket=bucket.name, ACL="public-read")
    for key in bucket.keys("job/"):
        bucket.client.put_object_acl(Bucket=bucket.name, Key=key, ACL="public-read")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    refused = report(bucket, cwd=tmp_path)
    assert (refused.code, refused.stdout) == (1, "")
    assert refused.stderr == (
        "error: No AWS credentials found (looked at: environment, profiles, container role, "
        "instance role).\n"
        "       Run `aws sso login`, set AWS_PROFILE, or pass --no-sign-request.\n"
    )
    assert signers(bucket, report(bucket, "--no-sign-request", cwd=tmp_path)) == {None}


def test_a_person_who_signed_in_has_the_keys_of_the_role_until_the_session_ends(
    bucket: Bucket, service: RoleService, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    service.secret = "token-of-the-person"
    write_aws(
        tmp_path,
        "config",
        "[profile dev]\nsso_session = corp\nsso_account_id = 123456789012\nsso_role_name = Dev\n"
        "[sso-session corp]\nsso_region = eu-central-1\n"
        "sso_start_url = https://corp.example/start\n",
    )
    monkeypatch.setenv("AWS_ENDPOINT_URL_SSO", service.address)
    for until, is_signed_in in ((timedelta(hours=1), True), (timedelta(hours=-1), False)):
        token = {
            "startUrl": "https://corp.example/start",
            "region": "eu-central-1",
            "accessToken": service.secret,
            "expiresAt": f"{datetime.now(UTC) + until:%Y-%m-%dT%H:%M:%SZ}",
        }
        name = hashlib.sha1(b"corp", usedforsecurity=False).hexdigest()
        write_aws(tmp_path, f"sso/cache/{name}.json", json.dumps(token))
        home = {"HOME": str(tmp_path)}  # botocore looks where it is when it is imported
        run = report(bucket, "--profile", "dev", cwd=tmp_path, env=home)
        if is_signed_in:
            assert signers(bucket, run) == {("ASIAROLE1", "eu-central-1")}
            continue
        assert (run.code, run.stdout) == (1, "")
        assert run.stderr.startswith("error: The profile 'dev' gives no credentials (")
        assert "Run `aws sso login --profile dev`" in run.stderr
        assert len(run.stderr.splitlines()) == 2
