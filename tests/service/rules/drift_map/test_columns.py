from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from service.rules.drift_map.columns import MapCommit, Unit, divide_history

START = datetime(2024, 2, 27, 9, tzinfo=UTC)


def commits(count: int, apart: timedelta) -> list[MapCommit]:
    return [MapCommit(number, f"{number:040x}", START + number * apart) for number in range(count)]


def test_commits_that_fit_are_columns() -> None:
    columns = divide_history(commits(60, timedelta(hours=1)), 60)
    assert columns.unit is Unit.COMMIT
    assert [columns.column_of[number] for number in range(60)] == list(range(60))


def test_more_commits_share_the_shortest_periods_that_fit() -> None:
    spans = {
        Unit.HOUR: timedelta(minutes=20),
        Unit.DAY: timedelta(hours=6),
        Unit.WEEK: timedelta(days=2),
        Unit.MONTH: timedelta(days=10),
        Unit.QUARTER: timedelta(days=30),
        Unit.YEAR: timedelta(days=150),
    }
    for unit, apart in spans.items():
        assert divide_history(commits(100, apart), 60).unit is unit


def test_a_period_begins_where_the_calendar_says() -> None:
    weeks = divide_history(commits(200, timedelta(days=1)), 60)
    assert weeks.unit is Unit.WEEK
    assert {start.weekday() for start in weeks.starts} == {0}
    months = divide_history(commits(200, timedelta(days=5)), 60)
    assert [f"{start:%Y-%m-%d}" for start in months.starts[:3]] == ["2024-02-01", "2024-03-01", "2024-04-01"]


def test_a_week_that_begins_with_a_sunday_has_its_monday_before() -> None:
    sunday = datetime(2024, 3, 3, 23, tzinfo=UTC)
    columns = divide_history([MapCommit(n, "", sunday + timedelta(days=n)) for n in range(200)], 60)
    assert columns.unit is Unit.WEEK
    assert columns.starts[0] == datetime(2024, 2, 26, tzinfo=UTC)
    assert (columns.column_of[0], columns.column_of[1]) == (0, 1)


def test_a_commit_that_was_not_measured_has_the_column_of_its_time() -> None:
    columns = divide_history(commits(200, timedelta(days=1)), 60)
    assert columns.find_column(START - timedelta(days=900)) == 0
    assert columns.find_column(START + timedelta(days=14)) == columns.column_of[14]
    assert columns.find_column(START + timedelta(days=9000)) == len(columns) - 1


@given(
    st.lists(st.datetimes(datetime(1971, 1, 1), datetime(9999, 12, 30), timezones=st.just(UTC)), min_size=1),
    st.integers(1, 60),
)
def test_there_are_never_too_many_columns_and_each_commit_has_one(times: list[datetime], room: int) -> None:
    history = [MapCommit(number, "", at) for number, at in enumerate(times)]
    columns = divide_history(history, room)
    assert 1 <= len(columns) <= room
    for commit in history:
        column = columns.column_of[commit.id]
        assert 0 <= column < len(columns)
        if columns.unit is not Unit.COMMIT:
            assert columns.starts[column] <= commit.committed_at
            assert column == len(columns) - 1 or commit.committed_at < columns.starts[column + 1]
