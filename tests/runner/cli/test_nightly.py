"""``faultwatch nightly``: the workloads that a matrix names."""

from pathlib import Path

import pytest

from runner.cli.nightly import find_planned_workload
from runner.errors import FaultwatchError
from runner.nightly.matrix_file import load_matrix
from runner.workload.workload_lookup import SHIPPED_WORKLOADS

OWN = """
[workload]
name = "own"
[run]
command = "true"
"""


def find(folder: Path, name: str) -> str:
    (folder / "matrix.toml").write_text(f'[[workloads]]\npath = "{name}"\n')
    matrix = load_matrix(folder / "matrix.toml")
    return find_planned_workload(matrix, matrix.workloads[0]).name


def test_a_folder_without_a_workload_file_does_not_hide_a_shipped_workload(tmp_path: Path) -> None:
    folder = tmp_path / "copy_service"
    folder.mkdir()
    assert find(tmp_path, "copy_service") == "copy_service"
    (folder / "workload.toml").write_text(OWN)
    assert find(tmp_path, "copy_service") == "own"


def test_a_path_is_relative_to_the_matrix_file(tmp_path: Path) -> None:
    (tmp_path / "bench").mkdir()
    with pytest.raises(FaultwatchError, match="no such workload file"):
        find(tmp_path, "bench")
    (tmp_path / "bench" / "workload.toml").write_text(OWN)
    assert find(tmp_path, "bench") == "own"
    assert find(tmp_path, "bench/workload.toml") == "own"
    assert find(tmp_path, str(SHIPPED_WORKLOADS / "copy_service")) == "copy_service"
