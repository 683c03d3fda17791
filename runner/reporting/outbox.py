"""Sends reports and profiles to the service, now or later, so that measuring does not wait for the service."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from runner.errors import FaultwatchError, RequestRefused
from runner.reporting.spool import Spool, SpooledDocument

FIRST_PAUSE_SECONDS = 10.0
MAX_PAUSE_SECONDS = 300.0
"""Seconds to wait after a failure of the service; further failures double the pause, up to the longest (backoff)."""


class Outbox:
    """A spool, and the service that receives its documents.

    Attributes
    ----------
    error
        Why the last delivery failed; None if it succeeded.
    refused
        By file: why the service refused a document for good, which may be an older one that waited in the spool.
    """

    def __init__(
        self, spool: Spool, send: Callable[[SpooledDocument], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Prepare to deliver documents.

        Parameters
        ----------
        send
            Sends a document to the service, or raises a :class:`FaultwatchError`.
        """
        self.spool = spool
        self.error: FaultwatchError | None = None
        self.refused: dict[Path, str] = {}
        self._posted_files: set[Path] = set()
        self._sender = send
        self._clock = clock
        self._pause_seconds = 0.0
        """The pause after the last failure; 0 after a success, and before the first attempt."""
        self._next_attempt_at = float("-inf")  # the first attempt is made at once

    @property
    def waiting(self) -> int:
        """The number of documents of this outbox that the service has neither received nor refused."""
        return len(self._posted_files.intersection(self.spool.list_waiting_reports()))

    @property
    def refusals(self) -> list[str]:
        """Why the service refused documents of this outbox for good."""
        return [reason for file, reason in self.refused.items() if file in self._posted_files]

    def post(self, *documents: SpooledDocument) -> None:
        """Store reports or profiles on disk, then try to send all waiting documents.

        All of them are stored before the first is sent, so that none is lost if the process is killed in between.

        Raises
        ------
        FaultwatchError
            A document can neither be stored nor sent.
        """
        self._store_documents(documents)
        self.deliver()

    def post_now(self, *documents: SpooledDocument) -> None:
        """Store reports or profiles on disk and send them at once, before older documents that wait.

        Raises
        ------
        FaultwatchError
            The service refuses a document, or does not accept it now. In the latter case, it waits on disk.
        """
        self._store_documents(documents)
        for document in documents:
            try:
                self.spool.send_one(document, self._send_document)
            except RequestRefused as error:
                raise FaultwatchError(
                    f"{document.revision.commit[:10]}: {error.what}",
                    "what was refused is set aside; see `faultwatch spool`",
                ) from None
        self.deliver()

    def deliver(self, *, at_once: bool = False) -> None:
        """Send all waiting documents; do nothing in the pause after a failure, unless ``at_once``."""
        if not at_once and self._clock() < self._next_attempt_at:
            return
        try:
            self.spool.flush(self._send_document)
        except FaultwatchError as error:
            self.error = error
            self._pause_seconds = (
                min(2 * self._pause_seconds, MAX_PAUSE_SECONDS) if self._pause_seconds else FIRST_PAUSE_SECONDS
            )
            self._next_attempt_at = self._clock() + self._pause_seconds
        else:
            self.error = None
            self._pause_seconds = 0.0

    def _store_documents(self, documents: Sequence[SpooledDocument]) -> None:
        """Store documents in the spool, together if possible; those that cannot be stored are sent at once.

        Raises
        ------
        FaultwatchError
            A document can neither be stored nor sent.
        """
        try:
            self._posted_files.update(self.spool.add(*documents))
        except FaultwatchError as storage_error:
            self._store_or_send_documents(documents, storage_error)

    def _store_or_send_documents(self, documents: Sequence[SpooledDocument], storage_error: FaultwatchError) -> None:
        """Store the documents for which there is room, and send the others at once."""
        for document in documents:
            try:
                self._posted_files.update(self.spool.add(document))
            except FaultwatchError:
                try:
                    self._send_document(document)
                except FaultwatchError:
                    raise storage_error from None  # The user can mend the disk more easily than the service.

    def _send_document(self, document: SpooledDocument) -> None:
        """Send a document; if the service refuses it, remember the reason."""
        try:
            self._sender(document)
        except RequestRefused as error:
            self.refused[self.spool.get_file(document)] = error.what
            raise
