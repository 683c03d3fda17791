"""The names of the files in a store: kind, subject, and digest of the content.

The name depends on the content. Therefore a file never changes, two jobs that store the same content write the same
file, and copying the files of one store into another merges both. Each file is the body of a request to the service: a
report (``PUT /runs``), a part of a history (``PUT /subjects/NAME/revisions``), or the runs of a proof
(``POST /proofs``).
"""

import hashlib
import re
from enum import StrEnum

from msgspec import Struct

MAX_DOCUMENT_BYTES = 64 << 20
"""The largest size of a file that is read. The service accepts no larger requests."""


class Kind(StrEnum):
    """The kind of a file's content, which is also the name of its folder."""

    REVISIONS = "revisions"
    """Commits and tags (:class:`runner.contract.report.RevisionList`)."""
    REPORTS = "reports"
    """One run (:class:`runner.contract.report.Report`)."""
    PROOFS = "proofs"
    """The runs of two commits that were measured interleaved (:class:`runner.contract.ComparisonRequest`)."""


_NAME = re.compile(
    rf"(?P<kind>{'|'.join(Kind)})/(?P<subject>[A-Za-z0-9][A-Za-z0-9_.-]{{0,99}})/[0-9a-f]{{2}}/(?P<digest>[0-9a-f]{{64}})\.json"
)


class DocumentName(Struct, frozen=True):
    """The parts of the name of a file in a store."""

    text: str
    kind: Kind
    subject: str
    digest: str

    def matches(self, content: bytes) -> bool:
        """Return whether the content of the file is intact: the name contains its digest."""
        return hashlib.sha256(content).hexdigest() == self.digest


def make_name(kind: Kind, subject: str, content: bytes) -> str:
    """Return the name under which the content of a file is stored."""
    digest = hashlib.sha256(content).hexdigest()
    return f"{kind}/{subject}/{digest[:2]}/{digest}.json"


def parse_name(text: str) -> DocumentName | None:
    """Return the parts of a file's name; None if it is not a name that a store uses."""
    match = _NAME.fullmatch(text)
    return DocumentName(text, Kind(match["kind"]), match["subject"], match["digest"]) if match else None
