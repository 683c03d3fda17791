"""Divides a history into the columns of the drift map: commits if they fit, otherwise periods of time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import NamedTuple


class Unit(StrEnum):
    """What one column stands for."""

    COMMIT = "commit"
    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"


class MapCommit(NamedTuple):
    """A measured commit."""

    id: int
    commit: str
    committed_at: datetime


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a map, from the oldest to the newest.

    Attributes
    ----------
    starts
        The time at which each column begins; for a commit, its date.
    column_of
        The column of each measured commit, by commit id.
    commits
        The commit of each column; empty if the columns are periods.
    step
        How many units a column spans.
    """

    unit: Unit
    starts: tuple[datetime, ...]
    column_of: Mapping[int, int]
    commits: tuple[MapCommit, ...] = ()
    step: int = 1

    def __len__(self) -> int:
        return len(self.starts)

    def find_column(self, committed_at: datetime) -> int:
        """Return the column of an unmeasured commit, according to its date."""
        return _find_column(self.starts, committed_at)


def divide_history(commits: Sequence[MapCommit], max_columns: int) -> Columns:
    """Return the columns of a history: its commits if they fit, otherwise the shortest periods that fit.

    Parameters
    ----------
    commits
        The measured commits in the order of the history, at least one.
    max_columns
        How many columns fit.
    """
    if len(commits) <= max_columns:
        column_of = {commit.id: index for index, commit in enumerate(commits)}
        return Columns(Unit.COMMIT, tuple(commit.committed_at for commit in commits), column_of, tuple(commits))
    times = [commit.committed_at for commit in commits]
    first_time, last_time = min(times), max(times)
    periods = [unit for unit in Unit if unit is not Unit.COMMIT]
    unit = next((unit for unit in periods if _count_periods(unit, first_time, last_time) <= max_columns), Unit.YEAR)
    first_number = _number_period(unit, first_time)
    n_periods = _count_periods(unit, first_time, last_time)
    step = -(-n_periods // max_columns)  # rounded up; more than 1 only if there are too many years
    starts = tuple(_find_start(unit, first_number + index) for index in range(0, n_periods, step))
    column_of = {commit.id: bisect_right(starts, commit.committed_at) - 1 for commit in commits}
    return Columns(unit, starts, column_of, step=step)


def _find_column(starts: Sequence[datetime], committed_at: datetime) -> int:
    """Return the last column that begins at or before a time, or the first column if none does."""
    return max(bisect_right(starts, committed_at) - 1, 0)


def _count_periods(unit: Unit, first_time: datetime, last_time: datetime) -> int:
    return _number_period(unit, last_time) - _number_period(unit, first_time) + 1


def _number_period(unit: Unit, moment: datetime) -> int:
    """Return the number of the period in which a moment lies; successive periods have successive numbers."""
    utc_moment = moment.astimezone(UTC)
    match unit:
        case Unit.HOUR:
            return utc_moment.toordinal() * 24 + utc_moment.hour
        case Unit.WEEK:
            return (utc_moment.toordinal() - 1) // 7  # the first day of the calendar is a Monday
        case Unit.MONTH:
            return utc_moment.year * 12 + utc_moment.month - 1
        case Unit.QUARTER:
            return (utc_moment.year * 12 + utc_moment.month - 1) // 3
        case Unit.YEAR:
            return utc_moment.year
        case _:  # a day
            return utc_moment.toordinal()


def _find_start(unit: Unit, number: int) -> datetime:
    """Return when the period with a number begins."""
    match unit:
        case Unit.HOUR:
            return _get_midnight(date.fromordinal(number // 24)) + timedelta(hours=number % 24)
        case Unit.WEEK:
            return _get_midnight(date.fromordinal(number * 7 + 1))
        case Unit.MONTH:
            return _get_midnight(date(number // 12, number % 12 + 1, 1))
        case Unit.QUARTER:
            return _get_midnight(date(number // 4, number % 4 * 3 + 1, 1))
        case Unit.YEAR:
            return _get_midnight(date(number, 1, 1))
        case _:  # a day
            return _get_midnight(date.fromordinal(number))


def _get_midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
