"""Reads the workload file of a commit.

A pull request may move its workload file, or put a folder with the same name in its place. This must not hide the file
by which the pull request is judged. The file is therefore searched for in several ways: by the argument of the command,
by the path in the work tree, and by the name of the workload.
"""

import os
from contextlib import suppress
from pathlib import Path, PurePosixPath

from msgspec import Struct

from runner.errors import FaultwatchError
from runner.subject.checkout_content import TooLargeCheckout, write_commit
from runner.subject.repository import Repository
from runner.workload import WORKLOAD_FILE, Workload, load_workload
from runner.workload.workload_lookup import is_path

_FILE_MODE, _PROGRAM_MODE, _LINK_MODE = "100644", "100755", "120000"
_MAX_BYTES = 1 << 20
"""The largest size of a workload file in bytes."""
_MAX_FILES = 100
"""The largest number of workload files of a commit in which a name is searched for."""


class RequestedWorkload(Struct, frozen=True):
    """A workload file in the work tree, and the argument by which the command found it.

    Attributes
    ----------
    workload
        The loaded workload.
    path
        The path of its file, relative to the top of the work tree, with symbolic links resolved.
    path_argument
        The argument as a path relative to the top of the work tree, with links unresolved; empty if it is not a path.
    name_argument
        The argument if it may be the name of a workload; otherwise empty.
    """

    workload: Workload
    path: str
    path_argument: str = ""
    name_argument: str = ""


def locate_requested_workload(repository: Repository, workload: Workload, name: str | None) -> RequestedWorkload | None:
    """Return the workload file with its path in the work tree of a repository; None if it is not in the work tree.

    Parameters
    ----------
    name
        The argument of the command; None if there is none.
    """
    try:
        work_tree = repository.get_work_tree().resolve()
    except FaultwatchError:
        return None
    if not workload.path.is_relative_to(work_tree):
        return None
    path_argument, name_argument = "", ""
    if name and is_path(name):
        file = Path(os.path.normpath(Path.cwd() / name))
        file = file / WORKLOAD_FILE if file.is_dir() else file
        path_argument = file.relative_to(work_tree).as_posix() if file.is_relative_to(work_tree) else ""
    if name and "/" not in name and not name.endswith(".toml"):
        name_argument = name
    return RequestedWorkload(workload, workload.path.relative_to(work_tree).as_posix(), path_argument, name_argument)


def load_committed_workload(
    repository: Repository,
    commit: str,
    requested_workload: RequestedWorkload,
    scratch: Path,
    *,
    search_all_folders: bool = True,
) -> Workload | None:
    """Return the requested workload as a commit has it; None if the commit does not have it.

    Parameters
    ----------
    scratch
        The folder for the files that are read from the commit.
    search_all_folders
        Whether to search all folders of the commit for a workload with the requested name. This takes long in a very
        large tree, which an untrusted author can create.

    Raises
    ------
    FaultwatchError
        The workload file of the commit is not valid.
    """
    tree = _CommitTree(repository, commit, scratch)
    path = ""
    # Search by the argument of the command, then by the path in the work tree, then by the name of the workload.
    if tree.has_file(requested_workload.path_argument):
        path = requested_workload.path_argument
    elif search_all_folders and requested_workload.name_argument:
        path = tree.find_path(requested_workload.name_argument)
    if not path and tree.has_file(requested_workload.path):
        path = requested_workload.path
    if not path and search_all_folders:
        path = tree.find_path(requested_workload.workload.name)
    return tree.load_workload_at(path, requested_workload) if path else None


class _CommitTree(Struct, frozen=True):
    """The files of a commit, and the folder into which they are written."""

    repository: Repository
    commit: str
    scratch: Path

    def load_workload_at(self, path: str, requested_workload: RequestedWorkload) -> Workload:
        """Return the workload of the file at a path, with the other files of its folder if it uses them."""
        workload = self._load_file_alone(path)
        if not workload.uses_own_folder:
            return workload
        # If the work tree has the same folder, the workload can use it there, and nothing has to be written.
        if path == requested_workload.path and self._has_same_folder(path):
            return workload.model_copy(update={"path": requested_workload.workload.path})
        return load_workload(self._write_all_files() / path)

    def find_path(self, name: str) -> str:
        """Return the path of the file of the workload with this name, nearest to the top; empty if there is none."""
        tracked_files = self._run_git("ls-tree", "-r", "-z", "--full-tree", "--name-only", self.commit).split("\0")
        files = [path for path in tracked_files if PurePosixPath(path).name == WORKLOAD_FILE]
        for path in sorted(files, key=lambda path: (path.count("/"), path))[:_MAX_FILES]:
            with suppress(FaultwatchError):  # The file may be invalid.
                if self._load_file_alone(path).name == name:
                    return path
        return ""

    def has_file(self, path: str) -> bool:
        """Return whether the commit has a file or a symbolic link at a path."""
        return self._read_mode(path) in {_FILE_MODE, _PROGRAM_MODE, _LINK_MODE}

    def _read_mode(self, path: str) -> str:
        """Return the mode of the commit's entry at a path; empty if there is none."""
        return self._read_entry(self.commit, path)[0] if path else ""

    def _load_file_alone(self, path: str) -> Workload:
        """Load only the workload file. If it is a symbolic link, write all files of the commit first.

        Raises
        ------
        FaultwatchError
            The file is too large or not valid; the message names its path in the commit.
        """
        if self._read_mode(path) == _LINK_MODE:
            return load_workload(self._write_all_files() / path)
        file = self.scratch / f"{self.commit}-files" / path
        if not file.exists():
            if int(self._run_git("cat-file", "-s", f"{self.commit}:{path}")) > _MAX_BYTES:
                raise FaultwatchError(
                    f"{path} at {self.commit[:10]} is too large for a workload file", "make it smaller"
                )
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(os.fsencode(self._run_git("cat-file", "blob", f"{self.commit}:{path}")))
        try:
            return load_workload(file)
        except FaultwatchError as error:
            message = error.what.replace(str(file), f"{path} of {self.commit[:10]}")
            raise FaultwatchError(message, error.remedy) from None

    def _has_same_folder(self, file: str) -> bool:
        """Return whether the folder of a workload file is the same in this commit as in the one that is checked out."""
        folder = PurePosixPath(file).parent.as_posix()
        if folder == ".":
            # The folder is the whole tree, so links in it lead to the same files if the commits are the same.
            return self.repository.resolve("HEAD") == self.commit
        if self._read_entry("HEAD", folder) != self._read_entry(self.commit, folder):
            return False
        # A link may lead out of the folder, to a file that differs between the two commits.
        listing = self._run_git("ls-tree", "-r", "-z", "--full-tree", self.commit, "--", folder)
        return not any(line.startswith(_LINK_MODE) for line in listing.split("\0"))

    def _read_entry(self, commit: str, path: str) -> tuple[str, str]:
        """Return the mode and the hash of a file or a folder; both are empty if there is none."""
        listing = self._run_git("ls-tree", "-z", "--full-tree", commit, "--", path)
        head, _, listed_path = listing.removesuffix("\0").partition("\t")
        mode, _, object_hash = head.split() if listed_path == path else ("", "", "")
        return mode, object_hash

    def _write_all_files(self) -> Path:
        """Write all files of the commit into a folder, once; return the folder.

        Raises
        ------
        FaultwatchError
            The files are too large.
        """
        tree = self.scratch / self.commit
        if not tree.exists():
            try:
                write_commit(self.repository, self.commit, tree, refuse_large=True, refuse_incomplete=False)
            except TooLargeCheckout as error:
                raise FaultwatchError(f"{self.commit[:10]} cannot be checked out: {error}") from None
        return tree

    def _run_git(self, *arguments: str) -> str:
        """Run git so that it takes paths literally, even if they contain special characters."""
        return self.repository.git(*arguments, variables={"GIT_LITERAL_PATHSPECS": "1"}, decode_paths=True)
