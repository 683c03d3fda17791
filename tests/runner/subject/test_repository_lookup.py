"""What a command says that is not told which workload to measure."""

from collections.abc import Callable
from pathlib import Path

import pytest

from runner.errors import FaultwatchError
from runner.settings import load_settings
from runner.subject.repository_lookup import find_workload_and_repository

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
