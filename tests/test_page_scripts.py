"""The page's modules join to one script: what the joining asks of them, and what comes out."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from reportgen.assets import templates_dir
from reportgen.compression import pack
from reportgen.page_scripts import joined
from tests.test_docs import module_at

FOLDER = templates_dir() / "script"
ENTRIES = ("main.js", "lanes.js", "index.js")
EMBEDDED = {*ENTRIES, "before_paint.js"}
MODULES = sorted(path for path in FOLDER.glob("*.js") if path.name != "before_paint.js")
_DECLARED = re.compile(
    r"^(?:export )?(?:async )?(?:const|let|function|class) (?:\[([^\]]*)\]|(\w+))", re.MULTILINE
)


def _declared(path: Path) -> list[str]:
    found = _DECLARED.findall(path.read_text("utf-8"))
    return [name.strip() for several, one in found for name in (several or one).split(",")]


def test_a_module_stands_once_and_after_those_that_it_imports(tmp_path):
    for name, text in {
        "low.js": "/** Low. */\nexport const low = 1;\n",
        "left.js": 'import { low } from "./low.js";\n\nexport const left = low + 1;\n',
        "right.js": 'import {\n  low\n} from "./low.js";\nexport const right = low;\n',
        "main.js": 'import { left } from "./left.js";\nimport { right } from "./right.js";\n'
        "{\n  /* What it is for. */\n  window.sum = left + right;\n}\n",
    }.items():
        (tmp_path / name).write_text(text)
    assert joined(tmp_path / "main.js").splitlines() == [
        "const low = 1;",
        "const left = low + 1;",
        "const right = low;",
        "{",
        "window.sum = left + right;",
        "}",
    ]


def _imported(path: Path) -> set[Path]:
    found = re.findall(r'^import [^;"]*"\./([\w.]+)";\n', path.read_text("utf-8"), re.MULTILINE)
    return {path}.union(*(_imported(FOLDER / name) for name in found))


@pytest.mark.parametrize("entry", ENTRIES)
def test_modules_of_one_script_share_a_scope_so_no_name_stands_twice(entry):
    modules = _imported(FOLDER / entry)
    names = Counter(name for path in modules for name in _declared(path))
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_a_module_uses_only_what_the_joining_knows(path):
    text = path.read_text("utf-8")
    assert not re.search(r"\bexport (?:default|\{|\*)|^import .*\bas\b", text, re.MULTILINE)
    assert all(line.count("`") % 2 == 0 for line in text.splitlines()), "indents are taken away"


@pytest.mark.parametrize("entry", ENTRIES)
def test_nothing_of_modules_is_left_in_the_page(entry):
    assert not re.search(r"^(?:import|export)\b|/\*|^\s", joined(FOLDER / entry), re.MULTILINE)


def test_the_script_of_a_report_is_short_and_that_of_an_index_much_shorter():
    assert len(joined(FOLDER / "main.js")) <= 60_000
    assert len(joined(FOLDER / "index.js")) <= 10_000


def test_the_lanes_add_little_to_a_page():
    assert len(joined(FOLDER / "lanes.js")) <= 64_000
    assert len(pack(joined(FOLDER / "lanes.js"))) <= 27_500


@pytest.mark.parametrize("entry", sorted(path.name for path in FOLDER.glob("*.js")))
def test_the_wheel_has_the_joined_text_of_each_script_that_a_page_embeds(entry, tmp_path):
    build = module_at(".ci/built_scripts.py")
    hook = build.BuiltScripts(str(tmp_path), {}, None, None, str(tmp_path), "wheel")
    data: dict[str, dict[str, str]] = {"force_include": {}}
    hook.initialize("standard", data)
    packed = {target: Path(source) for source, target in data["force_include"].items()}
    path = packed.get(f"reportgen/_assets/templates/script/{entry}")
    assert (path is not None) is (entry in EMBEDDED)
    if path is not None:
        assert path.read_text("utf-8") == joined(FOLDER / entry) == joined(path)
    hook.finalize("standard", data, "")
    assert not any(path.exists() for path in packed.values())
