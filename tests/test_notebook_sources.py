"""The notebooks are committed without outputs, and hold to the house's rules."""

import ast
import re

import nbformat
import pytest

from reportgen import views
from reportgen.assets import notebook_path
from reportgen.publish import read_notebook, with_sections
from tests.views import reports

NAMES = ("profiler_report", "profiler_comparison", "interactive_analysis", "dataloader_analysis")


def read(name):
    return nbformat.read(str(notebook_path(name)), as_version=4)


@pytest.fixture(scope="module")
def notebook():
    return read("profiler_report")


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_committed_without_outputs(name):
    """Run ``python -m nbconvert --clear-output --inplace`` after running one, or use the hook."""
    for cell in read(name).cells:
        if cell.cell_type == "code":
            assert (cell.outputs, cell.execution_count) == ([], None)


@pytest.mark.parametrize("name", NAMES[2:])
def test_notebooks_for_analysis_by_hand_are_light_and_explained(name):
    cells = read(name).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert all(len(ast.parse(cell.source).body) <= 5 for cell in code if cell.id != "parameters")
    parameters = [cell for cell in cells if "parameters" in cell.metadata.get("tags", [])]
    assert [cell.source.split(":")[0] for cell in parameters] == ["job_path"]
    assert sum(cell.cell_type == "markdown" for cell in cells) >= len(code) // 3


def test_the_notebook_is_valid_and_its_cells_have_names_of_their_own(notebook):
    nbformat.validate(notebook)
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)
    first = ["about-profiler-report", "parameters", "load", "judge-again", "about-overview"]
    assert ids[: len(first)] == first


def test_one_cell_holds_the_parameters_with_type_and_help(notebook):
    (cell,) = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    assert cell.source.startswith('report_dir: str = "profiler-report"  # ')


def test_code_cells_hold_at_most_three_statements(notebook):
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert len(ast.parse(cell.source).body) <= 3, cell.source


def sections_of(notebook):
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    return re.findall(r'^views\.section\(report, "([\w-]+)"\)$', code, flags=re.MULTILINE)


def test_a_report_gets_a_cell_for_each_of_its_sections_in_their_order_and_no_other():
    report = reports.busy_report()
    filled = with_sections(read_notebook(notebook_path()), views.section_ids(report))
    nbformat.validate(filled)
    assert sections_of(filled) == list(views.section_ids(report))
    ids = [cell.id for cell in filled.cells]
    first = ["about-profiler-report", "parameters", "load", "judge-again", "about-overview"]
    assert ids[: len(first)] == first
    at = ids.index("batch-size")
    assert ids[at - 1 : at + 2] == [
        "about-batch-size",
        "batch-size",
        "try-what-room-is-left-up-to-the-threshold",
    ]
    assert "idle-time" not in ids


def test_a_section_of_a_plugin_gets_a_cell():
    filled = with_sections(read_notebook(notebook_path()), ("overview", "rule--Own.Check"))
    assert filled.cells[-1].source == 'views.section(report, "rule--Own.Check")'
    nbformat.validate(filled)


def test_every_section_of_a_built_in_rule_is_explained(notebook):
    from reportgen.rules.registry import BUILTIN_RULES

    abouts = [rule.about for rule in BUILTIN_RULES]
    declared = [item for about in abouts for item in (about.section, *about.further) if item]
    assert {item.id for item in declared} <= set(sections_of(notebook))


def test_text_cells_stay_out_of_the_page(notebook):
    texts = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
    assert texts
    assert all("notebook-only" in cell.metadata.tags for cell in texts)


def test_below_each_section_but_the_closing_ones_stands_something_to_try(notebook):
    cells = notebook.cells
    sections = [index for index, cell in enumerate(cells) if "views." in cell.source]
    sections = [index for index in sections if cells[index].cell_type == "code"][1:]
    followers = {
        cells[index].id: cells[index + 1].metadata.get("tags", [])
        for index in sections
        if index + 1 < len(cells)
    }
    without = {name for name, tags in followers.items() if "try-this" not in tags}
    assert without == {"data-quality", "findings", "not-recorded"}
