"""What a command says that is not told which workload to measure."""

from collections.abc import Callable
from pathlib import Path

import pytest

from runner.errors import FaultwatchError
from runner.settings import load_settings
from runner.subject.repository import Repository
from runner.subject.repository_lookup import find_workload_and_repository, refuse_dirty_work_tree
from runner.workload import load_workload

WORKLOAD = '[workload]\nname = "driver"\n[build]\ncommand = ""\n[run]\ncommand = "true"\n'


def test_a_repository_whose_workload_file_lies_deeper_is_answered_with_its_place(
    commit: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAULTWATCH_HOME", str(tmp_path / "home"))
    folder = tmp_path / "subject" / "benchmark"
    folder.mkdir()
    (folder / "workload.toml").write_text(WORKLOAD, encoding="utf-8")
    commit("Add a driver")
    with pytest.raises(FaultwatchError, match=r"subject has no workload\.toml") as error:
        find_workload_and_repository(load_settings(), None, str(folder.parent))
    assert str(folder / "workload.toml") in error.value.remedy


def test_a_tracked_file_that_became_a_link_to_itself_is_an_uncommitted_change(
    commit: Callable[..., str], tmp_path: Path
) -> None:
    folder = tmp_path / "subject"
    (folder / "workload.toml").write_text(WORKLOAD.replace('""', '"true"'), encoding="utf-8")
    (folder / "loop").write_text("", encoding="utf-8")
    commit("Add a driver")
    (folder / "loop").unlink()
    (folder / "loop").symlink_to("loop")
    repository, workload = Repository(folder, "subject"), load_workload(folder)
    with pytest.raises(FaultwatchError, match=r"has uncommitted changes \(loop\)"):
        refuse_dirty_work_tree(repository, workload, allows_changes=False)
