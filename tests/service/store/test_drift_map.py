from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session

from service.rules.drift_map.columns import divide_history
from service.rules.drift_map.layout import arrange_drifts
from service.store import drift_map
from service.store.drift_map import MapEvent
from service.store.models import Event, EventDriftRow, Revision
from service.web import app_resources
from tests.service.web import history
from tests.service.web.application import application


def test_a_setting_changed_where_its_new_value_was_first_measured_though_the_drift_begins_later(tmp_path: Path) -> None:
    with application(tmp_path, history.send) as app, app.app_context():
        database = app_resources.get_database()
        with database.reading() as session:
            (found,) = _list_config_events(session)
        with database.writing([history.SUBJECT]) as session:  # as if a noisy series showed the change only later
            event = session.get_one(Event, found.id)
            ends = {"previous_revision": history.commit(history.ANCHOR - 3), "first_bad": history.commit(13)}
            event.document = event.document | ends
        with database.reading() as session:
            (event_of_setting,) = _list_config_events(session)
            assert event_of_setting.setting_commit is not None
            assert session.get_one(Revision, event_of_setting.setting_commit).commit == history.commit(history.ANCHOR)


def test_a_label_has_the_levels_of_its_event_though_the_stored_ones_are_older(tmp_path: Path) -> None:
    with application(tmp_path, history.send) as app, app.app_context():
        database = app_resources.get_database()
        with database.writing([history.SUBJECT]) as session:
            row = session.scalars(select(EventDriftRow).where(EventDriftRow.series_id.is_not(None))).first()
            assert row is not None
            before = row.before
            row.before = 1
        with database.reading() as session:
            columns = divide_history(drift_map.list_measured_commits(session, None), 60)
            (changed,) = (drift for drift in drift_map.list_map_drifts(session, None, columns) if drift.before == 1)
            (shown,) = drift_map.update_levels(session, [changed])
            assert shown.before == before


def _list_config_events(session: Session) -> list[MapEvent]:
    """Return the events of changed settings on the map."""
    columns = divide_history(drift_map.list_measured_commits(session, None), 60)
    drifts = drift_map.list_map_drifts(session, None, columns)
    arranged_map = arrange_drifts(columns, drifts, max_rows=40, max_bars=1000)
    return drift_map.list_config_events(session, None, arranged_map.leading)
