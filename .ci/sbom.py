"""Write the SBOM of a release (CycloneDX JSON), or the table of licences of ``docs/licences.md``.

``python .ci/sbom.py > sbom.json`` describes the environment that it runs in: install the wheel
without extras into an empty one first. ``python .ci/sbom.py --licences`` rewrites the table.
"""

from __future__ import annotations

import json
import os
import re
import sys
import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

OURS = "make-profiler-report"
PAGE = Path(__file__).resolve().parents[1] / "docs" / "licences.md"
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_CLASSIFIER = "License :: OSI Approved :: "
_NO_EXPRESSION = {
    "ISC License (ISCL)": "ISC",
    "BSD License": "BSD-3-Clause",
    "Apache Software License": "Apache-2.0",
    "MIT License": "MIT",
    "Python Software Foundation License": "PSF-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "BSD 3-Clause": "BSD-3-Clause",
    "BSD": "BSD-3-Clause",
    "Dual License": "Apache-2.0 OR BSD-3-Clause",
}
"""Older packages name their licence in words."""


def closure() -> Mapping[str, metadata.Distribution]:
    """Return what our core needs, directly or not, by normalized name; ourselves first."""
    found: dict[str, metadata.Distribution] = {}
    waiting = [OURS]
    while waiting:
        name = waiting.pop(0)
        if name in found:
            continue
        try:
            found[name] = metadata.distribution(name)
        except metadata.PackageNotFoundError:  # for another system or another Python
            continue
        waiting += sorted(needed_by(found[name]))
    return found


def needed_by(distribution: metadata.Distribution) -> Iterator[str]:
    """Yield the normalized names of what a distribution needs without extras."""
    for line in distribution.requires or ():
        if "extra ==" not in line and (match := _NAME.match(line)):
            yield re.sub(r"[-_.]+", "-", match[0]).lower()


def licence_of(distribution: metadata.Distribution) -> str:
    """Return the licence as an SPDX expression where that is known, else in the package's words."""
    about = distribution.metadata
    if about["License-Expression"]:
        return str(about["License-Expression"])
    classifiers = about.get_all("Classifier") or []
    words = [item.removeprefix(_CLASSIFIER) for item in classifiers if item.startswith(_CLASSIFIER)]
    words += [(about["License"] or "").splitlines()[0]] if about["License"] else []
    return next((_NO_EXPRESSION.get(word, word) for word in words if word), "unknown")


def plotlyjs_version() -> str:
    """Return the version of plotly.js that the page embeds."""
    from plotly.offline import get_plotlyjs_version

    return str(get_plotlyjs_version())


def sbom() -> dict[str, Any]:
    """Return the document; equal environments and ``SOURCE_DATE_EPOCH`` give equal bytes."""
    found = closure()
    parts = [_component(name, item) for name, item in found.items()]
    script = f"pkg:npm/plotly.js@{plotlyjs_version()}"
    parts.append(_described("plotly.js", plotlyjs_version(), script, "MIT"))
    at = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), UTC)
    links = {
        _purl(name, item): sorted(_purl(key, found[key]) for key in needed_by(item) if key in found)
        for name, item in found.items()
    }
    links[_purl("plotly", found["plotly"])].append(script)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(parts))}",
        "version": 1,
        "metadata": {"timestamp": at.isoformat().replace("+00:00", "Z"), "component": parts[0]},
        "components": parts[1:],
        "dependencies": [{"ref": ref, "dependsOn": needed} for ref, needed in links.items()],
    }


def _component(name: str, item: metadata.Distribution) -> dict[str, Any]:
    return _described(name, item.version, _purl(name, item), licence_of(item))


def _described(name: str, version: str, purl: str, licence: str) -> dict[str, Any]:
    is_expression = re.fullmatch(r"[\w.+-]+(?: (?:AND|OR|WITH) [\w.+-]+)*", licence)
    said = {"expression": licence} if is_expression else {"license": {"name": licence}}
    return {
        "type": "application" if name == OURS else "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "purl": purl,
        "licenses": [said],
    }


def _purl(name: str, item: metadata.Distribution) -> str:
    return f"pkg:pypi/{name}@{item.version}"


def licence_table() -> str:
    """Return the table of the packages that the core needs."""
    rows = [f"| {name} | {licence_of(item)} |" for name, item in sorted(closure().items())]
    return "\n".join(["| package | licence |", "|---|---|", *rows])


def licences_page(text: str) -> str:
    """Return the page with a fresh table."""
    head, marker, _ = text.partition("<!-- generated by .ci/sbom.py -->\n")
    return f"{head}{marker}\n{licence_table()}\n"


if __name__ == "__main__":
    if "--licences" in sys.argv:
        PAGE.write_text(licences_page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        sys.stdout.write(json.dumps(sbom(), indent=1) + "\n")
