"""The input of a bisect: the commits of its range, and the levels measured at them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from sqlalchemy import exists, or_, select
from sqlalchemy.orm import Session

from runner.contract import Outcome, SearchRequest, get_metric
from runner.contract.level import Number, compute_median
from runner.contract.quarantine import EXPERIMENT_REASON, SEARCH_PURPOSES
from runner.contract.setting_search import SettingSearchRequest
from runner.contract.variation_causes import suggest_remedy
from service.rules.bisect import setting_mixture
from service.rules.bisect.graph import Node
from service.rules.bisect.question import Observation, Question
from service.rules.bisect.setting_search import Mixture
from service.rules.plan.settled_revisions import MAX_ATTEMPTS
from service.store import shared_rows
from service.store.models import Case, Environment, Host, Point, Revision, Run, Series, StoredReport, Subject
from service.store.runs.runs import select_joined_runs
from service.store.runs.stored_reports import unpack_report
from service.store.series.encoded_samples import decode_samples

_NO_POINT: tuple[Number | None, int, str | None] = (None, 0, None)
"""The value, the number of samples and the samples of a run that has no point of the metric."""


def read_question(session: Session, request: SearchRequest) -> Question | None:
    """Return the question of a bisect; None if one of its ends is not a commit of the subject."""
    rows = session.execute(
        select(Revision.commit, Revision.parents)
        .join(Subject, Revision.subject_id == Subject.id)
        .where(Subject.name == request.subject)
        .order_by(Revision.position)
    )
    parents = {commit: tuple(parents) for commit, parents in rows}
    if request.good not in parents or request.bad not in parents:
        return None
    commits_in_range = _collect_ancestors(request.bad, parents) - _collect_ancestors(request.good, parents)
    return Question(
        good=request.good,
        bad=request.bad,
        commits=tuple(
            Node(commit=commit, parents=parents_of_commit)
            for commit, parents_of_commit in parents.items()
            if commit in commits_in_range
        ),
        exact=get_metric(request.metric).exact,
        min_difference=request.min_difference,
        unit=get_metric(request.metric).unit,
        remedy=suggest_remedy(request.environment.settings, is_server=_has_windows(session, request)),
    )


def _has_windows(session: Session, request: SearchRequest) -> bool:
    """Return whether the case is a server: only the windows of servers have the metric of memory growth."""
    return bool(
        session.scalar(
            select(
                exists().where(
                    Series.subject_id == Subject.id,
                    Series.case_id == Case.id,
                    Subject.name == request.subject,
                    Case.key == shared_rows.make_case_key(request.case),
                    Series.metric == "resident-growth",
                )
            )
        )
    )


def read_observations(session: Session, request: SearchRequest) -> list[Observation]:
    """Return the level of each run of the case in the request's environment on its host, in the order of arrival.

    A run without the metric has no level, like a failed run. Runs whose host counted incorrectly are left out, so that
    they are measured again, and so are runs that failed for a temporary reason, until a commit has too many of them.
    """
    # The runs of the case in the environment.
    runs = session.execute(
        select_joined_runs(Run.number, Run.id, Run.session, Revision.commit, Run.outcome, Run.failure_temporary)
        .where(
            Subject.name == request.subject,
            Host.name == request.host.name,
            Case.key == shared_rows.make_case_key(request.case),
            Environment.hash == request.environment.hash,
            # Runs of bisects and proofs are in quarantine only so that they are not judged with the history.
            or_(Run.quarantine.is_(None), Run.quarantine.in_(SEARCH_PURPOSES.values())),
        )
        .order_by(Run.number)
    ).all()
    # The points of these runs, by the number of the run.
    points = (
        select(Point.run_number, Point.value, Point.n, Point.samples)
        .join(Series, Point.series_id == Series.id)
        .join(Series.subject)
        .join(Series.case)
        .join(Series.host)
        .where(
            Subject.name == request.subject,
            Host.name == request.host.name,
            Case.key == shared_rows.make_case_key(request.case),
            Series.metric == request.metric,
        )
    )
    values = {number: (value, n, samples) for number, value, n, samples in session.execute(points)}
    # Temporary failures are attempted again.
    attempts = Counter(commit for _, _, _, commit, _, temporary in runs if temporary)
    observations = []
    for number, run_id, run_session, commit, outcome, temporary in runs:
        if temporary and attempts[commit] < MAX_ATTEMPTS:
            continue
        value, n, samples = values.get(number, _NO_POINT) if outcome is Outcome.MEASURED else _NO_POINT
        observations.append(
            Observation(
                commit=commit,
                value=value,
                session=run_session,
                run=run_id,
                samples=decode_samples(value, n, samples) if samples else (),
            )
        )
    return observations


def read_mixtures(session: Session, request: SettingSearchRequest) -> list[Mixture]:
    """Return the levels of those runs of the revision that mix the settings of the request's two environments.

    Runs that were measured interleaved belong to proofs, and are left out, and so are runs that failed for a temporary
    reason, until a mixture has too many of them.
    """
    documents = session.execute(
        select(StoredReport.document)
        .join(Run, StoredReport.run_number == Run.number)
        .join(Run.subject)
        .join(Run.revision)
        .join(Run.case)
        .join(Run.host)
        .where(
            Subject.name == request.subject,
            Host.name == request.host.name,
            Revision.commit == request.revision,
            Case.workload == request.case.workload,
            Case.definition == request.case.definition,
            # Runs with tried settings are in quarantine only so that they are not judged with the history.
            or_(Run.quarantine.is_(None), Run.quarantine == EXPERIMENT_REASON),
        )
        .order_by(Run.number)
    )
    mixtures = []
    temporary_failures: Counter[frozenset[str]] = Counter()
    for (document,) in documents:
        report = unpack_report(document)
        changed_settings = setting_mixture.find_changed_settings(request, report.environment, report.case)
        if changed_settings is None or report.session is not None:
            continue
        if report.failure and report.failure.temporary:
            temporary_failures[changed_settings] += 1
            if temporary_failures[changed_settings] < MAX_ATTEMPTS:
                continue
        mixtures.append(Mixture(changed=changed_settings, value=compute_median(report.list_values(request.metric))))
    return mixtures


def _collect_ancestors(commit: str, parents: Mapping[str, Iterable[str]]) -> set[str]:
    """Return a commit with all its stored ancestors."""
    ancestors: set[str] = set()
    pending_commits = [commit]
    while pending_commits:
        current_commit = pending_commits.pop()
        if current_commit not in ancestors:
            ancestors.add(current_commit)
            pending_commits += parents.get(current_commit, ())
    return ancestors
