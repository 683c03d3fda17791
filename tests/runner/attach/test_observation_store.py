"""Observations are stored under ids of their own."""

from datetime import UTC, datetime
from pathlib import Path

from runner.attach.observation_store import (
    StoredObservation,
    list_observations,
    load_observation,
    make_observation_id,
    store_observation,
)
from tests.runner.sample_reports import profile


def test_two_observations_that_begin_in_the_same_second_are_both_kept(tmp_path: Path) -> None:
    taken = make_observation_id("server", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    stored = [
        store_observation(tmp_path, StoredObservation(observation_id=taken, title=title, profile=profile()))
        for title in ("first", "second", "third")
    ]
    assert [one.observation_id for one in stored] == [taken, f"{taken}-2", f"{taken}-3"]
    assert sorted(list_observations(tmp_path)) == [taken, f"{taken}-2", f"{taken}-3"]
    for one in stored:
        assert load_observation(tmp_path, one.observation_id) == one
