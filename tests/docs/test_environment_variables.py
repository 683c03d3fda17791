"""The page of environment variables lists every variable that the code reads or sets, and no other."""

from __future__ import annotations

import re

from docs.site.reference import GENERATED
from tests.docs.blocks import ROOT

PAGE = ROOT / "docs" / "reference" / "environment-variables.md"
SOURCES = [
    *(
        file
        for folder in ("faultwatch", "runner", "service", "workloads")
        for file in sorted((ROOT / folder).rglob("*"))
    ),
    ROOT / "compose.yaml",
]
OF_OTHERS = {"DATABASE_URL", "NO_COLOR", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "POSTGRES_IMAGE", "RUSTUP_HOME"}
"""Read by the code or by compose.yaml, but not named by Faultwatch."""


def in_the_code() -> set[str]:
    """Return the variables of Faultwatch that sources name."""
    found = set()
    for file in SOURCES:
        if file.suffix in {".py", ".c", ".h", ".f90", ".yaml"}:
            found |= set(re.findall(r"\bFAULTWATCH_[A-Z_]*[A-Z]\b", file.read_text(encoding="utf-8")))
    return {name for name in found if not name.endswith("_H")}  # guards of headers


def documented() -> set[str]:
    """Return the variables of the page, with what the site generates."""
    text = PAGE.read_text(encoding="utf-8")
    generated = (GENERATED[name]() for name in re.findall(r"^<!-- generated: (\w+) -->$", text, re.MULTILINE))
    return set(re.findall(r"^\| `([A-Z_]+)` \|", "\n".join((text, *generated)), re.MULTILINE))


def test_every_variable_is_documented_and_every_documented_variable_exists() -> None:
    assert documented() - OF_OTHERS == in_the_code() - OF_OTHERS


def test_the_variables_of_others_are_documented() -> None:
    assert documented() >= OF_OTHERS
