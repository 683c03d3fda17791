"""Which runs of a commit are of one cell: like with like."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.contract import Outcome
from service.lab.rules.settings_grid import (
    LabRun,
    SettingsGrid,
    build_grid,
    choose_axes,
    choose_default_run,
    find_settings,
)
from service.rules.jobs.job_settings import HUGE_PAGES, PRELOAD

START = datetime(2026, 1, 1, tzinfo=UTC)
HOST = {"kernel.release": "6.12", "allocator": "glibc 2.36", HUGE_PAGES: "madvise"}
JEMALLOC = {PRELOAD: "libjemalloc.so.2", "allocator": "jemalloc (libjemalloc.so.2)"}


def run(number: int, settings: dict[str, str] | None = None, *, case: str = "small", **changes: object) -> LabRun:
    told = {
        "number": number,
        "run_id": uuid.UUID(int=number),
        "case_key": case,
        "settings": HOST | (settings or {}),
        "environment": str(sorted((settings or {}).items())),
        "started_at": START + timedelta(minutes=number),
        "outcome": Outcome.MEASURED,
    }
    return LabRun(**(told | changes))  # type: ignore[arg-type]


def grid(runs: list[LabRun], added: dict[str, list[str | None]] | None = None, *axes: list[str]) -> SettingsGrid:
    default = choose_default_run(runs, "small")
    assert default is not None
    found = find_settings(runs, default.settings, added or {})
    rows, columns = choose_axes(found, *(axes or ([], [])))
    return build_grid(runs, default.settings, rows, columns)


def shown(made: SettingsGrid) -> dict[tuple[str | None, ...], int | None]:
    return {tuple(cell.values.values()): cell.run.number if cell.run else None for cell in made.all_cells}


def test_runs_stand_in_the_cell_of_their_settings_and_the_others_stay_empty() -> None:
    runs = [run(1), run(2, JEMALLOC), run(3, {HUGE_PAGES: "never"})]
    made = grid(runs)
    assert [axis.name for axis in (*made.rows, *made.columns)] == [PRELOAD, HUGE_PAGES]
    assert shown(made) == {
        (None, "madvise"): 1,
        (None, "never"): 3,
        ("libjemalloc.so.2", "madvise"): 2,
        ("libjemalloc.so.2", "never"): None,
    }
    assert [cell.default for cell in made.all_cells] == [True, False, False, False]


def test_the_name_of_the_allocator_only_follows_and_is_no_setting() -> None:
    runs = [run(1), run(2, JEMALLOC)]
    assert [one.name for one in find_settings(runs, runs[0].settings, {})] == [PRELOAD]


def test_a_run_that_differs_in_anything_else_is_in_no_cell_and_is_named() -> None:
    made = grid(
        [run(1, JEMALLOC | {"kernel.release": "6.1"}, is_outside_history=True), run(2)], {PRELOAD: ["libjemalloc.so.2"]}
    )
    empty = next(cell for cell in made.all_cells if not cell.default)
    assert empty.run is None
    assert empty.other_differences == ("kernel.release",)


def test_of_several_runs_the_one_beside_the_default_counts_even_if_it_is_older() -> None:
    session = uuid.UUID(int=7)
    runs = [
        run(1),
        run(2, is_outside_history=True, session=session),
        run(3, JEMALLOC, is_outside_history=True, session=session),
        run(4, JEMALLOC),
    ]
    cell = next(cell for cell in grid(runs).all_cells if not cell.default)
    assert cell.run is not None
    assert cell.interleaved_default is not None
    assert (cell.run.number, cell.interleaved_default.number) == (3, 2)


def test_a_failure_shows_unless_a_later_run_was_measured() -> None:
    failed = {"outcome": Outcome.FAILED, "failure": "killed", "is_outside_history": True}
    first = next(c for c in grid([run(1), run(2, JEMALLOC, **failed)]).all_cells if not c.default)
    assert first.failed is not None
    second = next(c for c in grid([run(1), run(2, JEMALLOC, **failed), run(3, JEMALLOC)]).all_cells if not c.default)
    assert second.failed is None


def test_a_parameter_that_sets_the_allocator_takes_its_variables_along() -> None:
    def of(number: int, name: str, settings: dict[str, str] | None = None) -> LabRun:
        return run(number, {"parameter.allocator": name, "parameter.mib": "4"} | (settings or {}), case=name)

    runs = [of(1, "small"), of(2, "jemalloc", JEMALLOC), of(3, "jemalloc", JEMALLOC | {"variable.A": "1"})]
    default = choose_default_run(runs, "small")
    assert default is not None
    (own, plain) = find_settings(runs, default.settings, {})
    assert (own.name, plain.name) == ("parameter.allocator", "variable.A")
    assert PRELOAD in own.implied_settings
    assert not own.changes_the_work
    made = build_grid(runs, default.settings, [own], [])
    assert shown(made) == {("small",): 1, ("jemalloc",): 2}


def test_a_parameter_of_the_program_is_an_axis_only_if_it_is_chosen() -> None:
    runs = [run(1, {"parameter.mib": "4"}), run(2, {"parameter.mib": "8"}, case="large")]
    assert grid(runs).rows == ()
    made = grid(runs, None, ["parameter.mib"], [])
    assert made.rows[0].changes_the_work
    assert shown(made) == {("4",): 1, ("8",): 2}


def test_the_default_is_how_the_host_is_now_with_the_settings_of_the_history() -> None:
    runs = [
        run(1),
        run(2, {"kernel.release": "6.13"}, is_outside_history=True),
        run(3, JEMALLOC, is_outside_history=True),
    ]
    found = choose_default_run(runs, "small")
    assert found is not None
    assert found.number == 2
    older = choose_default_run(runs, "small", runs[0].environment)
    assert older is not None
    assert older.number == 1
    assert choose_default_run(runs, "other") is None


def test_the_default_is_the_plainest_of_several_nightly_configurations() -> None:
    runs = [run(1), run(2, JEMALLOC), run(3, {"variable.A": "1"})]
    found = choose_default_run(runs, "small")
    assert found is not None
    assert found.number == 1


def test_too_many_cells_are_refused() -> None:
    many: list[str | None] = [str(number) for number in range(200)]
    with pytest.raises(ValueError, match="more than 120 cells"):
        grid([run(1)], {"variable.A": many})


def test_cells_that_would_not_fit_into_the_memory_are_refused_before_they_are_made() -> None:
    many: dict[str, list[str | None]] = {f"variable.A{number}": ["1", "2", "3"] for number in range(33)}
    with pytest.raises(ValueError, match="73,786,976,294,838,206,464 combinations of values are more"):
        grid([run(1)], many, list(many), [])


@given(st.lists(st.tuples(st.sampled_from([None, "1", "2"]), st.sampled_from(["a", "b"]), st.booleans()), max_size=12))
def test_no_run_is_in_a_cell_with_other_values_or_another_kernel(made: list[tuple[str | None, str, bool]]) -> None:
    runs = [run(0)]
    for number, (arenas, kernel, aside) in enumerate(made, 1):
        settings = {"kernel.release": kernel} | ({"variable.MALLOC_ARENA_MAX": arenas} if arenas else {})
        runs.append(run(number, settings, is_outside_history=aside))
    default = choose_default_run(runs, "small")
    assert default is not None
    for cell in grid(runs, {"variable.MALLOC_ARENA_MAX": ["1", "2"]}).all_cells:
        if cell.run is not None:
            assert all(cell.run.settings.get(name) == value for name, value in cell.values.items())
            assert cell.run.settings["kernel.release"] == default.settings["kernel.release"]
