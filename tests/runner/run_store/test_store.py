"""A store keeps runs as files that never change, in a folder or in a branch, and says what it cannot use."""

import json
import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.contract.report import Ref, Report, Revision
from runner.errors import FaultwatchError
from runner.run_store.document_names import Kind, make_name
from runner.run_store.store import RunStore, open_store
from runner.run_store.store_version import MARKER
from runner.subject.repository import Repository
from tests.runner.sample_reports import report

Git = Callable[..., str]
Places = list[str]


@pytest.fixture(params=["folder", "branch"])
def place(request: pytest.FixtureRequest, tmp_path: Path, commit: Callable[..., str]) -> str:
    """A place for a store, as a user writes it."""
    commit("The project")
    return "branch:data" if request.param == "branch" else str(tmp_path / "store")


@pytest.fixture
def repository(tmp_path: Path, commit: Callable[..., str]) -> Repository:
    """The repository that has the branch."""
    return Repository(tmp_path / "subject", "subject")


def opened(place: str, repository: Repository, warnings: list[str] | None = None) -> RunStore:
    return open_store(place, repository, (warnings if warnings is not None else []).append, may_be_new=True)


def read_runs(store: RunStore) -> list[str]:
    return sorted(json.loads(content)["run_id"] for _, content in store.read(Kind.REPORTS))


def test_what_is_stored_is_read_back_as_it_was(place: str, repository: Repository) -> None:
    store, reports = opened(place, repository), [report(number) for number in range(3)]
    for one in (*reports, reports[0]):
        store.add_report(one)
    store.finish()
    contents = [content for _, content in opened(place, repository).read(Kind.REPORTS)]
    assert sorted(contents) == sorted(one.model_dump_json().encode() for one in reports)


def test_only_the_commits_and_tags_that_are_new_are_stored(place: str, repository: Repository) -> None:
    one = report(0).revision
    other = one.model_copy(update={"commit": "b" * 40})
    tag = Ref(kind="tag", name="v1", commit="a" * 40)

    def stored(*revisions: Revision) -> list[list[str]]:
        store = opened(place, repository)
        store.add_history("subject", revisions, [tag])
        store.finish()
        parts = [json.loads(content) for _, content in opened(place, repository).read(Kind.REVISIONS)]
        return sorted(
            [*(entry["commit"][0] for entry in part["revisions"]), *(ref["name"] for ref in part["refs"])]
            for part in parts
        )

    assert stored(one) == [["a", "v1"]]
    assert stored(one) == [["a", "v1"]]
    assert stored(one, other) == [["a", "v1"], ["b"]]


def test_the_runs_of_one_subject_can_be_read_alone(place: str, repository: Repository) -> None:
    store = opened(place, repository)
    for number, subject in enumerate(("one", "other")):
        store.add_report(report(number).model_copy(update={"subject": subject}))
    store.finish()
    assert [name.subject for name, _ in store.read(Kind.REPORTS, {"other"})] == ["other"]


def store_some(place: str, path: Path, first: int) -> None:
    store = opened(place, Repository(path, "subject"))
    for number in range(first, first + 5):
        store.add_report(report(number))
        store.finish()


def test_two_jobs_store_at_the_same_time_and_nothing_is_lost(place: str, repository: Repository) -> None:
    jobs = [
        multiprocessing.get_context("fork").Process(target=store_some, args=(place, repository.path, first))
        for first in (0, 3)
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
        assert job.exitcode == 0
    warnings: list[str] = []
    assert len(read_runs(opened(place, repository, warnings))) == 8
    assert warnings == []


def store_for_ever(place: str, path: Path) -> None:
    store, number = opened(place, Repository(path, "subject")), 0
    while True:
        store.add_report(report(number))
        store.finish()
        number += 1


def test_a_killed_job_leaves_whole_files_and_a_usable_store(place: str, repository: Repository) -> None:
    for seconds in (0.05, 0.2, 0.35):
        job = multiprocessing.get_context("fork").Process(target=store_for_ever, args=(place, repository.path))
        job.start()
        time.sleep(seconds)
        os.kill(job.pid or 0, signal.SIGKILL)
        job.join()
    warnings: list[str] = []
    store = opened(place, repository, warnings)
    for content in (content for _, content in store.read(Kind.REPORTS)):
        Report.model_validate_json(content)
    store.add_report(report(10**6))
    store.finish()
    assert str(report(10**6).run_id) in read_runs(opened(place, repository, warnings))
    assert warnings == []


def test_a_file_has_its_name_only_once_it_is_whole(
    tmp_path: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened(str(tmp_path / "store"), repository)

    def fail(*_: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("runner.run_store.folder_files.rename_durably", fail)
    with pytest.raises(FaultwatchError, match=r"cannot be stored in .*: No space left on device"):
        store.add_report(report(1))
    assert [file.name for file in (tmp_path / "store").rglob("*") if file.is_file()] == [MARKER]


def test_the_store_of_a_newer_version_is_refused(tmp_path: Path, repository: Repository) -> None:
    folder = tmp_path / "store"
    opened(str(folder), repository)
    (folder / MARKER).write_text('{"version": 7}')
    with pytest.raises(FaultwatchError, match="written by a newer Faultwatch: its format is 7"):
        opened(str(folder), repository)
    for damaged_marker in ("{}", "[" * 200_000, '{"version": true}', '{"version": -3}'):
        (folder / MARKER).write_text(damaged_marker)
        with pytest.raises(FaultwatchError, match="is damaged"):
            opened(str(folder), repository)


def test_a_folder_with_other_files_is_no_store(tmp_path: Path, repository: Repository) -> None:
    with pytest.raises(FaultwatchError, match="is not a run store"):
        opened(str(tmp_path / "subject"), repository)
    assert not (tmp_path / "subject" / MARKER).exists()


def test_a_file_is_no_store(tmp_path: Path, repository: Repository) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FaultwatchError, match="cannot be used as a store"):
        opened(str(tmp_path / "file"), repository)


def test_a_store_that_does_not_exist_is_only_made_to_be_filled(place: str, repository: Repository) -> None:
    with pytest.raises(FaultwatchError, match="there is no"):
        open_store(place, repository, print, may_be_new=False)


def test_damaged_files_are_named_and_left_out(tmp_path: Path, repository: Repository) -> None:
    warnings: list[str] = []
    store = opened(str(tmp_path / "store"), repository, warnings)
    for number in range(4):
        store.add_report(report(number))
    damaged, missing, pipe, _ = sorted((tmp_path / "store" / "reports").rglob("*.json"))
    damaged.write_bytes(damaged.read_bytes()[:-7])
    missing.unlink()
    missing.symlink_to("nowhere.json")
    pipe.unlink()
    os.mkfifo(pipe)
    assert len(read_runs(store)) == 1
    assert sorted(warning.split(": ")[1].split(" ")[0] for warning in warnings) == sorted(
        str(file.relative_to(tmp_path / "store")) for file in (damaged, missing, pipe)
    )


def test_a_damaged_list_of_commits_is_stored_again(tmp_path: Path, repository: Repository) -> None:
    revision = report(0).revision
    place = str(tmp_path / "store")
    warnings: list[str] = []
    opened(place, repository).add_history("subject", [revision], [])
    (file,) = (tmp_path / "store" / "revisions").rglob("*.json")
    content = file.read_bytes()
    file.write_bytes(content[:10])
    opened(place, repository, warnings).add_history("subject", [revision], [])
    assert len(warnings) == 1
    assert [stored for _, stored in opened(place, repository).read(Kind.REVISIONS)] == [content]


@pytest.mark.parametrize("name", ["../../x", "reports/../../x", "reports/a/b.json", f"reports/-x/aa/{'a' * 64}.json"])
def test_other_names_are_left_alone(tmp_path: Path, repository: Repository, name: str) -> None:
    warnings: list[str] = []
    store = opened(str(tmp_path / "store"), repository, warnings)
    file = tmp_path / "store" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("{}")
    assert read_runs(store) == []
    assert warnings == []


def test_the_name_of_a_file_follows_from_its_content() -> None:
    assert make_name(Kind.REPORTS, "zlib", b"{}") == make_name(Kind.REPORTS, "zlib", b"{}")
    assert make_name(Kind.REPORTS, "zlib", b"{}") != make_name(Kind.REPORTS, "zlib", b"{ }")


def test_what_a_killed_job_left_is_removed_after_a_day(tmp_path: Path, repository: Repository) -> None:
    store = opened(str(tmp_path / "store"), repository)
    old, new = (tmp_path / "store" / f".{name}.json.1-1-aa.partial" for name in ("old", "new"))
    old.touch()
    new.touch()
    os.utime(old, (0, 0))
    store.finish()
    assert (old.exists(), new.exists()) == (False, True)
