"""Credentials as the AWS CLI finds them; every service they come from runs on this machine."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reportgen.errors import PlaceError
from reportgen.storage import open_location
from tests.role_service import RoleService, running_role_service, write_certificate
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


@pytest.fixture
def service() -> Iterator[RoleService]:
    with running_role_service() as running:
        yield running


def write_aws(home: Path, name: str, text: str) -> None:
    path = home / ".aws" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


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


def test_a_container_has_the_keys_of_its_role(
    bucket: Bucket, service: RoleService, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    service.secret = "token-of-the-container"
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{service.address}/v1/credentials")
    monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "wrong")
    error = refused(bucket)
    assert error.message == (
        "The role of this container gives no credentials (CredentialRetrievalError)."
    )
    monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "token-of-the-container")
    assert keys_used(bucket) == {"ASIAROLE1"}
    (tmp_path / "token").write_text("token-of-the-container")
    monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "wrong")
    monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(tmp_path / "token"))
    assert keys_used(bucket) == {"ASIAROLE1", "ASIAROLE2"}
    monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(tmp_path / "none"))
    assert "The role of this container gives no credentials (" in refused(bucket).message


@pytest.mark.parametrize("has_extra", [True, False])
def test_keys_of_a_role_are_asked_for_again_before_they_end(
    bucket: Bucket, service: RoleService, monkeypatch: pytest.MonkeyPatch, has_extra: bool
) -> None:
    service.lasts_s = 1
    if has_extra:
        uri = f"{service.address}/v1/credentials"
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", uri)
    else:
        monkeypatch.setitem(sys.modules, "boto3", None)
        monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
        monkeypatch.setenv(METADATA, service.address)
    place = open_location(bucket.url)
    place.read_bytes("x")
    before = set(bucket.trouble.signers)
    time.sleep(1.1)
    assert place.read_bytes("x") == b"x"
    assert set(bucket.trouble.signers) > before


def test_a_container_service_elsewhere_is_not_asked_without_encryption(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://example.invalid/keys")
    message = "The role of this container gives no credentials (ValueError)."
    assert refused(bucket).message == message


def test_an_ecs_task_has_the_keys_of_its_role_without_the_extra(
    bucket: Bucket, service: RoleService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/credentials/task")
    monkeypatch.setenv("http_proxy", service.address)  # stands for the fixed address of ECS
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    (key,) = keys_used(bucket)
    assert key.startswith("ASIAROLE")
    assert set(service.seen) == {"/v2/credentials/task"}

    service.denies = True
    monkeypatch.setenv("AWS_REGION", "eu-central-1")  # else what was found before is remembered
    assert refused(bucket).message == (
        "The role of this container gives no credentials (its service answered 403)."
    )


def test_other_containers_need_the_extra(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://example.invalid/keys")
    error = refused(bucket)
    assert error.message == "AWS_CONTAINER_CREDENTIALS_FULL_URI needs the extra `aws`."
    assert error.hint == "Run: pip install 'make-profiler-report[aws]'"


@pytest.mark.parametrize("has_extra", [True, False])
@pytest.mark.parametrize("status_v1", [None, 403, 404, 405])
def test_an_instance_has_the_keys_of_its_role(
    bucket: Bucket,
    service: RoleService,
    monkeypatch: pytest.MonkeyPatch,
    has_extra: bool,
    status_v1: int | None,
) -> None:
    if not has_extra:
        monkeypatch.setitem(sys.modules, "boto3", None)
    service.status_without_sessions = status_v1
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
    monkeypatch.setenv(METADATA, service.address)
    if status_v1 in {404, 405} and not has_extra:
        assert "No AWS credentials found" in refused(bucket).message
        return
    (key,) = keys_used(bucket)
    assert key.startswith("ASIAROLE")


@pytest.mark.parametrize("has_extra", [True, False])
def test_an_instance_that_may_not_be_asked_is_left_alone(
    bucket: Bucket, service: RoleService, monkeypatch: pytest.MonkeyPatch, has_extra: bool
) -> None:
    if not has_extra:
        monkeypatch.setitem(sys.modules, "boto3", None)
    monkeypatch.setenv(METADATA, service.address)
    refused(bucket)
    assert service.seen == []


@pytest.mark.parametrize("has_extra", [True, False])
def test_a_silent_metadata_address_is_not_waited_for(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, has_extra: bool
) -> None:
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
    if has_extra:
        pytest.importorskip("boto3")
        write_aws(tmp_path, "config", "[default]\nregion = eu-central-1\n")
    else:
        monkeypatch.setitem(sys.modules, "boto3", None)
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


def test_a_web_identity_gets_the_keys_of_its_role(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "identity").write_text("token-of.the.pod")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "identity"))
    subject = "The web identity of this machine gives no credentials "
    assert refused(bucket).message == f"{subject}(InvalidConfigError)."
    assert refused(bucket).hint.startswith("Check AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE")
    monkeypatch.setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/team")
    (key,) = keys_used(bucket)
    assert key.startswith("ASIA")

    bucket.trouble.denies = "POST"
    monkeypatch.setenv("AWS_ROLE_SESSION_NAME", "another")
    assert refused(bucket).message == f"{subject}(ClientError)."


def test_a_web_identity_needs_no_extra(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    write_certificate(tmp_path / "certificate.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
    (tmp_path / "identity").write_text("token-of.the.pod")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "identity"))
    subject = "The web identity of this machine gives no credentials "
    assert refused(bucket).message == f"{subject}because AWS_ROLE_ARN is not set."
    monkeypatch.setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/team")
    with running_role_service(certificate=tmp_path / "certificate.pem") as service:
        service.secret = "token-of.the.pod"
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", service.address)
        (key,) = keys_used(bucket)
        assert key.startswith("ASIAROLE")

        service.denies = True
        monkeypatch.setenv("AWS_ROLE_SESSION_NAME", "another")
        assert refused(bucket).message == f"{subject}(its service answered 403)."


@pytest.mark.parametrize("variable", ["AWS_PROFILE", None])
def test_profiles_are_read_with_the_extra(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str | None
) -> None:
    name = "team" if variable else "default"
    write_aws(
        tmp_path,
        "credentials",
        f"[{name}]\naws_access_key_id = AKTEAM\naws_secret_access_key = zSECRET\n",
    )
    if variable:
        monkeypatch.setenv(variable, name)
    assert keys_used(bucket) == {"AKTEAM"}


def test_a_profile_comes_before_the_role_of_the_container(
    bucket: Bucket, service: RoleService, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write_aws(
        tmp_path,
        "credentials",
        "[default]\naws_access_key_id = AKTEAM\naws_secret_access_key = zSECRET\n",
    )
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{service.address}/v1/credentials")
    assert keys_used(bucket) == {"AKTEAM"}


def test_a_profile_that_is_not_there_is_named(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    assert "'nobody' gives no credentials (ProfileNotFound)" in refused(bucket).message


def test_a_profile_can_assume_a_role(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    keys = "aws_access_key_id = AKBASE\naws_secret_access_key = zSECRET\n"
    role = "role_arn = arn:aws:iam::123456789012:role/reader\nsource_profile = base\n"
    write_aws(tmp_path, "config", f"[profile base]\n{keys}[profile reader]\n{role}")
    monkeypatch.setenv("AWS_PROFILE", "reader")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    (key,) = keys_used(bucket)
    assert key.startswith("ASIA")

    bucket.trouble.denies = "POST"
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    assert "'reader' gives no credentials (" in refused(bucket).message


def test_without_the_extra_a_profile_names_what_to_install(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    write_aws(tmp_path, "config", "[default]\nregion = eu-central-1\n")
    extra = "pip install 'make-profiler-report[aws]'"
    assert refused(bucket).hint.endswith(f"To read profiles: {extra}.")
    monkeypatch.setenv("AWS_PROFILE", "team")
    error = refused(bucket)
    assert "'team' (AWS_PROFILE or --profile) needs the extra `aws`" in error.message
    assert error.hint == f"Run: {extra}"


def test_half_a_pair_of_keys_is_named(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKHALF")
    assert "Only one of AWS_ACCESS_KEY_ID and AWS_SECRET" in refused(bucket).message


def test_unsigned_requests_need_no_credentials(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
    bucket.client.put_object(Bucket=bucket.name, Key="x", Body=b"x", ACL="public-read")
    assert keys_used(bucket) == set()
    assert set(bucket.trouble.signers) == {None}


def test_the_environment_is_looked_at_once_for_all_nodes_of_a_job(
    bucket: Bucket, service: RoleService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{service.address}/v1/credentials")
    for _ in range(3):
        open_location(bucket.url)
    assert service.n_given == 1
    assert [method for method, _ in bucket.trouble.seen] == ["GET", "HEAD"]
