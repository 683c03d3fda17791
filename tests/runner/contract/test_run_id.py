"""Ids of runs are in the order of their times, and none is given twice."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

from runner.contract.run_id import make_id_at, make_run_id

MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)


def test_an_id_is_a_uuid_of_version_7_that_begins_with_its_moment() -> None:
    made = make_run_id(MOMENT)
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert made.int >> 80 == round(MOMENT.timestamp() * 1000)


def test_ids_are_in_the_order_of_their_moments() -> None:
    made = [make_run_id(MOMENT + timedelta(milliseconds=number)) for number in range(100)]
    assert made == sorted(made)


def test_ids_of_one_moment_differ() -> None:
    assert len({make_run_id(MOMENT) for _ in range(1000)}) == 1000


def test_the_example_of_the_standard() -> None:
    moment = datetime(2022, 2, 22, 19, 22, 22, tzinfo=UTC)
    rest = bytes.fromhex("0cc318c4dc0c0c07398f")
    assert str(make_id_at(moment, rest)) == "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"
