"""What a search for culprits knows: the commits of its range, and their runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from runner.contract import Outcome, SearchRequest, metric
from runner.contract.knob_search import KnobSearchRequest
from runner.contract.level import Number, median
from runner.contract.report import ASIDE
from service.rules.bisect import mixture
from service.rules.bisect.graph import Node
from service.rules.bisect.knobs import Mixture
from service.rules.bisect.question import Observation, Question
from service.store import shared_rows
from service.store.ingest import unpack
from service.store.models import Case, Environment, Host, Point, Revision, Run, Series, StoredReport, Subject
from service.store.points import MATERIAL, material_of
from service.store.runs import joined


def question(session: Session, asked: SearchRequest) -> Question | None:
    """Return what is searched; None where the subject does not know one of the ends."""
    rows = session.execute(
        select(Revision.commit, Revision.parents)
        .join(Subject, Revision.subject_id == Subject.id)
        .where(Subject.name == asked.subject)
        .order_by(Revision.position)
    )
    parents = {commit: tuple(told) for commit, told in rows}
    if asked.good not in parents or asked.bad not in parents:
        return None
    inside = _ancestors(asked.bad, parents) - _ancestors(asked.good, parents)
    return Question(
        good=asked.good,
        bad=asked.bad,
        commits=tuple(Node(commit=commit, parents=told) for commit, told in parents.items() if commit in inside),
        exact=metric(asked.metric).exact,
        least=asked.least,
    )


def observations(session: Session, asked: SearchRequest) -> list[Observation]:
    """Return the level of each run of the case in this environment on this host, in the order they were stored.

    A measured run that lacks the metric cannot be used any more than one that failed. What is in quarantine is left
    to be measured again.
    """
    runs = session.execute(
        joined(Run.number, Run.id, Run.session, Revision.commit, Run.outcome, *MATERIAL)
        .where(
            Subject.name == asked.subject,
            Host.name == asked.host.name,
            Case.key == shared_rows.case_key(asked.case),
            Environment.hash == asked.environment.hash,
            Run.quarantine.is_(None),
        )
        .order_by(Run.number)
    ).all()
    points = (
        select(Point.run_number, Point.value)
        .join(Series, Point.series_id == Series.id)
        .join(Series.subject)
        .join(Series.case)
        .join(Series.host)
        .where(
            Subject.name == asked.subject,
            Host.name == asked.host.name,
            Case.key == shared_rows.case_key(asked.case),
            Series.metric == asked.metric,
        )
    )
    values: dict[int, Number | None] = dict(session.execute(points).all())
    return [
        Observation(
            commit=commit,
            value=values.get(number) if outcome is Outcome.MEASURED else None,
            session=turns,
            run=run_id,
            material=material_of(*made_of).whole,
        )
        for number, run_id, turns, commit, outcome, *made_of in runs
    ]


def mixtures(session: Session, asked: KnobSearchRequest) -> list[Mixture]:
    """Return the level of each run of the revision that differs from what is searched in nothing but its knobs."""
    numbers = session.execute(
        select(StoredReport.document)
        .join(Run, StoredReport.run_number == Run.number)
        .join(Run.subject)
        .join(Run.revision)
        .join(Run.case)
        .join(Run.host)
        .where(
            Subject.name == asked.subject,
            Host.name == asked.host.name,
            Revision.commit == asked.revision,
            Case.workload == asked.case.workload,
            Case.definition == asked.case.definition,
            or_(Run.quarantine.is_(None), Run.quarantine == ASIDE),
        )
        .order_by(Run.number)
    )
    found = []
    for (document,) in numbers:
        report = unpack(document)
        changed = mixture.changed(asked, report.environment, report.case)
        if changed is not None and report.session is None:
            found.append(Mixture(changed=changed, value=median(report.values(asked.metric))))
    return found


def _ancestors(commit: str, parents: Mapping[str, Iterable[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [commit]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += parents.get(one, ())
    return found
