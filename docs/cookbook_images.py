"""Take the pictures of ``docs/cookbook.md`` by running its code."""

from __future__ import annotations

import ast
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "cookbook.md"
_PART = re.compile(
    r"^```python\n(?P<code>.*?)^```$|^!\[[^\]]*\]\((?P<image>[^)]*)\)$", re.MULTILINE | re.DOTALL
)
WIDTH_PX = 900


def parts() -> Iterator[tuple[str, str]]:
    """Yield each block of code with the picture that follows it, or an empty text."""
    found = [match.groupdict() for match in _PART.finditer(PAGE.read_text(encoding="utf-8"))]
    for place, part in enumerate(found):
        if part["code"]:
            following = found[place + 1] if place + 1 < len(found) else {}
            yield part["code"], following.get("image") or ""


def run(code: str, names: dict[str, Any]) -> Any:
    """Run a block of code and return the value of its last line, as a notebook cell does."""
    *before, last = ast.parse(code).body
    exec(compile(ast.Module(body=before, type_ignores=[]), "cookbook", "exec"), names)  # noqa: S102
    if isinstance(last, ast.Expr):
        return eval(compile(ast.Expression(body=last.value), "cookbook", "eval"), names)  # noqa: S307
    exec(compile(ast.Module(body=[last], type_ignores=[]), "cookbook", "exec"), names)  # noqa: S102
    return None


def main() -> int:
    """Take all pictures; exits with 1 where there is no Chromium."""
    from playwright.sync_api import sync_playwright

    from sample_data.make import make_job
    from sample_data.spec import NAMED_JOBS

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.stderr.write("Needs a Chromium on the PATH.\n")
        return 1
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        job = make_job(NAMED_JOBS["input_bound"], output=Path(folder))
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        names: dict[str, Any] = {}
        listed = list(parts())
        last = max(at for at, (_, image) in enumerate(listed) if image)
        for code, image in listed[: last + 1]:  # the rest needs reports
            here = code.replace("sample_data/jobs/input_bound", str(job))
            shown = run(here.replace('"job.duckdb"', "':memory:'"), names)
            if image:
                _shoot(browser, shown, Path(folder) / "chart.html", ROOT / "docs" / image)
        browser.close()
    return 0


def _shoot(browser: Any, figure: Any, page_file: Path, image: Path) -> None:
    height_px = int(figure.layout.height)
    figure.update_layout(width=WIDTH_PX, paper_bgcolor="white")
    figure.write_html(str(page_file), include_plotlyjs=True, config={"displayModeBar": False})
    page = browser.new_page(viewport={"width": WIDTH_PX + 16, "height": height_px + 16})
    page.goto(page_file.as_uri())
    page.wait_for_selector(".main-svg")
    page.wait_for_timeout(500)
    page.screenshot(path=str(image))
    page.close()
    sys.stderr.write(f"{image.relative_to(ROOT)}\n")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
