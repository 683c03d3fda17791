"""A run that another tool measured, and the report that it becomes.

An imported report cannot be mistaken for a measured one. Its ``runner_version`` is ``imported``. Its environment
contains the format and only those settings that the source states, so it never equals the environment of a measured
run.
"""

import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from msgspec import Struct, field
from pydantic import ValidationError

from runner.contract.imported_metric import Better
from runner.contract.judging import Judging
from runner.contract.report import (
    Case,
    Environment,
    Host,
    Outcome,
    Report,
    Revision,
    Sample,
    hash_document,
    make_safe_name,
)
from runner.errors import FaultwatchError
from runner.importing.imported_revision_order import place_revisions
from runner.importing.source import describe_first_mistake

IMPORT_VERSION = "imported"
"""Replaces the runner's version. It is constant, so that every version imports a file as the same runs."""
_NAMESPACE = uuid.UUID("5d3f6c2e-6f0c-5d1e-9a52-0c4c7c1b6f7a")
"""The UUID namespace of the ids of imported runs, which are derived from their content."""
_MAX_ARGUMENTS_CHARACTERS, _MAX_QUOTED_CHARACTERS = 200, 60
"""How many characters of arguments and of a quoted value are kept: a file can contain any text."""


class ImportDefaults(Struct, frozen=True):
    """Values from the command line; empty if not given.

    Attributes
    ----------
    subject, host
        These replace the values in the file.
    revision, case, started_at
        These are for what the file does not contain. They never replace its values, because one option can be for a
        folder with many files.
    columns
        The meaning of each column of a CSV file.
    this_host
        The host if neither the command line nor the file names it.
    format
        The name of the format; empty to recognise it.
    better
        Which direction is an improvement, by the tool's name of the metric.
    find_commit
        Returns the commit of a revision if the repository is available, else None.
    """

    subject: str = ""
    host: str = ""
    revision: str = ""
    case: str = ""
    started_at: datetime | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    this_host: str = ""
    format: str = ""
    better: Mapping[str, Better] = field(default_factory=dict)
    find_commit: Callable[[str], Revision | None] = field(default=lambda _: None)


class ImportedRun(Struct, frozen=True):
    """A run as read from a file.

    Attributes
    ----------
    location
        The location of the run in the file, for messages.
    revision
        The revision as the source names it: a full hash, or any other text.
    case
        The name of a case, or a complete case.
    time_is_known
        Whether the time of the run is known; otherwise it is that of the file.
    not_judged
        The titles of the metrics that are not judged, because it is unknown which direction is an improvement.
    """

    location: str
    revision: str
    case: str | Case
    started_at: datetime
    samples: tuple[Sample, ...]
    settings: Mapping[str, str]
    subject: str = ""
    host: str = ""
    run_id: uuid.UUID | None = None
    seconds: float = 0.0
    judging: Judging = field(default_factory=Judging)
    time_is_known: bool = True
    not_judged: tuple[str, ...] = ()


def make_reports(runs: Sequence[ImportedRun], defaults: ImportDefaults) -> list[Report]:
    """Turn runs into reports; runs of the same revision get the same commit.

    A revision that is not in the repository is placed in the history by the time of its first measurement.

    Raises
    ------
    FaultwatchError
        A run has a value that is not allowed in a report, or the order of the revisions is unknown.
    """
    if not runs:
        return []
    first_measured_at: dict[tuple[str, str], datetime] = {}  # By subject and revision.
    for run in runs:
        key = (_require_subject(run, defaults), run.revision)
        first_measured_at[key] = min(first_measured_at.get(key, run.started_at), run.started_at)
    guessed_locations = {run.revision: run.location for run in runs if not run.time_is_known}
    commits = place_revisions(first_measured_at, guessed_locations, defaults.find_commit, runs[0].location)
    reports = (
        _make_valid_report(run, commits[_require_subject(run, defaults), run.revision], defaults) for run in runs
    )
    # A run that is in several files has the same id each time, and is kept once.
    return list({report.run_id: report for report in reports}.values())


def require_value(value: str, value_name: str, location: str) -> str:
    """Return a required value of a run, after checking that it is not empty.

    Raises
    ------
    FaultwatchError
        The value is empty.
    """
    if not value:
        raise FaultwatchError(f"{location}: the {value_name} is unknown", f"pass --{value_name}")
    return value


def parse_time(text: str, location: str) -> datetime:
    """Parse a time: ISO 8601, or seconds since 1970. A time without a zone is UTC.

    Raises
    ------
    FaultwatchError
        The text is neither; the message begins with the location.
    """
    try:
        if re.fullmatch(r"\d{9,10}(\.\d+)?", text):
            return datetime.fromtimestamp(float(text), UTC)
        time = datetime.fromisoformat(text)
    except ValueError:
        raise FaultwatchError(
            f"{location}: {text[:_MAX_QUOTED_CHARACTERS]!r} is not a time", "use ISO 8601, or seconds since 1970"
        ) from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _require_subject(run: ImportedRun, defaults: ImportDefaults) -> str:
    """Return the subject of a run as a safe name; raise if neither the command line nor the file names it."""
    return make_safe_name(require_value(defaults.subject or run.subject, "subject", run.location))


def _make_valid_report(run: ImportedRun, revision: Revision, defaults: ImportDefaults) -> Report:
    """Return the report of an imported run; if it is not valid, raise with the location in the file."""
    try:
        return _make_report(run, revision, defaults)
    except ValidationError as error:
        raise FaultwatchError(f"{run.location}: {describe_first_mistake(error)}") from None
    except (ValueError, ArithmeticError) as error:  # ArithmeticError: a time beyond the last year
        raise FaultwatchError(f"{run.location}: {error!s:.200}") from None


def _make_report(run: ImportedRun, revision: Revision, defaults: ImportDefaults) -> Report:
    """Return an imported run as a report. Its id is derived from its content, so a second import changes nothing."""
    subject = _require_subject(run, defaults)
    host = make_safe_name(require_value(defaults.host or run.host or defaults.this_host, "host", run.location))
    case = run.case if isinstance(run.case, Case) else _create_case(require_value(run.case, "case", run.location))
    environment = Environment(settings=dict(sorted(run.settings.items())))
    content = [
        subject,
        run.revision,
        case.model_dump(mode="json"),
        host,
        environment.hash,
        run.started_at.isoformat(),
        [sample.model_dump(mode="json") for sample in run.samples],
    ]
    return Report(
        run_id=run.run_id or uuid.uuid5(_NAMESPACE, hash_document(content)),
        subject=subject,
        revision=revision,
        case=case,
        host=Host(name=host),
        environment=environment,
        runner_version=IMPORT_VERSION,
        started_at=run.started_at,
        finished_at=run.started_at + timedelta(seconds=run.seconds),
        outcome=Outcome.MEASURED,
        samples=run.samples,
        judging=run.judging,
    )


def _create_case(name: str) -> Case:
    """Create a case from a name such as ``matrix.exe 1024``: a program, and its arguments as one parameter."""
    program, _, argument_text = name.strip().partition(" ")
    arguments = argument_text.strip()[:_MAX_ARGUMENTS_CHARACTERS]
    return Case(
        workload=make_safe_name(program),
        definition=hash_document({"imported": program}),
        parameters={"arguments": arguments} if arguments else {},
    )
