"""Git reads and writes the same whatever is configured, runs nothing that a repository names, and ends in time."""

import os
import select
import signal
import socket
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from runner.adoption.sources import read_sources
from runner.adoption.submodules import find_missing_submodules
from runner.cli import init
from runner.errors import FaultwatchError
from runner.settings import Settings
from runner.subject import hardened_git
from runner.subject.build_inputs import find_changed_files
from runner.subject.checkout_content import write_commit
from runner.subject.repository import open_repository
from runner.subject.shipped_workloads import prepare_shipped_repository
from runner.subject.subject_registry import find_subject, register_subject
from runner.subject.version_repository import hash_visible_tags, write_git_directory
from runner.workload import load_workload
from tests.runner.commands import ROOT, command_line, variables

Run = Callable[..., str]
SIGNATURE = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n AAAA\n -----END PGP SIGNATURE-----\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a user without any configuration."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return folder


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program that no git of ours may run."""
    file = tmp_path / "program"
    file.write_text(f"#!/bin/sh\ntouch {tmp_path}/executed\necho said by a program\n")
    file.chmod(0o755)
    return file


def signed(subject: Path, tree: str, parent: str, title: str) -> str:
    """Make a commit with a signature; return its hash."""
    person = "Ana\u00efs <a@b.invalid> 1700000000 +0000"
    text = f"tree {tree}\nparent {parent}\nauthor {person}\ncommitter {person}\n{SIGNATURE}\n{title}\n"
    words = ["git", "-C", subject, "hash-object", "-t", "commit", "-w", "--stdin"]
    return subprocess.run(words, input=text.encode(), check=True, capture_output=True).stdout.decode().strip()


def test_a_signed_commit_is_read_without_a_look_at_its_signature(
    home: Path, program: Path, commit: Run, git: Run, tmp_path: Path
) -> None:
    parent = commit("One", file="1")
    head = signed(tmp_path / "subject", git("rev-parse", "HEAD^{tree}"), parent, "Two")
    (home / ".gitconfig").write_text(f"[log]\nshowSignature = true\n[gpg]\nprogram = {program}\n")
    (revision,) = open_repository(str(tmp_path / "subject"), tmp_path).list_revisions(f"{parent}..{head}")
    assert (revision.commit, revision.title, revision.author) == (head, "Two", "Ana\u00efs")
    assert not (tmp_path / "executed").exists()


HOSTILE = """
[core]
autocrlf = true
safecrlf = true
eol = crlf
symlinks = false
ignoreCase = true
abbrev = 4
quotePath = true
attributesFile = {home}/attributes
excludesFile = {home}/excludes
bigFileThreshold = 1
fsmonitor = {program}
pager = {program}
editor = {program}
notesRef = refs/notes/commits
warnAmbiguousRefs = false
logAllRefUpdates = false
commentChar = auto
[color]
ui = always
[column]
ui = always
[log]
decorate = full
date = relative
follow = true
showSignature = true
diffMerges = first-parent
[format]
pretty = "%H said by the configuration"
notes = *
[notes]
displayRef = *
[i18n]
logOutputEncoding = ISO-8859-1
commitEncoding = ISO-8859-1
[diff]
external = {program}
renames = copies
relative = true
noprefix = true
ignoreSubmodules = all
orderFile = {home}/excludes
algorithm = histogram
submodule = log
wsErrorHighlight = all
[blame]
date = relative
coloring = repeatedLines
[status]
short = true
branch = true
showStash = true
showUntrackedFiles = all
[submodule]
recurse = true
[filter "odd"]
smudge = {program}
clean = {program}
required = true
[gpg]
program = {program}
[alias]
log = !{program}
ls-tree = !{program}
[pager]
log = {program}
ls-tree = {program}
[clone]
defaultRemoteName = upstream
[init]
defaultBranch = trunk
templateDir = {home}/template
[fetch]
prune = true
writeCommitGraph = true
output = compact
[pack]
packSizeLimit = 1m
[feature]
manyFiles = true
experimental = true
[index]
sparse = true
[tag]
sort = -version:refname
[versionsort]
suffix = -rc
[user]
useConfigOnly = true
[commit]
gpgSign = true
[url "https://user:word@example.invalid/"]
insteadOf = https://example.invalid/
"""
ATTRIBUTES = "* text eol=crlf ident filter=odd diff=odd\n"


def files_of(tree: Path) -> dict[str, tuple[int, bytes]]:
    """Return the mode and the content of each file, without the repository beside them."""
    paths = (path for path in tree.rglob("*") if ".git" not in path.parts and (path.is_symlink() or path.is_file()))
    return {
        str(path.relative_to(tree)): (
            stat.S_IFMT(path.lstat().st_mode) | path.lstat().st_mode & 0o111,
            os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes(),
        )
        for path in paths
    }


def everything(subject: Path, place: Path) -> dict[str, object]:
    """Return all that we read of a repository, and all files that we write of it."""
    repository, tree = open_repository(str(subject), place), place / "tree"
    before, head = repository.resolve("main~1"), repository.resolve("main")
    write_commit(repository, head, tree, refuse_large=True, refuse_incomplete=False)
    write_git_directory(repository, head, tree)
    described = ["git", "-C", str(tree), "-c", "safe.directory=*", "describe", "--long", "--dirty"]
    for _ in ("cloned", "fetched"):
        clone = open_repository(f"file://{subject.with_name('origin.git')}", place / "home" / "clones")
    clone.git("remote", "set-url", "origin", "https://example.invalid/subject.git")
    settings = Settings(place / "home", None, "box")
    workload = load_workload(ROOT / "workloads" / "copy_service")
    register_subject(settings, clone, workload)
    shipped = place / "shipped"
    (shipped / "one").mkdir(parents=True)
    (shipped / "one" / "main.c").write_text("int main(void) { return 0; }\n")
    (shipped / ".date").write_text("1700000000\n")
    ours = prepare_shipped_repository(shipped, place / "home")
    assert ours
    sources = read_sources(repository, head)
    return {
        "name": (repository.name, clone.name),
        "commit": (
            head,
            repository.get_revision("main"),
            repository.find_revision(before),
            repository.find_revision("1" * 40),
        ),
        "main line": repository.list_revisions("main"),
        "all": repository.list_revisions(f"{before}..main", first_parent=False),
        "refs": sorted((ref.name, ref.commit) for ref in repository.list_refs()),
        "merge base": repository.find_merge_bases("main", "side"),
        "state": (repository.list_changed_files(), repository.is_shallow(), repository.get_common_directory()),
        "changed": find_changed_files(repository, before, head),
        "tags": hash_visible_tags(repository, head),
        "files": files_of(tree),
        "described": subprocess.run(
            described, check=True, capture_output=True, text=True, env={"PATH": os.environ["PATH"], "HOME": "/"}
        ).stdout,
        "sources": (sources.files, sources.read("text.txt")),
        "work tree": (
            init._get_work_tree(repository),
            init._detect_branch(repository),
            init._select_last_commits(repository),
        ),
        "clone": clone.list_revisions("main"),
        "address": find_subject(settings, clone.name).repository,
        "shipped": ours.resolve("HEAD"),
    }


def test_no_configuration_changes_what_is_read_and_written(
    home: Path, program: Path, commit: Run, git: Run, tmp_path: Path
) -> None:
    subject = tmp_path / "subject"
    commit("One", **{"text.txt": "one\n$Id$\n", "README": "1\n", "readme": "2", "__gitattributes": "README text\n"})
    git("tag", "--annotate", "--message", "First", "v1.0\u2028odd")
    (subject / "run").write_text("#!/bin/sh\n")
    (subject / "run").chmod(0o755)
    (subject / "link").symlink_to("text.txt")
    (subject / "na\u00efve \u2028 name").write_text("odd\n")
    (subject / ".gitmodules").write_text('[submodule "library"]\n\tpath = library\n\turl = ./library\n')
    (subject / "library").mkdir()
    git("add", "--all")
    git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},library")
    git("commit", "--quiet", "--message", "Two: na\u00efve \u2014 \U0001f600")
    git("branch", "side")
    two = git("rev-parse", "HEAD")
    git("commit", "--quiet", "--allow-empty", "--message", "A note")
    (subject / "text.txt").write_text("two\n")
    git("commit", "--quiet", "--all", "--message", "Three")
    before = git("rev-parse", "HEAD")
    (subject / "text.txt").write_text("three\n$Id$\n")
    git("commit", "--quiet", "--all", "--message", "Four")
    head = signed(subject, git("rev-parse", "HEAD^{tree}"), before, "Signed: na\u00efve")
    git("update-ref", "refs/heads/main", head)
    git("clone", "--quiet", "--mirror", ".", str(tmp_path / "origin.git"))
    (tmp_path / "plain").mkdir()
    plain = everything(subject, tmp_path / "plain")
    assert plain["changed"] == {"text.txt"}

    (home / ".gitconfig").write_text(HOSTILE.format(home=home, program=program))
    (home / "attributes").write_text(ATTRIBUTES)
    (home / "excludes").write_text("*\n")
    (home / "template" / "info").mkdir(parents=True)
    (home / "template" / "info" / "attributes").write_text(ATTRIBUTES)
    # This clone shows other content and other parents under the hashes of its commits.
    git("replace", head, two)
    git("notes", "add", "--message", "said by a note", two)
    (subject / ".git" / "info" / "grafts").write_text(f"{before}\n")
    (tmp_path / "other").mkdir()
    hardened_git._read_configured_filters.cache_clear()  # as of another command
    other = everything(subject, tmp_path / "other")
    assert {name: other[name] for name in plain if other[name] != plain[name]} == {}
    assert not (tmp_path / "executed").exists()
    assert find_missing_submodules(subject) == ("library",), "with the git of the user"


def test_a_git_that_reads_for_ever_is_ended(commit: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit("One", file="1")
    monkeypatch.setattr(hardened_git, "LOCAL_TIMEOUT_SECONDS", 0.1)
    (tmp_path / "subject" / ".git" / "config").unlink()
    os.mkfifo(tmp_path / "subject" / ".git" / "config")  # nobody ever writes to it
    with pytest.raises(FaultwatchError, match=r"^git rev-parse did not finish within 0\.1 s \(try again "):
        open_repository(str(tmp_path / "subject"), tmp_path)


@pytest.fixture
def silent_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a server that takes every connection and never answers."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/subject.git"


def processes_of(address: str, program: str = "") -> list[int]:
    """Return the processes whose command line has an address and names a program."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has just ended
            words = file.read_bytes().decode(errors="replace")
            if f"{address}\0" in words and f"{program}\0" in words and file.parent.name != str(os.getpid()):
                found.append(int(file.parent.name))
    return found


def test_a_transfer_that_nobody_answers_is_ended_with_its_helpers(
    silent_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hardened_git, "TRANSFER_TIMEOUT_SECONDS", 0.3)
    with pytest.raises(FaultwatchError, match=r"^git clone did not finish within 0\.3 s \(check the network"):
        open_repository(silent_server, tmp_path / "clones")
    assert not list((tmp_path / "clones").iterdir())
    wait_until_ended(silent_server)


def test_a_signal_ends_a_transfer_with_its_helpers(silent_server: str, tmp_path: Path) -> None:
    command = subprocess.Popen(
        command_line("history", "--repo", silent_server), env=variables(tmp_path), stderr=subprocess.PIPE, text=True
    )
    while not processes_of(silent_server, "git-remote-http"):
        assert command.poll() is None, command.communicate()[1]
    command.send_signal(signal.SIGTERM)
    assert "stopped" in command.communicate(timeout=60)[1]
    wait_until_ended(silent_server)


def wait_until_ended(address: str) -> None:
    """Wait until no process transfers from an address any more; git itself gives up after two minutes."""
    for process in processes_of(address):
        with suppress(ProcessLookupError):
            descriptor = os.pidfd_open(process)
            try:
                assert select.select([descriptor], [], [], 20)[0], f"{address} is still being transferred"
            finally:
                os.close(descriptor)


def test_who_takes_no_more_entries_ends_git(commit: Callable[..., str], tmp_path: Path) -> None:
    commit("One", source="1")
    subject = tmp_path / "subject"
    entries = hardened_git.iterate_git_entries("-C", str(subject), "ls-tree", "-r", "-z", "--name-only", "HEAD")
    assert next(entries)
    entries.close()
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    assert not [child for child in children if Path(f"/proc/{child}/comm").read_text().strip() == "git"]


def test_git_that_goes_on_after_its_output_ends_at_the_deadline(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    git = tmp_path / "git"
    git.write_text("#!/bin/sh\nprintf 'file\\0'; exec >&-; exec sleep 60\n")
    git.chmod(0o755)
    monkeypatch.setattr(hardened_git, "_CLEANUP_SECONDS", 0.2)
    monkeypatch.setattr(hardened_git, "LOCAL_TIMEOUT_SECONDS", 0.2)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(FaultwatchError, match=r"git ls-tree did not finish within 0\.2 s"):
        list(hardened_git.iterate_git_entries("ls-tree", "-z", "HEAD"))


def test_what_git_refuses_while_it_lists_is_told(commit: Callable[..., str], tmp_path: Path) -> None:
    commit("One")
    subject = tmp_path / "subject"
    with pytest.raises(FaultwatchError, match="git ls-tree: Not a valid object name nothing"):
        list(hardened_git.iterate_git_entries("-C", str(subject), "ls-tree", "-z", "nothing"))


def test_a_command_that_fails_silently_is_explained_by_its_exit_code(commit: Run, tmp_path: Path) -> None:
    first, second = commit("First", file="a"), commit("Second", file="b")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    with pytest.raises(FaultwatchError) as caught:
        repository.git("merge-base", "--is-ancestor", second, first)
    assert str(caught.value) == "git merge-base: exit code 1"
