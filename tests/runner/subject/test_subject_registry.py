"""Where the repository and the workloads of a subject are on this host."""

import subprocess
from pathlib import Path

from runner.settings import Settings
from runner.subject.repository import Repository
from runner.subject.subject_registry import SubjectEntry, find_subject, register_subject
from runner.workload import load_workload

ROOT = Path(__file__).parents[3]
COPIES = load_workload(ROOT / "workloads" / "copy_service")
OTHER = load_workload(ROOT / "workloads" / "tensor_copy")


def test_each_workload_of_a_subject_is_remembered(tmp_path: Path) -> None:
    settings = Settings(tmp_path / "home", None, "box")
    repository = Repository(tmp_path, "copies")
    for workload in (COPIES, OTHER, COPIES):
        register_subject(settings, repository, workload)
    workloads = {one.name: str(one.path) for one in (COPIES, OTHER)}
    assert find_subject(settings, "copies") == SubjectEntry(str(tmp_path), workloads)
    assert find_subject(settings, "other") == SubjectEntry()


def test_a_clone_is_remembered_by_its_address(tmp_path: Path) -> None:
    settings = Settings(tmp_path, None, "box")
    clone = settings.clones / "copies-1.git"
    for words in (("init", "--quiet", "--bare"), ("remote", "add", "origin", "https://git.example.org/copies")):
        subprocess.run(["git", "-C", str(clone), *words] if words[0] != "init" else ["git", *words, clone], check=True)
    register_subject(settings, Repository(clone, "copies", bare=True), COPIES)
    assert find_subject(settings, "copies").repository == "https://git.example.org/copies"


def test_a_damaged_file_is_nothing_known_and_no_reason_to_fail(tmp_path: Path) -> None:
    settings = Settings(tmp_path, None, "box")
    (tmp_path / "subjects").mkdir()
    for text in ("", "[]", '{"repository": 1}', '{"repository": "x", "workloads": []}'):
        (tmp_path / "subjects" / "copies.json").write_text(text)
        assert find_subject(settings, "copies") == SubjectEntry()
    register_subject(settings, Repository(tmp_path, "copies"), COPIES)
    assert find_subject(settings, "copies").workloads
