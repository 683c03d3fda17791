"""A service gets all that a store has, and names the file that it cannot read."""

import json
from pathlib import Path
from uuid import UUID

import pytest

from runner.contract.comparison import ComparisonRequest
from runner.contract.report import Case, Report
from runner.errors import FaultwatchError
from runner.reporting.client import Service
from runner.run_store.document_names import Kind, make_name
from runner.run_store.sending import count_documents, send_store
from runner.run_store.store import RunStore, open_store
from tests.runner.sample_reports import report

CASE = Case(workload="w", definition="0" * 16)


def run(number: int, commit: str, **changes: object) -> Report:
    """Return a run of one of two commits, a and b."""
    revision = report(0).revision.model_copy(
        update={"commit": commit * 40, "parents": ("a" * 40,) if commit == "b" else ()}
    )
    return report(number).model_copy(update={"revision": revision, **changes})


@pytest.fixture
def warnings() -> list[str]:
    return []


@pytest.fixture
def store(tmp_path: Path, warnings: list[str]) -> RunStore:
    return open_store(str(tmp_path / "store"), None, warnings.append, may_be_new=True)


def test_commits_runs_and_proofs_reach_the_service(store: RunStore, service_url: str, warnings: list[str]) -> None:
    runs = [run(number, commit) for number, commit in enumerate("aabb")]
    session = UUID(int=99)
    base, head = (run(10 + number, commit, session=session) for number, commit in enumerate("ab"))
    store.add_history("subject", [one.revision for one in (runs[0], runs[2])], [])
    for one in runs:
        store.add_report(one)
    store.add_proof(ComparisonRequest(base=base, head=head))
    assert count_documents(store) == 6
    service, steps = Service(service_url), list[int]()
    sent = send_store(store, service, advance=steps.append)
    assert (sent.runs, sent.proofs, sum(steps)) == (4, 1, 6)
    assert service.list_series(subject="subject", metric="minor-faults")[0]["n_points"] == 4
    assert send_store(store, service).runs == 4, "the same again changes nothing"
    assert service.list_series(subject="subject", metric="minor-faults")[0]["n_points"] == 4
    assert warnings == []


def test_the_file_that_a_newer_version_wrote_is_named(store: RunStore, service_url: str) -> None:
    store.add_report(report(1))
    newer = json.dumps(json.loads(report(2).model_dump_json()) | {"schema_version": 2}).encode()
    name = make_name(Kind.REPORTS, "subject", newer)
    store.files.write(name, newer)
    with pytest.raises(FaultwatchError, match=rf"{name} cannot be read by this version: .*schema_version") as caught:
        send_store(store, Service(service_url))
    assert caught.value.remedy == "install the version that wrote it"


def test_two_results_of_one_run_are_named(store: RunStore, service_url: str, warnings: list[str]) -> None:
    store.add_report(report(1))
    store.add_report(report(1).model_copy(update={"runner_version": "other"}))
    send_store(store, Service(service_url))
    (warning,) = warnings
    assert f"two files contain different results for the run {report(1).run_id}" in warning


def test_only_the_runs_of_some_subjects_are_sent(store: RunStore, service_url: str) -> None:
    store.add_report(report(1))
    store.add_report(report(2).model_copy(update={"subject": "other"}))
    assert send_store(store, Service(service_url), {"other"}).runs == 1
    assert Service(service_url).list_series(subject="subject") == []
