"""Reading, running and recognising notebooks."""

from __future__ import annotations

import gc
import json
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from reportgen.errors import ConfigError, OutputError, PluginError
from reportgen.publish import ReadyKernel, is_unchanged, read_notebook, run_notebook, thresholds_of
from reportgen.publish import kernel as kernel_module

INJECTED = "injected-parameters"


def write_notebook(path: Path, *sources: str, tags: tuple[str, ...] = ("parameters",)) -> Path:
    cells: list[Any] = [new_markdown_cell("# Title")]
    cells.append(new_code_cell('report_dir = "elsewhere"', metadata={"tags": list(tags)}))
    cells.extend(new_code_cell(source) for source in sources)
    nbformat.write(new_notebook(cells=cells), str(path))
    return path


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[ReadyKernel]:
    with closing(ReadyKernel()) as ready:
        ready.start(tmp_path)
        yield ready


@pytest.mark.notebook
def test_a_notebook_runs_with_the_parameter_that_its_author_set(tmp_path, kernel) -> None:
    (tmp_path / "elsewhere").mkdir()
    source = write_notebook(
        tmp_path / "{mine}.ipynb", "import os; print(report_dir, os.path.isdir(report_dir))"
    )
    output = tmp_path / "profiler-report.ipynb"

    run_notebook(read_notebook(source), output=output, manager=kernel.manager())

    tree = json.loads(output.read_text())
    assert tree["cells"][-1]["outputs"][0]["text"] == ["elsewhere True\n"]
    assert is_unchanged(output)
    assert set(tree["metadata"]) == {"kernelspec", "language_info", "reportgen"}
    assert all(not set(cell["metadata"]) & {"papermill", "execution"} for cell in tree["cells"])

    assert output.read_text() == nbformat.writes(nbformat.read(output, 4)) + "\n"

    # What was made can be read again as a notebook to run; a cell that an earlier version injected
    # below the parameters is left out.
    made = nbformat.read(output, 4)
    injected = new_code_cell('report_dir = "profiler-report"', metadata={"tags": [INJECTED]})
    made.cells.insert(2, injected)
    nbformat.write(made, output)
    assert is_unchanged(output)
    again = read_notebook(output)
    assert len(again.cells) == 3
    assert all(not cell.get("outputs") for cell in again.cells)


@pytest.mark.notebook
def test_what_python_runs_at_somebodys_prompt_is_not_run_in_the_kernel(tmp_path: Path, monkeypatch):
    startup = tmp_path / "startup.py"
    startup.write_text("import os\nos.chdir('/')")
    monkeypatch.setenv("PYTHONSTARTUP", str(startup))
    source = write_notebook(tmp_path / "mine.ipynb", "import os; print(os.getcwd())")
    output = tmp_path / "out.ipynb"
    with closing(ReadyKernel()) as ready:
        ready.start(tmp_path)
        run_notebook(read_notebook(source), output=output, manager=ready.manager())
    tree = json.loads(output.read_text())
    assert tree["cells"][-1]["outputs"][0]["text"] == [f"{tmp_path.resolve()}\n"]


def test_packages_that_do_not_fit_together_are_a_message_at_once(tmp_path: Path, monkeypatch):
    def import_half_a_package() -> None:
        raise AttributeError("module 'jinja2' has no attribute 'contextfilter'")

    monkeypatch.setattr(kernel_module, "import_libraries", import_half_a_package)
    with closing(ReadyKernel()) as ready:
        ready.start(tmp_path)
        with pytest.raises(OutputError, match="AttributeError: module 'jinja2' has no attribute"):
            ready.manager()


@pytest.mark.notebook
def test_a_cell_that_fails_is_named_and_the_cells_after_it_run(tmp_path, kernel, caplog) -> None:
    source = write_notebook(tmp_path / "mine.ipynb", "1 / 0", "print('still here')")
    output = tmp_path / "{out}.ipynb"

    executed = run_notebook(
        read_notebook(source), output=output, manager=kernel.manager(), shows_errors=True
    )

    assert "Cell 3 of the notebook failed: ZeroDivisionError: division by zero" in caplog.text
    failed, after = executed.cells[-2:]
    assert failed.outputs[0].ename == "ZeroDivisionError"
    assert after.outputs[0].text == "still here\n"
    assert nbformat.read(output, 4) == executed
    assert is_unchanged(output)


@pytest.mark.notebook
@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("1 / 0", "Cell 3 of the notebook failed: ZeroDivisionError"),
        ("import os; os._exit(9)", "kernel died"),
    ],
)
def test_our_notebook_that_fails_or_whose_kernel_dies_is_an_error(code, said, tmp_path, kernel):
    notebook = read_notebook(write_notebook(tmp_path / "ours.ipynb", code))
    manager = kernel.manager()

    with pytest.raises(OutputError, match=said):
        run_notebook(notebook, output=tmp_path / "o.ipynb", manager=manager)


@pytest.mark.notebook
@pytest.mark.parametrize("is_edited", [False, True])
def test_a_notebook_that_is_run_in_its_place_stays_what_it_was(is_edited: bool, tmp_path, kernel):
    path = tmp_path / "n.ipynb"
    first = read_notebook(write_notebook(path, "1 + 1"))
    run_notebook(first, output=path, manager=kernel.manager())
    assert is_unchanged(path)
    if is_edited:
        path.write_text(path.read_text().replace("1 + 1", "1 + 2"))

    with closing(ReadyKernel()) as second:
        second.start(tmp_path)
        run_notebook(read_notebook(path), output=path, manager=second.manager(), keeps_mark=True)

    assert is_unchanged(path) is not is_edited


def test_an_edited_notebook_is_recognised(tmp_path: Path) -> None:
    assert not is_unchanged(write_notebook(tmp_path / "n.ipynb"))
    assert is_unchanged(tmp_path / "absent.ipynb")


def test_a_notebook_without_a_parameters_cell_is_refused(tmp_path: Path) -> None:
    path = write_notebook(tmp_path / "n.ipynb", tags=())

    with pytest.raises(PluginError, match="expected exactly one"):
        read_notebook(path)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", {}),
        ("thresholds: dict[str, float] = {}", {}),
        ('thresholds = {"StepOutlier.stddev": 2, "IOBottleneck_threshold": 40.5}',
         {"StepOutlier.stddev": 2, "IOBottleneck_threshold": 40.5}),
    ],
)  # fmt: skip
def test_thresholds_of_the_parameters_cell_are_read(line, expected, tmp_path: Path) -> None:
    notebook = read_notebook(write_notebook(tmp_path / "n.ipynb"))
    notebook.cells[1].source += f"\n{line}"

    assert thresholds_of(notebook) == expected


@pytest.mark.parametrize("value", ["[1]", "dict(a=1)", "1 +", "{[]: 1}"])
def test_thresholds_that_are_not_written_out_are_refused(value: str, tmp_path: Path) -> None:
    notebook = read_notebook(write_notebook(tmp_path / "n.ipynb"))
    notebook.cells[1].source += f"\nthresholds = {value}"

    with pytest.raises(ConfigError, match="`thresholds` of the notebook cannot be read"):
        thresholds_of(notebook)


def test_a_missing_notebook_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match=r"gone\.ipynb"):
        read_notebook(tmp_path / "gone.ipynb")


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "[" * 100_000,
        '{"nbformat": 3, "nbformat_minor": 0, "worksheets": [], "metadata": {}}',
        '{"nbformat": 4, "nbformat_minor": "5", "cells": [], "metadata": {}}',
        '{"nbformat": 4, "nbformat_minor": 5, "cells": {}, "metadata": {}}',
        '{"nbformat": 4, "nbformat_minor": 5, "cells": [{"source": 1}], "metadata": {}}',
    ],
    ids=["list", "deep", "old", "minor", "cells", "cell"],
)
def test_what_is_no_notebook_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "n.ipynb").write_text(text)

    with pytest.raises(PluginError, match=r"n\.ipynb cannot be read as a notebook"):
        read_notebook(tmp_path / "n.ipynb")
    assert not is_unchanged(tmp_path / "n.ipynb")


@pytest.mark.notebook
def test_a_long_folder_for_temporary_files_is_no_obstacle(tmp_path: Path, monkeypatch) -> None:
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))

    with closing(ReadyKernel()) as ready:
        ready.start(tmp_path)
        assert ready.manager().is_alive()
    assert list(deep.iterdir()) == []


@pytest.mark.notebook
def test_reports_made_one_after_another_into_relative_folders_print_nothing_of_their_kernels(
    tmp_path: Path, monkeypatch, caplog
) -> None:
    source = write_notebook(tmp_path / "n.ipynb", "open('beside.txt', 'a').close()")
    monkeypatch.chdir(tmp_path)
    with closing(ReadyKernel()) as ready:
        ready.start(tmp_path)
        for name in ("first", "second"):
            Path(name).mkdir()
            run_notebook(
                read_notebook(source),
                output=Path(name, "made.ipynb"),
                manager=ready.manager(),
                begins_anew=True,
            )
            assert Path(name, "beside.txt").exists()
    del ready
    gc.collect()
    assert caplog.messages == []
