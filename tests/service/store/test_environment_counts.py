"""Runs that an older version stored without counting them by environment are counted later."""

from __future__ import annotations

import pytest
from sqlalchemy import delete, select, update

from service.store import environments
from service.store.engine.database import Database
from service.store.environment_counts import recount
from service.store.models import EnvironmentCount, Subject
from tests.service import reports
from tests.service.apiclient import Api

pytestmark = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)


def counts(database: Database) -> list[int]:
    with database.reading() as session:
        return [environment.runs for environment in environments.listed(session)]


def test_what_was_not_counted_is_counted_and_nothing_else_is_touched(api: Api, database: Database) -> None:
    api.send(*(reports.report(number, 100, 100) for number in (1, 2, 3)))
    api.send(reports.report(4, 100, subject="other"), reports.report(5, 100, subject="third"))
    assert counts(database) == [5]
    assert recount(database) == []
    with database.writing() as session:
        ids = dict(session.execute(select(Subject.name, Subject.id)).all())
        session.execute(update(EnvironmentCount).where(EnvironmentCount.subject_id == ids["demo"]).values(runs=1))
        session.execute(delete(EnvironmentCount).where(EnvironmentCount.subject_id == ids["other"]))
    assert counts(database) == [2]
    assert sorted(recount(database)) == ["demo", "other"]
    assert counts(database) == [5]
    assert recount(database) == []
    api.send(reports.report(6, 100, subject="other"))
    assert counts(database) == [6]
