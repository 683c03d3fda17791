import os
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
    found = repository.list_revisions(f"{history[1]}..HEAD")
    assert [revision.commit for revision in found] == history[2:]
    assert [revision.title for revision in found] == ["Commit 2", "Commit 3", "Commit 4"]
    assert found[0].parents == (history[1],)


def test_without_dots_everything_up_to_a_revision(history: list[str], tmp_path: Path) -> None:
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    assert [revision.commit for revision in repository.list_revisions("HEAD~2")] == history[:3]


def test_commits_are_connected_by_all_commits_since_their_common_ancestor(
    history: list[str], git: Run, commit: Run, tmp_path: Path
) -> None:
    git("checkout", "--quiet", "-b", "side", history[2])
    side = commit("Side")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)

    def connect(*commits: str) -> list[str]:
        return [revision.commit for revision in repository.list_connecting_revisions(commits)]

    assert connect(history[4], history[1]) == history[1:]
    first, *others = connect(side, history[3])
    assert (first, set(others)) == (history[2], {side, history[3]})
    assert connect(history[3]) == [history[3]]
    assert connect() == []
    git("checkout", "--quiet", "--orphan", "apart")
    apart = commit("Apart")
    assert set(connect(apart, history[1])) == {apart, *history[:2]}, "without a common ancestor, all of them"


def test_lists_the_tags_and_branches_that_name_commits(history: list[str], git: Run, tmp_path: Path) -> None:
    git("tag", "v1.0", history[1])
    git("tag", "--annotate", "--message", "Release", "v1.1", history[3])
    git("tag", "tree", f"{history[0]}^{{tree}}")
    git("update-ref", "refs/remotes/origin/next", history[2])
    found = open_repository(str(tmp_path / "subject"), tmp_path).list_refs()
    assert {(ref.kind, ref.name, ref.commit) for ref in found} == {
        ("tag", "v1.0", history[1]),
        ("tag", "v1.1", history[3]),
        ("branch", "main", history[4]),
        ("branch", "origin/next", history[2]),
    }


def test_a_commit_keeps_its_patch_id_when_it_is_rewritten(git: Run, commit: Run, tmp_path: Path) -> None:
    text = "".join(f"line {number}\n" for number in range(40))

    def write(file: str, content: str, title: str) -> str:
        (tmp_path / "subject" / file).write_text(content)
        git("add", file)
        return commit(title)

    first, grow = write("a", text, "Begin"), write("a", text.replace("line 20", "LINE"), "Grow")
    git("commit", "--quiet", "--amend", "--message", "Grow the table")
    amended = git("rev-parse", "HEAD")
    git("checkout", "--quiet", "-b", "other", first)
    top = write("a", f"top\n{text}", "Another line above")
    git("cherry-pick", amended)
    picked = git("rev-parse", "HEAD")
    changed = write("a", text.replace("line 20", "lines"), "Grow")
    git("config", "diff.context", "1")
    git("config", "diff.algorithm", "patience")
    git("config", "diff.external", "false")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    patches = repository.compute_patch_ids([first, grow, amended, top, picked, changed])
    assert set(patches) == {grow, amended, top, picked, changed}, "a commit without parents has none"
    assert patches[grow] == patches[amended] == patches[picked]
    assert len(set(patches.values())) == 3
    difference = git("show", "--unified=3", "--diff-algorithm=myers", "--no-ext-diff", grow)
    printed = subprocess.run(
        ["git", "patch-id", "--stable"], input=f"{difference}\n", capture_output=True, text=True, check=True
    )
    assert printed.stdout.split() == [patches[grow], grow]
    assert repository.compute_patch_ids(["0" * 40]) == {}, "no error, for the author and the title are left"


def test_follows_the_main_line_unless_asked(history: list[str], git: Run, commit: Run, tmp_path: Path) -> None:
    git("checkout", "--quiet", "-b", "side", history[3])
    side = commit("Side", other="x")
    git("checkout", "--quiet", "main")
    git("merge", "--quiet", "--no-ff", "--message", "Merge", "side")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    assert side not in [revision.commit for revision in repository.list_revisions("HEAD")]
    assert side in [revision.commit for revision in repository.list_revisions("HEAD", first_parent=False)]


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
        repository.list_revisions(span)


@pytest.mark.parametrize("name", ["w[n=1]", "*", "", "HEAD^{tree}", "-x", ":/", ":(glob)*"])
def test_a_name_that_is_no_commit_is_refused_even_if_it_is_a_pattern_of_paths(
    name: str, history: list[str], tmp_path: Path
) -> None:
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    with pytest.raises(FaultwatchError, match="has no commit"):
        repository.get_revision(name)


def test_a_shallow_clone_is_refused_where_it_does_not_reach(history: list[str], tmp_path: Path) -> None:
    clone = tmp_path / "shallow"
    source = f"file://{tmp_path / 'subject'}"
    subprocess.run(["git", "clone", "--quiet", "--depth", "3", source, str(clone)], check=True)
    repository = open_repository(str(clone), tmp_path)
    with pytest.raises(FaultwatchError, match=r"shallow.*unshallow"):
        repository.list_revisions("HEAD")
    assert len(repository.list_revisions("HEAD~1..HEAD")) == 1


def test_clones_an_address_once_and_brings_it_up_to_date(history: list[str], commit: Run, tmp_path: Path) -> None:
    address = f"file://{tmp_path / 'subject'}"
    first = open_repository(address, tmp_path / "clones")
    assert first.name == "subject"
    assert len(first.list_revisions("HEAD")) == 5
    newest = commit("New", file="new")
    assert open_repository(address, tmp_path / "clones").list_revisions("main")[-1].commit == newest


def test_a_clone_follows_a_tag_that_was_moved(history: list[str], git: Run, tmp_path: Path) -> None:
    address, cache = f"file://{tmp_path / 'subject'}", tmp_path / "cache"
    git("tag", "nightly", history[1])
    git("tag", "withdrawn", history[1])
    assert open_repository(address, cache).resolve("nightly") == history[1]
    git("tag", "--force", "nightly", history[3])
    git("tag", "--delete", "withdrawn")
    git("tag", "v1.0", history[4])
    tags = {ref.name: ref.commit for ref in open_repository(address, cache).list_refs() if ref.kind == "tag"}
    assert tags == {"nightly": history[3], "v1.0": history[4]}


def test_a_clone_follows_a_renamed_default_branch(history: list[str], git: Run, commit: Run, tmp_path: Path) -> None:
    address = f"file://{tmp_path / 'subject'}"
    open_repository(address, tmp_path / "clones")
    git("branch", "--move", "trunk")
    newest = commit("New", file="new")
    assert open_repository(address, tmp_path / "clones").resolve("HEAD") == newest


@pytest.mark.parametrize(
    ("origin", "name"),
    [
        ("https://forge.example/group/project.git", "project"),
        ("https://someone:word@forge.example/group/project/", "project"),
        ("git@forge.example:project.git", "project"),
        ("/srv/git/project/.git", "project"),
        ("https://forge.example/group/repo", "repo"),
        ("https://forge.example/group/pro ject;x", "pro-ject-x"),
        ("..", "job-2"),
        ("", "job-2"),
    ],
)
def test_all_clones_of_a_project_are_one_subject(
    origin: str, name: str, history: list[str], git: Run, tmp_path: Path
) -> None:
    if origin:
        git("remote", "add", "origin", origin)
    git("worktree", "add", "--quiet", "--detach", str(tmp_path / "elsewhere"))
    folder = (tmp_path / "subject").rename(tmp_path / "job@2")
    subprocess.run(["git", "-C", str(folder), "worktree", "repair"], check=True, capture_output=True)
    assert open_repository(str(folder), tmp_path / "cache").name == name
    assert open_repository(str(tmp_path / "elsewhere"), tmp_path / "cache").name == name


def test_a_mirror_whose_folder_has_no_name_is_called_as_the_one_above_it(history: list[str], tmp_path: Path) -> None:
    mirror, clone = tmp_path / "group+project" / "repo", tmp_path / "clone"
    for command in (["--bare", tmp_path / "subject", mirror], [f"file://{mirror}", clone]):
        subprocess.run(["git", "clone", "--quiet", *command], check=True)
    subprocess.run(["git", "-C", mirror, "remote", "remove", "origin"], check=True)
    assert open_repository(str(mirror), tmp_path / "cache").name == "group-project"
    assert open_repository(str(clone), tmp_path / "cache").name == "group-project"


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


def test_a_repository_that_git_cannot_read_is_called_one(history: list[str], tmp_path: Path) -> None:
    with (tmp_path / "subject/.git/config").open("a") as config:
        config.write("[bad\n")
    with pytest.raises(FaultwatchError, match=r"subject cannot be read as a git repository: .*config"):
        open_repository(str(tmp_path / "subject"), tmp_path / "clones")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files to another user")
def test_the_clone_of_another_user_is_named_with_what_to_trust(history: list[str], tmp_path: Path) -> None:
    (tmp_path / "subject" / "folder").mkdir()
    os.chown(tmp_path / "subject", 65534, 65534)
    with pytest.raises(FaultwatchError, match="belongs to another user") as caught:
        open_repository(str(tmp_path / "subject" / "folder"), tmp_path / "clones")
    assert caught.value.remedy.endswith(f"safe.directory {tmp_path / 'subject'}`")


def test_says_that_git_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FaultwatchError, match="git is not installed"):
        open_repository(str(tmp_path), tmp_path / "clones")


def test_a_change_that_no_commit_holds_is_dirt(history: list[str], tmp_path: Path) -> None:
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    assert repository.list_changed_files() == []
    (tmp_path / "subject" / "untracked").write_text("is not dirt")
    assert repository.list_changed_files() == []
    (tmp_path / "subject" / "file").write_text("changed")
    assert repository.list_changed_files() == ["file"]


def test_a_changed_file_with_a_name_of_any_letters_is_named_as_it_is(
    history: list[str], git: Run, tmp_path: Path
) -> None:
    (tmp_path / "subject" / "größe ü").write_text("new")
    git("-C", str(tmp_path / "subject"), "add", "größe ü")
    assert open_repository(str(tmp_path / "subject"), tmp_path).list_changed_files() == ["größe ü"]


@pytest.mark.parametrize("folder", [b"caf\xe9", b"ends in a space ", b"ends in a line\n"])
def test_a_clone_may_be_in_a_folder_of_any_name(folder: bytes, history: list[str], git: Run, tmp_path: Path) -> None:
    clone = tmp_path / os.fsdecode(folder)
    address = f"file://{tmp_path}/subject"
    subprocess.run(["git", "clone", "--quiet", "--depth=2", "--", address, clone], check=True)
    repository = open_repository(str(clone), tmp_path)
    assert repository.name == "subject", "it is named after its remote"
    assert repository.get_common_directory() == clone / ".git"
    assert not repository.may_lack_fork_point("HEAD", "HEAD")
    assert repository.list_changed_files() == []
    changed_file = os.fsdecode(b"na\xefve ")
    (clone / changed_file).write_text("new")
    subprocess.run(["git", "-C", clone, "add", "--", changed_file], check=True)
    assert repository.list_changed_files() == [changed_file]


def test_a_clone_without_a_checkout_is_not_dirty(history: list[str], git: Run, tmp_path: Path) -> None:
    git("clone", "--quiet", "--no-checkout", str(tmp_path / "subject"), str(tmp_path / "clone"))
    repository = open_repository(str(tmp_path / "clone"), tmp_path)
    assert repository.list_changed_files() == []
    assert [revision.commit for revision in repository.list_revisions("HEAD~1..HEAD")] == [history[-1]]


def snapshot(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return everything about the files of a folder that writing would change."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {
        str(path): (path.stat().st_mtime_ns, path.stat().st_ctime_ns, path.read_bytes()) for path in sorted(files)
    } | {str(path): (path.stat().st_mtime_ns, 0, b"") for path in folder.rglob("*") if path.is_dir()}


def test_an_export_never_writes_to_the_repository(history: list[str], git: Run, tmp_path: Path) -> None:
    away = tmp_path / "away"
    git("worktree", "add", "--quiet", "--detach", str(away), history[1])
    away.rename(tmp_path / "on-a-disk-that-is-not-mounted")
    hook = tmp_path / "subject" / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/hooked\n")
    hook.chmod(0o755)
    git("config", "core.splitIndex", "true")
    before = snapshot(tmp_path / "subject")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    repository.list_changed_files()
    repository.list_revisions("HEAD")
    repository.export(history[2], tmp_path / "place" / "tree")
    assert [(path.name, path.read_text()) for path in (tmp_path / "place" / "tree").iterdir()] == [("file", "2")]
    assert [path.name for path in (tmp_path / "place").iterdir()] == ["tree"]
    assert snapshot(tmp_path / "subject") == before
    assert "on-a-disk" not in git("worktree", "list")
    assert str(away) in git("worktree", "list")
    assert not (tmp_path / "hooked").exists()


def test_an_export_holds_every_file_of_the_commit(commit: Run, git: Run, tmp_path: Path) -> None:
    attributes = "left-out export-ignore\nversion export-subst\n"
    head = commit("One", __gitattributes=attributes, **{"left-out": "a", "version": "$Format:%H$"})
    (tmp_path / "subject" / "program").write_text("#!/bin/sh\n")
    (tmp_path / "subject" / "program").chmod(0o755)
    (tmp_path / "subject" / "link").symlink_to("program")
    git("add", "--all")
    head = commit("Two")
    git("sparse-checkout", "set", "no-such-folder")
    tree = tmp_path / "tree"
    open_repository(str(tmp_path / "subject"), tmp_path).export(head, tree)
    assert {path.name for path in tree.iterdir()} == {".gitattributes", "left-out", "version", "program", "link"}
    assert (tree / "version").read_text() == "$Format:%H$"
    assert (tree / "program").stat().st_mode & 0o111
    assert (tree / "link").is_symlink()


@pytest.mark.parametrize("kind", ["bare", "worktree", "mirror"])
def test_exports_from_every_kind_of_repository(kind: str, history: list[str], git: Run, tmp_path: Path) -> None:
    place = tmp_path / kind
    if kind == "worktree":
        git("worktree", "add", "--quiet", "--detach", str(place), history[4])
    else:
        subprocess.run(["git", "clone", "--quiet", f"--{kind}", str(tmp_path / "subject"), str(place)], check=True)
    open_repository(str(place), tmp_path).export(history[3], tmp_path / "tree")
    assert (tmp_path / "tree" / "file").read_text() == "3"


def test_a_title_with_anything_in_it(commit: Run, tmp_path: Path) -> None:
    commit("Say <b>«naïve»</b> & \x1b[31mred\x1b[0m; rm -rf /")
    revision = open_repository(str(tmp_path / "subject"), tmp_path).get_revision("HEAD")
    assert revision.title.startswith("Say <b>«naïve»</b> & ")


def test_the_merge_base_is_where_two_branches_parted(history: list[str], git: Run, commit: Run, tmp_path: Path) -> None:
    git("checkout", "--quiet", "-b", "side", history[2])
    commit("On the side", file="side")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    assert repository.find_merge_bases("main", "side") == (history[2],)
    git("checkout", "--quiet", "--orphan", "elsewhere")
    commit("Another beginning", file="other")
    with pytest.raises(FaultwatchError, match="main and elsewhere have no common ancestor"):
        repository.find_merge_bases("main", "elsewhere")


@pytest.mark.parametrize(
    ("person", "year"),
    [
        ("a <a@b.invalid> 884541686400 +0000", 1970),
        ("a <a@b.invalid> 1700000000 +9999", 2023),
        ("a <a@b.invalid> 1700000000 +51800", 2023),
        ("a <a@b.invalid> 0 +1400", 1970),
        # git itself ends where it writes these dates: the zone moves them beyond 64 bits.
        ("a <a@b.invalid> 9223372036854775807 +1400", 1970),
        ("a <a@b.invalid> 9223372036854775806 +9999", 1970),
        ("a <a@b.invalid> 9223372036854775808 -1200", 1970),
        ("a <a@b.invalid> 18446744073709551616 +0000", 1970),
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
    (revision,) = repository.list_revisions(f"{parent}..{head}")
    assert revision.title == "one\u2028two\x0bthree\x1cfour"
    assert revision.committed_at.year == year
    assert repository.get_revision(head) == revision


def test_the_home_of_an_unknown_user_is_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(FaultwatchError, match="~nobody-of-this-name/clone: no such folder"):
        open_repository("~nobody-of-this-name/clone", tmp_path)
