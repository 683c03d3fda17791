"""Counts the runs of environments anew where an older version, beside this one, stored runs without counting them."""

from __future__ import annotations

from sqlalchemy import Subquery, delete, func, insert, select

from service.store.engine.database import Database
from service.store.models import EnvironmentCount, Run, RunCount, Subject


def recount(database: Database) -> list[str]:
    """Count the runs of each subject anew of which some are missing; return the names of these subjects.

    Versions before schema 0025 count the runs of cases, and not those of environments. Both counts of a subject have
    the same sum, so that nothing is to be read of a subject whose runs were counted.
    """
    by_case = _sums(RunCount)
    by_environment = _sums(EnvironmentCount)
    query = (
        select(Subject.name, Subject.id)
        .join(by_case, by_case.c.subject_id == Subject.id)
        .outerjoin(by_environment, by_environment.c.subject_id == Subject.id)
        .where(by_case.c.runs != func.coalesce(by_environment.c.runs, 0))
    )
    with database.reading() as session:
        found = session.execute(query).all()
    key = (Run.environment_id, Run.host_id, Run.subject_id)
    for name, subject_id in found:
        counts = select(*key, func.count()).where(Run.subject_id == subject_id).group_by(*key)
        with database.writing([name]) as session:
            session.execute(delete(EnvironmentCount).where(EnvironmentCount.subject_id == subject_id))
            session.execute(
                insert(EnvironmentCount).from_select(["environment_id", "host_id", "subject_id", "runs"], counts)
            )
    return [name for name, _ in found]


def _sums(model: type[RunCount | EnvironmentCount]) -> Subquery:
    return select(model.subject_id, func.sum(model.runs).label("runs")).group_by(model.subject_id).subquery()
