"""Stores reports and profiles on disk until the service has received them."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct
from pydantic import ValidationError

from runner.contract.report import Report
from runner.errors import FaultwatchError, RequestRefused, ServerError, ServiceUnavailable
from runner.system.durable_files import rename_together_durably
from runner.system.private_folder import make_private_folder
from runner.system.processes import is_alive, read_own_name

if TYPE_CHECKING:
    from runner.contract.profile import Profile  # Large, and most commands have none.

SpooledDocument: TypeAlias = "Report | Profile"
_PROFILE_SUFFIX = ".profile"

MAX_FAILURES = 3
"""The number of successive server errors after which the remaining documents are not sent now."""
_PARTIAL_SUFFIX = ".partial"


class Spool(Struct, frozen=True):
    """A folder with one file for each report or profile.

    ``RUN.json`` waits to be sent. ``RUN.refused`` was refused, and ``RUN.reason`` contains the reason; if it is renamed
    to ``RUN.json``, it is sent once more. A profile is stored as ``ID.profile.json``.
    """

    folder: Path

    def add(self, *documents: SpooledDocument) -> list[Path]:
        """Write documents durably, so that they survive a crash of the process or the machine; return their files.

        They are stored together: if a crash kept one side of a pair only, the whole pair would be measured again.

        Raises
        ------
        FaultwatchError
            One of them cannot be written; the message says where, and why.
        """
        files = {self._name_partial_file(document): self.get_file(document) for document in documents}
        try:
            make_private_folder(self.folder)
            for document, partial_file in zip(documents, files, strict=True):
                partial_file.write_text(document.model_dump_json(), encoding="utf-8")
                _requeue_document(partial_file)
            rename_together_durably(files)
        except OSError as error:
            for partial_file in files:
                with suppress(OSError):
                    partial_file.unlink()
            raise FaultwatchError(
                f"the result cannot be stored in {self.folder}: {error.strerror}",
                "free some space there, or set FAULTWATCH_HOME to another folder",
            ) from None
        return list(files.values())

    def _name_partial_file(self, document: SpooledDocument) -> Path:
        """Return the file into which a document is written before it has its name."""
        return self.get_file(document).with_suffix(f".{read_own_name()}{_PARTIAL_SUFFIX}")

    def flush(self, send: Callable[[SpooledDocument], None]) -> int:
        """Send all waiting documents, oldest first; delete those that are acknowledged, and return their number.

        Refused documents are set aside. A document that causes a server error goes to the end of the queue.

        Raises
        ------
        FaultwatchError
            The service does not accept documents now; they stay in the spool.
        """
        n_sent = n_failures = 0
        last_error: FaultwatchError | None = None
        for file, document in self._read_documents():
            try:
                send(document)
            except RequestRefused as error:
                _set_document_aside(file, error.what)
                continue
            except ServiceUnavailable:
                # A proxy returns the same status if it cannot forward this document, so start the next attempt with
                # another document.
                _requeue_report_if_present(file)
                raise
            except ServerError as error:
                last_error = error
                n_failures += 1
                _requeue_report_if_present(file)
                if n_failures == MAX_FAILURES:
                    break
                continue
            file.unlink(missing_ok=True)
            n_sent += 1
            n_failures = 0
        if last_error:
            raise last_error
        return n_sent

    def send_one(self, document: SpooledDocument, send: Callable[[SpooledDocument], None]) -> None:
        """Send one waiting document before all others, and delete it when it is acknowledged.

        Raises
        ------
        RequestRefused
            The service refuses the document for good; it is set aside.
        FaultwatchError
            The service does not accept the document now; it stays in the spool.
        """
        file = self.get_file(document)
        try:
            send(document)
        except RequestRefused as error:
            _set_document_aside(file, error.what)
            raise
        file.unlink(missing_ok=True)

    def get_file(self, document: SpooledDocument) -> Path:
        """Return the file in which a document waits."""
        return self.folder / _make_name(document)

    def remove_abandoned_files(self) -> None:
        """Remove the partial files of killed processes."""
        for leftover in self._list_files(f"*{_PARTIAL_SUFFIX}"):
            process = leftover.name.removesuffix(_PARTIAL_SUFFIX).rpartition(".")[2]
            if not is_alive(process):
                with suppress(OSError):
                    leftover.unlink()

    def list_waiting_reports(self) -> list[Path]:
        """Return the files that wait to be sent, oldest first."""
        return self._list_files("*.json")

    def list_refused_reports(self) -> list[tuple[Path, str]]:
        """Return the refused files, each with the reason."""
        return [(file, _read_reason(file)) for file in self._list_files("*.refused")]

    def _read_documents(self) -> Iterator[tuple[Path, SpooledDocument]]:
        """Yield the waiting documents; set aside those that cannot be read."""
        self.remove_abandoned_files()
        for file in self.list_waiting_reports():
            try:
                document = read_document(file)
            except FileNotFoundError:
                continue  # Another process has sent it meanwhile.
            except ValidationError as error:
                # It is damaged, or written by another version. Set it aside, so that it does not block the others.
                _set_document_aside(
                    file, f"the file is not a {_get_kind(file)} that this version can read: {error.errors()[0]['msg']}"
                )
                continue
            yield file, document

    def _list_files(self, pattern: str) -> list[Path]:
        """Return the files of the spool that match a pattern, the oldest first."""
        files = []
        for file in self.folder.glob(pattern):
            with suppress(FileNotFoundError):
                files.append((file.stat().st_mtime_ns, file.name, file))
        return [file for _, _, file in sorted(files)]


def read_document(file: Path) -> SpooledDocument:
    """Read a file of a spool.

    Raises
    ------
    OSError, ValidationError
        The file cannot be read, or is not valid in this version.
    """
    content = file.read_bytes()
    if _get_kind(file) != "profile":
        return Report.model_validate_json(content)
    from runner.contract.profile import Profile  # noqa: PLC0415 - large, and most commands have none

    return Profile.model_validate_json(content)


def _make_name(document: SpooledDocument) -> str:
    return f"{document.run_id}.json" if isinstance(document, Report) else f"{document.profile_id}{_PROFILE_SUFFIX}.json"


def _get_kind(file: Path) -> str:
    return "profile" if file.stem.endswith(_PROFILE_SUFFIX) else "report"


def _requeue_document(file: Path) -> None:
    """Move a document to the end of the queue by a precise time stamp: those of the kernel are too coarse."""
    now = time.time_ns()
    os.utime(file, ns=(now, now))


def _requeue_report_if_present(file: Path) -> None:
    with suppress(OSError):
        _requeue_document(file)


def _set_document_aside(file: Path, reason: str) -> None:
    """Set a document aside, and write the reason to a file beside it."""
    with suppress(OSError):
        file.with_suffix(".reason").write_text(reason + "\n", encoding="utf-8")
    with suppress(FileNotFoundError):
        file.rename(file.with_suffix(".refused"))


def _read_reason(file: Path) -> str:
    """Return why a document was refused."""
    try:
        return file.with_suffix(".reason").read_text(encoding="utf-8").strip()
    except OSError:
        return "no reason was recorded"
