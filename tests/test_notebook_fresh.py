"""The committed notebook is the one that its script makes, and holds to the house's rules."""

import ast
import re

import nbformat
import pytest

from report_notebook import build


@pytest.fixture(scope="module")
def notebook():
    text = build.NOTEBOOK.read_text(encoding="utf-8")
    return nbformat.reads(text, as_version=4)


@pytest.mark.parametrize("script", build.SCRIPTS, ids=lambda path: path.stem)
def test_a_committed_notebook_is_fresh(script):
    """Run ``make notebook`` after a change of a script in report_notebook/."""
    text = build.notebook_text(script.read_text(encoding="utf-8"))
    assert script.with_suffix(".ipynb").read_text(encoding="utf-8") == text


@pytest.mark.parametrize("script", build.SCRIPTS[1:3], ids=lambda path: path.stem)
def test_notebooks_for_analysis_by_hand_are_light_and_explained(script):
    cells = nbformat.reads(build.notebook_text(script.read_text(encoding="utf-8")), 4).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert all(len(ast.parse(cell.source).body) <= 5 for cell in code)
    parameters = [cell for cell in cells if "parameters" in cell.metadata.get("tags", [])]
    assert [cell.source.split(":")[0] for cell in parameters] == ["job_path"]
    assert sum(cell.cell_type == "markdown" for cell in cells) >= len(code) // 3


def test_building_twice_gives_the_same_bytes():
    script = build.SCRIPT.read_text(encoding="utf-8")
    assert build.notebook_text(script) == build.notebook_text(script)


def test_the_notebook_is_valid_and_its_cells_have_names_of_their_own(notebook):
    nbformat.validate(notebook)
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)
    assert ids[:4] == ["about-profiler-report", "parameters", "load", "about-overview"]


def test_one_cell_holds_the_parameters_with_type_and_help(notebook):
    (cell,) = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    assert cell.source.startswith('report_dir: str = "profiler-report"  # ')


def test_code_cells_hold_at_most_three_statements(notebook):
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert len(ast.parse(cell.source).body) <= 3, cell.source


def test_every_section_of_the_package_is_called_once(notebook):
    from reportgen.views.sections.walk import FUNCTIONS, WHOLE_PAGE

    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    shown = re.findall(r'^views\.section\(report, "([\w-]+)"\)$', code, flags=re.MULTILINE)
    assert sorted(shown) == sorted([*WHOLE_PAGE, *FUNCTIONS.values()])
    assert code.count("views.other_rules(report)") == 1


def test_sections_of_rules_stand_in_the_declared_order(notebook):
    from reportgen.rules.registry import BUILTIN_RULES

    abouts = [rule.about for rule in BUILTIN_RULES]
    declared = [item for about in abouts for item in (about.section, *about.further) if item]
    order = {item.id: item.order for item in declared}
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    shown = re.findall(r'views\.section\(report, "([\w-]+)"\)', code)
    places = [order[section_id] for section_id in shown if section_id in order]
    assert places == sorted(places)
    assert len(places) == len(order)


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
