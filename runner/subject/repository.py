"""Reads the commits of a git repository and their files, without ever writing to the repository."""

import fcntl
import os
import re
import shlex
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct

from runner.contract.report import Ref, Revision, hash_document, make_safe_name
from runner.environment.secrets import hide_password
from runner.errors import FaultwatchError
from runner.subject.hardened_git import (
    Checkout,
    GitError,
    compute_patch_ids,
    is_git_directory,
    iterate_git_entries,
    run_git,
)
from runner.system.durable_files import rename_new_folder_durably
from runner.system.private_folder import make_private_folder
from runner.system.scratch import make_scratch_folder

_MAX_REFS = 5000
"""The largest number of tags and branches that are listed."""
_MAX_REF_CHARACTERS, _MAX_AUTHOR_CHARACTERS, _MAX_TITLE_CHARACTERS = 200, 500, 2000
"""The largest lengths that the models of a report allow."""
_EPOCH = datetime.fromtimestamp(0, UTC)
FULL_HISTORY_HINT = (
    "fetch the full history (GitHub, Forgejo: fetch-depth: 0; GitLab: GIT_DEPTH: 0; otherwise: git fetch --unshallow)"
)
"""What to do if the clone in a CI job is shallow."""
_LOG_FORMAT = "%H%x00%P%x00%an%x00%ct%x00%s"


class Repository(Struct, frozen=True):
    """A local git repository.

    Attributes
    ----------
    path
        The git directory or the work tree of the repository.
    name
        The name of the subject in reports.
    bare
        Whether the path is a git directory that a person has named. git accepts a git directory only in this case.
    objects
        A folder outside of the repository for new objects, which refers to the repository's objects; None if no
        objects are created.
    """

    path: Path
    name: str
    bare: bool = False
    objects: Path | None = None

    def git(
        self,
        *arguments: str,
        checkout: Checkout | None = None,
        variables: Mapping[str, str] = MappingProxyType({}),
        decode_paths: bool = False,
    ) -> str:
        """Run git in the repository, and return what it prints.

        Parameters
        ----------
        checkout
            The work tree and the index to use instead of the repository's own.
        variables
            Further environment variables, such as the author of a commit.
        decode_paths
            Whether the output contains paths; see :func:`run_git`.

        Raises
        ------
        FaultwatchError
            git fails; the message contains its error.
        """
        if self.objects:
            variables = {**variables, "GIT_OBJECT_DIRECTORY": str(self.objects)}
        if self.bare:
            own_path = str(self.path)
            return run_git(
                *arguments, git_dir=own_path, checkout=checkout, variables=variables, decode_paths=decode_paths
            )
        return run_git(
            "-C", str(self.path), *arguments, checkout=checkout, variables=variables, decode_paths=decode_paths
        )

    def iterate_git_entries(self, *arguments: str) -> Iterator[str]:
        """Run git in the repository, and yield the entries that it prints, as :func:`iterate_git_entries` does."""
        variables = {"GIT_OBJECT_DIRECTORY": str(self.objects)} if self.objects else {}
        if self.bare:
            return iterate_git_entries(*arguments, git_dir=str(self.path), variables=variables)
        return iterate_git_entries("-C", str(self.path), *arguments, variables=variables)

    def resolve(self, revision: str) -> str:
        """Return the full hash of a revision.

        Raises
        ------
        FaultwatchError
            The repository has no such commit.
        """
        try:
            return self.git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}").strip()
        except FaultwatchError:
            remedy = "use a branch, a tag or a hash that `git log` shows"
            shallow_hint = ", or run `git fetch --unshallow`, because this clone lacks the older commits"
            raise FaultwatchError(
                f"{self.name} has no commit {revision!r}",
                remedy + (shallow_hint if self._is_known_to_be_shallow() else ""),
            ) from None

    def get_revision(self, commit: str) -> Revision:
        """Return one commit.

        Raises
        ------
        FaultwatchError
            The repository has no such commit.
        """
        try:
            return next(self._read_log("--no-walk=unsorted", "--end-of-options", f"{commit}^{{commit}}"))
        except FaultwatchError:
            self.resolve(commit)  # If the commit does not exist, this raises a better message.
            raise

    def find_revision(self, commit: str) -> Revision | None:
        """Return one commit by its hash; None if this clone lacks it, for example after a forced push."""
        return self.get_revision(commit) if self._does_git_succeed("cat-file", "-e", f"{commit}^{{commit}}") else None

    def list_revisions(self, commit_range: str, *, first_parent: bool = True) -> tuple[Revision, ...]:
        """Return the commits of a range ``A..B`` (without A), or ``B`` and all its ancestors, oldest first.

        Raises
        ------
        FaultwatchError
            An end does not exist, the range is empty, or the clone is too shallow to contain it.
        """
        start, dots, end = commit_range.partition("..")
        if end.startswith("."):
            raise FaultwatchError(
                f"{commit_range!r} is a symmetric difference (three dots), not a range", "use two dots: A..B"
            )
        if not dots:
            start, end = "", commit_range
        ends = [self.resolve(end or "HEAD")]
        if dots:
            ends.append("^" + self.resolve(start or "HEAD"))
        if self.is_shallow() and not dots:
            raise FaultwatchError(
                f"{self.name} is a shallow clone without the full history",
                "run `git fetch --unshallow` or pass a range A..B",
            )
        flags = ["--first-parent"] if first_parent else []
        commits = tuple(self._read_log("--topo-order", "--reverse", *flags, "--end-of-options", *ends))
        if not commits:
            raise FaultwatchError(
                f"the range {commit_range!r} of {self.name} has no commits",
                "put the older revision first: the range A..B contains the commits after A, up to B",
            )
        if dots:
            self._refuse_truncated_history(commits, start or "HEAD")
        return commits

    def list_connecting_revisions(self, commits: Sequence[str]) -> tuple[Revision, ...]:
        """Return these commits, and the commits between them: all since their common ancestor, parents first.

        Without a common ancestor, these are all ancestors of the commits. Empty for no commits.

        Raises
        ------
        FaultwatchError
            A commit does not exist.
        """
        if not commits:
            return ()
        has_common_ancestor = self._does_git_succeed("merge-base", "--octopus", *commits)
        ancestors = self.git("merge-base", "--octopus", *commits).split() if has_common_ancestor else []
        excluded_commits = [f"^{ancestor}" for ancestor in ancestors]
        since = tuple(self._read_log("--topo-order", "--reverse", "--end-of-options", *commits, *excluded_commits))
        return (*map(self.get_revision, ancestors), *since)

    def compute_patch_ids(self, commits: Iterable[str]) -> dict[str, str]:
        """Return the patch ids of the commits that have one, by hash; empty if git fails.

        A commit keeps its patch id when a rebase or an amend rewrites it. Merges, commits without parents, and commits
        that change no text have none. Without patch ids, the caller only recognises fewer rewritten commits.
        """
        location_options = (f"--git-dir={self.path}",) if self.bare else ("-C", str(self.path))
        try:
            return compute_patch_ids(list(commits), location_options)
        except FaultwatchError:
            return {}

    def list_refs(self) -> tuple[Ref, ...]:
        """Return the newest tags and branches; the names of remote branches begin with the name of the remote.

        Names that are too long are left out, and so is the HEAD of a remote, which only refers to a branch.
        """
        fields = "%(refname)%00%(objectname)%00%(*objectname)%00%(objecttype)%00%(*objecttype)"
        listing = self.git(
            *("for-each-ref", f"--format={fields}", "--sort=-creatordate:unix", f"--count={_MAX_REFS}"),
            *("refs/tags", "refs/heads", "refs/remotes"),
        )
        refs = []
        for line in filter(None, listing.split("\n")):  # str.splitlines() would also split at characters within names.
            name, own_hash, tagged_hash, kind, tagged_kind = line.split("\0")
            commit = own_hash if kind == "commit" else ""
            if tagged_kind == "commit":  # It is an annotated tag, which is a separate object.
                commit = tagged_hash
            folder, _, short_name = name.removeprefix("refs/").partition("/")
            if commit and not short_name.endswith("/HEAD") and len(short_name) <= _MAX_REF_CHARACTERS:
                refs.append(Ref(kind="tag" if folder == "tags" else "branch", name=short_name, commit=commit))
        return tuple(refs)

    def find_merge_bases(self, base: str, head: str) -> tuple[str, ...]:
        """Return the merge bases of two revisions: several if branches were merged in both directions.

        Raises
        ------
        FaultwatchError
            This clone contains no merge base.
        """
        commits = self.resolve(base), self.resolve(head)
        if not self._does_git_succeed("merge-base", *commits):
            remedy = FULL_HISTORY_HINT if self.is_shallow() else ""
            raise FaultwatchError(f"{self.name}: {base} and {head} have no common ancestor", remedy)
        return tuple(self.git("merge-base", "--all", *commits).split())

    def may_lack_fork_point(self, base: str, head: str) -> bool:
        """Return whether the clone is shallow, and may lack a merge base of two revisions."""
        if not self.is_shallow():
            return False
        shallow_commits = set((self.get_common_directory() / "shallow").read_text(encoding="ascii").split())
        commits_since_fork = self.git("rev-list", f"{self.resolve(base)}...{self.resolve(head)}").split()
        return not shallow_commits.isdisjoint(commits_since_fork)

    def get_common_directory(self) -> Path:
        """Return the git directory, which all work trees of the repository share."""
        return self._get_git_path("--git-common-dir")

    def get_work_tree(self) -> Path:
        """Return the top folder of the work tree.

        Raises
        ------
        FaultwatchError
            The repository has no work tree.
        """
        return self._get_git_path("--show-toplevel")

    def _get_git_path(self, *options: str) -> Path:
        """Return the path that ``git rev-parse`` prints; it may contain any bytes, and end in white space."""
        output = self.git("rev-parse", "--path-format=absolute", *options, decode_paths=True)
        return Path(output.removesuffix("\n"))

    def is_shallow(self) -> bool:
        """Return whether the clone lacks a part of its history."""
        return self.git("rev-parse", "--is-shallow-repository").strip() == "true"

    def _is_known_to_be_shallow(self) -> bool:
        """Return whether the clone is known to be shallow; False if git cannot tell."""
        try:
            return self.is_shallow()
        except FaultwatchError:
            return False

    def _refuse_truncated_history(self, commits: tuple[Revision, ...], start: str) -> None:
        """Raise if a shallow clone lacks a part of the range."""
        if not self.is_shallow():
            return
        is_ancestor = self._does_git_succeed("merge-base", "--is-ancestor", self.resolve(start), commits[-1].commit)
        if not is_ancestor:
            raise FaultwatchError(
                f"{self.name} is a shallow clone whose history does not reach from {start} to the end of the range",
                "run `git fetch --unshallow`",
            )

    def _does_git_succeed(self, *arguments: str) -> bool:
        """Return whether a git command succeeds."""
        try:
            self.git(*arguments)
        except FaultwatchError:
            return False
        return True

    def _read_log(self, *arguments: str) -> Iterator[Revision]:
        """Yield the commits that ``git log`` lists for some arguments."""
        # The five fields of each commit are separated by null bytes, because titles and names can contain all others.
        # After the last argument, "--" keeps git from taking a name with wildcards for a pattern of paths.
        fields = self.git("log", "-z", f"--format={_LOG_FORMAT}", *arguments, "--").split("\0")
        for start in range(0, len(fields) - 4, 5):
            commit, parents, author, date, title = fields[start : start + 5]
            yield Revision(
                commit=commit,
                parents=tuple(parents.split()),
                author=author[:_MAX_AUTHOR_CHARACTERS],
                committed_at=_convert_date(date),
                title=title[:_MAX_TITLE_CHARACTERS],
            )

    def export(self, commit: str, tree: Path) -> None:
        """Write the files of a commit to a new folder. The repository is only read.

        ``git worktree`` is not used, because it writes to the repository, and neither is ``git archive``, because it
        leaves out files and changes others if the repository's attributes say so.

        Raises
        ------
        FaultwatchError
            git fails; the message contains its error.
        """
        tree.mkdir(parents=True)
        with tempfile.TemporaryDirectory(dir=tree.parent) as scratch:
            # With a new index, -u checks out all files.
            self.git("read-tree", "-u", "--reset", commit, checkout=Checkout(tree.absolute(), Path(scratch, "index")))

    def list_changed_files(self) -> list[str]:
        """Return the paths of tracked files in the work tree that differ from the last commit.

        Empty without a work tree, and after a clone that has checked nothing out.
        """
        if self.git("rev-parse", "--is-bare-repository").strip() == "true":
            return []
        # Without an index, as after a clone with --no-checkout, missing files do not count as removed.
        if not self._get_git_path("--git-path", "index").exists():
            return []
        # Without -z, git quotes paths that are not ASCII.
        query = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=no")
        entries = self.git(*query, decode_paths=True).split("\0")
        return [entry[3:] for entry in entries if entry]  # The path follows two letters for the state, and a space.


def open_repository(location: str, cache: Path, *, explicit: bool = True) -> Repository:
    """Open a repository by path, or by address: clone it into the cache, or update an earlier clone.

    Parameters
    ----------
    explicit
        Whether a person has named the location. Otherwise a bare repository is refused.

    Raises
    ------
    FaultwatchError
        There is no such repository, or it cannot be cloned or updated.
    """
    local_path = Path(os.path.expanduser(location))  # noqa: PTH111 - Path.expanduser raises if there is no such user
    if local_path.exists():
        return _open_local_repository(local_path, explicit=explicit)
    # ssh accepts addresses of the form user@host:path as well.
    if "://" not in location and not ("@" in location and ":" in location):
        raise FaultwatchError(f"{location}: no such folder", "pass the path or the URL of a git repository")
    # A token in the address is used only for this command: names, messages and the clone's configuration lack it.
    shown_location = hide_password(location)
    name = make_safe_name(_get_last_part(shown_location))
    clone = cache / f"{name}-{hash_document(shown_location)}.git"
    if clone.exists():
        # Unlike --tags, the second pattern also follows tags that were moved, such as those of nightly releases.
        patterns = "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"
        fetch = ("fetch", "--quiet", "--prune", "--no-tags", "--", location, *patterns)
        with _lock_clone(clone):
            run_git(*fetch, git_dir=str(clone))
            _follow_default_branch(clone, location)
    else:
        make_private_folder(cache)
        with make_scratch_folder(cache) as scratch:
            new_clone = scratch / "clone"
            run_git("clone", "--quiet", "--bare", "--", location, str(new_clone))
            run_git("remote", "set-url", "origin", shown_location, git_dir=str(new_clone))
            rename_new_folder_durably(new_clone, clone)
    return Repository(clone, name, bare=True)


@contextmanager
def _lock_clone(clone: Path) -> Iterator[None]:
    """Lock a clone in the cache against other commands, and remove lock files that a killed git has left."""
    descriptor = os.open(clone, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        for lock in (*clone.glob("*.lock"), *clone.glob("refs/**/*.lock")):
            lock.unlink(missing_ok=True)
        yield
    finally:
        os.close(descriptor)


def _follow_default_branch(clone: Path, location: str) -> None:
    """Let the HEAD of a clone refer to the present default branch of the repository at ``location``, if it has one.

    A fetch leaves HEAD as it is, even if its branch was renamed, and is therefore missing.
    """
    listing = run_git("ls-remote", "--symref", "--", location, "HEAD", git_dir=str(clone))
    match = re.search(r"^ref: (refs/heads/\S+)\tHEAD$", listing, re.MULTILINE)
    if match and Repository(clone, "", bare=True).find_revision(match[1]):
        run_git("symbolic-ref", "HEAD", match[1], git_dir=str(clone))


def _convert_date(seconds: str) -> datetime:
    """Return the date of a commit; the beginning of 1970 if it is earlier or invalid: a commit can contain any number.

    Parameters
    ----------
    seconds
        Seconds since 1970. git is not asked for a date, because it aborts if a time zone moves the date beyond 64 bits.
    """
    try:
        return max(datetime.fromtimestamp(int(seconds), UTC), _EPOCH)
    except (ValueError, OverflowError, OSError):
        return _EPOCH


_GENERIC_NAMES = ("repo", "repository", "mirror", "clone", "source", "src")
"""Names of folders that do not identify the project in them."""
_REFUSED_FOLDER = re.compile(r"repository at '(.+)'")
"""The folder in git's message that a repository belongs to another user."""


def _open_local_repository(path: Path, *, explicit: bool) -> Repository:
    """Return the repository in a local folder, named after its remote.

    Raises
    ------
    FaultwatchError
        The folder belongs to another user, or is not a git repository.
    """
    is_bare = explicit and is_git_directory(path)
    try:
        location_options = () if is_bare else ("-C", str(path))
        query = ("rev-parse", "--path-format=absolute", "--git-common-dir")
        git_dir = str(path.resolve()) if is_bare else None
        common_folder = run_git(*location_options, *query, git_dir=git_dir, decode_paths=True).removesuffix("\n")
    except FaultwatchError as error:
        if "dubious ownership" in error.what:
            # The folder to be trusted is the one that git names: the top of the clone, not a folder in it.
            named_folder = _REFUSED_FOLDER.search(error.what)
            folder = named_folder[1] if named_folder else str(path.resolve())
            raise FaultwatchError(
                f"git refuses to use the repository at {folder}, because it belongs to another user",
                f"if you trust it, run `git config --global --add safe.directory {shlex.quote(folder)}`",
            ) from None
        if not isinstance(error, GitError):  # git is not installed, or does not finish.
            raise
        if "not a git repository" not in error.what:  # For example, its configuration is damaged.
            raise FaultwatchError(f"{path} cannot be read as a git repository: {error.what}", error.remedy) from None
        raise FaultwatchError(f"{path} is not a git repository", "pass a clone, or a URL to clone from") from None
    # All clones of a project are the same subject, whatever their folders are called.
    origin = ""
    with suppress(GitError):  # There may be no remote of this name.
        origin = run_git("config", "--get", "remote.origin.url", git_dir=common_folder).strip()
    return Repository(path.resolve(), make_safe_name(_derive_name(origin) or _derive_name(common_folder)), bare=is_bare)


def _derive_name(address: str) -> str:
    """Return the name of a repository: the last part of its address or path; empty if there is none.

    For a mirror on this host with a path such as ``PROJECT/repo``, the name is that of the outer folder, ``PROJECT``.
    """
    name = _get_last_part(address).strip(".")
    path = Path(address.removeprefix("file://"))
    is_mirror = name in _GENERIC_NAMES and path.is_absolute() and is_git_directory(path)
    return path.parent.name if is_mirror else name


def _get_last_part(address: str) -> str:
    """Return the last part of a repository's URL or path, which is its usual name."""
    return re.split("[/:]", address.rstrip("/").removesuffix("/.git").removesuffix(".git"))[-1]
