"""Measure a range of revisions: ask what is left, build each revision once, measure, hand over."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from runner.contract.level import Number
from runner.contract.plan import PlannedRun, PlanRequest, Reason
from runner.contract.report import Case, Outcome, Report, Revision
from runner.errors import FaultwatchError
from runner.measuring.measurement import failed_build, measure
from runner.measuring.sampling import Sampling, levels
from runner.measuring.scaling import with_scaling_efficiency
from runner.measuring.trial import Bench
from runner.reporting.client import Service
from runner.reporting.outbox import Outbox
from runner.reporting.spool import Spool
from runner.subject.build import Builder, BuildFailure
from runner.subject.repository import Repository
from runner.workload import Workload

FOLLOW_UPS = 3
"""Plans that are asked for after the first one, for what it left in doubt."""
IN_DOUBT = frozenset({Reason.CROSSWISE, Reason.RERUN})


class HistoryObserver(Protocol):
    """Is told how far the work has come."""

    def planned(self, planned: Sequence[PlannedRun], stored: int, executions: int) -> None:
        """The plan is made: this many executions lie ahead."""

    def started(self, revision: Revision, case: Case) -> None:
        """A planned run begins."""

    def executed(self) -> None:
        """One execution is done."""

    def reported(self, report: Report, skipped_executions: int) -> None:
        """A planned run is done and its report kept; executions that it did not need are told."""


@dataclass(slots=True)
class HistorySummary:
    """What came of a history."""

    revisions: int = 0
    stored: int = 0
    measured: int = 0
    failed: list[Report] = field(default_factory=list)
    waiting: int = 0
    """Reports that are on disk and not with the service yet."""
    error: FaultwatchError | None = None
    """Why they are not."""
    refused: int = 0
    """Reports that the service will never take, set aside on disk."""

    def __add__(self, other: "HistorySummary") -> "HistorySummary":
        return HistorySummary(
            self.revisions + other.revisions,
            self.stored + other.stored,
            self.measured + other.measured,
            self.failed + other.failed,
            other.waiting,
            other.error,
            other.refused,
        )


@dataclass(frozen=True, slots=True)
class HistoryMeasurement:
    """Measures the history of one repository with one workload."""

    repository: Repository
    workload: Workload
    cases: Sequence[Case]
    bench: Bench
    builder: Builder
    service: Service
    spool: Spool
    samples: int | None = None

    def measure(self, revisions: Sequence[Revision], watcher: HistoryObserver) -> HistorySummary:
        """Measure what the service does not have yet of some revisions, oldest first.

        The service has to be there at the start, to say what is left. Where it fails later, measuring goes on, and the
        reports wait on disk.
        """
        outbox = Outbox(self.spool, self.service.send)
        outbox.deliver()
        self.service.send_revisions(self.repository.name, revisions)
        planned, stored = self._plan(revisions)
        summary = HistorySummary(revisions=len(revisions), stored=stored)
        latest: dict[str, Mapping[str, Number]] = {}
        each = Sampling.of(self.workload, self.samples).least + 1

        def carry_out(planned: Sequence[PlannedRun], stored: int) -> None:
            watcher.planned(planned, stored, len(planned) * each)
            for report, executions in self._measure_all(planned, revisions, latest, watcher):
                outbox.post(report)
                watcher.reported(report, each - executions)
                if report.outcome is Outcome.MEASURED:
                    summary.measured += 1
                    latest[report.case.name] = levels(report.samples)
                else:
                    summary.failed.append(report)

        carry_out(planned, stored)
        for _ in range(FOLLOW_UPS):
            if not planned or self.spool.waiting() or outbox.error:
                break
            # What was measured may leave the service in doubt: a stray run, or two causes at once.
            planned = [one for one in self._plan(revisions)[0] if one.reason in IN_DOUBT]
            if planned:
                carry_out(planned, 0)
        if self.spool.waiting():
            outbox.deliver(at_once=True)
        summary.waiting, summary.error = len(self.spool.waiting()), outbox.error
        summary.refused = len(self.spool.refused())
        return summary

    def measure_again(self, revision: Revision, cases: Sequence[Case], watcher: HistoryObserver) -> None:
        """Measure cases of a revision that the service knows once more, whatever is stored of them."""
        outbox = Outbox(self.spool, self.service.send)
        each = Sampling.of(self.workload, self.samples).least + 1
        planned = [PlannedRun(revision=revision.commit, case=case) for case in cases]
        watcher.planned(planned, 0, len(planned) * each)
        for report, executions in self._measure_all(planned, (revision,), {}, watcher):
            outbox.post(report)
            watcher.reported(report, each - executions)
        if self.spool.waiting():
            outbox.deliver(at_once=True)

    def _measure_all(
        self,
        planned: Sequence[PlannedRun],
        revisions: Sequence[Revision],
        latest: Mapping[str, Mapping[str, Number]],
        watcher: HistoryObserver,
    ) -> Iterator[tuple[Report, int]]:
        """Yield the report of each planned run, and how many executions it took; each revision is built once."""
        known = {revision.commit: revision for revision in revisions}
        for commit, group in itertools.groupby(planned, key=lambda one: one.revision):
            revision = known.get(commit) or self.repository.revision(commit)
            wanted = [(one.case, latest.get(one.case.name) or one.expected) for one in group]
            yield from self._measure_revision(revision, wanted, watcher)

    def _plan(self, revisions: Sequence[Revision]) -> tuple[list[PlannedRun], int]:
        """Ask for each environment in turn: the cases of a workload can differ in theirs."""
        environments = {case.name: self.bench.environment_of(self.workload, case) for case in self.cases}
        planned: list[PlannedRun] = []
        stored = 0
        by_environment = sorted(self.cases, key=lambda case: environments[case.name].hash)
        for _, group in itertools.groupby(by_environment, key=lambda case: environments[case.name].hash):
            cases = tuple(group)
            plan = self.service.plan(
                PlanRequest(
                    subject=self.repository.name,
                    host=self.bench.host,
                    environment=environments[cases[0].name],
                    cases=cases,
                    revisions=tuple(revision.commit for revision in revisions),
                )
            )
            planned += plan.runs
            stored += plan.stored
        # One build serves all cases: the revisions of all plans in one order, anchors (not in the range) first.
        order = {revision.commit: place for place, revision in enumerate(revisions)}
        planned.sort(key=lambda one: order.get(one.revision, -1))
        return planned, stored

    def _measure_revision(
        self, revision: Revision, wanted: Sequence[tuple[Case, Mapping[str, Number]]], watcher: HistoryObserver
    ) -> Iterator[tuple[Report, int]]:
        """Yield the report of each case, given the counts that it should repeat, and how many executions it took."""
        subject = self.repository.name
        watcher.started(revision, wanted[0][0])
        try:
            tree, build = self.builder.build(self.repository, revision.commit, self.workload)
        except BuildFailure as failure:
            for case, _ in wanted:
                yield (
                    failed_build(
                        self.workload,
                        case,
                        bench=self.bench,
                        subject=subject,
                        revision=revision,
                        message=failure.message,
                        build=failure.build,
                    ),
                    0,
                )
            return
        reports: list[Report] = []
        for case, expected in wanted:
            watcher.started(revision, case)
            executions = _Counter(watcher)
            report = measure(
                self.workload,
                case,
                tree,
                bench=self.bench,
                subject=subject,
                revision=revision,
                build=build,
                sampling=Sampling.of(self.workload, self.samples, expected),
                progress=executions,
            )
            reports.append(with_scaling_efficiency(report, reports, self.workload))
            yield reports[-1], executions.count


class _Counter:
    """Counts executions and passes each on."""

    def __init__(self, watcher: HistoryObserver) -> None:
        self.count = 0
        self._watcher = watcher

    def __call__(self) -> None:
        self.count += 1
        self._watcher.executed()
