"""Submodules and files of Git LFS are there, or the revision is refused."""

import hashlib
import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.subject.checkout_content import TooLargeCheckout, write_commit
from runner.subject.repository import Repository, open_repository
from runner.subject.submodules_and_lfs import IncompleteCheckout

Run = Callable[..., str]
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize {}\n"
LFS = "*.bin filter=lfs diff=lfs merge=lfs -text\n"


@pytest.fixture
def repository(git: Run, tmp_path: Path) -> Repository:
    git("commit", "--quiet", "--allow-empty", "--message", "Start")
    return open_repository(str(tmp_path / "subject"), tmp_path)


@pytest.fixture
def submodule(git: Run, tmp_path: Path) -> list[str]:
    """A submodule with two commits; the project has it at the first."""
    library = tmp_path / "library"
    library.mkdir()

    def run(*words: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@b.invalid")
        done = subprocess.run(["git", "-C", str(library), *who, *words], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    run("init", "--quiet", "--initial-branch=main")
    commits = []
    for text in ("old", "new"):
        (library / "file").write_text(text)
        run("add", "--all")
        run("commit", "--quiet", "--message", text)
        commits.append(run("rev-parse", "HEAD"))
    git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "deps/library")
    git("-C", "deps/library", "checkout", "--quiet", commits[0])
    return commits


def whole(repository: Repository, tree: Path, **rules: bool) -> Path:
    write_commit(repository, repository.resolve("HEAD"), tree, **{"refuse_large": True, **rules})
    return tree


def test_a_submodule_is_there_at_the_commit_of_the_revision(
    repository: Repository, submodule: list[str], commit: Run, git: Run, tmp_path: Path
) -> None:
    commit("Old")
    git("-C", "deps/library", "checkout", "--quiet", submodule[1])
    assert (whole(repository, tmp_path / "tree") / "deps/library/file").read_text() == "old"
    commit("New")
    assert (whole(repository, tmp_path / "new") / "deps/library/file").read_text() == "new"
    assert not list((tmp_path / "new").rglob(".git"))
    assert not list(tmp_path.glob("tmp*"))


def test_a_submodule_that_the_clone_lacks_is_refused_in_one_line(
    repository: Repository, submodule: list[str], commit: Run, tmp_path: Path
) -> None:
    commit("Add a submodule")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", str(repository.path), str(clone)], check=True)
    plain = open_repository(str(clone), tmp_path)
    with pytest.raises(IncompleteCheckout, match=r"lacks the submodule deps/library at [0-9a-f]{12}: run `git"):
        whole(plain, tmp_path / "tree")
    assert (whole(plain, tmp_path / "bare", refuse_incomplete=False) / "deps/library").is_dir()


def test_a_link_to_a_commit_that_nothing_explains_stays_an_empty_folder(
    repository: Repository, git: Run, tmp_path: Path
) -> None:
    git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},odd")
    git("commit", "--quiet", "--message", "Odd")
    assert not list((whole(repository, tmp_path / "tree") / "odd").iterdir())


@pytest.mark.parametrize("name", ["../../hooks", "/etc", "../modules/library"])
def test_the_name_of_a_submodule_leads_nowhere_else(
    name: str, repository: Repository, git: Run, commit: Run, tmp_path: Path
) -> None:
    git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},odd")
    (tmp_path / "subject" / ".gitmodules").write_text(f'[submodule "{name}"]\n\tpath = odd\n\turl = ./\n')
    git("add", ".gitmodules")
    git("commit", "--quiet", "--message", "Odd")
    with pytest.raises(IncompleteCheckout) as caught:
        whole(repository, tmp_path / "tree")
    assert caught.value.what == f"the name of the submodule odd in .gitmodules is not allowed: {name}"
    assert "`incomplete = true`" in caught.value.remedy
    assert not list((whole(repository, tmp_path / "bare", refuse_incomplete=False) / "odd").iterdir())


def kept(repository: Repository, content: bytes) -> str:
    """Keep a content where Git LFS does; return its pointer."""
    name = hashlib.sha256(content).hexdigest()
    place = repository.get_common_directory() / "lfs" / "objects" / name[:2] / name[2:4] / name
    place.parent.mkdir(parents=True)
    place.write_bytes(content)
    return POINTER.format(name, len(content))


def test_a_file_of_git_lfs_is_there_with_its_mode(repository: Repository, commit: Run, tmp_path: Path) -> None:
    pointer = kept(repository, b"content")
    (tmp_path / "subject" / "tool.bin").write_text(pointer)
    (tmp_path / "subject" / "tool.bin").chmod(0o755)
    (tmp_path / "subject" / "pointer.txt").write_text(pointer)
    (tmp_path / "subject" / ".gitattributes").write_text(LFS)
    commit("Add data")
    tree = whole(repository, tmp_path / "tree")
    assert (tree / "tool.bin").read_bytes() == b"content"
    assert (tree / "tool.bin").stat().st_mode & stat.S_IXUSR
    assert (tree / "pointer.txt").read_text() == pointer, "the attributes do not name it"


def test_a_file_of_git_lfs_may_have_any_name(repository: Repository, commit: Run, tmp_path: Path) -> None:
    names = [os.fsdecode(name) for name in (b"\xff.bin", b"na\xc3\xafve \xe2\x80\xa8.bin", b"line\nbreak.bin")]
    for name in names:
        (tmp_path / "subject" / name).write_text(kept(repository, name.encode(errors="surrogateescape")))
    (tmp_path / "subject" / ".gitattributes").write_text(LFS)
    commit("Add data")
    tree = whole(repository, tmp_path / "tree")
    assert [(tree / name).read_bytes() for name in names] == [os.fsencode(name) for name in names]
    (tmp_path / "subject" / names[0]).write_text(POINTER.format("0" * 64, 7))
    commit("Lose data")
    with pytest.raises(IncompleteCheckout, match=r"lacks an intact copy of .\.bin, which"):
        whole(repository, tmp_path / "other")


@pytest.mark.parametrize("damage", ["none", "content", "size"])
def test_a_file_of_git_lfs_that_the_clone_lacks_is_refused(
    damage: str, repository: Repository, commit: Run, tmp_path: Path
) -> None:
    pointer = kept(repository, b"content")
    place = next((tmp_path / "subject/.git/lfs/objects").rglob("?" * 64))
    if damage == "none":
        place.unlink()
    else:
        place.write_bytes(b"another" if damage == "content" else b"more content")
    (tmp_path / "subject" / "data.bin").write_text(pointer)
    (tmp_path / "subject" / ".gitattributes").write_text(LFS)
    commit("Add data")
    with pytest.raises(
        IncompleteCheckout,
        match=(
            r"this clone lacks an intact copy of data\.bin, which is stored in Git "
            r"LFS"
        ),
    ):
        whole(repository, tmp_path / "tree")
    assert (whole(repository, tmp_path / "some", refuse_incomplete=False) / "data.bin").read_text() == pointer


def test_pointers_to_more_than_the_disk_should_hold_are_refused(
    repository: Repository, commit: Run, tmp_path: Path
) -> None:
    (tmp_path / "subject" / "data.bin").write_text(POINTER.format("0" * 64, 1 << 40))
    (tmp_path / "subject" / ".gitattributes").write_text(LFS)
    commit("Add data")
    with pytest.raises(TooLargeCheckout, match="files are larger than"):
        whole(repository, tmp_path / "tree")


def test_all_files_of_all_commits_have_one_time(repository: Repository, commit: Run, tmp_path: Path) -> None:
    commit("Add files", configure="x", Makefile="y")
    trees = [whole(repository, tmp_path / "tree")]
    commit("Change them", configure="z")
    trees.append(whole(repository, tmp_path / "tree-2"))
    assert len({file.stat().st_mtime for tree in trees for file in tree.iterdir()}) == 1


def test_a_commit_that_refers_to_a_submodule_very_often_does_not_fill_the_disk(
    repository: Repository, submodule: list[str], git: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = tmp_path / "subject" / ".gitmodules"
    for number in range(20):
        git("update-index", "--add", "--cacheinfo", f"160000,{submodule[0]},copy-{number}")
        modules.write_text(f"{modules.read_text()}\tpath = copy-{number}\n")
    git("add", ".gitmodules")
    git("commit", "--quiet", "--message", "Refer often")
    assert (whole(repository, tmp_path / "tree") / "copy-19/file").read_text() == "old"
    monkeypatch.setattr("runner.subject.checkout_size.MAX_FILES", 30)
    with pytest.raises(TooLargeCheckout, match="more than 30 files and folders"):
        whole(repository, tmp_path / "large-tree")
    whole(repository, tmp_path / "trusted-tree", refuse_large=False)
