"""How the files of a store are named: by kind, by subject, and by the digest of their content.

A name follows from the content. So a file never changes, two jobs that store the same write the same file, and a copy
of one store's files over another's merges both. Each file is the body of a request to the service: a report
(``PUT /runs``), a part of a history (``PUT /subjects/NAME/revisions``), or the runs of a proof (``POST /proofs``).
"""

import hashlib
import json
import re
from enum import StrEnum

from msgspec import Struct

from runner.contract.report import SCHEMA_VERSION
from runner.errors import FaultwatchError

MARKER = "faultwatch-store.json"
"""The file that says that a folder or a branch is a store, and of which version."""
_VERSION_KEY = "version"
STORE_VERSION = SCHEMA_VERSION
"""The version of a store is that of the reports in it."""
MAX_DOCUMENT_BYTES = 64 << 20


class Kind(StrEnum):
    """What a file of a store holds; also the name of its folder."""

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
    """The name of a file of a store, taken apart."""

    text: str
    kind: Kind
    subject: str
    digest: str

    def fits(self, content: bytes) -> bool:
        """Return whether a content is the one that was stored under this name."""
        return hashlib.sha256(content).hexdigest() == self.digest


def make_name(kind: Kind, subject: str, content: bytes) -> str:
    """Return the name under which a content is stored."""
    digest = hashlib.sha256(content).hexdigest()
    return f"{kind}/{subject}/{digest[:2]}/{digest}.json"


def parse_name(text: str) -> DocumentName | None:
    """Return the parts of the name of a file; None if no store would give it."""
    match = _NAME.fullmatch(text)
    return DocumentName(text, Kind(match["kind"]), match["subject"], match["digest"]) if match else None


def write_marker() -> bytes:
    """Return the content of the file that marks a store."""
    return json.dumps({_VERSION_KEY: STORE_VERSION}).encode() + b"\n"


def check_marker(content: bytes, store_description: str) -> None:
    """Refuse a store that this version cannot read.

    Raises
    ------
    FaultwatchError
        A newer version wrote it, or the file is damaged.
    """
    try:
        version = json.loads(content)[_VERSION_KEY]
    except (ValueError, KeyError, TypeError):
        version = None
    if not isinstance(version, int):
        raise FaultwatchError(
            f"{store_description}: {MARKER} is damaged",
            f"restore the file with this content: {write_marker().decode()}",
        )
    if version > STORE_VERSION:
        raise FaultwatchError(
            f"{store_description} was written by a newer Faultwatch: its format is {version}, and this version reads "
            f"{STORE_VERSION}",
            "install the version that wrote it",
        )
