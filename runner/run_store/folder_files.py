"""The files of a store in a plain folder, such as a cache or an artifact of a CI job."""

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from msgspec import Struct

from runner.errors import FaultwatchError
from runner.run_store.document_names import MAX_DOCUMENT_BYTES
from runner.run_store.store_version import MARKER, check_marker, format_marker
from runner.system.durable_files import rename_durably
from runner.system.regular_file import read_regular

_PARTIAL = ".partial"
_ABANDONED_SECONDS = 24 * 3600
"""The age in seconds from which a partial file counts as abandoned. Its writer may be on another host, so whether it is
alive cannot be checked."""


class FolderFiles(Struct, frozen=True):
    """A folder with the files of a store. Files are added, and never changed."""

    folder: Path

    @property
    def description(self) -> str:
        """A description of where the files are, for messages."""
        return str(self.folder)

    def open(self, *, may_be_new: bool) -> None:
        """Check that the folder is a store that this version can read.

        With ``may_be_new``, a new or empty folder is made a store.

        Raises
        ------
        FaultwatchError
            The folder is not a store, was written by a newer version, or cannot be written.
        """
        try:
            content = self._read(MARKER)
            if content is not None:
                check_marker(content, self.description)
                return
            remedy = "create one with `faultwatch history --store FOLDER`"
            if may_be_new:
                remedy = "choose a new or an empty folder"
            if self._has_other_files():
                raise FaultwatchError(f"{self.folder} is not a run store", remedy)
            if not may_be_new:
                raise FaultwatchError(f"there is no run store in {self.folder}", remedy)
            self.write(MARKER, format_marker())
        except OSError as error:
            raise FaultwatchError(
                f"{self.folder} cannot be used as a store: {error.strerror}", "choose a folder that you can write to"
            ) from None

    def list_names(self) -> list[str]:
        """Return the names of all files."""
        return sorted(file.relative_to(self.folder).as_posix() for file in self.folder.rglob("*.json"))

    def read(self, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yield the name and the content of each file; the content is empty if there is none that can be read."""
        for name in names:
            try:
                yield name, self._read(name) or b""
            except OSError:
                yield name, b""

    def write(self, name: str, content: bytes) -> None:
        """Add a file atomically: no reader sees a part of it, even if this process is killed. Replace a damaged one.

        Raises
        ------
        FaultwatchError
            The file cannot be written.
        """
        file = self.folder / name
        temporary_file = file.with_name(f".{file.name}.{token_hex(8)}{_PARTIAL}")
        with suppress(OSError):  # What cannot be read is damaged.
            if self._read(name) == content:
                return
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            temporary_file.write_bytes(content)
            rename_durably(temporary_file, file)
        except OSError as error:
            with suppress(OSError):
                temporary_file.unlink()
            raise FaultwatchError(
                f"the run cannot be stored in {self.folder}: {error.strerror}",
                "free some space there, or choose another folder that you can write to",
            ) from None

    def finish(self) -> None:
        """Remove the partial files of killed processes."""
        for temporary_file in self.folder.rglob(f".*{_PARTIAL}"):
            with suppress(OSError):
                if time.time() - temporary_file.stat().st_mtime > _ABANDONED_SECONDS:
                    temporary_file.unlink()

    def _has_other_files(self) -> bool:
        """Return whether a folder has no marker, but files other than partial ones.

        Partial files alone may belong to a store that another job is creating.
        """
        names = [file.name for file in self.folder.iterdir()] if self.folder.exists() else []
        return MARKER not in names and not all(name.startswith(".") and name.endswith(_PARTIAL) for name in names)

    def _read(self, name: str) -> bytes | None:
        """Return the content of a file; None if there is none."""
        file = self.folder / name
        # A cache can come from an untrusted job: reading a pipe would wait for ever.
        return read_regular(file, MAX_DOCUMENT_BYTES) if file.exists() else None
