"""Recorded steps are true steps, whatever trains and whatever starts it."""

from __future__ import annotations

import gzip
import os
import stat
from collections import Counter
from pathlib import Path

import pytest

from tests.frameworks.recorded import NEEDS_FRAMEWORKS, PYTHON, SCRIPTS, Run, record

pytestmark = NEEDS_FRAMEWORKS

OPTIMIZER = (
    "plain", "no_loader", "closure", "accumulation", "two_optimizers", "wrapper_optimizer",
    "subclass", "optimizer_in_backward", "grad_scaler", "compiled", "compiled_step", "evaluation",
    "eval_mode_training", "workers", "iterable", "untouched",
)  # fmt: skip
TRAINER = ("lightning_fit", "hugging_face", "keras_fit")
EXPLICIT = ("explicit", "jax_loop")
LAUNCHED: tuple[str, ...] = ("accumulation", "evaluation", "lightning_fit", "hugging_face")
"""Scripts that are started in all ways; with ``EVERY_PAIR=1`` all of them are."""
if os.environ.get("EVERY_PAIR"):
    LAUNCHED = tuple(name for name in (*OPTIMIZER, *TRAINER) if name != "keras_fit")


def expect_true_counts(run: Run, *, n_ranks: int = 1) -> None:
    """Fail unless each rank recorded what it counted itself, without a fault."""
    assert run.exit_code == 0, run.stderr
    assert run.faults == []
    true = {rank: {k: n for k, n in modes.items() if n} for rank, modes in run.true.items()}
    assert len(true) == n_ranks
    counted = run.counts()
    if n_ranks == 1:  # without a launcher the process's number is its name
        assert len(counted) == 1
        counted = {"0": next(iter(counted.values()))}
    trained = {
        rank: {k: n for k, n in modes.items() if k in true[rank]} for rank, modes in counted.items()
    }
    assert trained == true
    assert [card["n_steps"] for card in run.cards] == [modes["TRAIN"] for modes in true.values()]


@pytest.mark.parametrize("name", OPTIMIZER)
def test_steps_of_optimizers_are_counted(name: str, tmp_path: Path) -> None:
    run = record([PYTHON, f"{name}.py"], out=tmp_path)
    expect_true_counts(run)
    assert [card["step_source"] for card in run.cards] == ["optimizer"]


@pytest.mark.parametrize("name", [*TRAINER, "lightning_fit pytorch_lightning", "keras_fit torch"])
def test_steps_of_trainers_are_counted(name: str, tmp_path: Path) -> None:
    script, *arguments = name.split()
    run = record([PYTHON, f"{script}.py", *arguments], out=tmp_path)
    expect_true_counts(run)
    assert [card["step_source"] for card in run.cards] == ["trainer"]


@pytest.mark.parametrize("name", EXPLICIT)
def test_the_words_of_the_program_count_first(name: str, tmp_path: Path) -> None:
    # The script imports this package from its folder; the environment has none of its libraries.
    code = (
        "import runpy, sys\n"
        f"sys.path[:0] = [{str(SCRIPTS)!r}, {str(SCRIPTS.parents[2])!r}]\n"
        f"runpy.run_path('{name}.py', run_name='__main__')"
    )
    run = record([PYTHON, "-c", code], out=tmp_path)
    expect_true_counts(run)
    assert [card["step_source"] for card in run.cards] == ["explicit"]


@pytest.mark.parametrize("name", LAUNCHED)
def test_torchrun_gives_each_rank_its_own_files(name: str, tmp_path: Path) -> None:
    run = record(["torchrun", "--standalone", "--nproc-per-node=2", f"{name}.py"], out=tmp_path)
    expect_true_counts(run, n_ranks=2)
    assert [(card["rank"], card["local_rank"]) for card in run.cards] == [(0, 0), (1, 1)]


@pytest.mark.parametrize("name", LAUNCHED)
def test_accelerate_launch_is_recorded(name: str, tmp_path: Path) -> None:
    launch = ["accelerate", "launch", "--cpu", "--num_processes", "1", "--num_machines", "1"]
    launch += ["--mixed_precision", "no", "--dynamo_backend", "no", f"{name}.py"]
    expect_true_counts(record(launch, out=tmp_path))


@pytest.mark.parametrize("name", LAUNCHED)
def test_a_shell_script_is_recorded(name: str, tmp_path: Path) -> None:
    script = tmp_path / "train.sh"
    script.write_text(f"#!/bin/sh\nset -e\npython {name}.py\n")
    expect_true_counts(record(["sh", script], out=tmp_path / "out"))


@pytest.mark.parametrize("name", ["ddp", "accelerated"])
def test_ranks_that_exchange_gradients_are_counted(name: str, tmp_path: Path) -> None:
    run = record(["torchrun", "--standalone", "--nproc-per-node=2", f"{name}.py"], out=tmp_path)
    expect_true_counts(run, n_ranks=2)
    assert [card["world_size"] for card in run.cards] == [2, 2]


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_processes_of_multiprocessing_are_ranks(method: str, tmp_path: Path) -> None:
    run = record([PYTHON, "forked.py", method], out=tmp_path)
    expect_true_counts(run, n_ranks=2)
    assert all(card["ended"] for card in run.cards)


def test_a_process_without_a_step_leaves_no_file(tmp_path: Path) -> None:
    run = record([PYTHON, "no_step.py"], out=tmp_path)
    assert run.exit_code == 0, run.stderr
    assert run.cards == []
    assert run.faults == []
    assert not (tmp_path / "framework").exists()


def test_a_program_that_leaves_at_once_loses_one_interval_at_most(tmp_path: Path) -> None:
    run = record([PYTHON, "os_exit.py"], out=tmp_path)
    assert run.exit_code == 7
    assert list(run.counts().values()) == [{"TRAIN": 12}]
    assert [card["ended"] for card in run.cards] == [False]


def test_waits_phases_and_the_set_up_of_loaders_are_recorded(tmp_path: Path) -> None:
    run = record([PYTHON, "workers.py"], out=tmp_path)
    events = run.events()
    made = [event["args"] for event in events if event["phase"] == "DataLoaderIterInitialize"]
    assert [(args["num_workers"], args["prefetch_factor"]) for args in made] == [
        (2, 3),
        (1, 2),
        (1, 2),
    ]
    waits = [event for event in events if event["phase"] == "DataLoaderIter"]
    assert len(waits) == 48
    assert {event["name"] for event in waits} == {"_MultiProcessingDataLoaderIter::GetNext"}
    lives = [event for event in events if event["phase"] == "DataLoaderWorker"]
    assert len({event["args"]["pid"] for event in lives}) == 4
    forward = [event for event in events if event["phase"] == "Forward"]
    assert {event["name"] for event in forward} == {"Model"}
    assert len(forward) == 47  # the outermost module is known after the first step
    assert {event["name"] for event in events if event["phase"] == "Optimizer"} == {"SGD.step"}


def test_files_are_private(tmp_path: Path) -> None:
    token = "planted-token-71c4"  # looked for in all files
    run = record([PYTHON, "plain.py", token], out=tmp_path, env={"PLANTED": token})
    expect_true_counts(run)
    for path in (path for path in tmp_path.rglob("*") if path.is_file()):
        content = path.read_bytes()
        content = gzip.decompress(content) if path.suffix == ".gz" else content
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
        assert token.encode() not in content, path
        assert str(SCRIPTS).encode() not in content, path


@pytest.mark.parametrize(("kind", "n_passes"), [("dict", 1), ("checkpoint", 1), ("twice", 2)])
def test_each_backward_pass_is_a_part_of_its_step(kind: str, n_passes: int, tmp_path: Path) -> None:
    run = record([PYTHON, "parts.py", kind], out=tmp_path)
    expect_true_counts(run)
    phases = Counter(event["phase"] for event in run.events())
    assert phases["Forward"] == 11  # the outermost module is known after the first step
    assert phases["Backward(post-forward)"] == 11 * n_passes
    assert phases["AfterForward"] == 11
    assert phases["AfterStep"] == 12
    assert phases["EpochEnd"] == 0  # nothing follows the only epoch


@pytest.mark.parametrize(
    ("how", "workers", "kind"),
    [("sleep", 0, "waits"), ("compute", 0, "waits"), ("sleep", 2, "loaders"),
     ("compute", 2, "loaders")],
)  # fmt: skip
def test_what_loads_is_seen_to_sleep_or_to_want_a_core(how, workers, kind, tmp_path: Path) -> None:
    run = record([PYTHON, "loading.py", how, str(workers)], out=tmp_path)
    (card,) = run.cards
    work = card[kind]
    assert work["n"] >= 20
    wants = (work["cpu_ns"] + work["queued_ns"]) / work["wall_ns"]
    assert wants > 0.7 if how == "compute" else wants < 0.5
    assert run.faults == []


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_keras_waits_for_its_iterator(backend: str, tmp_path: Path) -> None:
    run = record([PYTHON, "keras_fit.py", backend], out=tmp_path)
    waits = [event for event in run.events() if event["phase"] == "DataLoaderIter"]
    assert len(waits) >= 34  # 26 batches of training, 8 of validation, and what builds the model
    assert run.faults == []


def test_parameters_and_tokens_of_a_model_of_text_are_counted(tmp_path: Path) -> None:
    run = record([PYTHON, "text.py"], out=tmp_path)

    (card,) = run.cards
    assert card["n_parameters"] == 100 * 16 + 16 * 100 + 100
    assert (card["samples_per_step"], card["tokens_per_sample"]) == (4, 32)
    assert "has_frozen_parameters" not in card
    assert "samples/s" in run.stderr
