"""Reports and profiles on disk from the moment they are made until the service has them."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from runner.contract.profile import Profile
from runner.contract.report import Report
from runner.errors import FaultwatchError, RequestRefused, ServerError

SpooledDocument = Report | Profile
_PROFILE = ".profile"

STUMBLES = 3
"""The service may fail over so many reports in a row before the rest is left for later."""
_STALE_SECONDS = 86_400.0
"""After this long a half-written file is what a killed process left."""


@dataclass(frozen=True, slots=True)
class Spool:
    """A folder with one file a report or a profile.

    ``RUN.json`` waits to be sent. ``RUN.refused`` was refused for good, and ``RUN.reason`` says why; renamed back to
    ``.json`` it is sent again. A profile is ``ID.profile.json``.
    """

    folder: Path

    def add(self, document: SpooledDocument) -> Path:
        """Write a document so that it survives a crash of this process or of the machine; return its file."""
        file = self.folder / _name(document)
        partial = file.with_suffix(".partial")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with partial.open("w", encoding="utf-8") as stream:
                stream.write(document.model_dump_json())
                stream.flush()
                os.fsync(stream.fileno())
            _stamp(partial)
            partial.rename(file)
            _sync_folder(self.folder)
        except OSError as error:
            with suppress(OSError):
                partial.unlink()
            raise FaultwatchError(
                f"the result cannot be kept in {self.folder}: {error.strerror}",
                "free space there, or set FAULTWATCH_HOME",
            ) from None
        return file

    def flush(self, send: Callable[[SpooledDocument], None]) -> int:
        """Send every document that waits here, oldest first, and forget each that was acknowledged; return how many.

        What is refused for good is set aside. A document that the service stumbles over goes to the end of the queue.

        Raises
        ------
        FaultwatchError
            Where the service takes none now; they wait.
        """
        sent = stumbles = 0
        trouble: FaultwatchError | None = None
        for file, document in self._documents():
            try:
                send(document)
            except RequestRefused as error:
                _set_aside(file, error.what)
                continue
            except ServerError as error:
                trouble = error
                stumbles += 1
                with suppress(OSError):
                    _stamp(file)
                if stumbles == STUMBLES:
                    break
                continue
            file.unlink(missing_ok=True)
            sent += 1
            stumbles = 0
        if trouble:
            raise trouble
        return sent

    def waiting(self) -> list[Path]:
        """Return the files that wait to be sent, oldest first."""
        return self._files("*.json")

    def refused(self) -> list[tuple[Path, str]]:
        """Return the files that were set aside, each with the reason."""
        return [(file, _reason(file)) for file in self._files("*.refused")]

    def _documents(self) -> Iterator[tuple[Path, SpooledDocument]]:
        for leftover in self._files("*.partial"):
            with suppress(OSError):
                if time.time() - leftover.stat().st_mtime > _STALE_SECONDS:
                    leftover.unlink()
        for file in self.waiting():
            try:
                document = read_document(file)
            except FileNotFoundError:
                continue  # another process has sent it meanwhile
            except ValidationError as error:
                # Written by another version, or damaged: kept for a person to look at, out of the way of the rest.
                _set_aside(file, f"this is not a {_kind(file)} of this version: {error.errors()[0]['msg']}")
                continue
            yield file, document

    def _files(self, pattern: str) -> list[Path]:
        found = []
        for file in self.folder.glob(pattern):
            with suppress(FileNotFoundError):
                found.append((file.stat().st_mtime_ns, file.name, file))
        return [file for _, _, file in sorted(found)]


def read_document(file: Path) -> SpooledDocument:
    """Read what a file of a spool holds.

    Raises
    ------
    OSError, ValidationError
        Where it cannot be read, or is of another version.
    """
    kind = Profile if _kind(file) == "profile" else Report
    return kind.model_validate_json(file.read_bytes())


def _name(document: SpooledDocument) -> str:
    return f"{document.profile_id}{_PROFILE}.json" if isinstance(document, Profile) else f"{document.run_id}.json"


def _kind(file: Path) -> str:
    return "profile" if file.stem.endswith(_PROFILE) else "report"


def _stamp(file: Path) -> None:
    """Put a document at the end of the queue: the kernel's own time stamps are too coarse to tell neighbours apart."""
    now = time.time_ns()
    os.utime(file, ns=(now, now))


def _set_aside(file: Path, reason: str) -> None:
    with suppress(OSError):
        file.with_suffix(".reason").write_text(reason + "\n", encoding="utf-8")
    with suppress(FileNotFoundError):
        file.rename(file.with_suffix(".refused"))


def _reason(file: Path) -> str:
    try:
        return file.with_suffix(".reason").read_text(encoding="utf-8").strip()
    except OSError:
        return "no reason was noted"


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
