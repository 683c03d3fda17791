"""The subject's git repository: which commits there are, and a checkout of each."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from runner.contract.report import Revision, hash_of, safe_name
from runner.environment.secrets import without_password
from runner.errors import FaultwatchError
from runner.subject.hardened_git import is_git_directory, run_git

_FIELDS = "%H%x00%P%x00%an%x00%cI%x00%s"


@dataclass(frozen=True, slots=True)
class Repository:
    """A local git repository.

    Attributes
    ----------
    path
        Its git directory or work tree.
    name
        The name under which the service files its runs.
    bare
        Whether the path is a git directory that a person named: git takes no other for a repository.
    """

    path: Path
    name: str
    bare: bool = False

    def git(self, *arguments: str) -> str:
        """Run git here and return what it printed.

        Raises
        ------
        FaultwatchError
            Where git refuses, with the last line that it said.
        """
        if self.bare:
            return run_git(*arguments, git_dir=str(self.path))
        return run_git("-C", str(self.path), *arguments)

    def resolve(self, revision: str) -> str:
        """Return the full hash of a revision."""
        try:
            return self.git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}").strip()
        except FaultwatchError:
            raise FaultwatchError(
                f"{self.name}: no commit {revision!r}", "name a branch, a tag or a hash that `git log` shows"
            ) from None

    def revision(self, commit: str) -> Revision:
        """Return one commit."""
        try:
            return next(self._log("--no-walk=unsorted", "--end-of-options", f"{commit}^{{commit}}"))
        except FaultwatchError:
            self.resolve(commit)  # Says it better, where it is not there.
            raise

    def revisions(self, span: str, *, first_parent: bool = True) -> tuple[Revision, ...]:
        """Return the commits of a range ``A..B`` (A left out), or of ``B`` and all before it, oldest first.

        Raises
        ------
        FaultwatchError
            Where an end does not exist, the range is empty, or the clone is too shallow to hold it.
        """
        start, dots, end = span.partition("..")
        if end.startswith("."):
            raise FaultwatchError(f"{span!r} is a symmetric range", "write A..B with two dots")
        if not dots:
            start, end = "", span
        ends = [self.resolve(end or "HEAD")]
        if dots:
            ends.append("^" + self.resolve(start or "HEAD"))
        if self.is_shallow() and not dots:
            raise FaultwatchError(
                f"{self.name} is a shallow clone, its history is cut off",
                "run `git fetch --unshallow` or name a range A..B",
            )
        flags = ["--first-parent"] if first_parent else []
        found = tuple(self._log("--topo-order", "--reverse", *flags, "--end-of-options", *ends))
        if not found:
            raise FaultwatchError(
                f"the range {span!r} of {self.name} has no commits", "the older end comes first, and is itself left out"
            )
        if dots:
            self._refuse_cut_history(found, start or "HEAD")
        return found

    def merge_base(self, base: str, head: str) -> str:
        """Return the newest commit that two revisions share.

        Raises
        ------
        FaultwatchError
            Where there is none here.
        """
        commits = self.resolve(base), self.resolve(head)
        if not self._succeeds("merge-base", *commits):
            remedy = "fetch the whole history (actions/checkout: fetch-depth: 0)" if self.is_shallow() else ""
            raise FaultwatchError(f"{self.name}: {base} and {head} share no commit", remedy)
        return self.git("merge-base", *commits).strip()

    def is_shallow(self) -> bool:
        """Whether the clone lacks a part of its history."""
        return self.git("rev-parse", "--is-shallow-repository").strip() == "true"

    def _refuse_cut_history(self, found: tuple[Revision, ...], start: str) -> None:
        if not self.is_shallow():
            return
        ancestor = self._succeeds("merge-base", "--is-ancestor", self.resolve(start), found[-1].commit)
        if not ancestor:
            raise FaultwatchError(
                f"{self.name} is a shallow clone that does not reach from {start} to the end of the range",
                "run `git fetch --unshallow`",
            )

    def _succeeds(self, *arguments: str) -> bool:
        try:
            self.git(*arguments)
        except FaultwatchError:
            return False
        return True

    def _log(self, *arguments: str) -> Iterator[Revision]:
        for line in self.git("log", f"--format={_FIELDS}", *arguments).splitlines():
            commit, parents, author, date, title = line.split("\0")
            yield Revision(
                commit=commit,
                parents=tuple(parents.split()),
                author=author[:500],
                committed_at=datetime.fromisoformat(date),
                title=title[:2000],
            )

    @contextmanager
    def checkout(self, commit: str, directory: Path) -> Iterator[Path]:
        """Check a commit out into a git worktree of its own, and take the worktree away afterwards."""
        self.git("worktree", "prune")
        # Forced twice: one that was being made by a git that was killed is locked, and is not pruned.
        self.git("worktree", "add", "--detach", "--force", "--force", str(directory), commit)
        try:
            yield directory
        finally:
            self.git("worktree", "remove", "--force", str(directory))

    def is_dirty(self) -> bool:
        """Whether the work tree has changes that no commit holds."""
        if self.git("rev-parse", "--is-bare-repository").strip() == "true":
            return False
        return bool(self.git("status", "--porcelain", "--untracked-files=no").strip())


def open_repository(location: str, cache: Path, *, named: bool = True) -> Repository:
    """Open a repository by path, or clone it by address into the cache (and bring an earlier clone up to date).

    Parameters
    ----------
    named
        Whether a person named the location. A bare repository that is only found somewhere is refused.

    Raises
    ------
    FaultwatchError
        Where there is no such repository.
    """
    local = Path(location).expanduser()
    if local.exists():
        return _open_local(local, named=named)
    if "://" not in location and not ("@" in location and ":" in location):
        raise FaultwatchError(f"{location}: no such folder", "name a git repository by its path or by its address")
    # A token in the address opens it once; neither names, nor messages, nor the clone's own configuration keep it.
    known_as = without_password(location)
    name = safe_name(known_as.rstrip("/").removesuffix(".git").rsplit("/", 1)[-1].rsplit(":", 1)[-1])
    clone = cache / f"{name}-{hash_of(known_as)}.git"
    if clone.exists():
        fetch = ("fetch", "--quiet", "--prune", "--tags", "--", location, "+refs/heads/*:refs/heads/*")
        run_git(*fetch, git_dir=str(clone))
    else:
        cache.mkdir(parents=True, exist_ok=True)
        partial = clone.with_suffix(f".partial-{os.getpid()}")
        run_git("clone", "--quiet", "--bare", "--", location, str(partial))
        run_git("remote", "set-url", "origin", known_as, git_dir=str(partial))
        partial.rename(clone)
    return Repository(clone, name, bare=True)


def _open_local(path: Path, *, named: bool) -> Repository:
    bare = named and is_git_directory(path)
    try:
        where = () if bare else ("-C", str(path))
        query = ("rev-parse", "--path-format=absolute", "--git-common-dir")
        top = run_git(*where, *query, git_dir=str(path.resolve()) if bare else None).strip()
    except FaultwatchError as error:
        if "dubious ownership" in error.what:
            raise FaultwatchError(
                f"{path} belongs to another user, git refuses it",
                f"run `git config --global --add safe.directory {path.resolve()}`",
            ) from None
        raise FaultwatchError(f"{path} is not a git repository", "name a clone, or an address to clone from") from None
    folder = Path(top)
    owner = folder.parent if folder.name == ".git" else folder
    return Repository(path.resolve(), safe_name(owner.name.removesuffix(".git")), bare=bare)
