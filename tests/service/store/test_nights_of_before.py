"""What nights have told stays theirs after the upgrade to the schema that says which night told of a drift."""

from __future__ import annotations

from sqlalchemy import text

from service.store.engine.database import Database
from service.store.engine.upgrade import upgrade
from tests.service.apiclient import Api
from tests.service.reports import commit
from tests.service.web.api.test_nights import BOTH, began, carried_out, drifts_of, measured_night, put

_ADDED = {"event_drift": ("told_in", "found_at"), "series": ("first_night_at", "last_night_at")}


def take_back(database: Database) -> None:
    """Take a database back to the schema before."""
    with database.writing() as session:
        session.execute(text("DROP INDEX ix_event_drift_told_in"))
        for table, columns in _ADDED.items():
            for column in columns:
                session.execute(text(f"ALTER TABLE {table} DROP COLUMN {column}"))
        session.execute(text("UPDATE alembic_version SET version_num = '0027'"))


@BOTH
def test_a_night_of_before_keeps_its_drifts_and_no_other_one_tells_them(api: Api, database: Database) -> None:
    api.put_revisions(1, 2, 3)
    assert not measured_night(api, "first", 2, 100)
    assert measured_night(api, "second", 3, 150) == [commit(3)]
    put(api, carried_out(9, host="box", subject="other"), night="other")
    take_back(database)
    upgrade(database)
    assert drifts_of(api, "second") == [commit(3)]
    assert not began(put(api, carried_out(3, host="box"), night="third"))
    assert drifts_of(api, "first") == drifts_of(api, "other") == []
