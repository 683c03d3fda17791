from __future__ import annotations

from datetime import UTC, datetime

import pytest

from runner.errors import FaultwatchError
from runner.importing.imported_revision_order import place_revisions

MEASURED = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "first_measured", "mistake"),
    [
        ("v1\ud800", MEASURED, "the name of the revision contains characters that are not allowed"),
        ("v1", MEASURED.replace(year=1969), "the time of the measurement is not plausible: 1969-01-01"),
        (
            "v1",
            MEASURED.replace(year=9999, month=12, day=31),
            "the time of the measurement is not plausible: 9999-12-31",
        ),
    ],
)
def test_a_revision_that_cannot_be_stored_is_refused_in_words_of_the_file(
    name: str, first_measured: datetime, mistake: str
) -> None:
    with pytest.raises(FaultwatchError) as caught:
        place_revisions({("copyd", name): first_measured}, {}, lambda _: None, "results.json")
    assert caught.value.what == f"results.json: {mistake}"
