"""The commands of the documents run as written."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import click
import pytest

from reportgen.cli import command as report_command
from reportgen.cli.family import family
from sample_data.make import make_job
from sample_data.spec import NAMED_JOBS
from tests.docs_commands import OURS, PAGES, ROOT, blocks, calls_of, make_sandbox
from tests.end_to_end.command import run_command

_CLOUD = re.compile(r"s3://|sagemaker:")  # parsed only
GENERATED = "command-line.md"
SHELL = [(page, [item for item in blocks(page) if item.language == "shell"]) for page in PAGES]


def parsed(command: str) -> int:
    """Parse each call of ours in a line, run none, and return how many there were."""
    n_calls = 0
    for name, words in calls_of(command):
        n_calls += 1
        if name == OURS[1]:
            report_command.make_context(name, list(words))
            continue
        member = family.get_command(click.Context(family), words[0])
        assert member is not None, command
        arguments = list(words[1:])
        if not {"--help", "--skill"} & set(arguments):
            member.make_context(words[0], arguments)
    return n_calls


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_our_commands_stand_in_shell_blocks_and_can_be_parsed(page: Path) -> None:
    for block in blocks(page):
        ours = [line for line in block.lines if line.startswith(tuple(f"{name} " for name in OURS))]
        if block.language != "shell":
            assert not ours or page.name == GENERATED, f"{page.name}: {ours}"
            continue
        assert sum(map(parsed, block.commands())) >= len(ours)


def test_what_make_is_asked_for_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    lines = [line for page in PAGES for block in blocks(page) for line in block.lines]
    targets = {line.split()[1] for line in lines if line.startswith("make ")}
    assert len(targets) > 5
    for target in targets:
        assert re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE), target


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the folder of the sample jobs and a report of one of them."""
    jobs, report = tmp_path_factory.mktemp("jobs"), tmp_path_factory.mktemp("report")
    for name in ("input_bound", "healthy"):
        make_job(NAMED_JOBS[name], output=jobs)
    made = run_command(jobs / "input_bound", "--output", report, cwd=report)
    assert made.code == 0, made.stderr
    return jobs, report


@pytest.mark.documents
@pytest.mark.slow
@pytest.mark.notebook
@pytest.mark.parametrize(
    ("page", "found"),
    [
        pytest.param(page, found, id=page.name)
        for page, found in SHELL
        if any(not item.is_parsed_only for item in found)
    ],
)
def test_the_commands_of_a_page_run_one_after_another(page, found, prepared, tmp_path) -> None:
    jobs, report = prepared
    make_sandbox(tmp_path, jobs=jobs, report=report)
    for block in blocks(page):
        if block.title:
            (tmp_path / block.title).write_text("\n".join(block.lines), encoding="utf-8")
        if block.language == "shell" and not block.is_parsed_only:
            for command in block.commands():
                if not _CLOUD.search(command):
                    _run(command, tmp_path)


def _run(command: str, folder: Path) -> None:
    """Run a line in a shell; a condition that is met is an answer, not a failure."""
    env = os.environ | {
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "HOME": str(folder),
    }
    words = ["/bin/sh", "-c", command]
    done = subprocess.run(
        words, check=False, cwd=folder, env=env, capture_output=True, text=True, timeout=900
    )
    allowed = {0, 3} if "--fail" in command else {0}
    assert done.returncode in allowed, f"{command}\n{done.stdout}{done.stderr}"
