"""The parts of a change between two releases."""

from __future__ import annotations

import pytest

from service.releases.rules.decomposition import choose_leading_part, decompose_change
from service.schemas.history import Cause, Drift, SettingChange
from tests.service import made_series


@pytest.mark.parametrize(
    ("cause", "name"),
    [(Cause.CONFIG, "the configuration changed"), (Cause.UNKNOWN, "No recorded factor explains it")],
)
def test_a_change_of_the_configuration_has_a_known_cause_even_if_no_setting_is_known(cause: Cause, name: str) -> None:
    before, after = made_series.point(0, 100), made_series.point(1, 110)
    drift = made_series.drift(1, before, after).model_copy(update={"cause": cause, "settings": [], "candidates": []})
    change = decompose_change((100, 110), [(drift, None)])
    assert [part.name for part in change.configuration] == [name]


def test_a_part_that_was_undone_does_not_lead() -> None:
    levels = [made_series.point(number, level) for number, level in enumerate((12, 568, 568, 569))]
    undone, remaining = made_series.drift(1, *levels[:2]), made_series.drift(2, *levels[2:])
    change = decompose_change((12, 13), [(undone, None), (remaining, None)])
    parts = change.commits + change.configuration
    assert {part.change for part in parts} == {556, 1}
    assert choose_leading_part(parts, change.change).change == 1


def make_drift(drift_id: int, before: int, after: int) -> Drift:
    return made_series.drift(drift_id, made_series.point(0, before), made_series.point(1, after))


def make_provisional(drift: Drift) -> Drift:
    return drift.model_copy(update={"evidence": drift.evidence.model_copy(update={"wants_rerun": True})})


def test_the_leading_part_goes_in_the_direction_of_the_net_change() -> None:
    """A small step back is nearer to the net change in figures, but did not cause it."""
    drifts = [make_drift(1, 230, 200), make_drift(2, 200, 199), make_drift(3, 199, 249)]
    change = decompose_change((230, 249), [(drift, None) for drift in drifts])
    assert choose_leading_part(change.commits, change.change).change == 50


def test_a_part_names_the_settings_that_changed_together_with_the_commit() -> None:
    kernel = SettingChange(name="kernel.release", before="6.8", after="6.11")
    drift = make_drift(1, 100, 110).model_copy(update={"cause": Cause.COMMIT_AND_CONFIG, "settings": [kernel]})
    (part,) = decompose_change((100, 110), [(drift, None)]).commits
    assert part.name == f"{drift.blamed}, or kernel 6.8 → 6.11"


@pytest.mark.parametrize(
    ("levels", "certain", "undecided"),
    [((100, 110), [False], True), ((100, 110), [True, False], False), ((100, 140), [True, False, False], True)],
)
def test_a_change_is_undecided_while_most_of_it_is_suspected(
    levels: tuple[int, int], certain: list[bool], undecided: bool
) -> None:
    drifts = [make_drift(number, 100, 105) for number in range(len(certain))]
    drifts = [drift if sure else make_provisional(drift) for drift, sure in zip(drifts, certain, strict=True)]
    assert decompose_change(levels, [(drift, None) for drift in drifts]).undecided == undecided


def test_no_change_is_undecided_if_the_levels_are_equal() -> None:
    assert not decompose_change((100, 100), [(make_provisional(make_drift(1, 100, 105)), None)]).undecided
