from service.web.charts.badge import Tone, events_badge, series_badge
from tests.service import made_series


def test_a_badge_has_the_level_after_the_last_drift() -> None:
    badge = series_badge(made_series.faults())
    assert (badge.label, badge.tone) == ("minor faults", Tone.GOOD)
    assert badge.message.replace("\xa0", " ").startswith("2,304 faults (−")


def test_a_series_without_drifts_is_its_newest_value() -> None:
    series = made_series.faults().model_copy(update={"drifts": []})
    assert series_badge(series).message.replace("\xa0", " ") == "2,304 faults"


def test_what_was_not_counted_is_not_measured() -> None:
    assert series_badge(made_series.uncounted()).message == "not measured"


def test_open_events_are_counted() -> None:
    assert [events_badge(waiting).message for waiting in (0, 1, 1234)] == [
        "no open drifts",
        "1 open event",
        "1,234 open events",
    ]
