"""Doubts, from the first suspicious run to the notification: real builds, real perf stat, the real service."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import requests

from runner.campaigns.history_measurement import HistoryMeasurement
from runner.cli.history import prepare_history
from runner.cli.measuring_setup import create_host_turn
from runner.contract.plan import PlannedRun, Reason
from runner.contract.report import Case, Report, Revision
from runner.doctor.counting import require_measurable_host
from runner.host.host_turn import HostTurn
from runner.reporting.client import Service
from runner.reporting.embedded_service import connect_to_service
from runner.reporting.spool import Spool
from runner.settings import load_settings
from service.rules.plan.reruns import MAX_RERUNS
from service.store.engine.database import Database
from service.store.events import deliveries, unsent_events

pytestmark = pytest.mark.perf
EARLIER = 7
"""Commits that are measured before the one in question."""

PROGRAM = """
#include <stdlib.h>
#include <unistd.h>
int main(void) {
    volatile char *memory = aligned_alloc(4096, 64 * 4096);
    for (int page = 0; page < 50 + (access("OUTLIERS", F_OK) == 0); page++) memory[4096 * page] = 1;
    return 0;
}
"""
WORKLOAD = """
[workload]
name = "touch"
timeout = 20
[build]
command = "cc -O0 -o touch touch.c"
[run]
command = ["./touch"]
huge_pages = "never"
"""


@dataclass
class Follower:
    """Follows a history: after each report, what the service says about it, and what is sent to a channel."""

    service: Service
    database: Database
    after_report: Callable[[], None]
    reruns: int = 0
    confirmed: list[bool] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)

    def on_plan(self, planned_runs: Sequence[PlannedRun], n_stored: int, n_executions: int) -> None:
        self.reruns += sum(run.reason is Reason.RERUN for run in planned_runs)

    def on_run_start(self, revision: Revision, case: Case) -> None:
        pass

    def on_execution(self) -> None:
        pass

    def on_report(self, report: Report, skipped_executions: int) -> None:
        self.after_report()
        events = self.get("/events")["items"]
        self.confirmed.append(any(event["confirmed"] for event in events))
        now = datetime.now(UTC)
        with self.database.writing() as session:
            since = unsent_events.get_or_create_channel(session, "chat", now - timedelta(hours=1)).since
            due = unsent_events.list_unsent_events(session, "chat", since)
            if due:
                deliveries.record_attempt(session, deliveries.claim_message(session, "chat", due, now), None, now)
        self.sent += [occasion.name for occasion in due]
        assert not due or self.confirmed[-1], "a suspicion was sent"

    def get(self, path: str) -> Any:
        return requests.get(f"{self.service.url}/api/v1{path}", timeout=30).json()


@pytest.fixture
def follow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Follower]]:
    """Measure a range of a repository, with a service that is stopped when the test ends."""
    require_measurable_host()
    monkeypatch.setenv("FAULTWATCH_HOME", str(tmp_path / "home"))
    settings = load_settings()
    with connect_to_service(settings) as service:
        database = Database(f"sqlite:///{settings.home / 'faultwatch.db'}")

        def measure(
            repository: Path, commit_range: str, workload: Path, after_report: Callable[[], None] = lambda: None
        ) -> Follower:
            follower = Follower(service, database, after_report)
            with create_host_turn(settings) as turn:
                return measured_in(turn, repository, commit_range, workload, follower)

        def measured_in(
            turn: HostTurn, repository: Path, commit_range: str, workload: Path, follower: Follower
        ) -> Follower:
            prepared = prepare_history(
                settings, turn, repo=str(repository), commit_range=commit_range, workload_name=str(workload)
            )
            measurement = HistoryMeasurement(
                repository=prepared.repository,
                workload=prepared.workload,
                cases=prepared.cases,
                bench=prepared.workbench.bench,
                builder=prepared.workbench.builder,
                service=service,
                spool=Spool(settings.spool),
            )
            assert not measurement.measure(prepared.revisions, follower).failed_reports
            return follower

        yield measure
        database.close()


@pytest.fixture
def history(commit: Callable[..., str], follow: Callable[..., Follower], tmp_path: Path) -> Callable[..., Follower]:
    """Measure a program that touches 50 pages along some commits, and then one more commit."""

    def measure(pages: str, *, outlier: bool = False) -> Follower:
        subject, is_outlier = tmp_path / "subject", tmp_path / "outlier"
        program = PROGRAM.replace("OUTLIERS", str(is_outlier))
        for number in range(EARLIER):
            commit(f"Change {number}", touch__c=f"{program}/* {number} */\n", workload__toml=WORKLOAD)
        workload = subject / "workload.toml"
        assert follow(subject, "HEAD", workload).reruns == 0
        commit("The last change", touch__c=program.replace("50", pages) + "/* last */\n")
        if outlier:
            is_outlier.touch()
        return follow(subject, "HEAD~1..HEAD", workload, lambda: is_outlier.unlink(missing_ok=True))

    return measure


def test_one_fault_more_is_sure_after_reruns_of_its_commit_and_sent_once(
    history: Callable[..., Follower], follow: Callable[..., Follower], tmp_path: Path
) -> None:
    subject, followed = tmp_path / "subject", history("51")
    (drift,) = followed.get("/drifts")["items"]
    assert (drift["change"], drift["title"], drift["evidence"]["wants_rerun"]) == (1, "The last change", False)
    assert followed.sent == ["new"]
    assert followed.confirmed[-1]
    assert followed.reruns <= MAX_RERUNS
    runs = followed.get(f"/runs?outcome=measured&revision={drift['revision']}")["items"]
    points = followed.get(f"/series/{drift['series_id']}")["points"]
    assert len(runs) == 1 + followed.reruns == sum(point["revision"] == drift["revision"] for point in points)
    again = follow(subject, "HEAD~1..HEAD", subject / "workload.toml")
    assert again.confirmed == [], "more runs were ordered although the drift is sure"


@pytest.mark.thorough
def test_an_outlier_that_is_a_suspicion_leaves_no_event(history: Callable[..., Follower]) -> None:
    followed = history("50", outlier=True)
    if not followed.confirmed[0]:
        assert 1 <= followed.reruns <= MAX_RERUNS
        assert followed.get("/events")["items"] == followed.get("/drifts")["items"] == []
        assert followed.sent == []
        assert followed.confirmed == [False] * (1 + followed.reruns)
