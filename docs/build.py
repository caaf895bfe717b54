"""Write the tables of the documents that come from code: rules, parameters, options, exhibits.

``python docs/build.py`` rewrites them between their markers; a test proves that they are fresh.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from reportgen.results import Scalar
from reportgen.rules.base import Rule, param_specs
from reportgen.rules.registry import BUILTIN_RULES
from reportgen.rules.settings import valid_range

ROOT = Path(__file__).resolve().parents[1]


def rule_table() -> str:
    """Return the table of all rules: what each checks and what it needs."""
    rows = ["| rule | checks | needs |", "|---|---|---|"]
    rows.extend(
        f"| `{rule.id}` | {rule.about.checks} | {', '.join(rule.needs)} |"
        for rule in _sorted_rules()
    )
    return "\n".join(rows)


def parameter_table() -> str:
    """Return the table of all parameters: default, valid values, meaning."""
    rows = ["| parameter | default | valid | meaning |", "|---|---|---|---|"]
    for rule in _sorted_rules():
        rows += [
            f"| `{rule.id}.{spec.name}` | {_code(spec.default)} | {valid_range(spec)} | "
            f"{spec.meaning} |"
            for spec in param_specs(rule.params)
        ]
    return "\n".join(rows)


def rewritten(text: str, *, name: str, table: str) -> str:
    """Return a document with the table between its markers replaced.

    Raises:
        ValueError: the document has no such markers.
    """
    pattern = re.compile(rf"(<!-- {name}:begin[^>]*-->\n).*?(<!-- {name}:end -->)", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"no markers for {name}")
    return pattern.sub(lambda match: f"{match[1]}\n{table}\n\n{match[2]}", text)


def fresh_documents() -> dict[Path, str]:
    """Return each document that holds generated tables, as it should be."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    readme = rewritten(readme, name="rules", table=rule_table())
    readme = rewritten(readme, name="parameters", table=parameter_table())
    return {ROOT / "README.md": readme}


def _sorted_rules() -> list[Rule]:
    return sorted(BUILTIN_RULES, key=lambda rule: rule.id)


def _code(value: Scalar) -> str:
    return f"`{value}`"


if __name__ == "__main__":
    for path, text in fresh_documents().items():
        path.write_text(text, encoding="utf-8")
        sys.stderr.write(f"{path.relative_to(ROOT)}\n")
