import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from runner.adoption import (
    first_measurement,
)
from runner.adoption.first_measurement import FirstMeasurement
from runner.adoption.proposal import BuildProposal, RunProposal
from runner.contract.report import Revision
from runner.errors import FaultwatchError
from runner.execution.execute import ProgramResult
from runner.subject.build import Builder, BuildFailure
from runner.subject.build_folders import BuildFolders
from runner.subject.repository import open_repository
from tests.runner.adoption.listings import listing


@pytest.mark.parametrize(("status", "output", "is_known"), [(0, "3", True), (1, "3", False), (0, "error: x", False)])
def test_the_faults_of_one_execution_are_known_unless_it_fails(
    status: int, output: str, monkeypatch: pytest.MonkeyPatch, *, is_known: bool
) -> None:
    monkeypatch.setattr(FirstMeasurement, "make_workload", lambda *_: None)

    def execute(*_: object) -> ProgramResult:
        subprocess.run([sys.executable, "-c", ""], check=True)
        return ProgramResult(status, output, "", 0.1, 1.0)

    monkeypatch.setattr(FirstMeasurement, "_execute_workload", execute)
    first = FirstMeasurement.__new__(FirstMeasurement)
    faults = first.count_faults_roughly(BuildProposal("Make", ""), RunProposal("./x"), Path())
    assert (faults is not None) is is_known
    assert faults is None or faults > 100


def test_a_file_that_an_execution_overwrites_differs_from_the_build(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "LICENSE"
    monkeypatch.setattr(first_measurement, "restore_tree", lambda _: file.write_text("License"))
    first = FirstMeasurement.__new__(FirstMeasurement)
    for text in ("", "LICENSE"):
        file.write_text(text)
        assert first._differs_from_build(tmp_path, "LICENSE")
    file.write_text("License")
    assert not first._differs_from_build(tmp_path, "LICENSE")


def test_the_size_of_an_input_is_known_after_the_program_removed_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(first_measurement, "restore_tree", lambda tree: (tree / "a.txt").write_text("text"))
    first = FirstMeasurement.__new__(FirstMeasurement)
    assert first.get_input_size(RunProposal("./x a.txt", input_file="a.txt"), tmp_path) == 4
    assert first.get_input_size(RunProposal("./x b.txt", input_file="b.txt"), tmp_path) == 0
    assert first.get_input_size(RunProposal("./x"), tmp_path) == 0


@pytest.mark.parametrize("command", ["./x 'a", " "])
def test_a_command_that_is_not_valid_is_refused_with_the_mistake(command: str, tmp_path: Path) -> None:
    first = FirstMeasurement.__new__(FirstMeasurement)
    first.sources, first._file = listing({}), tmp_path / "workload.toml"
    with pytest.raises(FaultwatchError, match=r"\[run\] command"):
        first.make_workload(BuildProposal("Make", ""), RunProposal(command), 1)


@pytest.mark.parametrize("command", ["./missing", "missing-tool", "./folder", "./file"])
def test_the_help_of_a_program_that_cannot_be_started_is_empty(command: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    first = FirstMeasurement.__new__(FirstMeasurement)
    first.sources, first._file = listing({}), tmp_path / "workload.toml"
    process_state = SimpleNamespace(environment={"PATH": "/usr/bin:/bin"})
    bench = SimpleNamespace(make_process_state=lambda _: process_state, sandbox=None)
    first.workbench = cast("Any", SimpleNamespace(bench=bench))
    workload = first.make_workload(BuildProposal("Make", ""), RunProposal(command), 1)
    assert first._execute_workload(workload, tmp_path).output == ""


def test_a_build_that_failed_is_repeated_when_init_starts_again_but_not_before(
    commit: Callable[..., str], tmp_path: Path
) -> None:
    head = commit("One", source="1")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    workbench = cast("Any", SimpleNamespace(builder=Builder(BuildFolders(tmp_path / "builds"), {})))
    proposal = BuildProposal("Make", f"sh -c 'echo x >>{tmp_path}/count; test -e {tmp_path}/installed'")

    def start_init() -> FirstMeasurement:
        revision = cast("Revision", SimpleNamespace(commit=head))
        return FirstMeasurement(repository, revision, listing({}), tmp_path / "workload.toml", workbench)

    first_start = start_init()
    for _ in range(2):
        with pytest.raises(BuildFailure):
            first_start.build(proposal)
    (tmp_path / "installed").touch()
    assert [start_init().build(proposal)[1].cached for _ in range(2)] == [False, True]
    assert (tmp_path / "count").read_text() == "x\n" * 2
