"""``faultwatch import`` against a real service: stored once, seen on the API, wrong files told in one line."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from runner.cli import import_
from runner.errors import FaultwatchError
from runner.importing import files
from runner.reporting.embedded_service import connect_to_service
from runner.settings import load_settings

MAP = "revision=what,case=program,started_at=when,minor-faults=faults"


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FAULTWATCH_HOME", str(tmp_path / "home"))
    file = tmp_path / "history.csv"
    rows = [f"2025-01-{day:02},r{day},lu,{100 if day < 10 else 150}" for day in range(1, 20)]
    file.write_text("when,what,program,faults\n" + "\n".join(rows) + "\n")
    return file


def run(*arguments: object) -> Result:
    return CliRunner().invoke(import_.command, [str(argument) for argument in arguments])


def test_files_are_stored_once_and_judged_like_any_history(
    history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_, "REPORTS_PER_REQUEST", 7)
    with connect_to_service(load_settings()) as service:
        monkeypatch.setenv("FAULTWATCH_URL", service.url)
        arguments = (history, "--subject", "s", "--columns", MAP, "--json")
        first = json.loads(run(*arguments).stdout)
        again = json.loads(run(*arguments).stdout)
        assert (first["created"], first["already_stored"], first["conflicting"]) == (19, 0, 0)
        assert (again["created"], again["already_stored"], again["conflicting"]) == (0, 19, 0)
        (drift,) = service.list_drifts(subject="s")
        assert (drift["before"], drift["after"]) == (100, 150)
        assert drift["candidates"][-1]["title"].startswith("r10 (imported")
        assert (drift["certainty"], drift["title"]) == ("range", ""), "nothing says which commits lie between"

        folder = tmp_path / "go"
        folder.mkdir()
        for day in range(1, 20):
            text = f"BenchmarkCopy 10 {400 if day < 10 else 200} MB/s 7 score\n"
            (folder / f"2025-02-{day:02}-abc{day:04}.txt").write_text(text)
        (folder / "notes.md").write_text("# Notes\n")
        done = json.loads(run(folder, "--subject", "go", "--json").stdout)
        assert (done["created"], done["left_out"], done["not_judged"]) == (19, ["notes.md"], ["score"])
        (slower,) = service.list_drifts(subject="go")
    assert (slower["unit"], slower["direction"]) == ("MB/s", "regression"), "less throughput is worse"
    assert slower["candidates"][-1]["title"].startswith("abc0010 (imported")


def test_what_cannot_be_imported_is_told_before_a_service_is_needed(history: Path) -> None:
    for arguments, said in [
        ((history.with_name("no"), "--subject", "s"), "cannot be read"),
        ((history, "--columns", MAP), "the subject is unknown"),
        ((history, "--subject", "s"), "a CSV file of many runs needs --columns"),
        ((history, "--format", "csv"), "--format: there is no format 'csv'"),
        ((history, "--better", "score"), "--better: 'score' does not have the form"),
    ]:
        done = run(*arguments)
        assert isinstance(done.exception, FaultwatchError)
        assert said in str(done.exception)
    assert not load_settings().home.exists()


def test_several_files_with_too_many_runs_together_are_refused(history: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_RUNS", 20)
    done = run(history, history, "--subject", "s", "--columns", MAP)
    assert isinstance(done.exception, FaultwatchError)
    assert "more than 20 runs" in str(done.exception)
    assert not load_settings().home.exists()


def test_with_the_repository_every_commit_between_two_results_is_a_candidate(
    git: Callable[..., str], commit: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAULTWATCH_HOME", str(tmp_path / "home"))
    commits = [commit(f"Commit {number}", file=str(number)) for number in range(40)]
    git("tag", "v1.0", commits[20])
    file = tmp_path / "sparse.csv"
    rows = [
        f"2025-01-{1 + number // 2:02},{name},lu,{100 if number < 20 else 150}"
        for number, name in enumerate(commits)
        if number % 4 == 0
    ]
    file.write_text("when,what,program,faults\n" + "\n".join(rows) + "\n")
    with connect_to_service(load_settings()) as service:
        monkeypatch.setenv("FAULTWATCH_URL", service.url)
        run(file, "--subject", "s", "--columns", MAP, "--repo", tmp_path / "subject")
        (drift,) = service.list_drifts(subject="s")
    assert [candidate["commit"] for candidate in drift["candidates"]] == commits[17:21]
    assert drift["candidates_known"]
