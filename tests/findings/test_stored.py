"""What is stored of the projects is whole: small workloads, and every large drift proven and counted by hand."""

from __future__ import annotations

import statistics

import pytest

from findings import stored
from runner.workload.workload_lookup import find_workload


@pytest.mark.parametrize("project", stored.projects())
class TestTarget:
    def test_its_workload_is_short_and_valid(self, project: str) -> None:
        folder = stored.folder_of(project)
        workload = find_workload(str(folder))
        assert len((folder / "workload.toml").read_text().splitlines()) <= (25 if workload.server else 20)
        assert workload.name == project

    def test_it_comes_from_a_public_address_or_a_package(self, project: str) -> None:
        address = stored.load_target(project).address
        assert address.startswith("https://github.com/") or (stored.folder_of(project) / "release.sh").exists()


@pytest.mark.parametrize("project", stored.measured())
class TestMeasured:
    def test_every_large_drift_is_proven_and_counted_by_hand(self, project: str) -> None:
        for drift in stored.load(project).drifts:
            assert drift.culprits or not drift.is_large, drift.commit
            for culprit in drift.culprits:
                assert culprit.proven, culprit.commit
                assert culprit.by_hand or not culprit.is_large, culprit.commit
                if culprit.by_hand:
                    counted = statistics.median(culprit.by_hand.after) - statistics.median(culprit.by_hand.before)
                    # Without Faultwatch, executions have outliers, and files are in whatever state the page cache is.
                    change = culprit.after - culprit.before
                    assert abs(counted - change) <= max(2, abs(change) / 10), culprit.commit

    def test_no_commit_that_changes_documents_only_is_flagged(self, project: str) -> None:
        assert stored.load(project).documents.flagged == 0

    def test_the_documents_tell_of_it(self, project: str) -> None:
        name = "server-findings.md" if stored.folder_of(project).parent.name == "servers" else "findings.md"
        text = (stored.FOLDER.parent / "docs" / "explanation" / name).read_text()
        assert f"make findings PROJECT={project}\n" in text
