"""What an importer reads: one run of somebody else's, and the report it becomes.

An imported report never passes for one of our own. Its ``runner_version`` is ``imported``, its environment says from
which format it came and holds only the knobs that the source told, so that it is never that of a run made here.
"""

import hashlib
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from runner.contract.report import (
    Case,
    Environment,
    Host,
    Outcome,
    Report,
    Revision,
    Sample,
    hash_of,
    safe_name,
)
from runner.errors import FaultwatchError

VERSION = "imported"
"""In place of a runner's version. Always the same, so that an import with a later version is still the same import."""
_NAMESPACE = uuid.UUID("5d3f6c2e-6f0c-5d1e-9a52-0c4c7c1b6f7a")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class ImportDefaults:
    """What a file does not say itself, from the command line; empty where nothing was given.

    Attributes
    ----------
    columns
        Of a CSV file: what each column is.
    """

    subject: str = ""
    host: str = ""
    revision: str = ""
    case: str = ""
    started_at: datetime | None = None
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ImportedRun:
    """One run as a file tells it.

    Attributes
    ----------
    place
        Where in the file it stands, for messages.
    revision
        As the source names it: a full hash, or any other text.
    case
        A name, or a case that is known in full.
    """

    place: str
    revision: str
    case: str | Case
    started_at: datetime
    samples: tuple[Sample, ...]
    knobs: Mapping[str, str]
    subject: str = ""
    host: str = ""
    run_id: uuid.UUID | None = None
    seconds: float = 0.0


def make_reports(
    records: Sequence[ImportedRun], defaults: ImportDefaults, known: Callable[[str], Revision | None] = lambda _: None
) -> list[Report]:
    """Make reports of records, those of the same revision with the same commit.

    Parameters
    ----------
    known
        Returns the commit of a revision where the repository is at hand, else None: then the revision is put into the
        history by the time at which it was first measured.
    """
    first: dict[tuple[str, str], datetime] = {}
    for record in records:
        key = (_subject(record, defaults), record.revision)
        first[key] = min(first.get(key, record.started_at), record.started_at)
    commits = {key: known(key[1]) or _made_up(*key, at) for key, at in first.items()}
    made = (_report(record, commits[_subject(record, defaults), record.revision], defaults) for record in records)
    return list({report.run_id: report for report in made}.values())


def require(value: str, what: str, place: str) -> str:
    """Return what has to be known of a run, wherever it came from.

    Raises
    ------
    FaultwatchError
        Where nobody said it.
    """
    if not value:
        raise FaultwatchError(f"{place}: nothing says the {what}", f"pass --{what}")
    return value


def parse_time(text: str, place: str) -> datetime:
    """Read a time: ISO 8601 in any of its forms, or seconds since 1970. Without a zone it is UTC."""
    try:
        found = datetime.fromtimestamp(float(text), UTC) if re.fullmatch(r"\d{9,10}(\.\d+)?", text) else None
        found = found or datetime.fromisoformat(text)
    except ValueError:
        raise FaultwatchError(f"{place}: {text[:60]!r} is not a time", "ISO 8601 is, or seconds since 1970") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _subject(record: ImportedRun, defaults: ImportDefaults) -> str:
    return safe_name(require(defaults.subject or record.subject, "subject", record.place))


def _made_up(subject: str, revision: str, first_measured: datetime) -> Revision:
    """Stand in for a commit of which only the name is known.

    A full hash stays what it is: the repository itself may tell of it later. Of any other name the SHA-256 stands in.
    """
    commit = revision if _COMMIT.fullmatch(revision) else _hash_of_text(f"{subject}\n{revision}")
    title = f"{revision[:200]} (imported; placed by when it was first measured)"
    return Revision(commit=commit, committed_at=first_measured, title=title)


def _hash_of_text(text: str) -> str:
    """Return 64 hex digits that no commit of a git repository with SHA-1 hashes can have."""
    return hashlib.sha256(text.encode()).hexdigest()


def _report(record: ImportedRun, revision: Revision, defaults: ImportDefaults) -> Report:
    subject = _subject(record, defaults)
    host = safe_name(require(defaults.host or record.host, "host", record.place))
    case = record.case if isinstance(record.case, Case) else _case(require(record.case, "case", record.place))
    environment = Environment(knobs=dict(sorted(record.knobs.items())))
    content = [
        *(subject, record.revision, case.model_dump(mode="json"), host, environment.hash),
        *(record.started_at.isoformat(), [sample.model_dump(mode="json") for sample in record.samples]),
    ]
    return Report(
        run_id=record.run_id or uuid.uuid5(_NAMESPACE, hash_of(content)),
        subject=subject,
        revision=revision,
        case=case,
        host=Host(name=host),
        environment=environment,
        runner_version=VERSION,
        started_at=record.started_at,
        finished_at=record.started_at + timedelta(seconds=record.seconds),
        outcome=Outcome.MEASURED,
        samples=record.samples,
    )


def _case(name: str) -> Case:
    """Make a case of a name such as ``matrix.exe 1024``: a program, and its arguments as one parameter."""
    program, _, arguments = name.strip().partition(" ")
    return Case(
        workload=safe_name(program),
        definition=hash_of({"imported": program}),
        parameters={"arguments": arguments.strip()[:200]} if arguments.strip() else {},
    )
