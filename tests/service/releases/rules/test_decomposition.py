"""The parts of a change between two releases."""

from __future__ import annotations

import pytest

from service.releases.rules.decomposition import decompose_change
from service.schemas.history import Cause
from tests.service import made_series


@pytest.mark.parametrize(("cause", "name"), [(Cause.CONFIG, "the configuration"), (Cause.UNKNOWN, "cause unknown")])
def test_a_change_of_the_configuration_has_a_known_cause_even_if_no_setting_is_known(cause: Cause, name: str) -> None:
    before, after = made_series.point(0, 100), made_series.point(1, 110)
    drift = made_series.drift(1, before, after).model_copy(update={"cause": cause, "settings": [], "candidates": []})
    change = decompose_change((100, 110), [(drift, None)])
    assert [part.name for part in change.configuration] == [name]
