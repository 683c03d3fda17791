"""Which commits ``faultwatch profile`` is about, and how two of them are told."""

import json
from pathlib import Path

import click
import pytest

from runner.cli.profile import _parse_commits, command
from runner.cli.profile_difference_tables import show_difference
from runner.cli.profile_tables import show_anatomy_and_stacks
from runner.contract.profile import AllocatingLine, PythonLine
from runner.doctor.counting import require_measurable_host
from runner.errors import FaultwatchError
from runner.reporting.client import Service
from tests.runner.commands import make_history
from tests.runner.contract.test_profile_difference import faulting


@pytest.mark.parametrize(
    ("commit_range", "revision", "sides"),
    [
        (None, "v1", (None, "v1")),
        ("v1..v2", "HEAD", ("v1", "v2")),
        ("v1...v2", "HEAD", ("v1", "v2")),
        ("v1..", "HEAD", ("v1", "HEAD")),
        ("v1", "HEAD", (None, "v1")),
    ],
)
def test_the_commits_that_are_profiled(commit_range: str | None, revision: str, sides: tuple[str | None, str]) -> None:
    assert _parse_commits(commit_range, revision) == sides


def test_commits_that_are_named_twice_are_refused() -> None:
    with pytest.raises(click.UsageError, match="pass only one of them"):
        _parse_commits("v1..v2", "v3")


def test_the_line_that_grew_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    before = faulting({("main:9", "copy:20"): 100, ("main:9", "other:40"): 50})
    after = faulting({("main:9", "copy:20"): 700, ("main:9", "other:40"): 90})
    show_difference(before, after)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines.index("+600 100 700 copy src/main.c:20") < lines.index("+40 50 90 other src/main.c:40")
    assert "+600 (100 → 700) copy ← main, in copy at src/main.c:20" in lines


def test_a_source_file_beside_the_workload_is_shown_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    before, after = (
        profile.model_copy(
            update={"frames": tuple(f.model_copy(update={"file": "/srv/copies/0123/driver.c"}) for f in profile.frames)}
        )
        for profile in (faulting({("copy:20",): 100}), faulting({("copy:20",): 700}))
    )
    show_difference(before, after)
    assert "+600 100 700 copy driver.c:20" in " ".join(capsys.readouterr().out.split())


def test_the_lines_of_python_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    line = PythonLine(file="serve.py", function="<listcomp>", line=10, faults=9000)
    show_anatomy_and_stacks(faulting({("main:9", "copy:20"): 1}).model_copy(update={"python_lines": (line,)}))
    assert "9,000 <listcomp> serve.py:10" in " ".join(capsys.readouterr().out.split())


def test_the_lines_of_java_that_allocate_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    line = AllocatingLine(file="Load.java", function="Load.main", line=6, bytes=64 << 20)
    show_anatomy_and_stacks(faulting({("main:9", "copy:20"): 1}).model_copy(update={"java_lines": (line,)}))
    assert "64 MiB Load.main Load.java:6" in " ".join(capsys.readouterr().out.split())


@pytest.mark.perf
def test_a_profile_is_shown_although_its_diagnosis_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    require_measurable_host()

    def fail(*_: object) -> None:
        raise FaultwatchError("the service failed", "try again later")

    monkeypatch.setattr(Service, "diagnose", fail)
    monkeypatch.setenv("FAULTWATCH_HOME", str(tmp_path / "home"))
    make_history(tmp_path / "repo", [10])
    output = tmp_path / "profile.json"
    words = [str(tmp_path / "repo"), "--no-upload", "--output", str(output)]
    with pytest.raises(FaultwatchError, match="the service failed"):
        command.main(words, standalone_mode=False)
    assert "faults" in capsys.readouterr().out
    assert json.loads(output.read_text())["profile"]["case"]["workload"] == "pages"
