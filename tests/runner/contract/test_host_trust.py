"""When a canary holds, and that the document about reports names every field."""

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from runner.contract import Build, Canary, CanaryCount, Case, Failure, Host, Mismatch, Reading, Report, Revision, Sample

DOCUMENT = Path(__file__).parents[3] / "docs" / "reference" / "contract.md"


def count(*counted: int) -> CanaryCount:
    return CanaryCount(kinds=("anonymous",), expected=1009, counted=counted)


@pytest.mark.parametrize(
    ("counted", "holds"),
    [
        ((1009,), True),
        ((1009, 5, 5), True),
        ((1010, 1009, 1009), True),
        ((1010,), False),
        ((1010, 1009), False),
        ((1010, 1009, 1010), False),
        ((0, 0, 0), False),
    ],
)
def test_a_wrong_count_is_forgiven_only_after_two_right_ones(counted: tuple[int, ...], holds: bool) -> None:
    assert count(*counted).holds is holds
    assert Canary(counts=(count(*counted),)).holds is holds
    assert Canary(counts=(count(1009), count(*counted))).holds is holds


def test_the_finding_names_what_is_wrong() -> None:
    found = Canary(counts=(count(1009), count(1010, 1009, 1011)))
    assert found.finding == "anonymous: 1,010, then 1,009, then 1,011 faults counted, 1,009 expected"


def test_a_canary_that_counted_nothing_is_none() -> None:
    with pytest.raises(ValidationError):
        Canary(counts=())
    with pytest.raises(ValidationError):
        count()


@pytest.mark.parametrize(
    "model", [Report, Revision, Case, Host, Sample, Reading, Build, Failure, Canary, CanaryCount, Mismatch]
)
def test_every_field_is_documented(model: type[Report]) -> None:
    named = set(re.findall(r"`([a-z_]+)`", DOCUMENT.read_text(encoding="utf-8")))
    assert set(model.model_fields) <= named
