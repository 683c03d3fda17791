"""The files of a store in a branch of the repository, written without touching a working tree, an index or HEAD.

The branch has a separate history. It is read together with the branch of the same name at the remote ``origin``, as it
was last fetched. The next commit merges both: files never change, so the merge is the union of both trees.
"""

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct, field

from runner.errors import FaultwatchError
from runner.run_store.document_names import MAX_DOCUMENT_BYTES, parse_name
from runner.run_store.store_version import MARKER, check_marker, format_marker
from runner.subject.hardened_git import GitError, build_hardened_environment, execute_git
from runner.subject.repository import Repository

_REMOTE = "origin"
_SECONDS_BETWEEN_COMMITS = 30.0
"""Seconds between two commits. If the process is killed, runs that are not committed are lost, and measured again."""
_FILES_AT_ONCE = 200
"""How many files one call of git reads. Their contents are in memory together."""
_MAX_ATTEMPTS = 10
"""The number of attempts to commit; an attempt fails if another process moves the branch at the same time."""
_PAUSE_SECONDS = 0.05
"""The pause after the first failed attempt, in seconds; each further pause is longer by this much."""


class BranchFiles(Struct):
    """A branch with the files of a store. Files are added, and never changed."""

    git_dir: Path
    branch: str
    uncommitted_files: dict[str, bytes] = field(default_factory=dict)
    """Files that are not committed yet."""
    committed_at: float = field(default_factory=time.monotonic)

    @property
    def description(self) -> str:
        """A description of where the files are, for messages."""
        return f"the branch {self.branch}"

    def open(self, *, may_be_new: bool) -> None:
        """Check that the branch is a store that this version can read.

        With ``may_be_new``, the branch need not exist: the first run creates it.

        Raises
        ------
        FaultwatchError
            The name of the branch is invalid, or the branch is missing, is not a store, is checked out in a working
            tree, or was written by a newer version.
        """
        if self.branch.startswith("-") or self._try_to_run_git("check-ref-format", self._ref) is None:
            raise FaultwatchError(
                f"{self.branch!r} is not a valid branch name",
                "write a valid name after branch:, as in branch:faultwatch-data",
            )
        tips = self._list_tips()
        if not tips and not may_be_new:
            raise FaultwatchError(
                f"there is no branch {self.branch}",
                f"fetch it with `git fetch {_REMOTE} {self.branch}`, or let `faultwatch history --store` create it",
            )
        work_tree = self._read_output("for-each-ref", "--format=%(worktreepath)", self._ref).strip()
        if work_tree and may_be_new:  # Only commands that may create a store write to it.
            raise FaultwatchError(
                f"the branch {self.branch} is checked out in {work_tree}", "choose a branch that is not checked out"
            )
        for tip in tips:
            marker = self._try_to_run_git("cat-file", "blob", f"{tip}:{MARKER}")
            if marker is None:
                raise FaultwatchError(
                    f"the branch {self.branch} is not a run store", "choose a new branch, such as faultwatch-data"
                )
            check_marker(marker.encode(errors="surrogateescape"), self.description)

    def list_names(self) -> list[str]:
        """Return the names of all files."""
        return sorted({*self._map_blobs(), *self.uncommitted_files})

    def read(self, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yield files with their contents. A file that cannot be read has an empty content."""
        blobs = self._map_blobs()
        name_list = list(names)
        for start in range(0, len(name_list), _FILES_AT_ONCE):
            name_group = name_list[start : start + _FILES_AT_ONCE]
            yield from zip(name_group, self._read_blobs([blobs.get(name, "") for name in name_group]), strict=True)

    def write(self, name: str, content: bytes) -> None:
        """Add a file. It is committed together with the following files, or by :meth:`finish`.

        Raises
        ------
        FaultwatchError
            git cannot commit.
        """
        self.uncommitted_files[name] = content
        if time.monotonic() - self.committed_at > _SECONDS_BETWEEN_COMMITS:
            self.finish()

    def finish(self) -> None:
        """Commit the files that are not committed yet, and merge the fetched branch.

        Raises
        ------
        FaultwatchError
            git cannot commit.
        """
        for attempt in range(_MAX_ATTEMPTS):
            try:
                self._commit()
                break
            except GitError:
                # Another process has probably moved the branch: retry on top of its commit.
                if attempt == _MAX_ATTEMPTS - 1:
                    raise
                time.sleep(_PAUSE_SECONDS * (attempt + 1))
        self.uncommitted_files.clear()
        self.committed_at = time.monotonic()

    @property
    def _ref(self) -> str:
        return f"refs/heads/{self.branch}"

    def _commit(self) -> None:
        """Commit the files that the branch lacks, and merge the fetched branch; do nothing if neither is needed."""
        tips = self._list_tips()
        # The tip of the branch comes first, if it exists; then the fetched tip, unless it is merged.
        own_tip, fetched_tips = "", tips
        if tips and self._find_tip(self._ref) == tips[0]:
            own_tip, fetched_tips = tips[0], tips[1:]
        stored_blobs = self._map_blobs_of(own_tip) if own_tip else {}
        merged_blobs = {
            name: blob
            for tip in fetched_tips
            for name, blob in self._map_blobs_of(tip).items()
            if name not in stored_blobs
        }
        new_files = {
            name: content
            for name, content in self.uncommitted_files.items()
            if name not in stored_blobs and name not in merged_blobs
        }
        # Create the branch even if there is nothing to add, so that it can be pushed.
        if not new_files and not own_tip and fetched_tips:
            no_old_tip = ""  # git then fails if the branch exists.
            self._run_git("update-ref", self._ref, fetched_tips[0], no_old_tip)
        needs_merge = bool(own_tip and fetched_tips)
        if not new_files and not needs_merge:
            return
        parents = [own_tip, *fetched_tips] if own_tip else fetched_tips
        if not parents:
            new_files = {MARKER: format_marker(), **new_files}
        stream = self._format_commit(parents, merged_blobs, new_files)
        self._run_git("fast-import", "--quiet", "--date-format=raw", data=stream)

    def _format_commit(self, parents: list[str], merged_blobs: dict[str, str], new_files: dict[str, bytes]) -> bytes:
        """Return a commit in the format of ``git fast-import``, which can only fast-forward a branch."""
        runs = sum(name.startswith("reports/") for name in new_files)
        title = f"Store {runs} run{'' if runs == 1 else 's'}\n".encode()
        parts = [
            f"commit {self._ref}\n".encode(),
            f"committer Faultwatch <faultwatch@localhost> {int(time.time())} +0000\n".encode(),
            b"data %d\n%b" % (len(title), title),
            *(f"{'merge' if number else 'from'} {parent}\n".encode() for number, parent in enumerate(parents)),
            *(f"M 100644 {blob} {name}\n".encode() for name, blob in merged_blobs.items()),
        ]
        for name, content in new_files.items():
            parts += [f"M 100644 inline {name}\n".encode(), b"data %d\n" % len(content), content, b"\n"]
        return b"".join(parts)

    def _list_tips(self) -> list[str]:
        """Return the commits whose trees form the store: the tip of the branch, and the fetched tip unless merged."""
        own_tip, fetched_tip = self._find_tip(self._ref), self._find_tip(f"refs/remotes/{_REMOTE}/{self.branch}")
        if (
            own_tip
            and fetched_tip
            and self._try_to_run_git("merge-base", "--is-ancestor", fetched_tip, own_tip) is not None
        ):
            fetched_tip = ""
        return [tip for tip in (own_tip, fetched_tip) if tip]

    def _find_tip(self, ref: str) -> str:
        """Return the commit of a ref; empty if there is no such ref."""
        return (self._try_to_run_git("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}") or "").strip()

    def _map_blobs(self) -> dict[str, str]:
        """Return the blob hash of each document in the store, by name."""
        return {name: blob for tip in self._list_tips() for name, blob in self._map_blobs_of(tip).items()}

    def _map_blobs_of(self, tip: str) -> dict[str, str]:
        """Return the blob hash of each document in a commit, by name. Other files are ignored."""
        entries = self._read_output("ls-tree", "-r", "-z", "--full-tree", tip).split("\0")
        parsed_entries = (entry.partition("\t") for entry in entries if entry.startswith("100644 blob "))
        return {name: properties.split()[2] for properties, _, name in parsed_entries if parse_name(name)}

    def _read_blobs(self, blobs: list[str]) -> Iterator[bytes]:
        """Yield the content of each blob; empty if the blob is missing or too large, or if its hash is empty.

        Parameters
        ----------
        blobs
            The hashes of the blobs; empty for files that the store does not have.
        """
        # For an empty hash, ask for "-": git answers "- missing". An empty line would get an answer without a name.
        names = "".join(f"{blob or '-'}\n" for blob in blobs)
        output = self._run_git("cat-file", "--batch", data=names.encode())
        position = 0
        for _ in blobs:
            end = output.index(b"\n", position)
            _, kind, *size = output[position:end].split()
            position = end + 1
            if kind != b"blob":  # "missing"
                yield b""
                continue
            content = output[position : position + int(size[0])]
            position += len(content) + 1
            yield content if len(content) <= MAX_DOCUMENT_BYTES else b""

    def _read_output(self, *arguments: str) -> str:
        """Return what git prints."""
        return self._run_git(*arguments).decode(errors="surrogateescape")

    def _try_to_run_git(self, *arguments: str) -> str | None:
        """Return what git prints; None if it fails, for commands whose failure is an answer."""
        try:
            return self._read_output(*arguments)
        except GitError:
            return None

    def _run_git(self, *arguments: str, data: bytes = b"") -> bytes:
        """Run git in the repository, and return what it prints.

        Raises
        ------
        GitError
            git fails; the message contains its error.
        """
        git_arguments = [f"--git-dir={self.git_dir}", *arguments]
        result = execute_git(git_arguments, arguments[0], build_hardened_environment(), data)
        if result.returncode:
            lines = result.stderr.decode(errors="replace").strip().splitlines()
            raise GitError(f"git {arguments[0]}: {lines[0] if lines else f'exit code {result.returncode}'}")
        return result.stdout


def make_branch_files(repository: Repository, branch: str) -> BranchFiles:
    """Return the files of a store in a branch of a repository."""
    return BranchFiles(repository.get_common_directory(), branch)
