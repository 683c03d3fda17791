from pathlib import Path

from service.store import drift_map
from service.store.models import Event, Revision
from service.web import app_resources
from tests.service.web import history
from tests.service.web.application import application


def test_a_setting_changed_where_its_new_value_was_first_measured_though_the_drift_begins_later(tmp_path: Path) -> None:
    with application(tmp_path, history.send) as app, app.app_context():
        database = app_resources.get_database()
        with database.reading() as session:
            (found,) = drift_map.list_config_events(session, None)
        with database.writing([history.SUBJECT]) as session:  # as if a noisy series showed the change only later
            event = session.get_one(Event, found.id)
            ends = {"previous_revision": history.commit(history.ANCHOR - 3), "first_bad": history.commit(13)}
            event.document = event.document | ends
        with database.reading() as session:
            (event_of_setting,) = drift_map.list_config_events(session, None)
            assert event_of_setting.setting_commit is not None
            assert session.get_one(Revision, event_of_setting.setting_commit).commit == history.commit(history.ANCHOR)
