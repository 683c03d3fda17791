"""Reads workload files as a commit has them.

What a pull request does to its own file, such as moving it or making a folder of its name, must not hide the file by
which it is judged: so a file is looked for by the word that a person wrote, by the path at which head has it, and by
the name of the workload.
"""

import os
from contextlib import suppress
from pathlib import Path, PurePosixPath

from msgspec import Struct

from runner.errors import FaultwatchError
from runner.subject.checkout_content import TooLargeCheckout, write_commit
from runner.subject.repository import Repository
from runner.workload import WORKLOAD_FILE, Workload, load_workload
from runner.workload.lookup import is_path

_FILE_MODE, _PROGRAM_MODE, _LINK_MODE = "100644", "100755", "120000"
_MAX_BYTES = 1 << 20
_MAX_FILES = 100


class RequestedWorkload(Struct, frozen=True):
    """A workload file in a work tree, as a person asked for it.

    Attributes
    ----------
    workload
        What was found.
    path
        Where it lies, relative to the top of the work tree, without links.
    written
        The path that the person wrote, with links; empty if they wrote none.
    word
        What the person wrote, if that may be the name of a workload.
    """

    workload: Workload
    path: str
    written: str = ""
    word: str = ""


def locate_requested_workload(repository: Repository, workload: Workload, name: str | None) -> RequestedWorkload | None:
    """Return where a workload file lies in the work tree of a repository; None if it lies outside.

    Parameters
    ----------
    name
        What the person wrote; None if they left it out.
    """
    try:
        top = repository.get_work_tree().resolve()
    except FaultwatchError:
        return None
    if not workload.path.is_relative_to(top):
        return None
    written, word = "", ""
    if name and is_path(name):
        place = Path(os.path.normpath(Path.cwd() / name))
        place = place / WORKLOAD_FILE if place.is_dir() else place
        written = place.relative_to(top).as_posix() if place.is_relative_to(top) else ""
    if name and "/" not in name and not name.endswith(".toml"):
        word = name
    return RequestedWorkload(workload, workload.path.relative_to(top).as_posix(), written, word)


def load_committed_workload(
    repository: Repository, commit: str, requested: RequestedWorkload, scratch: Path, *, by_name: bool = True
) -> Workload | None:
    """Return the workload of a commit that a person requested; None if the commit has none.

    Parameters
    ----------
    scratch
        A folder for what the workload needs of the commit.
    by_name
        Whether to look in all folders as well. That takes long in a tree without end, as a stranger can make it.

    Raises
    ------
    FaultwatchError
        The file that the commit has is not valid.
    """
    place = _Place(repository, commit, scratch)
    path = requested.written if place.get_mode(requested.written) else ""
    if by_name and requested.word:
        path = path or place.find_path(requested.word)
    path = path or (requested.path if place.get_mode(requested.path) else "")
    if by_name:
        path = path or place.find_path(requested.workload.name)
    return place.load_workload(path, requested) if path else None


class _Place(Struct, frozen=True):
    """A commit, and a folder for what is read of it."""

    repository: Repository
    commit: str
    scratch: Path

    def load_workload(self, path: str, requested: RequestedWorkload) -> Workload:
        """Load the workload file at a path, with the other files of its folder if it uses them."""
        workload = self._load(path)
        if not workload.uses_own_folder:
            return workload
        if path == requested.path and self._has_same_folder(path):
            return workload.model_copy(update={"path": requested.workload.path})
        return load_workload(self._read_folder() / path)

    def find_path(self, name: str) -> str:
        """Return the path of the workload file that gives a name, that nearest to the top; empty if there is none."""
        listed = self._run_git("ls-tree", "-r", "-z", "--full-tree", "--name-only", self.commit).split("\0")
        files = [path for path in listed if PurePosixPath(path).name == WORKLOAD_FILE]
        for path in sorted(files, key=lambda path: (path.count("/"), path))[:_MAX_FILES]:
            with suppress(FaultwatchError):
                if self._load(path).name == name:
                    return path
        return ""

    def get_mode(self, path: str) -> str:
        """Return the mode of a file; empty if there is none, or if it is a folder or a submodule."""
        mode, _ = self._read_entry(self.commit, path) if path else ("", "")
        return mode if mode in {_FILE_MODE, _PROGRAM_MODE, _LINK_MODE} else ""

    def _load(self, path: str) -> Workload:
        """Load a workload file alone; one that is a link is loaded among the other files."""
        if self.get_mode(path) == _LINK_MODE:
            return load_workload(self._read_folder() / path)
        file = self.scratch / f"{self.commit}-files" / path
        if not file.exists():
            if int(self._run_git("cat-file", "-s", f"{self.commit}:{path}")) > _MAX_BYTES:
                raise FaultwatchError(
                    f"{path} of {self.commit[:10]} is too large for a workload file", "make it smaller"
                )
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(os.fsencode(self._run_git("cat-file", "blob", f"{self.commit}:{path}")))
        try:
            return load_workload(file)
        except FaultwatchError as error:
            what = error.what.replace(str(file), f"{path} of {self.commit[:10]}")
            raise FaultwatchError(what, error.remedy) from None

    def _has_same_folder(self, path: str) -> bool:
        """Return whether a folder is the same as in the commit that is checked out, and no link leads out of it."""
        folder = PurePosixPath(path).parent.as_posix()
        if folder == ".":
            return self.repository.resolve("HEAD") == self.commit
        if self._read_entry("HEAD", folder) != self._read_entry(self.commit, folder):
            return False
        listing = self._run_git("ls-tree", "-r", "-z", "--full-tree", self.commit, "--", folder)
        return not any(line.startswith(_LINK_MODE) for line in listing.split("\0"))

    def _read_entry(self, commit: str, path: str) -> tuple[str, str]:
        """Return the mode and the hash of a file or a folder; empty if there is none."""
        listing = self._run_git("ls-tree", "-z", "--full-tree", commit, "--", path)
        head, _, listed_path = listing.removesuffix("\0").partition("\t")
        mode, _, name = head.split() if listed_path == path else ("", "", "")
        return mode, name

    def _read_folder(self) -> Path:
        """Return a folder with all files of the commit."""
        tree = self.scratch / self.commit
        if not tree.exists():
            try:
                write_commit(self.repository, self.commit, tree, bounded=True, whole=False)
            except TooLargeCheckout as error:
                raise FaultwatchError(f"{self.commit[:10]} cannot be checked out: {error}") from None
        return tree

    def _run_git(self, *words: str) -> str:
        return self.repository.git(*words, variables={"GIT_LITERAL_PATHSPECS": "1"}, paths=True)
