"""Turns the rows of perf's output into readings with the names and units of the catalogue."""

from collections.abc import Collection, Sequence

from msgspec import Struct
from msgspec.structs import replace

from runner.contract.base import MAX_LINE_CHARACTERS
from runner.contract.report import Reading, Status
from runner.contract.word_list import join_words
from runner.perf.parse.checks import check_clocks, check_rates, check_running_times
from runner.perf.parse.lines import Line, PerfOutputError
from runner.perf.parse.names import OWN_CLOCKS, Name, read_name
from runner.perf.parse.rows import SECONDS_PER_UNIT, Row


class PerfResult(Struct, frozen=True):
    """The readings of one output of perf.

    Attributes
    ----------
    readings
        The readings by metric, with the catalogue's names and units. Events that were not counted are included, with
        the reason.
    in_user_space
        The metrics that perf counted only in user space (``:u``), without the kernel.
    """

    readings: dict[str, Reading]
    in_user_space: frozenset[str] = frozenset()

    @property
    def user_only(self) -> bool:
        """Whether perf counted any metric only in user space, because the kernel forbids more."""
        return bool(self.in_user_space)


def assemble_readings(
    rows: Sequence[Row], requested_events: Collection[str] = (), *, started_together: bool = True
) -> PerfResult:
    """Turn rows into readings, one for each metric.

    Parameters
    ----------
    requested_events
        The events on perf's command line; without them, missing and misnamed events are not noticed.
    started_together
        False if the counters were enabled one after the other in a program that was already running: their running
        times may then differ by any amount.

    Raises
    ------
    PerfOutputError
        There is no row, two rows contradict each other, or the rows do not fit the requested events.
    """
    if not rows:
        raise PerfOutputError("perf printed no event at all")
    requested_names = [read_name(Line(0, event), event) for event in requested_events]
    rows = [_split_fused_modifier(row, {name.metric for name in requested_names}) for row in rows]
    rows_by_metric: dict[str, dict[str, Row]] = {}
    for row in rows:
        rows_by_pmu = rows_by_metric.setdefault(row.name.metric, {})
        previous_row = rows_by_pmu.setdefault(row.name.pmu, row)
        if previous_row.name != row.name or _make_reading(previous_row) != _make_reading(row):
            raise row.line.make_error(f"{row.event!r} occurs twice, with different results")
        if len(rows_by_pmu) > 1 and "" in rows_by_pmu:
            raise row.line.make_error(f"{row.name.metric} occurs both for one PMU and for all")
    for rows_by_pmu in rows_by_metric.values():
        if len({row.name.user_only for row in rows_by_pmu.values()}) > 1:
            raise next(iter(rows_by_pmu.values())).line.make_error(
                "one PMU counted only in user space, and the other did not"
            )
    check_clocks(rows)
    if started_together:
        check_running_times(rows)
    check_rates(rows)
    readings = {
        metric: _merge_pmus([_make_reading(row) for row in rows_by_pmu.values()], rows_by_pmu)
        for metric, rows_by_pmu in rows_by_metric.items()
    }
    user_space_metrics = frozenset(row.name.metric for row in rows if row.name.user_only)
    if requested_events:
        readings = _complete_readings(readings, user_space_metrics, requested_names)
    return PerfResult(readings, user_space_metrics)


def _split_fused_modifier(row: Row, requested_metrics: Collection[str]) -> Row:
    """Return a row with the modifier split off the name of a tracepoint; other rows are returned unchanged.

    If the kernel allows counting only in user space, perf appends ``:u`` to the name of an event, but only ``u`` if the
    name contains a colon, as in ``lock:contention_beginu`` (``evsel__fallback`` in ``tools/perf/util/evsel.c``).
    """
    metric = row.name.metric
    if ":" not in metric or metric in requested_metrics or metric.removesuffix("u") not in requested_metrics:
        return row
    return replace(row, name=replace(row.name, metric=metric.removesuffix("u"), user_only=True))


def _make_reading(row: Row) -> Reading:
    """Return the reading of one event; if it has no value, the reading contains the reason.

    Raises
    ------
    PerfOutputError
        The counter has a count but did not run, or the reverse.
    """
    count = row.count
    if row.runtime is not None and count.printed != (row.runtime > 0):
        raise row.line.make_error("a counter must have a count if and only if it ran")
    if count.value is None:
        return Reading(status=count.status, reason=_explain_status(row))
    value = float(count.value * SECONDS_PER_UNIT[count.unit]) if count.unit else int(count.value)
    if row.percent is None:
        return Reading(value=value)
    return Reading(status=Status.MULTIPLEXED, value=value, running_percent=float(row.percent))


def _explain_status(row: Row) -> str:
    """Return why perf has no value for an event."""
    if row.count.status is Status.NOT_SUPPORTED:
        return f"perf: {row.event} is not supported on this machine"
    if row.name.metric in {"user-time", "sys-time"}:
        return f"perf did not count {row.event}, or it was zero: this version of perf shows both in the same way"
    return f"perf did not count {row.event}"


def _merge_pmus(readings: Sequence[Reading], pmus: Collection[str]) -> Reading:
    """Combine the readings of a hybrid processor's PMUs, one for each type of core."""
    counted_readings = [reading for reading in readings if reading.value is not None]
    if len(readings) == 1 or len(counted_readings) == 1:
        return counted_readings[0] if counted_readings else readings[0]
    if not counted_readings:
        status = (
            Status.NOT_COUNTED
            if any(reading.status is Status.NOT_COUNTED for reading in readings)
            else Status.NOT_SUPPORTED
        )
        return Reading(
            status=status, reason="; ".join(reading.reason or "" for reading in readings)[:MAX_LINE_CHARACTERS]
        )
    total = sum(reading.value for reading in counted_readings if reading.value is not None)
    shares = [reading.running_percent for reading in counted_readings if reading.running_percent is not None]
    if not shares:
        return Reading(value=total)
    reason = f"sum over {', '.join(pmus)}: perf scales each count up as if its cores had run the program all the time"
    return Reading(status=Status.MULTIPLEXED, value=total, running_percent=min(shares), reason=reason)


def _complete_readings(
    readings: dict[str, Reading], user_space_metrics: frozenset[str], requested_names: Sequence[Name]
) -> dict[str, Reading]:
    """Return the readings, completed for missing clocks; raise if they do not fit the requested events.

    Only clocks may be missing: perf 4.15 leaves them out, and perf 6.8 to 6.12 leave out clocks that are zero.
    """
    missing_metrics = [name.metric for name in requested_names if name.metric not in readings]
    if missing_events := [metric for metric in missing_metrics if metric not in OWN_CLOCKS]:
        raise PerfOutputError(f"perf printed no result for {join_words(missing_events)}, which it was asked to count")
    if extra_events := readings.keys() - {name.metric for name in requested_names}:
        raise PerfOutputError(f"perf printed events that it was not asked to count: {', '.join(sorted(extra_events))}")
    if widened_events := {name.metric for name in requested_names if name.user_only} - user_space_metrics:
        raise PerfOutputError(
            "perf was asked to count only in user space, but also counted elsewhere: "
            f"{', '.join(sorted(widened_events))}"
        )
    reason = (
        "perf printed no result for it: some versions omit the times that perf measures itself, and some omit a time "
        "that is zero"
    )
    return readings | {metric: Reading(status=Status.NOT_COUNTED, reason=reason) for metric in missing_metrics}
