"""How a program starts with the injected folder in front of its path."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import reportgen.record

INJECTED = Path(reportgen.record.__file__).parent / "injected"
LIGHT = {"typing", "collections", "threading", "json", "pathlib", "hashlib", "importlib.util"}


def start(code: str, *, folders: list[Path], out: Path | None) -> subprocess.CompletedProcess[str]:
    """Run a program that finds the injected folder, then ``folders``."""
    env = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(map(str, (INJECTED, *folders))),
        "PYTHONDONTWRITEBYTECODE": "1",
        **({} if out is None else {"REPORTGEN_RECORD_DIR": str(out)}),
    }
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


@pytest.fixture
def users(tmp_path: Path) -> Path:
    """A folder of the user's, with a ``sitecustomize`` of his own."""
    folder = tmp_path / "users"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text("import builtins\nbuiltins.of_the_user = __name__\n")
    return folder


def test_the_sitecustomize_of_the_user_runs_too(users: Path, tmp_path: Path) -> None:
    code = "import sitecustomize; print(of_the_user, sitecustomize.__file__)"
    done = start(code, folders=[users], out=tmp_path)
    assert done.stdout.split() == ["sitecustomize", str(users / "sitecustomize.py")]
    assert done.stderr == ""


def test_its_errors_are_said_as_always(users: Path, tmp_path: Path) -> None:
    (users / "sitecustomize.py").write_text("1 / 0\n")
    done = start("print('runs')", folders=[users], out=tmp_path)
    assert done.stdout == "runs\n"
    assert "Error in sitecustomize" in done.stderr
    assert "ZeroDivisionError" in done.stderr


def test_the_start_imports_nothing_that_takes_time(tmp_path: Path) -> None:
    code = f"import sys; print(sorted({LIGHT!r} & set(sys.modules)))"
    bare = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True
    )
    done = start(
        f"import sys; print(sorted(m for m in {LIGHT!r} if m in sys.modules))",
        folders=[],
        out=tmp_path,
    )
    without = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert bare.stdout == "[]\n"
    assert done.stdout == without.stdout


@pytest.mark.parametrize("is_recorded", [True, False])
def test_nothing_is_watched_where_nothing_is_recorded(is_recorded: bool, tmp_path: Path) -> None:
    code = "import sys; print(any(type(f).__name__ == 'ImportWatcher' for f in sys.meta_path))"
    done = start(code, folders=[], out=tmp_path if is_recorded else None)
    assert done.stdout == f"{is_recorded}\n"
    assert list(tmp_path.iterdir()) == []


FAKE_OPTIMIZER = """
hooks = []
def register_optimizer_step_pre_hook(hook): hooks.append(hook)
def register_optimizer_step_post_hook(hook): {post}
"""


@pytest.fixture
def torch(tmp_path: Path) -> Path:
    """A ``torch`` with an optimizer module whose hooks cannot be registered."""
    folder = tmp_path / "fake"
    (folder / "torch" / "optim").mkdir(parents=True)
    (folder / "torch" / "__init__.py").touch()
    (folder / "torch" / "optim" / "__init__.py").touch()
    source = FAKE_OPTIMIZER.format(post="raise RuntimeError('changed')")
    (folder / "torch" / "optim" / "optimizer.py").write_text(source)
    return folder


def test_a_framework_that_has_changed_is_imported_and_the_fault_is_said(torch: Path, tmp_path):
    out = tmp_path / "out"
    done = start("import torch.optim.optimizer as o; print(o.__name__)", folders=[torch], out=out)
    assert done.stdout == "torch.optim.optimizer\n"
    assert done.stderr == ""
    (path,) = out.glob("recorder/faults/*.jsonl")
    assert '"hook": "torch.optim.optimizer", "error": "RuntimeError"' in path.read_text()


def test_the_loader_of_a_watched_module_stays_what_it_was(torch: Path, tmp_path: Path) -> None:
    code = (
        "import importlib.util, inspect\n"
        "assert importlib.util.find_spec('torch.optim.optimizer')\n"  # asks, and imports later
        "import torch.optim.optimizer as o\n"
        "print(type(o.__loader__).__name__, 'hooks' in inspect.getsource(o), len(o.hooks))\n"
    )
    done = start(code, folders=[torch], out=tmp_path / "out")
    assert done.stdout == "SourceFileLoader True 1\n", done.stderr


def test_an_import_that_fails_fails_as_always(tmp_path: Path) -> None:
    done = start("import torch.optim.optimizer", folders=[], out=tmp_path)
    assert "ModuleNotFoundError: No module named 'torch'" in done.stderr
    assert "reportgen" not in done.stderr


def test_another_machine_records_nothing_and_says_so(torch: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    code = "import os; import torch.optim.optimizer"
    env_code = f"import os; os.environ['REPORTGEN_RECORD_BOOT'] = '0' * 16; {code}"
    # The variable must be there at the start of the interpreter that records.
    child = f"import subprocess, sys; {env_code.partition('; import torch')[0]}; "
    child += f"subprocess.run([sys.executable, '-c', {code!r}], check=True)"
    done = start(child, folders=[torch], out=out)
    assert done.returncode == 0, done.stderr
    (path,) = out.glob("recorder/faults/*.jsonl")
    assert '"kind": "other_machine"' in path.read_text()


MARKS = """
import os, sys
sys.path[:] = [path for path in sys.path if not os.path.exists(os.path.join(path, "reportgen"))]
import reportgen
for batch in reportgen.steps(range(4)):
    with reportgen.annotate("update"):
        pass
print(reportgen.__file__)
try:
    reportgen.open
except AttributeError as error:
    print(error)
"""


def test_a_program_without_the_package_marks_its_steps_all_the_same(tmp_path: Path) -> None:
    done = start(MARKS, folders=[], out=tmp_path)
    where, error = done.stdout.splitlines()

    assert done.stderr == ""
    assert where.endswith("stand_in.py")
    assert error.endswith("pip install --no-deps make-profiler-report")
    assert '"n_steps": 4' in next(tmp_path.glob("recorder/ranks/*.json")).read_text()


def test_the_package_itself_comes_before_its_stand_in(tmp_path: Path) -> None:
    (tmp_path / "own" / "reportgen").mkdir(parents=True)
    (tmp_path / "own" / "reportgen" / "__init__.py").write_text("")
    done = start(
        "import reportgen; print(reportgen.__file__)", folders=[tmp_path / "own"], out=tmp_path
    )

    assert done.stdout.strip().endswith("__init__.py")
