import re
from dataclasses import replace

import pytest
from hypothesis import given

from service.rules.drift_map.layout import MapDrift, arrange_drifts
from service.schemas.history import Cause, SettingChange
from service.schemas.triage import EventDirection, State
from service.store.drift_map import MapEvent
from service.text.cause_text import name_candidates
from service.web.charts.drift_map import (
    CALLOUT,
    DrawnMap,
    NamedEvents,
    choose_labelled_drifts,
    choose_linked_cells,
    draw_map,
    list_linked_events,
)
from tests.service.rules.drift_map.planted import DRIFTS, columns, drift

FIFTY = "+50\N{NARROW NO-BREAK SPACE}%"


def event(identity: str, **changes: object) -> MapEvent:
    values: dict[str, object] = {
        "id": identity,
        "subject": "subject",
        "state": State.NEW,
        "cause": Cause.COMMIT,
        "direction": EventDirection.REGRESSION,
        "confirmed": True,
        "headline": "+500 minor faults (+50 %) in case and 3 more",
        "blamed": "Reuse the arena",
        "author": "Ada",
        "n_series": 4,
        "settings": (),
    }
    return MapEvent(**values | changes)  # type: ignore[arg-type]


def kernel(identity: str, after: str = "6.1") -> MapEvent:
    change = SettingChange(name="kernel.release", before="5.15", after=after)
    return event(identity, cause=Cause.CONFIG, settings=(change,))


def draw(
    drifts: list[MapDrift],
    important: list[MapEvent] | None = None,
    config: list[MapEvent] | None = None,
    *,
    links: int = 100,
    max_config: int = 4,
) -> DrawnMap:
    arranged = arrange_drifts(columns(60), drifts, max_rows=40, max_bars=1000)
    linked = choose_linked_cells(arranged, links)
    events = {name: event(name) for name in list_linked_events(arranged, linked)}
    labelled = choose_labelled_drifts(arranged, important or [])
    return draw_map(arranged, linked, NamedEvents(events, labelled, config or []), max_config)


def count_bars(drawn: DrawnMap) -> int:
    paths = [bar.path for row in drawn.rows for bar in (*row.bars, *(bar for cell in row.cells for bar in cell.bars))]
    return sum(path.count("M") for path in paths)


@given(DRIFTS)
def test_every_bar_is_drawn_once_linked_or_not(drifts: list[MapDrift]) -> None:
    bars = {(entry.row, entry.column, entry.worse) for entry in drifts}
    for links in (0, 7, 1000):
        drawn = draw(drifts, links=links)
        assert count_bars(drawn) == len(bars)
        assert sum(len(row.cells) for row in drawn.rows) == min(links, len({bar[:2] for bar in bars}))
        assert drawn.n_drifts == len(drifts)


def test_worse_goes_up_better_goes_down_and_a_suspicion_is_an_outline() -> None:
    drawn = draw([drift("case", 3, 50), drift("case", 3, -5), drift("case", 9, 500, certain=False)])
    first, second = sorted(drawn.rows[0].cells, key=lambda cell: cell.bars[0].path.startswith("M9"))
    assert [bar.kind for bar in first.bars] == ["w3", "b2"]
    assert [bar.kind for bar in second.bars] == ["w4 o"]
    heights = [float(re.findall(r"v(-?[\d.]+)", bar.path)[0]) for bar in first.bars]
    assert heights[0] < 0 < heights[1]
    assert all(bar.path.startswith("M3.06 12h") for bar in first.bars)


def test_a_cell_says_what_where_who_and_how_many() -> None:
    ((cell,),) = (row.cells for row in draw([drift("case", 3, event="one"), drift("case", 3, 2, event="one")]).rows)
    assert cell.text.split("\n") == [
        "+500 minor faults (+50 %) in case and 3 more",
        "0000000000 of 2026-01-08",
        "Reuse the arena (Ada)",
        "the largest of 2 changes here",
    ]


def test_a_setting_is_called_out_with_its_new_value_over_the_whole_height() -> None:
    drawn = draw([drift("a", 30, 3, event="one"), drift("b", 30, 3, event="two")], [], [kernel("one"), kernel("two")])
    (callout,) = drawn.callouts
    assert callout.kind == "setting"
    assert callout.what == "kernel 5.15 → 6.1"
    assert callout.short == "kernel → 6.1"
    assert callout.end == drawn.grid_bottom


@pytest.mark.parametrize(("state", "mark"), [(State.EXPECTED, "expected: "), (State.FIXED, "fixed: "), (State.NEW, "")])
def test_a_label_says_that_an_event_is_decided_because_the_inbox_no_longer_lists_it(state: State, mark: str) -> None:
    decided = event("one", state=state)
    (callout,) = draw([drift("case", 30, event="one")], [decided]).callouts
    assert callout.what == f"{mark}{FIFTY} minor faults"
    assert callout.short == (f"{mark}{FIFTY}" if mark else f"{FIFTY} minor faults")


def test_a_value_that_is_not_public_is_not_called_out() -> None:
    (callout,) = draw([drift("a", 30, event="one")], [], [kernel("one", after="(hidden)")]).callouts
    assert callout.what == "kernel 5.15 → (hidden)"


def test_an_event_that_names_no_setting_has_no_line() -> None:
    drawn = draw([drift("a", 30, event="one")], [], [event("one", cause=Cause.COMMIT_AND_CONFIG)])
    assert not drawn.callouts
    assert not drawn.setting_lines


def test_an_event_of_a_commit_or_a_setting_has_one_label_that_names_both() -> None:
    either = replace(kernel("one"), cause=Cause.COMMIT_AND_CONFIG, blamed="Reuse the arena", author="")
    drifts = [drift("a", 30, event="one"), drift("b", 30, event="two"), drift("c", 40, event="three")]
    drawn = draw(drifts, [either], [either, kernel("two"), kernel("three")])
    assert [(callout.event, callout.kind) for callout in drawn.callouts] == [("three", "setting"), ("one", "worse")]
    (label,) = (callout for callout in drawn.callouts if callout.event == "one")
    assert "kernel 5.15 → 6.1, or Reuse the arena" in label.rest
    assert [line.event for line in drawn.setting_lines] == ["one"], "the line of the setting stays"


def test_a_label_of_a_setting_says_if_a_commit_may_have_caused_the_event() -> None:
    either = replace(kernel("one"), cause=Cause.COMMIT_AND_CONFIG)
    drifts = [drift("a", 30, event="one"), drift("b", 30, event="two")]
    (doubtful,) = draw(drifts[:1], [], [either]).callouts
    (certain,) = draw(drifts, [], [either, kernel("two")]).callouts
    assert doubtful.rest.startswith(" or a commit · ")
    assert certain.rest.startswith(" · ")


def test_the_number_of_series_on_a_label_is_that_of_the_event_it_opens() -> None:
    events = [kernel("one"), replace(kernel("two"), n_series=28)]
    (callout,) = draw([drift("a", 30, 3, event="one"), drift("b", 30, 3, event="two")], [], events).callouts
    assert callout.event == "two"
    assert callout.rest == " · 28 series, 1 more event"


def test_a_line_stands_where_the_setting_changed_though_the_drift_begins_later() -> None:
    changed = replace(kernel("one"), setting_commit=20)
    (callout,) = draw([drift("a", 25, event="one")], [], [changed, replace(kernel("two"), setting_commit=20)]).callouts
    assert callout.left == round(100 * 20.5 / 60, 2)
    assert callout.text.endswith("of 2026-01-25")


def test_a_phone_shows_the_new_version_of_a_setting() -> None:
    change = SettingChange(name="kernel.release", before="5.4.0-163-generic", after="5.15.0-88-generic")
    (callout,) = draw(
        [drift("a", 30, event="one")], [], [event("one", cause=Cause.CONFIG, settings=(change,))]
    ).callouts
    assert (callout.what, callout.short) == ("kernel 5.4.0-163 → 5.15.0-88", "kernel → 5.15.0-88")


def test_further_changes_of_settings_are_lines_one_in_each_column() -> None:
    config = [kernel(f"{n}", after=f"6.{n}") for n in range(4)]
    drifts = [drift("case", column, event=f"{n}") for n, column in enumerate((10, 20, 30, 30))]
    drawn = draw(drifts, [], config, max_config=1)
    assert len(drawn.callouts) == 1
    assert [line.left for line in drawn.setting_lines] == [20.5, 30.5]
    assert drawn.setting_lines[1].text.split("\n") == [
        "kernel 5.15 → 6.2 · 4 series",
        "kernel 5.15 → 6.3 · 4 series",
        "0000000000 of 2026-02-04",
    ]
    assert drawn.setting_lines[1].event == "2"


def test_the_line_of_an_event_ends_at_its_case() -> None:
    drawn = draw([drift("a[n=1]", 5, event="other", importance=9), drift("b[n=1]", 40, event="one")], [event("one")])
    (callout,) = drawn.callouts
    (row,) = (row for row in drawn.rows if row.name == "b[n=1]")
    assert callout.end == row.top + 12
    assert callout.what == f"{FIFTY} minor faults"
    assert callout.rest == " in b[n=1] and 3 more series · Reuse the arena (Ada)"


def test_of_a_long_callout_the_subject_of_the_commit_is_cut_and_not_its_author() -> None:
    blamed = "Reuse the arena of the tile that was drawn before it, if it is large enough for this one"
    lengths = []
    for column in (18, 40):
        drawn = draw([drift("b[n=1]", column, event="one")], [event("one", blamed=blamed)])
        (callout,) = drawn.callouts
        assert callout.rest.startswith(" in b[n=1] and 3 more series · Reuse the arena of the t")
        assert callout.rest.endswith("… (Ada)")
        lengths.append(len(callout.what + callout.rest))
    assert lengths[0] <= 80 < lengths[1] <= 120, "the text is as long as its column leaves room"


def test_a_callout_shortens_the_case_before_the_cause() -> None:
    """The name of the row is the case; nothing else beside the map names the cause."""
    blamed = name_candidates(["8778780f15" + 30 * "0"], "", all_known=False)
    row = "sort[arguments=a name of a case that leaves little room for the cause]"
    (callout,) = draw([drift(row, 20, event="one")], [event("one", blamed=blamed, author="", n_series=57)]).callouts
    assert callout.rest.startswith(" in sort[argum")
    assert callout.rest.endswith("… and 56 more series · a commit up to 8778780f15")


def test_what_is_left_of_a_range_that_is_cut_off_does_not_read_like_one_commit() -> None:
    for candidates, all_known in ((["8778780f15"], False), (["8778780f15", "9f11ba0228"], True)):
        for confirmed in (True, False):
            cause = name_candidates(candidates, "", all_known=all_known, confirmed=confirmed)
            assert not cause.removeprefix("suspected: ").startswith(tuple(candidates))


def test_a_callout_without_room_for_the_author_leaves_it_out() -> None:
    name = "a_case_with_a_very_long_name[and=its,parameters=too]"
    drawn = draw([drift(name, 18, event="one")], [event("one", blamed="Reuse the arena")])
    (callout,) = drawn.callouts
    assert "(Ada" not in callout.rest


@pytest.mark.parametrize("places", [(2, 5, 8), (20, 40, 59), (2, 30, 58), (30, 30, 30)])
def test_no_callout_crosses_the_text_of_another_on_its_side(places: tuple[int, ...]) -> None:
    drifts = [drift("case", column, event=f"{n}") for n, column in enumerate(places)]
    drawn = draw(drifts, [event(f"{n}") for n in range(3)])
    assert [callout.top for callout in drawn.callouts] == [0, CALLOUT, 2 * CALLOUT]
    for upper, lower in ((0, 1), (0, 2), (1, 2)):
        one, other = drawn.callouts[upper], drawn.callouts[lower]
        if one.is_left == other.is_left:
            assert other.left <= one.left if one.is_left else one.left <= other.left


def test_a_suspected_event_says_so() -> None:
    (callout,) = draw([drift("case", 5, event="one")], [event("one", confirmed=False)]).callouts
    assert callout.what == f"suspected: {FIFTY} minor faults"
    assert len(callout.short) <= 24


def test_a_change_from_zero_has_no_percent() -> None:
    (callout,) = draw([drift("case", 5, event="one", before=0.0)], [event("one")]).callouts
    assert callout.what == "minor faults from zero"


def test_cases_of_one_workload_have_a_heading_and_short_names() -> None:
    drawn = draw([drift("copy[mib=8]", importance=3), drift("copy[mib=16]", importance=2), drift("lone[n=1]")])
    assert [text for _, text in drawn.headings] == ["copy"]
    assert [row.name for row in drawn.rows] == ["mib=8", "mib=16", "lone[n=1]"]


def test_large_events_and_an_upgrade_are_called_out_among_three_hundred_drifts() -> None:
    small = [
        drift(f"w{n % 8}[n={n % 50}]", n * 7 % 60, 0.5 + n % 9, event=f"small {n}", importance=n % 40)
        for n in range(270)
    ]
    wide = [drift(f"w1[n={n}]", 12, 45, event="wide", importance=900) for n in range(1, 50, 8)]
    upgrade = [drift(f"w{n % 8}[n={n}]", 31, 3, event="upgrade", importance=500) for n in range(20)]
    single = drift("w3[n=11]", 50, 240, event="single", importance=800)
    better = drift("w5[n=5]", 40, -60, event="better", importance=700)
    mixed = [drift("w6[n=6]", 55, 30, event="mixed", importance=600), drift("w6[n=7]", 55, -20, event="mixed")]
    large = [event("wide"), event("single"), event("mixed", direction=EventDirection.MIXED)]
    large += [event("better", direction=EventDirection.IMPROVEMENT)]
    drawn = draw([*small, *wide, *upgrade, *mixed, single, better], large, [kernel("upgrade")])
    assert {callout.event: callout.kind for callout in drawn.callouts} == {
        "wide": "worse",
        "single": "worse",
        "better": "better",
        "mixed": "mixed",
        "upgrade": "setting",
    }
    linked = {cell.event for row in drawn.rows for cell in row.cells}
    assert {"wide", "single", "better", "mixed", "upgrade"} <= linked
    assert drawn.n_drifts == 270 + 7 + 20 + 4


def test_brackets_in_the_parameters_of_a_case_stay_in_its_name() -> None:
    drawn = draw([drift("copy[sizes=[8]]", 1), drift("copy[[n]=2]", 2)])
    assert sorted(row.name for row in drawn.rows) == ["[n]=2", "sizes=[8]"]
