"""The short way of reading a batch says the same as the contract's models."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from runner.contract import Case, Report, ReportList
from service.pipeline import ingest_reports
from service.store.runs import fast_parse
from service.store.runs.fast_parse import PlainReport
from service.store.runs.stored_reports import unpack_report
from tests.service import reports

VALUES = st.one_of(
    st.integers(-(2**65), 2**65),
    st.floats(),
    st.sampled_from([None, True, "5", [], 2**64, -(2**64), 1.5, 0, -0.0]),
)
READINGS = st.one_of(
    VALUES.map(lambda value: {"value": value}),
    VALUES.map(
        lambda value: {"status": "counted", "value": value, "running_percent": None, "reason": None, "outlier": False}
    ),
    st.sampled_from(
        [
            {"status": "not_counted"},
            {"status": "not_supported", "reason": "none here"},
            {"value": 1, "outlier": True},
            {"other": 1},
            {},
            None,
            7,
        ]
    ),
)
SAMPLES = st.lists(
    st.fixed_dictionaries(
        {"readings": st.dictionaries(st.sampled_from(["a", "b", "c"]), READINGS, max_size=3)},
        optional={"place": st.sampled_from([1, -1]), "perf_output": st.just("raw"), "other": st.just(1)},
    ),
    max_size=3,
)
ID = "00000000-0000-4000-8000-000000000001"


def document(samples: Any) -> dict[str, Any]:
    told = reports.report(1, 1).model_dump(mode="json", exclude_defaults=True)
    return {**told, "run_id": ID, "samples": samples}


def told(error: ValidationError) -> list[tuple[Any, ...]]:
    return [(entry["loc"], entry["type"], entry["msg"]) for entry in error.errors()]


def read_by_models(body: bytes) -> tuple[tuple[Report, ...] | None, list[tuple[Any, ...]]]:
    try:
        return ReportList.model_validate_json(body).reports, []
    except ValidationError as error:
        return None, told(error)


@given(st.lists(SAMPLES, min_size=1, max_size=2))
def test_what_is_stored_is_what_the_models_would_have_stored(found: list[Any]) -> None:
    body = json.dumps({"reports": [document(samples) for samples in found]}).encode()
    expected, refused = read_by_models(body)
    if expected is None:
        with pytest.raises(ValidationError) as raised:
            fast_parse.parse_reports(body)
        assert told(raised.value) == refused
        return
    stored = ingest_reports.prepare_reports(fast_parse.parse_reports(body))
    for one, model, other in zip(stored, expected, ingest_reports.prepare_reports(expected), strict=True):
        assert one.points == other.points
        assert unpack_report(one.document) == model


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"reports": 1}', b'{"reports": [], "more": 1}', b"nonsense", b"1"]
)
def test_what_is_no_list_of_reports_is_refused(body: bytes) -> None:
    with pytest.raises(ValidationError):
        fast_parse.parse_reports(body)


def test_an_unusual_reading_is_left_to_the_models() -> None:
    usual, unusual = (
        document([{"readings": {"a": {"value": 1}}}]),
        document([{"readings": {"a": {"status": "not_counted"}}}]),
    )
    found = fast_parse.parse_reports(json.dumps({"reports": [usual, unusual]}).encode())
    assert [type(one) for one in found] == [PlainReport, Report]


def test_a_large_batch_is_stored_in_parts_that_keep_the_runs_of_a_case_together() -> None:
    cases = [Case(workload="copy", definition="0" * 16, parameters={"number": number}) for number in range(3)]
    batch = ingest_reports.prepare_reports(
        [reports.report(commit, 1, 1, case=case) for commit in range(1, 5) for case in cases]
    )
    points = len(batch[0].points) + 1
    parts = list(ingest_reports.split_batch_into_parts(batch, max_points=5 * points))
    assert sorted(one.report.run_id for part in parts for one in part) == sorted(one.report.run_id for one in batch)
    assert max(len(part) for part in parts) == 5
    order = [one.case for part in parts for one in part]
    assert sum(one != other for one, other in pairwise(order)) == 2


def test_a_report_of_many_points_is_a_part_of_its_own() -> None:
    batch = ingest_reports.prepare_reports([reports.report(1, 1), reports.report(2, 1)])
    assert [len(part) for part in ingest_reports.split_batch_into_parts(batch, max_points=1)] == [1, 1]


@pytest.mark.parametrize("indent", [None, 2])
def test_a_field_that_is_there_twice_is_read_once_and_stored_once(indent: int | None) -> None:
    """The first one is never looked at, so it must not be stored: it may be what nobody can read again."""
    sent = json.dumps({"reports": [document([{"readings": {"a": {"value": 1}}, "place": 1}])]}, indent=indent)
    (model,) = ReportList.model_validate_json(sent).reports
    for first in (b"[" * 500 + b"]" * 500, b'"\xff"', b"7"):
        for field in (b'"run_id"', b'"samples"', b'"place"', b'"readings"'):
            twice = sent.encode().replace(field, field + b":" + first + b"," + field, 1)
            (one,) = ingest_reports.prepare_reports(fast_parse.parse_reports(twice))
            assert unpack_report(one.document) == model
