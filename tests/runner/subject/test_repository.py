import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.errors import FaultwatchError
from runner.subject.repository import open_repository

Run = Callable[..., str]


@pytest.fixture
def history(commit: Run) -> list[str]:
    return [commit(f"Commit {number}", file=str(number)) for number in range(5)]


def test_lists_a_range_oldest_first_without_its_start(history: list[str], tmp_path: Path) -> None:
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    found = repository.revisions(f"{history[1]}..HEAD")
    assert [revision.commit for revision in found] == history[2:]
    assert [revision.title for revision in found] == ["Commit 2", "Commit 3", "Commit 4"]
    assert found[0].parents == (history[1],)


def test_without_dots_everything_up_to_a_revision(history: list[str], tmp_path: Path) -> None:
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    assert [revision.commit for revision in repository.revisions("HEAD~2")] == history[:3]


def test_follows_the_main_line_unless_asked(history: list[str], git: Run, commit: Run, tmp_path: Path) -> None:
    git("checkout", "--quiet", "-b", "side", history[3])
    side = commit("Side", other="x")
    git("checkout", "--quiet", "main")
    git("merge", "--quiet", "--no-ff", "--message", "Merge", "side")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    assert side not in [revision.commit for revision in repository.revisions("HEAD")]
    assert side in [revision.commit for revision in repository.revisions("HEAD", first_parent=False)]


@pytest.mark.parametrize(
    ("span", "said"),
    [
        ("HEAD..HEAD~1", "has no commits"),
        ("HEAD..HEAD", "has no commits"),
        ("nonsense..HEAD", "no commit 'nonsense'"),
        ("HEAD...main", "two dots"),
        ("--output=x", "no commit '--output=x'"),
    ],
)
def test_refuses_a_range_that_makes_no_sense(span: str, said: str, history: list[str], tmp_path: Path) -> None:
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    with pytest.raises(FaultwatchError, match=said):
        repository.revisions(span)


def test_a_shallow_clone_is_refused_where_it_does_not_reach(history: list[str], tmp_path: Path) -> None:
    clone = tmp_path / "shallow"
    source = f"file://{tmp_path / 'subject'}"
    subprocess.run(["git", "clone", "--quiet", "--depth", "3", source, str(clone)], check=True)
    repository = open_repository(str(clone), tmp_path)
    with pytest.raises(FaultwatchError, match=r"shallow.*unshallow"):
        repository.revisions("HEAD")
    assert len(repository.revisions("HEAD~1..HEAD")) == 1


def test_clones_an_address_once_and_brings_it_up_to_date(history: list[str], commit: Run, tmp_path: Path) -> None:
    address = f"file://{tmp_path / 'subject'}"
    first = open_repository(address, tmp_path / "clones")
    assert first.name == "subject"
    assert len(first.revisions("HEAD")) == 5
    newest = commit("New", file="new")
    assert open_repository(address, tmp_path / "clones").revisions("main")[-1].commit == newest


@pytest.mark.parametrize(
    ("location", "said"),
    [("nowhere", "no such folder"), ("file:///nonexistent/x.git", "git clone"), (".", "not a git repository")],
)
def test_says_what_is_wrong_with_a_location(
    location: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FaultwatchError, match=said):
        open_repository(location, tmp_path / "clones")
    assert not list((tmp_path / "clones").glob("*.git"))


def test_a_change_that_no_commit_holds_is_dirt(history: list[str], tmp_path: Path) -> None:
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    assert not repository.is_dirty()
    (tmp_path / "subject" / "untracked").write_text("is not dirt")
    assert not repository.is_dirty()
    (tmp_path / "subject" / "file").write_text("changed")
    assert repository.is_dirty()


def test_a_checkout_that_was_killed_while_git_made_it_is_made_again(
    history: list[str], git: Run, tmp_path: Path
) -> None:
    place = tmp_path / "tree"
    git("worktree", "add", "--quiet", "--detach", "--lock", str(place), history[1])
    shutil.rmtree(place)
    with open_repository(str(tmp_path / "subject"), tmp_path / "clones").checkout(history[2], place) as tree:
        assert tree.is_dir()


def test_a_checkout_leaves_nothing_behind(history: list[str], git: Run, tmp_path: Path) -> None:
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    with repository.checkout(history[2], tmp_path / "tree") as tree:
        assert (tree / "file").read_text() == "2"
    assert not (tmp_path / "tree").exists()
    assert git("worktree", "list").count("\n") == 0


def test_a_title_with_anything_in_it(commit: Run, tmp_path: Path) -> None:
    commit("Say <b>«naïve»</b> & \x1b[31mred\x1b[0m; rm -rf /")
    revision = open_repository(str(tmp_path / "subject"), tmp_path).revision("HEAD")
    assert revision.title.startswith("Say <b>«naïve»</b> & ")


def test_the_merge_base_is_where_two_branches_parted(history: list[str], git: Run, commit: Run, tmp_path: Path) -> None:
    git("checkout", "--quiet", "-b", "side", history[2])
    commit("On the side", file="side")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    assert repository.merge_base("main", "side") == history[2]
    git("checkout", "--quiet", "--orphan", "elsewhere")
    commit("Another beginning", file="other")
    with pytest.raises(FaultwatchError, match="main and elsewhere have no common ancestor"):
        repository.merge_base("main", "elsewhere")


@pytest.mark.parametrize(
    ("person", "year"),
    [
        ("a <a@b.invalid> 884541686400 +0000", 1970),
        ("a <a@b.invalid> 1700000000 +9999", 1970),
        ("a\u2028b\x1c\x85 <a@b.invalid> 1700000000 +0000", 2023),
    ],
)
def test_a_commit_with_strange_fields_is_read(person: str, year: int, commit: Run, tmp_path: Path) -> None:
    parent = commit("One")
    folder = tmp_path / "subject"
    tree = subprocess.run(
        ["git", "-C", folder, "rev-parse", f"{parent}^{{tree}}"], check=True, capture_output=True, text=True
    ).stdout.strip()
    text = f"tree {tree}\nparent {parent}\nauthor {person}\ncommitter {person}\n\none\u2028two\x0bthree\x1cfour\n"
    words = ["git", "-C", folder, "hash-object", "-t", "commit", "-w", "--literally", "--stdin"]
    head = subprocess.run(words, input=text.encode(), check=True, capture_output=True).stdout.decode().strip()
    repository = open_repository(str(folder), tmp_path)
    (revision,) = repository.revisions(f"{parent}..{head}")
    assert revision.title == "one\u2028two\x0bthree\x1cfour"
    assert revision.committed_at.year == year
    assert repository.revision(head) == revision
