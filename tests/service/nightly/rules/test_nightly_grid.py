from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from runner.contract import Status
from runner.contract.quarantine import REUSED
from service.nightly.rules.nightly_grid import (
    LastNightlyRun,
    NightlyGrid,
    RecentPoint,
    UnmeasuredRun,
    build_grid,
    select_machine_settings,
    split_grid_by_subject,
)

AT = datetime(2025, 1, 10, 2, tzinfo=UTC)


def point(value: float | None, hours: float = 0, **changes: Any) -> RecentPoint:
    """A point that was measured so many hours before the last nightly run."""
    fields: dict[str, Any] = {
        "series_id": 1,
        "subject": "demo",
        "host": "box",
        "case": "copy[mib=4]",
        "case_key": "k1",
        "environment": "old",
        "run_id": uuid.uuid4(),
        "revision": "abc",
        "position": round(1000 - hours),
        "started_at": AT - timedelta(hours=hours),
        "quarantine": None,
        "status": Status.COUNTED if value is not None else Status.NOT_SUPPORTED,
        "value": value,
    }
    return RecentPoint(**(fields | changes))


def failed(hours: float = 0, **changes: Any) -> UnmeasuredRun:
    fields: dict[str, Any] = {
        "subject": "demo",
        "host": "box",
        "case": "copy[mib=4]",
        "case_key": "k1",
        "environment": "old",
        "run_id": uuid.uuid4(),
        "started_at": AT - timedelta(hours=hours),
        "reason": "build failed: no rule",
    }
    return UnmeasuredRun(**(fields | changes))


def test_a_change_is_told_from_the_night_before() -> None:
    (row,) = build_grid([point(110), point(105, 1), point(100, 24), point(50, 48)], []).rows
    (cell,) = row.cells
    assert (cell.value, cell.before, cell.change, cell.percent) == (110, 100, 10, 10)


def test_a_count_that_was_taken_over_is_the_level_of_its_commit() -> None:
    (row,) = build_grid([point(100, 24), point(100, revision="newer", quarantine=REUSED)], []).rows
    assert (row.cells[0].value, row.cells[0].revision, row.cells[0].reason) == (100, "newer", "")


def test_where_all_was_measured_at_once_it_is_told_from_the_run_before() -> None:
    (row,) = build_grid([point(110), point(105, 1), point(100, 2)], []).rows
    assert row.cells[0].before == 105
    (row,) = build_grid([point(110)], []).rows
    assert row.cells[0].change is None


def test_zero_has_no_percent() -> None:
    (row,) = build_grid([point(12), point(0, 24)], []).rows
    assert (row.cells[0].change, row.cells[0].percent) == (12, None)


def test_each_configuration_of_a_host_has_a_column_while_it_is_in_use() -> None:
    grid = build_grid([point(1), point(2, 1, environment="new"), point(3, 24 * 30, environment="ancient")], [])
    assert [column.environment for column in grid.columns] == ["old", "new"]
    assert [cell.value for cell in grid.rows[0].cells] == [1, 2]


def test_a_cell_that_did_not_run_says_why() -> None:
    other = {"host": "other", "environment": "else"}
    grid = build_grid(
        [
            point(1),
            point(2, case="a", case_key="k0", quarantine="counts wrong"),
            point(None, case="b", case_key="k2"),
            point(5, 24, case="c", case_key="k3"),
            point(5, **other),
        ],
        [failed(case="c", case_key="k3"), failed(48)],
    )
    assert [column.host for column in grid.columns] == ["box", "other"]
    fields = {row.case: [cell.reason or cell.value for cell in row.cells] for row in grid.rows}
    assert fields == {
        "a": ["in quarantine: counts wrong", "not measured here"],
        "b": ["not supported", "not measured here"],
        "c": ["build failed: no rule", "not measured here"],
        "copy[mib=4]": [1, 5],
    }


def test_a_shared_commit_keeps_its_level_after_a_later_commit_failed_and_worked_again() -> None:
    other = {"host": "other", "environment": "else", "series_id": 2}
    points = [point(7, 2, revision="later"), point(5, 48, revision="shared"), point(6, 48, revision="shared", **other)]
    (row,) = build_grid(points, [failed(24)], one_commit=True).rows
    assert [(cell.value, cell.reason, cell.revision) for cell in row.cells] == [(5, "", "shared"), (6, "", "shared")]


def test_a_case_that_never_worked_has_a_row() -> None:
    (row,) = build_grid([], [failed()]).rows
    assert row.cells[0].reason == "build failed: no rule"


def test_weak_scaling_is_shown_in_its_cell() -> None:
    (row,) = build_grid([point(1)], [], [point(0.2)]).rows
    assert row.cells[0].efficiency == 0.2


def test_weak_scaling_is_that_of_the_shown_level() -> None:
    other = {"host": "other", "environment": "else", "series_id": 2}
    points = [point(7, 2, revision="later"), point(5, 48, revision="shared"), point(6, 48, revision="shared", **other)]
    efficiencies = [point(0.9, 2, revision="later"), point(0.3, 48, revision="shared")]
    (row,) = build_grid(points, [], efficiencies, one_commit=True).rows
    assert [(cell.value, cell.efficiency) for cell in row.cells] == [(5, 0.3), (6, None)]
    wrong = {"revision": "later", "quarantine": "counts wrong"}
    (row,) = build_grid([point(7, **wrong), points[1]], [], [point(0.9, **wrong), efficiencies[1]]).rows
    assert (row.cells[0].value, row.cells[0].efficiency) == (5, 0.3)


def nightly_run(hours: float, missed: dict[tuple[str, str, str], str] | None = None) -> LastNightlyRun:
    """A nightly run that began so many hours before the newest point."""
    return LastNightlyRun(AT - timedelta(hours=hours), frozenset({"box"}), missed or {})


def test_on_a_host_with_nights_a_change_is_told_from_before_the_last_one() -> None:
    seen = [point(110), point(105, 3), point(100, 7), point(50, 48)]
    assert build_grid(seen, [], nightly_run=nightly_run(5)).rows[0].cells[0].before == 100
    elsewhere = [point(110, host="elsewhere"), point(105, 3, host="elsewhere"), point(50, 48, host="elsewhere")]
    assert build_grid(elsewhere, [], nightly_run=nightly_run(5)).rows[0].cells[0].before == 50


def test_what_was_not_measured_for_two_nights_keeps_its_change() -> None:
    (row,) = build_grid([point(110, 30), point(100, 54)], [], nightly_run=nightly_run(5)).rows
    assert row.cells[0].change == 10


def test_what_the_last_night_missed_is_said_in_the_newest_configuration() -> None:
    why = {("demo", "box", "copy[mib=4]"): "missing: no report has arrived", ("demo", "gone", "copy[mib=4]"): "x"}
    grid = build_grid([point(1), point(2, 1, environment="new")], [], nightly_run=nightly_run(5, why))
    assert [cell.missed for cell in grid.rows[0].cells] == ["missing: no report has arrived", ""]


def test_only_what_the_detector_flagged_has_a_colour() -> None:
    before, after = point(100, 24), point(110)
    (row,) = build_grid([before, after], []).rows
    assert (row.cells[0].change, row.cells[0].flagged) == (10, False), "a difference alone may be noise"
    (row,) = build_grid([before, after], [], level_starts={after.run_id: True}).rows
    assert row.cells[0].flagged
    (row,) = build_grid([before, after], [], level_starts={before.run_id: True}).rows
    assert not row.cells[0].flagged, "that drift is older than both levels"
    (row,) = build_grid([before, after], [], level_starts={after.run_id: False}).rows
    assert (row.cells[0].flagged, row.cells[0].provisional) == (False, True)


def test_a_level_of_another_commit_does_not_compare_with_its_row() -> None:
    glibc = [point(53_338, 0, revision="new", position=9), point(53_000, 30, revision="old", position=3)]
    jemalloc = point(4_742, 1, revision="old", position=3, environment="jemalloc", series_id=2)
    (row,) = build_grid([*glibc, jemalloc], []).rows
    assert row.revision == "new"
    assert [(cell.value, cell.revision, cell.other_commit) for cell in row.cells] == [
        (53_338, "new", False),
        (4_742, "old", True),
    ]


def test_a_row_can_show_the_commit_that_all_columns_have() -> None:
    glibc = [point(53_338, 0, revision="new", position=9), point(4_186, 30, revision="old", position=3)]
    jemalloc = point(4_742, 1, revision="old", position=3, environment="jemalloc", series_id=2)
    (row,) = build_grid([*glibc, jemalloc], [], one_commit=True).rows
    assert row.revision == "old"
    assert [(cell.value, cell.other_commit) for cell in row.cells] == [(4_186, False), (4_742, False)]


def test_a_subject_has_no_empty_columns_of_another_one() -> None:
    grid = build_grid([point(1, environment="one"), point(2, 1, environment="two", subject="other")], [])
    assert len(grid.columns) == 2
    parts = split_grid_by_subject(grid)
    assert [(part.rows[0].subject, [column.environment for column in part.columns]) for part in parts] == [
        ("demo", ["one"]),
        ("other", ["two"]),
    ]
    assert [[cell.value for cell in part.rows[0].cells] for part in parts] == [[1], [2]]


def test_of_two_definitions_of_a_case_the_newest_comes_first_and_says_so() -> None:
    old, new = point(90, 24, case_key="k0", series_id=2), point(100, case_key="k9")
    rows = build_grid([old, new], []).rows
    assert [(row.case_key, row.superseded) for row in rows] == [("k9", False), ("k0", True)]
    # Another host may not have the new definition yet.
    elsewhere = point(90, 24, case_key="k0", series_id=3, host="other")
    assert not any(row.superseded for row in build_grid([old, new, elsewhere], []).rows)
    # What a nightly run planned but missed is of the definition that it would have run.
    missed = nightly_run(0, {("demo", "box", "copy[mib=4]"): "the host was off"})
    assert [row.cells[0].missed for row in build_grid([old, new], [], nightly_run=missed).rows] == [
        "the host was off",
        "",
    ]


def test_environments_of_the_same_machine_that_no_case_shares_have_one_column() -> None:
    settings = {"kernel.release": "6.1", "process.huge_pages": "never"}
    huge = {**settings, "process.huge_pages": "always"}
    upgraded = {**settings, "kernel.release": "6.12"}
    assert select_machine_settings(settings) == select_machine_settings(huge) != select_machine_settings(upgraded)
    points = [
        point(1, 24, environment="plain"),
        point(2, 24, environment="huge", case_key="other", case="other"),
        point(3, environment="upgraded"),
        point(4, 48, environment="unknown", case_key="another", case="another"),
    ]
    of = {"plain": settings, "huge": huge, "upgraded": upgraded}
    grid = build_grid(
        points, [], machine_of_environment={name: select_machine_settings(held) for name, held in of.items()}
    )
    assert [column.environments for column in grid.columns] == [("upgraded",), ("plain", "huge"), ("unknown",)]
    assert {row.case: [cell.value for cell in row.cells] for row in grid.rows} == {
        "another": [None, None, 4],
        "copy[mib=4]": [3, 1, None],
        "other": [None, 2, None],
    }


SAME = {"library.a": "1"}, {"library.b": "2"}
"""Settings of cases: the machine itself is the same."""


def merged_grid(*points: RecentPoint) -> NightlyGrid:
    """Return a grid in which the environments ``newer`` and ``older`` are of the same machine."""
    machines = dict(zip(("newer", "older"), map(select_machine_settings, SAME), strict=True))
    return build_grid(
        points, [failed(24, case="broken", case_key="k3", environment="older")], machine_of_environment=machines
    )


def test_each_cell_of_a_column_says_in_which_of_its_environments_it_was_run() -> None:
    other = point(2, 24, environment="older", case="other", case_key="k2")
    grid = merged_grid(point(1, environment="newer"), other, point(3, host="elsewhere"))
    assert [column.environments for column in grid.columns] == [("newer", "older"), ("old",)]
    assert {row.case: [cell.environment for cell in row.cells] for row in grid.rows} == {
        "broken": ["older", None],
        "copy[mib=4]": ["newer", "old"],
        "other": ["older", None],
    }


def test_a_column_of_a_subject_has_no_environment_of_another_one() -> None:
    grid = merged_grid(point(1, environment="newer", subject="other", case_key="k2"), point(2, 24, environment="older"))
    assert [column.environments for column in grid.columns] == [("newer", "older")]
    assert [
        (part.rows[0].subject, [column.environments for column in part.columns]) for part in split_grid_by_subject(grid)
    ] == [
        ("demo", [("older",)]),
        ("other", [("newer",)]),
    ]


def test_the_level_of_an_environment_that_is_in_use_no_more_is_in_no_column() -> None:
    old = point(2, 24 * 60, environment="older", case="other", case_key="k2")
    grid = build_grid(
        [point(1, environment="newer"), old],
        [],
        machine_of_environment=dict.fromkeys(("newer", "older"), "the same machine"),
    )
    assert [column.environments for column in grid.columns] == [("newer",)]
    assert {row.case: [cell.value for cell in row.cells] for row in grid.rows} == {"copy[mib=4]": [1], "other": [None]}
