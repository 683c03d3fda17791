"""The architecture page lists every package, with the first line of the package's docstring."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "architecture.md"


def packages() -> dict[str, str]:
    """Return the first line of the docstring of every package, by the package's folder."""
    return {
        f"{file.parent.relative_to(ROOT)}/": (ast.get_docstring(ast.parse(file.read_text())) or "").split("\n")[0]
        for room in ("runner", "service")
        for file in sorted((ROOT / room).rglob("__init__.py"))
        if "migrations" not in file.parts
    }


def test_every_package_is_listed_with_what_it_says_of_itself() -> None:
    block = PAGE.read_text().partition("## Packages")[2].partition("```text\n")[2].partition("```")[0]
    listed = dict(re.findall(r"^(\S+/) +(.+)$", block, re.MULTILINE))
    assert listed == packages()
