"""Searches for the commits that moved a metric: asks the service, builds, measures, sends, and asks again."""

import time
from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from runner.campaigns.commit_pairs import CommitPairs
from runner.contract.commit_search import Measure, Pace, Prove, Search, SearchRequest
from runner.contract.comparison import Comparison, ComparisonRequest, Verdict
from runner.contract.judging import Judging
from runner.contract.quarantine import SEARCH_PURPOSES, Purpose
from runner.contract.report import Case, Environment, Report, Revision
from runner.errors import FaultwatchError
from runner.measuring.comparison import Pairs
from runner.measuring.measurement import measure_case, report_failed_build
from runner.measuring.sampling import Sampling
from runner.measuring.trial import Bench
from runner.reporting.client import Service
from runner.reporting.outbox import Outbox
from runner.reporting.spool import Spool
from runner.subject.build import Builder, BuildFailure
from runner.subject.build_ahead import BuildAhead
from runner.subject.repository import Repository
from runner.workload import Workload

MAX_UNUSED_RUNS = 5
"""A search fails after this many successive measurements that the service stored but did not use. It has to be more
than the three measurements of a commit that fails for a temporary reason."""


MAX_BUILD_JOBS = 64
"""The largest number of concurrent builds that a search is planned for."""


class SearchObserver(Protocol):
    """Follows the progress of a search."""

    def on_measurement_start(self, state: Search, commit: str) -> None:
        """Called before a commit is measured."""

    def on_run_stored(self, state: Search, report: Report) -> None:
        """Called after a run was stored; ``state`` is the state of the search before the run."""

    def on_proof_start(self, state: Search) -> None:
        """Called before a suspect and its parent are measured interleaved."""

    def on_proof_stored(self, state: Search, reports: Sequence[Report]) -> None:
        """Called after both runs of a proof were stored."""


def resolve_range(repository: Repository, good: str, bad: str) -> tuple[Revision, tuple[Revision, ...]]:
    """Return the good commit of a range, and the commits after it up to the bad one, parents before children.

    Raises
    ------
    FaultwatchError
        An end does not exist, the range has no commits, or the bad end does not descend from the good end.
    """
    good_revision = repository.get_revision(good)
    revisions = repository.list_revisions(f"{good}..{bad}", first_parent=False)
    if repository.find_merge_bases(good, bad) != (good_revision.commit,):
        raise FaultwatchError(
            f"{bad} does not descend from {good}",
            f"as the good end, use the commit that `git merge-base {good} {bad}` prints",
        )
    return good_revision, revisions


class CulpritSearcher(Struct, frozen=True):
    """Searches the history of a repository for culprits, with one case.

    A search keeps no state outside the service, so an interrupted search continues where it stopped.
    """

    repository: Repository
    workload: Workload
    case: Case
    bench: Bench
    builder: Builder
    service: Service
    spool: Spool
    samples: int | None = None
    build_jobs: int = 1
    """The number of concurrent builds."""

    def search(
        self,
        good: Revision,
        revisions: Sequence[Revision],
        metric: str,
        observer: SearchObserver,
        *,
        min_difference: float = 0,
        prove: bool = True,
    ) -> Search:
        """Search ``revisions``, which begin after ``good`` and end with the bad commit, for those that moved a metric.

        Parameters
        ----------
        min_difference
            The smallest change to search for, in the unit of the metric.
        prove
            Whether to measure each suspect interleaved with its parent.

        Raises
        ------
        FaultwatchError
            The service refuses a run or does not use the runs, the environment of this host changes, or a suspect
            that was measured before cannot be built or measured for its proof.
        """
        # Send the earlier runs and the range to the service.
        outbox = Outbox(self.spool, self.service.send)
        outbox.deliver(at_once=True)
        self.service.send_revisions(self.repository.name, (good, *revisions))
        revisions_by_commit = {revision.commit: revision for revision in (good, *revisions)}
        request = SearchRequest(
            subject=self.repository.name,
            host=self.bench.host,
            environment=self._capture_environment(),
            case=self.case,
            metric=metric,
            good=good.commit,
            bad=revisions[-1].commit,
            min_difference=min_difference,
            prove=prove,
            pace=Pace(build_jobs=min(max(self.build_jobs, 1), MAX_BUILD_JOBS)),
        )

        def get_revision(commit: str) -> Revision:
            return revisions_by_commit.get(commit) or self.repository.get_revision(commit)

        n_unused_runs = 0
        n_runs_before = -1  # less than any answer contains
        with BuildAhead(
            self.builder, self.repository, self.workload, (), self.build_jobs, start_at_once=True
        ) as builds:
            while True:
                # Ask what to measure next, and give up if the answers ignore the measurements.
                state = self.service.search(request)
                n_unused_runs = n_unused_runs + 1 if state.stored_runs <= n_runs_before else 0
                n_runs_before = state.stored_runs
                if n_unused_runs == MAX_UNUSED_RUNS:
                    raise FaultwatchError(
                        f"the service has not used the last {MAX_UNUSED_RUNS} measurements of this search",
                        "look at the runs of the search on the dashboard, and run `faultwatch doctor`",
                    )
                # Measure the requested commits, prove a suspect, or return the result.
                match state.answer:
                    case Measure(commits=commits):
                        builds.plan_builds(commits)
                        for commit in commits:
                            observer.on_measurement_start(state, commit)
                            report, seconds = self._measure(get_revision(commit), builds)
                            report = report.model_copy(update={"purpose": Purpose.BISECT})
                            request = request.model_copy(update={"pace": _update_pace(request.pace, report, seconds)})
                            _send_runs(outbox, [report], request.environment)
                            observer.on_run_stored(state, report)
                    case Prove(parent=parent, commit=commit) as order:
                        observer.on_proof_start(state)
                        builds.plan_builds(())
                        reports = self._prove(get_revision(parent), get_revision(commit), metric, order)
                        _send_runs(outbox, reports, request.environment)
                        observer.on_proof_stored(state, reports)
                    case _:
                        return state

    def _capture_environment(self) -> Environment:
        return self.bench.capture_environment(self.workload, self.case)

    def _measure(self, revision: Revision, builds: BuildAhead) -> tuple[Report, float]:
        """Measure a revision; return its report, and how many seconds this took without the build.

        If the revision does not build, the report says so, and the duration is 0.
        """
        try:
            tree, build = builds.build(revision.commit)
        except BuildFailure as failure:
            subject = self.repository.name
            report = report_failed_build(
                self.workload, self.case, failure, bench=self.bench, subject=subject, revision=revision
            )
            return report, 0.0
        started_at = time.monotonic()
        with builds.pause_builds():
            report = measure_case(
                self.workload,
                self.case,
                tree,
                bench=self.bench,
                subject=self.repository.name,
                revision=revision,
                build=build,
                sampling=Sampling.from_workload(self.workload, self.samples),
            )
        return report, time.monotonic() - started_at

    def _prove(self, parent: Revision, suspect: Revision, metric: str, order: Prove) -> list[Report]:
        """Measure a suspect and its parent interleaved until it is decided whether the metric differs.

        Send the decision to the service; return the reports of the parent and of the suspect, which are not sent yet.

        Raises
        ------
        FaultwatchError
            One of the two commits cannot be built or measured.
        """
        pairs = CommitPairs(self.repository, self.workload, self.bench, self.builder)
        result = pairs.compare(
            self.case,
            parent,
            suspect,
            _restrict_decision_to_metric(metric, self.service.compare),
            pairs=Pairs.for_proof(self.workload),
            judging=Judging() if order.precision is None else Judging(precision={metric: order.precision}),
        )
        if result.comparison is None:
            failed_report = next(report for report in (result.base, result.head) if report.failure)
            raise FaultwatchError(
                f"{failed_report.revision.commit[:10]} was measured before but cannot be measured now: "
                f"{failed_report.failure.message if failed_report.failure else ''}",
                "start the search again; it continues with the proof",
            )
        self.service.prove(result.build_request(self.workload.metrics.judging))
        return [report.model_copy(update={"purpose": Purpose.PROOF}) for report in (result.base, result.head)]


def _restrict_decision_to_metric(
    metric: str, decide: Callable[[ComparisonRequest], Comparison]
) -> Callable[[ComparisonRequest], Comparison]:
    """Restrict a decision function: its decisions request further measurements only if the given metric needs them."""

    def decide_comparison_by_metric(request: ComparisonRequest) -> Comparison:
        """Compare all metrics, but let only the given one ask for more pairs, other builds or another place."""
        comparison = decide(request)
        verdicts = [verdict for verdict in comparison.metrics if verdict.metric == metric]
        is_undecided = any(verdict.verdict is Verdict.NEEDS_MORE_RUNS for verdict in verdicts)
        update = {
            "remaining_pairs": comparison.remaining_pairs if is_undecided else 0,
            "needs_other_builds": any(verdict.needs_other_build for verdict in verdicts),
            "needs_other_place": any(verdict.needs_other_place for verdict in verdicts),
            "needs_cache_renewal": any(verdict.needs_cache_renewal for verdict in verdicts),
        }
        return comparison.model_copy(update=update)

    return decide_comparison_by_metric


def _update_pace(pace: Pace, report: Report, seconds: float) -> Pace:
    """Return a pace with the durations of the last build and measurement, by which the service plans the search.

    It stays unchanged if the commit failed or was not built.
    """
    build = report.build
    if build is None or report.failure:
        return pace
    return pace.model_copy(
        update={
            "build_seconds": build.seconds,
            "build_cpu_seconds": build.cpu_seconds,
            "measure_seconds": seconds,
        }
    )


def _send_runs(outbox: Outbox, reports: Sequence[Report], environment: Environment) -> None:
    """Send runs; raise if the search cannot use one of them."""
    outbox.post_now(*reports)
    for report in reports:
        if report.environment.hash != environment.hash:
            raise FaultwatchError(
                "this host's environment changed during the search, so its runs cannot be compared",
                "start the search again; it reuses the runs that were measured in the same environment",
            )
        if report.quarantine not in {"", *SEARCH_PURPOSES.values()}:
            raise FaultwatchError(f"the run cannot be used: {report.quarantine}", "run `faultwatch doctor`")
