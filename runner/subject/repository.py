"""Reads the commits of a git repository and checks them out."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from runner.contract.report import Revision, hash_of, safe_name
from runner.environment.secrets import without_password
from runner.errors import FaultwatchError

_FIELDS = "%H%x00%P%x00%an%x00%cI%x00%s"


@dataclass(frozen=True, slots=True)
class Repository:
    """A local git repository.

    Attributes
    ----------
    path
        Its git directory or work tree.
    name
        The name of the subject in reports.
    """

    path: Path
    name: str

    def git(self, *arguments: str) -> str:
        """Run git here and return what it printed.

        Raises
        ------
        FaultwatchError
            git fails; the message contains its error.
        """
        return _git("-C", str(self.path), *arguments)

    def resolve(self, revision: str) -> str:
        """Return the full hash of a revision."""
        try:
            return self.git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}").strip()
        except FaultwatchError:
            raise FaultwatchError(
                f"{self.name} has no commit {revision!r}", "name a branch, a tag or a hash that `git log` shows"
            ) from None

    def revision(self, commit: str) -> Revision:
        """Return one commit."""
        try:
            return next(self._log("--no-walk=unsorted", "--end-of-options", f"{commit}^{{commit}}"))
        except FaultwatchError:
            self.resolve(commit)  # Raises a better message if the commit does not exist.
            raise

    def revisions(self, span: str, *, first_parent: bool = True) -> tuple[Revision, ...]:
        """Return the commits of a range ``A..B`` (without A), or ``B`` and all its ancestors, oldest first.

        Raises
        ------
        FaultwatchError
            An end does not exist, the range is empty, or the clone is too shallow to contain it.
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
                f"{self.name} is a shallow clone without the full history",
                "run `git fetch --unshallow` or name a range A..B",
            )
        flags = ["--first-parent"] if first_parent else []
        commits = tuple(self._log("--topo-order", "--reverse", *flags, "--end-of-options", *ends))
        if not commits:
            raise FaultwatchError(
                f"the range {span!r} of {self.name} has no commits",
                "put the older revision first; it is not part of the range",
            )
        if dots:
            self._refuse_cut_history(commits, start or "HEAD")
        return commits

    def merge_base(self, base: str, head: str) -> str:
        """Return the newest common ancestor of two revisions.

        Raises
        ------
        FaultwatchError
            There is none in this clone.
        """
        commits = self.resolve(base), self.resolve(head)
        if not _succeeds("-C", str(self.path), "merge-base", *commits):
            remedy = "fetch the full history (actions/checkout: fetch-depth: 0)" if self.is_shallow() else ""
            raise FaultwatchError(f"{self.name}: {base} and {head} have no common ancestor", remedy)
        return self.git("merge-base", *commits).strip()

    def is_shallow(self) -> bool:
        """Return whether the clone lacks a part of its history."""
        return self.git("rev-parse", "--is-shallow-repository").strip() == "true"

    def _refuse_cut_history(self, commits: tuple[Revision, ...], start: str) -> None:
        if not self.is_shallow():
            return
        ancestor = _succeeds(
            "-C", str(self.path), "merge-base", "--is-ancestor", self.resolve(start), commits[-1].commit
        )
        if not ancestor:
            raise FaultwatchError(
                f"{self.name} is a shallow clone that does not reach from {start} to the end of the range",
                "run `git fetch --unshallow`",
            )

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
        """Check out a commit into its own git worktree, and remove the worktree afterwards."""
        self.git("worktree", "prune")
        # Force twice: a worktree that a killed git was creating is locked, and is not pruned.
        self.git("worktree", "add", "--detach", "--force", "--force", str(directory), commit)
        try:
            yield directory
        finally:
            self.git("worktree", "remove", "--force", str(directory))

    def is_dirty(self) -> bool:
        """Return whether the work tree has uncommitted changes."""
        if self.git("rev-parse", "--is-bare-repository").strip() == "true":
            return False
        return bool(self.git("status", "--porcelain", "--untracked-files=no").strip())


def open_repository(location: str, cache: Path) -> Repository:
    """Open a repository by path, or clone it by address into the cache (or update an earlier clone).

    Raises
    ------
    FaultwatchError
        There is no such repository.
    """
    local = Path(location).expanduser()
    if local.exists():
        return _open_local(local)
    if "://" not in location and not ("@" in location and ":" in location):
        raise FaultwatchError(f"{location}: no such folder", "name a git repository by its path or its address")
    # Use a token in the address only for this command: no name, message or clone configuration may contain it.
    known_as = without_password(location)
    name = safe_name(known_as.rstrip("/").removesuffix(".git").rsplit("/", 1)[-1].rsplit(":", 1)[-1])
    clone = cache / f"{name}-{hash_of(known_as)}.git"
    if clone.exists():
        _git("-C", str(clone), "fetch", "--quiet", "--prune", "--tags", "--", location, "+refs/heads/*:refs/heads/*")
    else:
        cache.mkdir(parents=True, exist_ok=True)
        partial = clone.with_suffix(f".partial-{os.getpid()}")
        _git("clone", "--quiet", "--bare", "--", location, str(partial))
        _git("-C", str(partial), "remote", "set-url", "origin", known_as)
        partial.rename(clone)
    return Repository(clone, name)


def _open_local(path: Path) -> Repository:
    try:
        top = _git("-C", str(path), "rev-parse", "--path-format=absolute", "--git-common-dir").strip()
    except FaultwatchError as error:
        if "dubious ownership" in error.what:
            raise FaultwatchError(
                f"{path} belongs to another user, so git refuses it",
                f"run `git config --global --add safe.directory {path.resolve()}`",
            ) from None
        raise FaultwatchError(f"{path} is not a git repository", "name a clone, or an address to clone from") from None
    folder = Path(top)
    owner = folder.parent if folder.name == ".git" else folder
    return Repository(path.resolve(), safe_name(owner.name.removesuffix(".git")))


def _environment() -> dict[str, str]:
    # GIT_ variables of the caller must not change what is measured, and nothing may wait for a password.
    variables = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    return variables | {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", *arguments], capture_output=True, check=False, env=_environment(), stdin=subprocess.DEVNULL
        )
    except FileNotFoundError:
        raise FaultwatchError("git is not installed", "install the package git") from None
    if done.returncode:
        errors = done.stderr.decode(errors="replace").strip().splitlines() or [f"exit code {done.returncode}"]
        message = next((line for line in errors if line.startswith(("fatal:", "error:"))), errors[-1])
        raise FaultwatchError(f"git {_verb(arguments)}: {without_password(message.removeprefix('fatal: '))}")
    return done.stdout.decode(errors="replace")


def _succeeds(*arguments: str) -> bool:
    try:
        _git(*arguments)
    except FaultwatchError:
        return False
    return True


def _verb(arguments: tuple[str, ...]) -> str:
    rest = arguments[2:] if arguments[0] == "-C" else arguments
    return rest[0]
