"""What the report of a gate says about the workload file."""

import os
from pathlib import Path

import pytest

from runner.cli.gate_report import _find_budget_lines

TEXT = "[metrics.budget]\nminor-faults = 1\n"


def place(top: Path, folder: str) -> Path:
    (top / ".git").mkdir()
    (top / folder).mkdir(parents=True)
    (top / folder / "workload.toml").write_text(TEXT)
    return top / folder / "workload.toml"


def test_the_file_is_named_relative_to_its_repository(tmp_path: Path) -> None:
    file = place(tmp_path, "a/b")
    assert _find_budget_lines(file, tmp_path / "a") == ("a/b/workload.toml", {"minor-faults": 2})
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / ".git").mkdir()
    assert _find_budget_lines(file, tmp_path / "other") == ("", {})


@pytest.mark.parametrize("folder", [os.fsdecode(b"caf\xe9"), "/".join(["x" * 200] * 6)])
def test_a_name_that_no_report_can_contain_is_left_out(folder: str, tmp_path: Path) -> None:
    assert _find_budget_lines(place(tmp_path, folder), tmp_path) == ("", {})


@pytest.mark.parametrize("content", [None, b"\xff"])
def test_a_file_that_is_removed_or_damaged_while_it_is_measured_has_no_known_lines(
    content: bytes | None, tmp_path: Path
) -> None:
    file = place(tmp_path, "a")
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    assert _find_budget_lines(file, tmp_path) == ("a/workload.toml", {})
