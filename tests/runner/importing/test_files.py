"""Whole folders: every file of a known format, with what its name says."""

import errno
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from runner.contract.report import Revision
from runner.errors import FaultwatchError
from runner.importing import ImportDefaults, files, make_reports, read_file, read_folder
from tests.runner.importing.recorded import DATA, FILES, GIVEN

NOTHING = ImportDefaults(subject="s", this_host="h")
_BENCH = "BenchmarkA 10 {} ns/op\n"


@pytest.mark.parametrize("name", FILES)
def test_the_format_is_recognised_by_content(name: str) -> None:
    runs = read_file(DATA / FILES[name], GIVEN)
    assert {run.settings["import.format"] for run in runs} == {name}


def test_a_history_of_asv(tmp_path: Path) -> None:
    found = read_folder(DATA / "asv", NOTHING)
    assert found.left_out == ["benchmarks.json", "bench-host/machine.json"]
    assert len({run.revision for run in found.runs}) == 2
    assert len(make_reports(found.runs, NOTHING)) == 14


def test_baselines_of_criterion_are_revisions() -> None:
    found = read_folder(DATA / "criterion", NOTHING)
    assert {run.revision for run in found.runs} == {"v1.0"}, "the latest measurement has no name"
    given = read_folder(DATA / "criterion", replace(NOTHING, revision="HEAD"))
    assert {run.revision for run in given.runs} == {"v1.0", "HEAD"}


def test_names_say_the_revision_and_the_time(tmp_path: Path) -> None:
    for number, name in enumerate(["2025-01-05-abc1234.txt", "nightly/0123abc/20250106_101500.txt.gz"]):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(_BENCH.format(number))
    (tmp_path / "notes.md").write_text("# Notes\n")
    (tmp_path / "picture").write_bytes(b"\x89PNG\xff")
    found = read_folder(tmp_path, NOTHING)
    assert [(run.revision, run.started_at) for run in found.runs] == [
        ("abc1234", datetime(2025, 1, 5, tzinfo=UTC)),
        ("0123abc", datetime(2025, 1, 6, 10, 15, tzinfo=UTC)),
    ]
    assert found.left_out == ["notes.md", "picture"]


def test_a_repository_knows_names_and_times(tmp_path: Path) -> None:
    for tag in ("v1.0", "v1.1"):
        (tmp_path / f"{tag}.txt").write_text(_BENCH.format(5))
    tags = {
        tag: Revision(commit=digit * 40, committed_at=datetime(2024, 1, int(digit), tzinfo=UTC), title=tag)
        for tag, digit in (("v1.0", "1"), ("v1.1", "2"))
    }
    defaults = replace(NOTHING, find_commit=tags.get)
    reports = make_reports(read_folder(tmp_path, defaults).runs, defaults)
    assert [(report.revision.title, report.started_at.day) for report in reports] == [("v1.0", 1), ("v1.1", 2)]


def test_revisions_are_not_ordered_by_the_times_of_their_files(tmp_path: Path) -> None:
    for name in ("abc1234.txt", "abc1235.txt"):
        (tmp_path / name).write_text(_BENCH.format(5))
    with pytest.raises(FaultwatchError, match=r"the order of the 2 revisions is unknown.*--repo"):
        make_reports(read_folder(tmp_path, NOTHING).runs, NOTHING)


def test_a_folder_is_imported_completely_or_not_at_all(tmp_path: Path) -> None:
    shutil.copy(DATA / "hyperfine.json", tmp_path)
    (tmp_path / "broken.txt").write_text("BenchmarkA 10 soon ns/op\n")
    with pytest.raises(FaultwatchError, match=r"broken\.txt: line 1: 'soon' is not a number"):
        read_folder(tmp_path, GIVEN)


@pytest.mark.parametrize("hidden", [".", "nightly"])
def test_a_folder_that_cannot_be_listed_is_refused(
    hidden: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    list_entries = os.scandir

    def refuse(folder: str) -> object:
        if Path(folder) == tmp_path / hidden:
            raise PermissionError(errno.EACCES, "Permission denied", folder)
        return list_entries(folder)

    (tmp_path / "nightly").mkdir()
    for folder in (tmp_path, tmp_path / "nightly"):
        shutil.copy(DATA / "hyperfine.json", folder)
    monkeypatch.setattr("os.scandir", refuse)
    with pytest.raises(FaultwatchError, match=f"^{tmp_path / hidden} cannot be read: Permission denied"):
        read_folder(tmp_path, GIVEN)


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n")
    with pytest.raises(FaultwatchError, match="no file in the folder has a format"):
        read_folder(tmp_path, GIVEN)


def test_a_folder_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_FILES", 2)
    for number in range(3):
        (tmp_path / str(number)).write_text(_BENCH.format(number))
    with pytest.raises(FaultwatchError, match="more than 2 files"):
        read_folder(tmp_path, GIVEN)


def test_a_file_or_folder_with_too_many_runs_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_RUNS", 2)
    (tmp_path / "history.txt").write_text("".join(f"Benchmark{name} 10 5 ns/op\n" for name in "ABC"))
    with pytest.raises(FaultwatchError, match=r"history\.txt: more than 2 runs"):
        read_file(tmp_path / "history.txt", GIVEN)
    with pytest.raises(FaultwatchError, match="more than 2 runs"):
        read_folder(tmp_path, GIVEN)
