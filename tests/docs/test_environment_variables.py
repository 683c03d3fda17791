"""The page of environment variables lists every variable that the code reads or sets, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from service.config.settings import Config
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
PREFIXES = {"FAULTWATCH_FORGEJO", "FAULTWATCH_GITLAB"}
"""Beginnings of names that the code puts together."""
OF_OTHERS = {"DATABASE_URL", "NO_COLOR", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"}
"""Read by the code, but not named by Faultwatch."""


class Recording(dict[str, str]):
    """An environment that remembers which variables were read."""

    def __init__(self, values: dict[str, str]) -> None:
        super().__init__(values)
        self.read: set[str] = set()

    def get(self, name: str, default: object = None) -> object:
        self.read.add(name)
        return super().get(name, default)


def in_the_code(folder: Path) -> set[str]:
    """Return the variables that sources name in full, and those whose names the service puts together."""
    (folder / "secret").write_text("0123456789abcdef")
    environment = Recording({"FAULTWATCH_ACTIONS_REPOSITORIES": "a/b", "FAULTWATCH_ADDRESS": "https://a.example.org"})
    for prefix in PREFIXES:
        environment |= {f"{prefix}_URL": "https://b.example.org"}
        environment |= {f"{prefix}_{kind}_FILE": str(folder / "secret") for kind in ("TOKEN", "SECRET")}
    Config.from_environment(environment)
    found = set(environment.read)
    for file in SOURCES:
        if file.suffix in {".py", ".c", ".h", ".f90", ".yaml"}:
            found |= set(re.findall(r"\bFAULTWATCH_[A-Z_]*[A-Z]\b", file.read_text(encoding="utf-8")))
    return {name for name in found - PREFIXES if not name.endswith("_H")}  # guards of headers


def documented() -> set[str]:
    return set(re.findall(r"^\| `([A-Z_]+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))


def test_every_variable_is_documented_and_every_documented_variable_exists(tmp_path: Path) -> None:
    assert documented() - OF_OTHERS == in_the_code(tmp_path) - OF_OTHERS


def test_the_variables_of_others_are_documented() -> None:
    assert documented() >= OF_OTHERS


def test_names_that_are_put_together_are_found(tmp_path: Path) -> None:
    assert {"FAULTWATCH_ACTIONS_RUNNERS", "FAULTWATCH_GITLAB_TOKEN_FILE"} <= in_the_code(tmp_path)
