"""Sends the content of a store to a service: commits first, then runs, then proofs."""

from collections.abc import Callable, Iterator

from msgspec import Struct

from runner.contract.report import Receipts
from runner.errors import FaultwatchError, RequestRefused
from runner.reporting.client import Service
from runner.run_store.document_names import DocumentName, Kind
from runner.run_store.store import RunStore, make_version_error

_REPORTS_PER_REQUEST = 500
_BYTES_PER_REQUEST = 16 << 20
"""The size of a request, unless a single report is larger. The service accepts four times as much."""


class SentRuns(Struct):
    """The numbers of documents that a service has received from a store."""

    runs: int = 0
    proofs: int = 0


def send_store(
    store: RunStore, service: Service, subjects: set[str] | None = None, advance: Callable[[int], None] = lambda _: None
) -> SentRuns:
    """Send the runs of the given subjects (None for all), with their commits and proofs.

    Parameters
    ----------
    advance
        Called after each request with the number of files that it has sent.

    Raises
    ------
    FaultwatchError
        The service does not answer, or refuses an intact file, which another version must have written.
    """
    sent_runs = SentRuns()
    for name, content in store.read(Kind.REVISIONS, subjects):
        _send_one(store, service, name, content)
        advance(1)
    for batch in _split_reports_into_batches(store.read(Kind.REPORTS, subjects)):
        _send_reports(store, service, batch)
        sent_runs.runs += len(batch)
        advance(len(batch))
    for name, content in store.read(Kind.PROOFS, subjects):
        _send_one(store, service, name, content)
        sent_runs.proofs += 1
        advance(1)
    return sent_runs


def count_documents(store: RunStore, subjects: set[str] | None = None) -> int:
    """Return the number of files in a store that belong to the given subjects (None for all)."""
    return sum(len(store.list_documents(kind, subjects)) for kind in Kind)


def _split_reports_into_batches(
    documents: Iterator[tuple[DocumentName, bytes]],
) -> Iterator[list[tuple[DocumentName, bytes]]]:
    """Split reports into batches that are small enough for one request."""
    batch: list[tuple[DocumentName, bytes]] = []
    size = 0
    for name, content in documents:
        if batch and (len(batch) == _REPORTS_PER_REQUEST or size + len(content) > _BYTES_PER_REQUEST):
            yield batch
            batch, size = [], 0
        batch.append((name, content))
        size += len(content)
    if batch:
        yield batch


def _send_reports(store: RunStore, service: Service, batch: list[tuple[DocumentName, bytes]]) -> None:
    """Send reports together. If the service refuses them, send them one by one, so that the error names the file."""
    try:
        answer = service.send_stored_request("/runs", _join_reports(content for _, content in batch))
    except RequestRefused as refusal:
        if len(batch) == 1:
            raise make_version_error(store.files.description, batch[0][0], _get_reason(refusal)) from None
        for document in batch:
            _send_reports(store, service, [document])
        return
    for run in Receipts.model_validate(answer).conflicting:
        store.warn(
            f"{store.files.description}: two files contain different results for the run {run}; the first one is used"
        )


def _join_reports(contents: Iterator[bytes]) -> bytes:
    """Return the body of a request that contains these reports."""
    return b'{"reports":[' + b",".join(contents) + b"]}"


def _send_one(store: RunStore, service: Service, name: DocumentName, content: bytes) -> None:
    """Send a document that is a part of a history, or a proof; raise with its name if the service refuses it."""
    try:
        if name.kind is Kind.REVISIONS:
            service.send_stored_request(f"/subjects/{name.subject}/revisions", content, "PUT")
        else:
            service.send_stored_request("/proofs", content)
    except RequestRefused as refusal:
        raise make_version_error(store.files.description, name, _get_reason(refusal)) from None


def _get_reason(refusal: RequestRefused) -> FaultwatchError:
    return FaultwatchError(refusal.reason or refusal.what)
