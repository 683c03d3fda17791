"""A run that another tool measured, and the report that it becomes.

An imported report cannot be mistaken for a measured one. Its ``runner_version`` is ``imported``. Its environment names
the format and holds only the knobs that the source states, so that it never equals the environment of a measured run.
"""

import hashlib
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from pydantic import ValidationError

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
"""In place of a runner's version. Constant, so that importing again with a later version creates the same runs."""
_NAMESPACE = uuid.UUID("5d3f6c2e-6f0c-5d1e-9a52-0c4c7c1b6f7a")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class ImportDefaults:
    """Values from the command line for what a file does not contain; empty if not given.

    Attributes
    ----------
    columns
        The meaning of each column of a CSV file.
    """

    subject: str = ""
    host: str = ""
    revision: str = ""
    case: str = ""
    started_at: datetime | None = None
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ImportedRun:
    """A run as read from a file.

    Attributes
    ----------
    place
        Its location in the file, for messages.
    revision
        The name in the source: a full hash, or any other text.
    case
        A name, or a complete case.
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
    runs: Sequence[ImportedRun], defaults: ImportDefaults, look_up: Callable[[str], Revision | None] = lambda _: None
) -> list[Report]:
    """Turn runs into reports; runs of the same revision get the same commit.

    Parameters
    ----------
    look_up
        Returns the commit of a revision if the repository is available, else None: then the revision is placed in the
        history by the time of its first measurement.

    Raises
    ------
    FaultwatchError
        A run has a value that no report may have.
    """
    first: dict[tuple[str, str], datetime] = {}
    for record in runs:
        key = (_subject(record, defaults), record.revision)
        first[key] = min(first.get(key, record.started_at), record.started_at)
    commits = {key: look_up(key[1]) or _placed(*key, at, runs[0].place) for key, at in first.items()}
    reports = (_checked(run, commits[_subject(run, defaults), run.revision], defaults) for run in runs)
    return list({report.run_id: report for report in reports}.values())


def require(value: str, what: str, place: str) -> str:
    """Return a required value of a run.

    Raises
    ------
    FaultwatchError
        The value is empty.
    """
    if not value:
        raise FaultwatchError(f"{place}: the {what} is unknown", f"pass --{what}")
    return value


def parse_time(text: str, place: str) -> datetime:
    """Parse a time: ISO 8601, or seconds since 1970. Without a zone it is UTC."""
    try:
        moment = datetime.fromtimestamp(float(text), UTC) if re.fullmatch(r"\d{9,10}(\.\d+)?", text) else None
        moment = moment or datetime.fromisoformat(text)
    except ValueError:
        raise FaultwatchError(f"{place}: {text[:60]!r} is not a time", "use ISO 8601, or seconds since 1970") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _subject(record: ImportedRun, defaults: ImportDefaults) -> str:
    return safe_name(require(defaults.subject or record.subject, "subject", record.place))


def first_mistake(error: ValidationError) -> str:
    """Return in one line what no report may contain."""
    mistake = error.errors()[0]
    return f"{'.'.join(map(str, mistake['loc']))}: {mistake['msg']}"


def _placed(subject: str, revision: str, first_measured: datetime, place: str) -> Revision:
    try:
        return _made_up(subject, revision, first_measured)
    except ValidationError as error:
        raise FaultwatchError(f"{place}: {first_mistake(error)}") from None


def _made_up(subject: str, revision: str, first_measured: datetime) -> Revision:
    """Create a commit for a revision of which only the name is known.

    A full hash stays: the repository may provide its details later. Any other name is replaced by its SHA-256.
    """
    commit = revision if _COMMIT.fullmatch(revision) else _hash_of_text(f"{subject}\n{revision}")
    title = f"{revision[:200]} (imported; placed by its first measurement)"
    return Revision(commit=commit, committed_at=first_measured, title=title)


def _hash_of_text(text: str) -> str:
    """Return 64 hex digits, which no commit of a git repository with SHA-1 hashes can have."""
    # JSON can hold half of a surrogate pair, which the report's own check refuses with a reason.
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _checked(record: ImportedRun, revision: Revision, defaults: ImportDefaults) -> Report:
    try:
        return _report(record, revision, defaults)
    except ValidationError as error:
        raise FaultwatchError(f"{record.place}: {first_mistake(error)}") from None
    except (ValueError, ArithmeticError) as error:
        raise FaultwatchError(f"{record.place}: {error!s:.200}") from None


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
    """Create a case from a name such as ``matrix.exe 1024``: a program, and its arguments as one parameter."""
    program, _, arguments = name.strip().partition(" ")
    return Case(
        workload=safe_name(program),
        definition=hash_of({"imported": program}),
        parameters={"arguments": arguments.strip()[:200]} if arguments.strip() else {},
    )
