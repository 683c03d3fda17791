"""The files of a store in a branch of the repository, written without touching a work tree, an index or HEAD.

The branch has a history of its own. It is read together with the branch of the same name at the remote ``origin`` as it
was last fetched, and the next commit merges both: files never change, so the union of both trees is the merge.
"""

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct, field

from runner.errors import FaultwatchError
from runner.run_store.document_names import MARKER, MAX_DOCUMENT_BYTES, check_marker, parse_name, write_marker
from runner.subject.hardened_git import GitError, build_hardened_environment, execute_git
from runner.subject.repository import Repository

_REMOTE = "origin"
_SECONDS_BETWEEN_COMMITS = 30.0
"""What is newer than this is lost when the process is killed, and measured again."""
_FILES_AT_ONCE = 200
_MAX_ATTEMPTS = 10
"""How often a commit is tried again because another process has moved the branch."""


class BranchFiles(Struct):
    """A branch with the files of a store. Files are added, and never changed."""

    git_dir: Path
    branch: str
    waiting: dict[str, bytes] = field(default_factory=dict)
    """Files that are not committed yet."""
    committed_at: float = field(default_factory=time.monotonic)

    @property
    def place(self) -> str:
        """Where the files are, for messages."""
        return f"the branch {self.branch}"

    def open(self, *, may_be_new: bool) -> None:
        """Check that the branch is a store of this version, or that there is none; then the first run makes it.

        Raises
        ------
        FaultwatchError
            It is no name of a branch, no store, checked out in a work tree, or a newer version wrote it.
        """
        if self.branch.startswith("-") or self._ask("check-ref-format", self._ref) is None:
            raise FaultwatchError(
                f"--store: {self.branch!r} is not a valid branch name", "write a name such as branch:faultwatch-data"
            )
        tips = self._list_tips()
        if not tips and not may_be_new:
            raise FaultwatchError(
                f"there is no branch {self.branch}",
                f"fetch it: git fetch {_REMOTE} {self.branch}, or let `faultwatch history --store` create it",
            )
        work_tree = self._print("for-each-ref", "--format=%(worktreepath)", self._ref).strip()
        if work_tree and may_be_new:
            raise FaultwatchError(
                f"the branch {self.branch} is checked out in {work_tree}", "name a branch that is not checked out"
            )
        for tip in tips:
            marker = self._ask("cat-file", "blob", f"{tip}:{MARKER}")
            if marker is None:
                raise FaultwatchError(
                    f"the branch {self.branch} is not a store of runs", "name a new branch, such as faultwatch-data"
                )
            check_marker(marker.encode(), self.place)

    def list_names(self) -> list[str]:
        """Return the names of all files."""
        return sorted({*self._map_blobs(), *self.waiting})

    def read(self, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yield files with their contents. A file that cannot be read has an empty content."""
        blobs = self._map_blobs()
        wanted = list(names)
        for first in range(0, len(wanted), _FILES_AT_ONCE):
            part = wanted[first : first + _FILES_AT_ONCE]
            yield from zip(part, self._read_blobs([blobs.get(name, "") for name in part]), strict=True)

    def write(self, name: str, content: bytes) -> None:
        """Add a file. It is committed with the next ones, at the latest by :meth:`finish`.

        Raises
        ------
        FaultwatchError
            git cannot commit.
        """
        self.waiting[name] = content
        if time.monotonic() - self.committed_at > _SECONDS_BETWEEN_COMMITS:
            self.finish()

    def finish(self) -> None:
        """Commit the files that wait, and merge what was fetched.

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
                # Another process has moved the branch: its files belong to the next commit, too.
                if attempt == _MAX_ATTEMPTS - 1:
                    raise
                time.sleep(0.05 * (attempt + 1))
        self.waiting.clear()
        self.committed_at = time.monotonic()

    @property
    def _ref(self) -> str:
        return f"refs/heads/{self.branch}"

    def _commit(self) -> None:
        """Commit what the branch lacks, if it lacks anything."""
        tips = self._list_tips()
        own, *fetched = tips if tips and self._find_tip(self._ref) == tips[0] else ["", *tips]
        stored = self._map_blobs_of(own) if own else {}
        merged = {name: blob for tip in fetched for name, blob in self._map_blobs_of(tip).items() if name not in stored}
        new = {name: content for name, content in self.waiting.items() if name not in stored and name not in merged}
        if not new and not own and fetched:  # so that it can be pushed, whether or not there was anything to add
            self._execute("update-ref", self._ref, fetched[0], "")
        if not new and not (own and fetched):
            return
        parents = [own, *fetched] if own else fetched
        if not parents:
            new = {MARKER: write_marker(), **new}
        stream = self._write_commit(parents, merged, new)
        self._execute("fast-import", "--quiet", "--date-format=raw", data=stream)

    def _write_commit(self, parents: list[str], merged: dict[str, str], new: dict[str, bytes]) -> bytes:
        """Return a commit as ``git fast-import`` reads it. That command moves a branch only forward."""
        runs = sum(name.startswith("reports/") for name in new)
        title = f"Store {runs} run{'' if runs == 1 else 's'}\n".encode()
        parts = [
            f"commit {self._ref}\n".encode(),
            f"committer Faultwatch <faultwatch@localhost> {int(time.time())} +0000\n".encode(),
            b"data %d\n%b" % (len(title), title),
            *(f"{'merge' if number else 'from'} {parent}\n".encode() for number, parent in enumerate(parents)),
            *(f"M 100644 {blob} {name}\n".encode() for name, blob in merged.items()),
        ]
        for name, content in new.items():
            parts += [f"M 100644 inline {name}\n".encode(), b"data %d\n" % len(content), content, b"\n"]
        return b"".join(parts)

    def _list_tips(self) -> list[str]:
        """Return the commits whose trees together are the store: the branch, and its fetched state unless merged."""
        own, fetched = self._find_tip(self._ref), self._find_tip(f"refs/remotes/{_REMOTE}/{self.branch}")
        if own and fetched and self._ask("merge-base", "--is-ancestor", fetched, own) is not None:
            fetched = ""
        return [tip for tip in (own, fetched) if tip]

    def _find_tip(self, ref: str) -> str:
        """Return the commit of a ref; empty if there is no such ref."""
        return (self._ask("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}") or "").strip()

    def _map_blobs(self) -> dict[str, str]:
        return {name: blob for tip in self._list_tips() for name, blob in self._map_blobs_of(tip).items()}

    def _map_blobs_of(self, tip: str) -> dict[str, str]:
        """Return the documents in a commit, with the hashes of their contents. Other files are left alone."""
        entries = self._print("ls-tree", "-r", "-z", "--full-tree", tip).split("\0")
        split = (entry.partition("\t") for entry in entries if entry.startswith("100644 blob "))
        return {name: head.split()[2] for head, _, name in split if parse_name(name)}

    def _read_blobs(self, blobs: list[str]) -> Iterator[bytes]:
        """Yield the contents of blobs; an empty one where it is missing or too large."""
        output = self._execute("cat-file", "--batch", data="".join(f"{blob or '-'}\n" for blob in blobs).encode())
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

    def _print(self, *arguments: str) -> str:
        """Return what git prints."""
        return self._execute(*arguments).decode(errors="surrogateescape")

    def _ask(self, *arguments: str) -> str | None:
        """Return what git prints; None if it fails, which is an answer too."""
        try:
            return self._print(*arguments)
        except GitError:
            return None

    def _execute(self, *arguments: str, data: bytes = b"") -> bytes:
        """Run git here.

        Raises
        ------
        GitError
            It fails; the message contains its error.
        """
        own = [f"--git-dir={self.git_dir}", *arguments]
        result = execute_git(own, arguments[0], build_hardened_environment(), data)
        if result.returncode:
            lines = result.stderr.decode(errors="replace").strip().splitlines()
            raise GitError(f"git {arguments[0]}: {lines[0] if lines else f'exit code {result.returncode}'}")
        return result.stdout


def make_branch_files(repository: Repository, branch: str) -> BranchFiles:
    """Return the files of a store in a branch of a repository."""
    return BranchFiles(repository.get_common_directory(), branch)
