"""What the shell offers for a word."""

import subprocess
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from runner.cli.entry_point import cli


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    git = ("git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@localhost")
    for words in (("init", "-qb", "main"), ("commit", "-qm", "One", "--allow-empty"), ("tag", "v1.0")):
        subprocess.run([*git, *words], check=True)
    workload = '[workload]\nname = "copy"\n[run]\ncommand = ["true", "{mib}"]\n[matrix]\nmib = [1, 8]\n'
    (tmp_path / "workload.toml").write_text(workload, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def offered(line: str) -> list[str]:
    *words, last = line.split(" ")
    found = ShellComplete(cli, {}, "faultwatch", "_X").get_completions(words, last)
    return [item.value for item in found if item.type == "plain"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("com", ["compare", "completion"]),
        ("job p", ["pause"]),
        ("measure --commi", ["--committed-only"]),
        ("measure --work", []),
        ("profile mat", ["match_server", "matrix_scan"]),
        ("measure --case copy[mib=8", ["copy[mib=8]"]),
        ("measure --revision ma", ["main"]),
        ("history v1", ["v1.0"]),
        ("bisect v1.0..", ["v1.0..HEAD", "v1.0..main", "v1.0..v1.0"]),
        ("compare copy_service v1.0..ma", ["v1.0..main"]),
    ],
)
def test_what_is_offered(line: str, words: list[str], repository: Path) -> None:
    assert offered(line) == words


def test_nothing_is_offered_where_something_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert offered("measure --case ") == []
    assert offered("measure --revision ") == []


def test_a_command_is_imported_only_where_it_is_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> click.Command:
        raise AssertionError("imported")

    monkeypatch.setattr(type(cli), "get_command", fail)
    assert offered("gat") == ["gate"]
