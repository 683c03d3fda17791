from service.web.charts.badge import Tone, build_events_badge, build_series_badge
from tests.service import made_series


def test_a_badge_has_the_level_after_the_last_drift() -> None:
    badge = build_series_badge(made_series.faults())
    assert (badge.label, badge.tone) == ("minor faults", Tone.GOOD)
    assert badge.message.replace("\xa0", " ").startswith("2,304 faults (−")


def test_the_last_drift_is_the_last_of_the_history_whatever_its_date() -> None:
    series = made_series.faults()
    old = series.drifts[-1].committed_at.replace(year=2001)
    rebased = series.model_copy(
        update={"drifts": [*series.drifts[:-1], series.drifts[-1].model_copy(update={"committed_at": old})]}
    )
    assert build_series_badge(rebased).message.replace("\xa0", " ").startswith("2,304 faults (−")


def test_a_series_without_drifts_is_its_newest_value() -> None:
    series = made_series.faults().model_copy(update={"drifts": []})
    assert build_series_badge(series).message.replace("\xa0", " ") == "2,304 faults"


def test_what_was_not_counted_is_not_measured() -> None:
    assert build_series_badge(made_series.uncounted()).message == "not measured"


def test_open_events_are_counted() -> None:
    assert [build_events_badge(waiting).message for waiting in (0, 1, 1234)] == [
        "no open events",
        "1 open event",
        "1,234 open events",
    ]
