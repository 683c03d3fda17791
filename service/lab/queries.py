"""Reads the runs of a settings lab: those of one workload at one commit on one host, with any settings."""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from runner.contract import Outcome
from runner.contract.job import Job as JobView
from runner.contract.job import RemedyQuestion
from runner.contract.quarantine import OUTSIDE_HISTORY, REUSED
from runner.contract.report import IMPORT_FORMAT
from runner.contract.setting_search import list_parameters
from service.lab.rules.compare_cell import Readings
from service.lab.rules.settings_grid import LabRun
from service.store import jobs
from service.store.engine import bulk
from service.store.models import Case, Environment, Host, Job, Revision, Run, StoredReport, Subject
from service.store.runs.runs import RunFilter, select_joined_runs

_MAX_RUNS = 1000
"""The largest number of runs that are read of a commit, the newest first: enough for a case in a hundred settings, each
measured ten times."""
_MAX_JOBS = 500
_REPORTS_PER_QUERY = 500
_IS_SOUND = or_(Run.quarantine.is_(None), Run.quarantine.in_((*OUTSIDE_HISTORY, REUSED)))
"""Selects runs of hosts that counted correctly, including those that have a purpose or whose counts were reused."""


@dataclass(frozen=True, slots=True)
class LabTarget:
    """The case, host and commit of a lab, for which runs are stored."""

    subject: str
    case: str
    case_key: str
    workload: str
    definition: str
    host: str
    commit: str


@dataclass(frozen=True, slots=True)
class LabReport:
    """The parts of a report that a lab needs."""

    readings: Mapping[str, Readings]
    build_seconds: float


def find_newest_target(
    session: Session, subject: str = "", case: str = "", host: str = "", commit: str = ""
) -> LabTarget | None:
    """Return the case, host and commit of the newest run of a history that has the given names; None without one."""
    run_filter = RunFilter(
        subject=subject or None,
        case=case or None,
        revision=commit or None,
        outcome=Outcome.MEASURED,
        host=host or None,
        quarantined=False,
    )
    imported_environments = select(Environment.id).where(Environment.settings[IMPORT_FORMAT].as_string().is_not(None))
    number = session.scalar(
        select(Run.number)
        .where(
            *run_filter.list_conditions(run_filter.list_ids(session)), Run.environment_id.not_in(imported_environments)
        )
        .order_by(Run.started_at.desc(), Run.number.desc())
        .limit(1)
    )
    columns = (Subject.name, Case.name, Case.key, Case.workload, Case.definition, Host.name, Revision.commit)
    if number is None:
        return None
    return LabTarget(*session.execute(select_joined_runs(*columns).where(Run.number == number)).one())


def list_commit_runs(session: Session, target: LabTarget) -> list[LabRun]:
    """Return the runs of all cases of the workload, by its present definition, at the commit, the newest first."""
    return _read_runs(session, target, Revision.commit == target.commit, Case.definition == target.definition)


def find_newest_history_run(session: Session, target: LabTarget) -> LabRun | None:
    """Return the newest run of the case in a history, at any commit; None if there is none."""
    newest_runs = _read_runs(session, target, Case.key == target.case_key, Run.quarantine.is_(None), limit=1)
    return newest_runs[0] if newest_runs else None


def find_commit(session: Session, run: LabRun) -> str:
    """Return the commit of a run."""
    return session.scalars(
        select(Revision.commit).join(Run, Run.revision_id == Revision.id).where(Run.number == run.number)
    ).one()


def read_reports(session: Session, numbers: Collection[int], metrics: Sequence[str]) -> dict[int, LabReport]:
    """Return these metrics of these runs, and how long their builds took, by the number of the run."""
    lab_reports: dict[int, LabReport] = {}
    for chunk in bulk.split_into_chunks(list(numbers), _REPORTS_PER_QUERY):
        query = select(StoredReport.run_number, StoredReport.document).where(StoredReport.run_number.in_(chunk))
        for number, document in session.execute(query):
            # Read plain JSON: models of thousands of readings would take longer than the rest of the page.
            lab_reports[number] = _reduce_report(json.loads(zlib.decompress(document)), metrics)
    return lab_reports


def list_orders(session: Session, target: LabTarget) -> list[tuple[RemedyQuestion, JobView]]:
    """Return the jobs about the case at the commit with other settings, the newest first."""
    question = {"revision": target.commit, "case": target.case, "host": target.host}
    is_of_target = (Job.question[key].as_string() == value for key, value in question.items())
    rows = session.scalars(
        select(Job)
        .where(Job.subject == target.subject, Job.kind == "remedy", *is_of_target)
        .order_by(Job.id.desc())
        .limit(_MAX_JOBS)
    )
    views = map(jobs.build_view, rows)
    return [(view.question, view) for view in views if isinstance(view.question, RemedyQuestion)]


def _read_runs(session: Session, target: LabTarget, *conditions: object, limit: int = _MAX_RUNS) -> list[LabRun]:
    """Return the newest runs of a target's workload that satisfy the conditions, with their settings."""
    rows = session.execute(
        select_joined_runs(
            *(Run.number, Run.id, Case.key, Case.parameters, Run.environment_id, Environment.hash, Run.started_at),
            *(Run.outcome, Run.session, Run.failure_message, Run.quarantine, Run.own_bytes),
        )
        .where(
            Subject.name == target.subject,
            Host.name == target.host,
            Case.workload == target.workload,
            _IS_SOUND,
            *conditions,  # type: ignore[arg-type]
        )
        .order_by(Run.started_at.desc(), Run.number.desc())
        .limit(limit)
    ).all()
    # Read the settings separately, because many runs share an environment.
    settings = _read_settings(session, {row.environment_id for row in rows})
    return [
        LabRun(
            number=row.number,
            run_id=row.id,
            case_key=row.key,
            settings=settings[row.environment_id] | list_parameters(row.parameters),
            environment=row.hash,
            started_at=row.started_at,
            outcome=row.outcome,
            session=row.session,
            failure=row.failure_message or "",
            is_outside_history=row.quarantine in OUTSIDE_HISTORY,
            reused=row.quarantine == REUSED,
            own_bytes=row.own_bytes,
        )
        for row in rows
    ]


def _read_settings(session: Session, ids: Iterable[int]) -> dict[int, dict[str, str]]:
    rows = session.execute(select(Environment.id, Environment.settings).where(Environment.id.in_(list(ids))))
    return {row_id: settings for row_id, settings in rows}  # noqa: C416 - the rows are no pairs to mypy


def _reduce_report(document: Mapping[str, object], metrics: Sequence[str]) -> LabReport:
    """Return the values of the metrics and the seconds of the build, from a report as JSON.

    A build from the cache counts as 0 s.
    """
    samples: list[Mapping[str, Mapping[str, Mapping[str, object]]]] = document.get("samples") or []  # type: ignore[assignment]
    readings: dict[str, Readings] = {}
    for name in metrics:
        readings_of_metric = [sample["readings"].get(name, {}) for sample in samples]
        values = [reading.get("value") for reading in readings_of_metric]
        if any(value is not None for value in values):
            # A report leaves out the status of a value that was counted.
            are_counted = all(reading.get("status", "counted") == "counted" for reading in readings_of_metric)
            readings[name] = Readings(values, are_counted)  # type: ignore[arg-type]
    build: Mapping[str, float] = document.get("build") or {}  # type: ignore[assignment]
    build_seconds = 0.0 if build.get("cached") else float(build.get("seconds", 0.0))
    return LabReport(readings, build_seconds)
