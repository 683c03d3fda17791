"""Runs of the same bytes, from the report to the drift and the search."""

from __future__ import annotations

from runner.contract import Report
from runner.contract.mapped_files import CacheState, Digest, MappedFile, ProgramFiles, UncertainFaults
from tests.service import reports
from tests.service.apiclient import Api


def report_of(
    number: int, faults: int, own: Digest, system: Digest = "1" * 16, uncertain: tuple[int, int] = (0, 0)
) -> Report:
    library = MappedFile(path="/lib/libm.so.6", in_build=False, digest=system, cache=CacheState.PREPARED)
    uncertain_faults = UncertainFaults(lowest=uncertain[0], highest=uncertain[1])
    files = ProgramFiles(mapped=(library,), own_bytes=own, system_bytes=system, uncertain_faults=uncertain_faults)
    return reports.report(number, faults, faults, files=files)


def test_a_commit_of_the_same_bytes_is_not_to_blame(api: Api) -> None:
    for report in (report_of(1, 100, "a" * 16), report_of(2, 105, "a" * 16), report_of(3, 140, "b" * 16)):
        assert api.put(report).status_code == 201
    found = {drift["revision"]: drift["cause"] for drift in api.drifts()}
    assert found == {reports.commit(2): "unknown", reports.commit(3): "commit"}


def test_an_upgraded_library_is_a_change_of_the_configuration_and_named(api: Api) -> None:
    for report in (report_of(1, 100, "a" * 16), report_of(2, 105, "a" * 16, "2" * 16)):
        assert api.put(report).status_code == 201
    (drift,) = api.drifts()
    assert drift["cause"] == "config"
    assert drift["settings"] == [{"name": "file./lib/libm.so.6", "before": "1" * 16, "after": "2" * 16}]


def test_a_library_that_is_upgraded_together_with_a_commit_is_named_beside_it(api: Api) -> None:
    for report in (report_of(1, 100, "a" * 16), report_of(2, 105, "b" * 16, "2" * 16)):
        assert api.put(report).status_code == 201
    (drift,) = api.drifts()
    assert drift["cause"] == "both"
    assert drift["settings"] == [{"name": "file./lib/libm.so.6", "before": "1" * 16, "after": "2" * 16}]


def test_a_commit_that_links_another_library_is_to_blame(api: Api) -> None:
    before, after = report_of(1, 100, "a" * 16), report_of(2, 105, "b" * 16, "2" * 16)
    assert after.files
    added = after.files.mapped[0].model_copy(update={"path": "/lib/libz.so.1"})
    kept = after.files.mapped[0].model_copy(update={"digest": "1" * 16})
    files = after.files.model_copy(update={"mapped": (kept, added)})
    for report in (before, after.model_copy(update={"files": files})):
        assert api.put(report).status_code == 201
    (drift,) = api.drifts()
    assert (drift["cause"], drift["settings"]) == ("commit", [])


def test_only_what_the_page_cache_was_measured_to_move_is_no_drift(api: Api) -> None:
    for report in (report_of(1, 100, "a" * 16, uncertain=(20, 23)), report_of(2, 103, "b" * 16, uncertain=(20, 23))):
        assert api.put(report).status_code == 201
    assert api.drifts() == []
    assert api.put(report_of(3, 107, "c" * 16, uncertain=(20, 23))).status_code == 201
    assert [drift["revision"] for drift in api.drifts()] == [reports.commit(3)]


def test_a_search_goes_by_what_was_counted_whatever_the_bytes(api: Api) -> None:
    counted = (100, 100, 100, 1100, 1100, 1100)
    for number, faults in enumerate(counted, 1):
        assert api.put(report_of(number, faults, "a" * 16)).status_code == 201
    question = {
        "subject": "demo",
        "host": {"name": "box"},
        "environment": reports.GLIBC.model_dump(mode="json"),
        "case": reports.CASE.model_dump(mode="json"),
        "metric": "minor-faults",
        "good": reports.commit(1),
        "bad": reports.commit(6),
    }
    answer = api.client.post("/api/v1/searches", json=question).json["answer"]
    assert (answer["kind"], answer["commit"]) == ("prove", reports.commit(4))
