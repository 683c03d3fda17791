from datetime import UTC, datetime, timedelta, timezone

from service.text.moments import format_moment


def test_a_moment_has_the_form_of_json_in_every_zone() -> None:
    assert format_moment(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)) == "2026-01-02T03:04:05Z"
    east = timezone(timedelta(hours=2))
    assert format_moment(datetime(2026, 1, 2, 3, 4, 5, 600, tzinfo=east)) == "2026-01-02T01:04:05.000600Z"
