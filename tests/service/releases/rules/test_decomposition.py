"""The parts of a change between two releases."""

from __future__ import annotations

import pytest

from service.releases.rules.decomposition import choose_leading_part, decompose_change
from service.schemas.history import Cause
from tests.service import made_series


@pytest.mark.parametrize(("cause", "name"), [(Cause.CONFIG, "the configuration"), (Cause.UNKNOWN, "cause unknown")])
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
