"""Cut a release: the version and the changelog in one step, and what is made from them.

python .ci/release.py cut 1.0.0             write version, changelog and citation
python .ci/release.py check 1.0.0           fail unless all of them name this version
python .ci/release.py notes 1.0.0           print the section of the changelog
python .ci/release.py recipe 1.0.0 SDIST    print the recipe for conda-forge with the sdist's hash
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE, CHANGES, CITATION = (
    ROOT / "reportgen" / "__init__.py", ROOT / "CHANGELOG.md", ROOT / "CITATION.cff",
)  # fmt: skip
RECIPE = ROOT / ".github" / "conda" / "meta.yaml"
UNRELEASED = "## Unreleased\n"
_VERSION = re.compile(r"\d+\.\d+\.\d+(?:rc\d+)?")


def changed(text: str, pattern: str, value: str) -> str:
    """Return a text with the one match of a pattern's second group replaced.

    Raises:
        SystemExit: there is not exactly one match.
    """
    found, n_found = re.subn(pattern, lambda match: f"{match[1]}{value}", text, flags=re.MULTILINE)
    if n_found != 1:
        raise SystemExit(f"{pattern} was found {n_found} times, not once")
    return found


def section_of(changes: str, version: str) -> str:
    """Return what the changelog says of a version.

    Raises:
        SystemExit: nothing.
    """
    match = re.search(
        rf"^## {re.escape(version)} .*?\n(.*?)(?=^## |\Z)", changes, re.MULTILINE | re.DOTALL
    )
    if match is None or not match[1].strip():
        raise SystemExit(f"CHANGELOG.md has no section {version}")
    return match[1].strip() + "\n"


def with_release(changes: str, version: str, day: str) -> str:
    """Return the changelog with "Unreleased" cut to a version, and an empty one above it.

    Raises:
        SystemExit: nothing is unreleased, or the version is there already.
    """
    if re.search(rf"^## {re.escape(version)} ", changes, re.MULTILINE):
        raise SystemExit(f"CHANGELOG.md has a section {version} already")
    before, _, after = changes.partition(UNRELEASED)
    if not after.partition("\n## ")[0].strip():
        raise SystemExit("CHANGELOG.md has nothing under Unreleased")
    return f"{before}{UNRELEASED}\n## {version} ({day})\n{after}"


def cut(version: str) -> None:
    """Write the version, the changelog and the citation."""
    day = datetime.now(UTC).date().isoformat()
    files = {
        CHANGES: with_release(_read(CHANGES), version, day),
        PACKAGE: changed(_read(PACKAGE), r'^(__version__ = )".*"$', f'"{version}"'),
        CITATION: changed(
            changed(_read(CITATION), r"^(version: ).*$", version), r"^(date-released: ).*$", day
        ),
    }
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")


def check(version: str) -> None:
    """Fail unless package, changelog and citation name a version."""
    section_of(_read(CHANGES), version)
    for path, line in ((PACKAGE, f'__version__ = "{version}"'), (CITATION, f"version: {version}")):
        if line not in _read(path).splitlines():
            raise SystemExit(f"{path.name} does not say: {line}")


def recipe(version: str, sdist: Path) -> str:
    """Return the recipe with the version and the hash of the sdist."""
    text = changed(_read(RECIPE), r"^({% set version = ).*$", f'"{version}" %}}')
    owner = os.environ.get("GITHUB_REPOSITORY_OWNER", "OWNER")
    text = changed(text, r"^({% set owner = ).*$", f'"{owner}" %}}')
    return changed(text, r"^(  sha256: ).*$", hashlib.sha256(sdist.read_bytes()).hexdigest())


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def main(words: list[str]) -> None:
    """Do what the first word says."""
    if len(words) < 2 or not _VERSION.fullmatch(words[1]):
        raise SystemExit(__doc__)
    if words[0] == "cut":
        cut(words[1])
    elif words[0] == "check":
        check(words[1])
    elif words[0] == "notes":
        sys.stdout.write(section_of(_read(CHANGES), words[1]))
    elif words[0] == "recipe" and len(words) == 3:
        sys.stdout.write(recipe(words[1], Path(words[2])))
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
