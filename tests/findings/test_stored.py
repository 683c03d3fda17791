"""What is stored of the projects is whole: small workloads, and every large drift proven and counted by hand."""

from __future__ import annotations

import statistics

import pytest

from findings import stored
from runner.workload.workload_lookup import find_workload


@pytest.mark.parametrize("project", stored.projects())
class TestTarget:
    def test_its_workload_is_short_and_valid(self, project: str) -> None:
        folder = stored.FOLDER / project
        assert len((folder / "workload.toml").read_text().splitlines()) <= 20
        assert find_workload(str(folder)).name == project

    def test_it_comes_from_a_public_address(self, project: str) -> None:
        assert stored.load_target(project).address.startswith("https://github.com/")


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
        text = (stored.FOLDER.parent / "docs" / "explanation" / "findings.md").read_text()
        assert f"make findings PROJECT={project}\n" in text
