"""Measures a range of revisions: asks what is missing, builds each revision once, measures, and sends the reports."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from msgspec import Struct, field

from runner.campaigns.proving import ProofSummary
from runner.contract.level import Number
from runner.contract.plan import Plan, PlannedRun, PlanRequest, Reason
from runner.contract.report import Case, Outcome, Report, Revision
from runner.errors import FaultwatchError
from runner.measuring.count_reuse import CountReuse, differs_from_reused_counts, has_contradicting_counts
from runner.measuring.measurement import measure_case, report_failed_build
from runner.measuring.sampling import Sampling, compute_levels
from runner.measuring.trial import Bench
from runner.measuring.weak_scaling import add_scaling_efficiency
from runner.reporting.client import Service
from runner.reporting.outbox import Outbox
from runner.reporting.spool import Spool
from runner.subject.build import Builder, BuildFailure
from runner.subject.build_ahead import BuildAhead
from runner.subject.repository import Repository
from runner.workload import Workload

MAX_FOLLOW_UPS = 20
"""The largest number of plans to request after the first one. Usually fewer are needed: the service orders one rerun of
a case at a time, and only while reruns can resolve a doubt."""
_FAULTS = "minor-faults"
REASONS_IN_DOUBT = frozenset({Reason.CROSS_MEASUREMENT, Reason.RERUN})
"""The reasons of runs that settle a doubt about stored runs."""


class HistoryObserver(Protocol):
    """Follows the progress of a history."""

    def on_plan(self, planned_runs: Sequence[PlannedRun], n_stored: int, n_executions: int) -> None:
        """Called when runs are planned: ``n_stored`` need no measurement, and ``n_executions`` executions follow."""

    def on_run_start(self, revision: Revision, case: Case) -> None:
        """Called before a planned run."""

    def on_execution(self) -> None:
        """Called after each execution."""

    def on_report(self, report: Report, skipped_executions: int) -> None:
        """Called when the report of a run is on disk; ``skipped_executions`` of the plan were not needed.

        The number is negative if the run needed more executions than planned.
        """

    def on_missing_commit(self, commit: str, n_runs: int) -> None:
        """Called for a planned commit that this clone lacks, so that its runs are left out."""


class HistorySummary(Struct):
    """The result of measuring a history."""

    n_revisions: int = 0
    n_stored: int = 0
    n_stored_failures: int = 0
    """How many of the stored runs failed, so that nothing is known about their commits."""
    n_measured: int = 0
    n_reused: int = 0
    """Runs that were not measured because their program has the same bytes as a measured one."""
    failed_reports: list[Report] = field(default_factory=list)
    contradicted_reports: list[Report] = field(default_factory=list)
    """Runs whose count differs from that of an earlier run with the same bytes."""
    n_waiting: int = 0
    """The number of this history's reports that wait on disk, because the service has not received them yet."""
    waiting_before: int = 0
    """The number of reports of earlier commands that still wait on disk."""
    error: FaultwatchError | None = None
    """Why the service has not received the waiting reports."""
    refusals: list[str] = field(default_factory=list)
    """Why the service permanently rejected reports of this history, which are set aside on disk."""
    n_left_out: int = 0
    """The number of commits in the range that are not measured because they belong to merged branches."""
    proofs: ProofSummary | None = None
    """The results of the proofs; None if the command made none."""

    def __add__(self, other_summary: "HistorySummary") -> "HistorySummary":
        """Return the summary of both; what describes the present state is that of ``other_summary``, the later one."""
        return HistorySummary(
            n_revisions=self.n_revisions + other_summary.n_revisions,
            n_stored=self.n_stored + other_summary.n_stored,
            n_stored_failures=self.n_stored_failures + other_summary.n_stored_failures,
            n_measured=self.n_measured + other_summary.n_measured,
            n_reused=self.n_reused + other_summary.n_reused,
            failed_reports=self.failed_reports + other_summary.failed_reports,
            contradicted_reports=self.contradicted_reports + other_summary.contradicted_reports,
            n_waiting=self.n_waiting + other_summary.n_waiting,
            waiting_before=other_summary.waiting_before,
            error=other_summary.error,
            refusals=self.refusals + other_summary.refusals,
            n_left_out=self.n_left_out + other_summary.n_left_out,
            proofs=other_summary.proofs or self.proofs,
        )


class HistoryMeasurement(Struct, frozen=True):
    """Measures the history of a repository with one workload."""

    repository: Repository
    workload: Workload
    cases: Sequence[Case]
    bench: Bench
    builder: Builder
    service: Service
    spool: Spool
    planner: Service | None = None
    """Like ``service``, but with a longer time limit, because the service judges its runs before it plans."""
    samples: int | None = None
    merged_revisions: Sequence[Revision] = ()
    """The commits on merged branches in the range. The service has to know them: otherwise it would attribute their
    changes to the merges."""
    build_jobs: int = 1
    """The number of concurrent builds."""
    retry_failed: bool = False
    """Whether to retry every revision that could not be measured before."""
    measure_all: bool = True
    """Whether to measure even revisions whose program has the same bytes as one that was measured before."""
    leaves_doubts_to_pairs: bool = False
    """Whether to leave out reruns of cases whose counts vary, because interleaved pairs follow. Fewer pairs than reruns
    settle a doubt about such a case."""
    store_report: Callable[[Report], None] | None = None
    """Called with each report before it is sent; stores it outside of the service as well."""

    def measure(self, revisions: Sequence[Revision], observer: HistoryObserver) -> HistorySummary:
        """Measure the runs of the given revisions that the service lacks, oldest first, then those that settle doubts.

        The service must be available at the start, to say which runs are missing. If it fails while they are measured,
        measuring continues, and the reports wait on disk.

        Raises
        ------
        FaultwatchError
            The service cannot plan the runs, at the start or when all planned runs are stored, or a report can neither
            be stored on disk nor sent.
        """
        outbox = Outbox(self.spool, self.service.send)
        outbox.deliver()
        self.service.send_revisions(
            self.repository.name, (*revisions, *self.merged_revisions), self.repository.list_refs()
        )
        plan = self._plan_runs(revisions, retry_failed=self.retry_failed, measure_all=self.measure_all)
        planned_runs: Sequence[PlannedRun] = plan.runs
        summary = HistorySummary(
            n_revisions=len(revisions), n_stored=plan.stored, n_stored_failures=plan.stored_failures
        )
        levels_by_case: dict[str, Mapping[str, Number]] = {}
        executions_per_run = Sampling.from_workload(self.workload, self.samples).min_samples + 1  # and the warm-up
        finished_runs: set[tuple[str, str]] = set()  # their commits and the names of their cases

        # Send the patch ids before the reports: when the service finds a change, it immediately looks for an earlier
        # commit with the same patch.
        patches = self.repository.compute_patch_ids(dict.fromkeys(run.revision for run in planned_runs))
        if patches:
            self.service.send_revisions(self.repository.name, (), patches=patches)

        def measure_planned_runs(planned_runs: Sequence[PlannedRun], n_stored: int) -> None:
            """Measure these runs, send the report of each, and count its outcome in the summary."""
            observer.on_plan(planned_runs, n_stored, len(planned_runs) * executions_per_run)
            for report, n_executions in self._measure_runs(planned_runs, revisions, levels_by_case, observer):
                if self.store_report:
                    self.store_report(report)
                outbox.post(report)
                observer.on_report(report, skipped_executions=executions_per_run - n_executions)
                finished_runs.add((report.revision.commit, report.case.name))
                if report.outcome is Outcome.MEASURED:
                    if report.reused is None:
                        summary.n_measured += 1
                    else:
                        summary.n_reused += 1
                    if has_contradicting_counts(report):
                        summary.contradicted_reports.append(report)
                    levels_by_case[report.case.name] = compute_levels(report.samples)
                else:
                    summary.failed_reports.append(report)

        measure_planned_runs(planned_runs, plan.stored)
        for _ in range(MAX_FOLLOW_UPS):
            # Stop if a run was refused or waits: it stays missing, so the service would order it over and over.
            if not planned_runs or outbox.waiting or outbox.refusals:
                break
            # Without new runs, the service would repeat its last plan.
            if not finished_runs:
                break
            finished_runs.clear()
            # The new runs may leave doubts: an outlier, or two causes at once.
            planned_runs = [
                run
                for run in self._plan_runs(revisions).runs
                if run.reason in REASONS_IN_DOUBT
                and not (run.reason is Reason.RERUN and self._leaves_reruns_to_pairs(run.case, levels_by_case))
            ]
            if planned_runs:
                measure_planned_runs(planned_runs, n_stored=0)
        return self._send_and_summarise(summary, outbox)

    def _leaves_reruns_to_pairs(self, case: Case, levels_by_case: Mapping[str, Mapping[str, Number]]) -> bool:
        """Return whether reruns of a case are left out: its last run showed that its counts vary."""
        levels = levels_by_case.get(case.name)
        return self.leaves_doubts_to_pairs and levels is not None and _FAULTS not in levels

    def _send_and_summarise(self, summary: HistorySummary, outbox: Outbox) -> HistorySummary:
        """Send the waiting reports; record in the summary how many still wait, and why others were refused."""
        if self.spool.list_waiting_reports():
            outbox.deliver(at_once=True)
        summary.n_waiting, summary.error = outbox.waiting, outbox.error
        summary.waiting_before = len(self.spool.list_waiting_reports()) - outbox.waiting
        summary.refusals = outbox.refusals
        return summary

    def repeat_cases(self, revision: Revision, cases: Sequence[Case], observer: HistoryObserver) -> HistorySummary:
        """Measure cases of a known revision once more, even if they are stored.

        The summary only says which reports wait or were refused; the runs themselves are not counted in it.

        Raises
        ------
        FaultwatchError
            A report can neither be stored on disk nor sent.
        """
        outbox = Outbox(self.spool, self.service.send)
        executions_per_run = Sampling.from_workload(self.workload, self.samples).min_samples + 1  # and the warm-up
        planned_runs = [PlannedRun(revision=revision.commit, case=case) for case in cases]
        observer.on_plan(planned_runs, n_stored=0, n_executions=len(planned_runs) * executions_per_run)
        for report, n_executions in self._measure_runs(planned_runs, (revision,), levels_by_case={}, observer=observer):
            outbox.post(report)
            observer.on_report(report, skipped_executions=executions_per_run - n_executions)
        return self._send_and_summarise(HistorySummary(n_revisions=1), outbox)

    def _measure_runs(
        self,
        planned_runs: Sequence[PlannedRun],
        revisions: Sequence[Revision],
        levels_by_case: Mapping[str, Mapping[str, Number]],
        observer: HistoryObserver,
    ) -> Iterator[tuple[Report, int]]:
        """Yield the report of each run and the number of its executions; build each revision once.

        The runs are the planned ones, and reruns of those whose reused counts have become doubtful.

        Parameters
        ----------
        levels_by_case
            The levels of each case's last run, by the name of the case, then by metric. The caller updates it while it
            consumes the reports.
        """
        revisions_by_commit = {revision.commit: revision for revision in revisions}
        count_reuse = None if self.measure_all else CountReuse(self.workload, self.bench)
        commits = [run.revision for run in planned_runs]
        newest_commit = revisions[-1].commit if revisions else ""
        reused_runs: dict[str, tuple[Revision, PlannedRun, Report]] = {}
        """The last run with counts, by case, if its counts were reused."""
        # Measure commit by commit, while the next ones are built.
        with BuildAhead(
            self.builder, self.repository, self.workload, commits, self.build_jobs, build_all=self.measure_all
        ) as builds:
            for commit, group in itertools.groupby(planned_runs, key=lambda run: run.revision):
                revision = revisions_by_commit.get(commit) or self.repository.find_revision(commit)
                if revision is None:
                    observer.on_missing_commit(commit, sum(1 for _ in group))
                    continue
                runs = [
                    run.model_copy(update={"expected": levels_by_case.get(run.case.name) or run.expected})
                    for run in group
                ]
                doubted_runs = []
                measured_runs = self._measure_revision(
                    revision, builds, runs, observer, count_reuse, may_reuse=commit != newest_commit
                )
                for run, report, n_executions in measured_runs:
                    yield report, n_executions
                    if report.reused:
                        reused_runs[run.case.name] = revision, run, report
                    # A commit without counts changes nothing: a later one is compared with the same run.
                    elif report.outcome is Outcome.MEASURED and run.case.name in reused_runs:
                        earlier_revision, earlier_run, reused_report = reused_runs.pop(run.case.name)
                        if differs_from_reused_counts(report, reused_report):
                            doubted_runs.append((earlier_revision, earlier_run))
                # The difference from the last revision with counts will be attributed to the commits after it, so the
                # counts of that revision must be measured and not reused.
                for earlier_revision, earlier_run in doubted_runs:
                    rerun = earlier_run.model_copy(update={"reason": Reason.RERUN})
                    for _, report, n_executions in self._measure_revision(
                        earlier_revision, builds, [rerun], observer, count_reuse=None
                    ):
                        yield report, n_executions

    def _plan_runs(
        self, revisions: Sequence[Revision], *, retry_failed: bool = False, measure_all: bool = False
    ) -> Plan:
        """Request a plan for each environment of the cases, and return them as one."""
        environments = {case.name: self.bench.capture_environment(self.workload, case) for case in self.cases}
        planned_runs: list[PlannedRun] = []
        n_stored = n_stored_failures = 0
        sorted_cases = sorted(self.cases, key=lambda case: environments[case.name].hash)
        for _, group in itertools.groupby(sorted_cases, key=lambda case: environments[case.name].hash):
            cases = tuple(group)
            partial_plan = (self.planner or self.service).request_plan(
                PlanRequest(
                    subject=self.repository.name,
                    host=self.bench.host,
                    environment=environments[cases[0].name],
                    cases=cases,
                    revisions=tuple(revision.commit for revision in revisions),
                    retry_failed=retry_failed,
                    measure_all=measure_all,
                )
            )
            planned_runs += partial_plan.runs
            n_stored += partial_plan.stored
            n_stored_failures += partial_plan.stored_failures
        # Sort all plans by revision, because one build serves all cases. An anchor, which links the range to runs in an
        # earlier environment, may be outside of the range, and then comes first.
        positions = {revision.commit: index for index, revision in enumerate(revisions)}
        planned_runs.sort(key=lambda run: positions.get(run.revision, -1))
        return Plan(runs=tuple(planned_runs), stored=n_stored, stored_failures=n_stored_failures)

    def _measure_revision(
        self,
        revision: Revision,
        builds: BuildAhead,
        runs: Sequence[PlannedRun],
        observer: HistoryObserver,
        count_reuse: CountReuse | None,
        *,
        may_reuse: bool = True,
    ) -> Iterator[tuple[PlannedRun, Report, int]]:
        """Yield each planned run of a revision, its report, and the number of its executions.

        Parameters
        ----------
        count_reuse
            Finds the runs whose counts can be reused; None to measure every run.
        may_reuse
            Whether counts are reused instead of measured. If not, a run with the same bytes only says which counts to
            expect.
        """
        subject = self.repository.name
        observer.on_run_start(revision, runs[0].case)
        try:
            tree, build = builds.build(revision.commit)
        except BuildFailure as failure:
            for run in runs:
                yield (
                    run,
                    report_failed_build(
                        self.workload, run.case, failure, bench=self.bench, subject=subject, revision=revision
                    ),
                    0,
                )
            return
        reports: list[Report] = []
        for run in runs:
            observer.on_run_start(revision, run.case)
            # Any other reason for a run means that a count is uncertain, so its counts are never reused.
            source = count_reuse.find_source(run.case, tree) if count_reuse and run.reason is Reason.MISSING else None
            if count_reuse and source and may_reuse:
                with builds.pause_builds():
                    reused_report = count_reuse.reuse_counts(source, revision, build, tree)
                if reused_report:
                    yield run, reused_report, 0
                    continue
            executions = _ExecutionCounter(observer)
            sampling = Sampling.from_workload(
                self.workload, self.samples, compute_levels(source.samples) if source else run.expected
            )
            with builds.pause_builds():
                report = measure_case(
                    self.workload,
                    run.case,
                    tree,
                    bench=self.bench,
                    subject=subject,
                    revision=revision,
                    build=build,
                    # If the counts differ from those of the source, two samples are too few to blame the host: another
                    # program may have disturbed them.
                    sampling=sampling.sample_all_unless_expected() if source else sampling,
                    progress=executions,
                )
            if count_reuse:
                report = count_reuse.attach_check(report, source) if source else report
                count_reuse.remember_source(report)
            reports.append(add_scaling_efficiency(report, reports, self.workload))
            yield run, reports[-1], executions.count


class _ExecutionCounter:
    """Counts executions and reports each to the observer."""

    def __init__(self, observer: HistoryObserver) -> None:
        self.count = 0
        self._observer = observer

    def __call__(self) -> None:
        self.count += 1
        self._observer.on_execution()
