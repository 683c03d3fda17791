"""Carry out a search for the commits that moved a metric: ask, build, measure, send, and ask again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from runner.contract.comparison import Comparison, ComparisonRequest, Verdict
from runner.contract.report import Case, Environment, Report, Revision
from runner.contract.search import Measure, Prove, Search, SearchRequest
from runner.errors import FaultwatchError
from runner.measuring.comparison import Pairs, compare
from runner.measuring.measurement import measure_revision
from runner.measuring.sampling import Sampling
from runner.measuring.trial import Bench, Subject, Trial
from runner.reporting.client import Service
from runner.reporting.outbox import Outbox
from runner.reporting.spool import Spool
from runner.subject.build import Builder, BuildFailure
from runner.subject.repository import Repository
from runner.workload import Workload


class SearchObserver(Protocol):
    """Is told how far a search has come."""

    def measuring(self, state: Search, commit: str) -> None:
        """A commit is about to be measured."""

    def measured(self, state: Search, report: Report) -> None:
        """A run is stored; where the search stood before it."""

    def proving(self, state: Search) -> None:
        """A culprit and its parent are about to be measured in turns."""

    def proven(self, state: Search, reports: Sequence[Report]) -> None:
        """They are stored."""


def resolve_range(repository: Repository, good: str, bad: str) -> tuple[Revision, tuple[Revision, ...]]:
    """Return the good end of a range, and the commits after it, oldest first, of which the last is the bad one.

    Raises
    ------
    FaultwatchError
        Where there are none, or the bad end does not descend from the good one.
    """
    first = repository.revision(good)
    revisions = repository.revisions(f"{good}..{bad}", first_parent=False)
    if repository.merge_base(good, bad) != first.commit:
        raise FaultwatchError(
            f"{bad} does not descend from {good}", f"use `git merge-base {good} {bad}` as the good end"
        )
    return first, revisions


@dataclass(frozen=True, slots=True)
class CulpritSearcher:
    """Searches the history of one repository with one case.

    All that a search knows is what the service has stored: one that was ended, by whatever, goes on where it was.
    """

    repository: Repository
    workload: Workload
    case: Case
    bench: Bench
    builder: Builder
    service: Service
    spool: Spool
    samples: int | None = None

    def search(
        self,
        good: Revision,
        revisions: Sequence[Revision],
        metric: str,
        watcher: SearchObserver,
        *,
        least: float = 0,
        prove: bool = True,
    ) -> Search:
        """Search the commits after ``good``, oldest first, of which the last is the bad one.

        Raises
        ------
        FaultwatchError
            Where the service does not take what was measured, or cannot use it.
        """
        outbox = Outbox(self.spool, self.service.send)
        outbox.deliver(at_once=True)
        self.service.send_revisions(self.repository.name, (good, *revisions))
        known = {revision.commit: revision for revision in (good, *revisions)}
        request = SearchRequest(
            subject=self.repository.name,
            host=self.bench.host,
            environment=self._environment(),
            case=self.case,
            metric=metric,
            good=good.commit,
            bad=revisions[-1].commit,
            least=least,
            prove=prove,
        )

        def revision(commit: str) -> Revision:
            return known.get(commit) or self.repository.revision(commit)

        while True:
            state = self.service.search(request)
            match state.answer:
                case Measure(commits=commits):
                    for commit in commits:
                        watcher.measuring(state, commit)
                        report = self._measure(revision(commit))
                        _hand_over(outbox, [report], request.environment)
                        watcher.measured(state, report)
                case Prove(parent=parent, commit=commit) as asked:
                    watcher.proving(state)
                    reports = self._prove(revision(parent), revision(commit), metric, asked)
                    _hand_over(outbox, reports, request.environment)
                    watcher.proven(state, reports)
                case _:
                    return state

    def _environment(self) -> Environment:
        return self.bench.environment_of(self.workload, self.case)

    def _measure(self, revision: Revision) -> Report:
        return measure_revision(
            self.repository,
            self.builder,
            self.workload,
            self.case,
            bench=self.bench,
            revision=revision,
            sampling=Sampling.of(self.workload, self.samples),
        )

    def _prove(self, parent: Revision, culprit: Revision, metric: str, asked: Prove) -> list[Report]:
        """Measure a culprit and its parent in turns until it is decided whether the metric differs."""
        exact = asked.precision is None
        compared = compare(
            self._trial(parent),
            self._trial(culprit),
            _only(metric, self.service.compare),
            pairs=Pairs.proof(self.workload, exact=exact),
            precision={} if asked.precision is None else {metric: asked.precision},
        )
        if compared.comparison is None:
            failed = next(one for one in (compared.base, compared.head) if one.failure)
            raise FaultwatchError(
                f"{failed.revision.commit[:10]} was measured before, and now could not be: "
                f"{failed.failure.message if failed.failure else ''}",
                "start the search again; it goes on with the proof",
            )
        return [compared.base, compared.head]

    def _trial(self, revision: Revision) -> Trial:
        try:
            tree, build = self.builder.build(self.repository, revision.commit, self.workload)
        except BuildFailure as failure:
            raise FaultwatchError(
                f"{revision.commit[:10]} was built before, and now could not be: {failure.message}",
                "start the search again; it goes on with the proof",
            ) from None
        return Trial(self.workload, Subject(self.repository.name, revision, self.case, build), self.bench, tree)


def _only(metric: str, decide: Callable[[ComparisonRequest], Comparison]) -> Callable[[ComparisonRequest], Comparison]:
    """Let nothing but one metric hold a comparison up."""

    def one(request: ComparisonRequest) -> Comparison:
        found = decide(request)
        open_ = any(one.metric == metric and one.verdict is Verdict.NEEDS_MORE_RUNS for one in found.metrics)
        return found if open_ else found.model_copy(update={"more": 0})

    return one


def _hand_over(outbox: Outbox, reports: Sequence[Report], environment: Environment) -> None:
    """Send what was measured, and make sure that the search can use it."""
    outbox.post(*reports)
    outbox.deliver(at_once=True)
    if outbox.error:
        raise outbox.error
    for report in reports:
        if report.environment.hash != environment.hash:
            raise FaultwatchError(
                "the environment of this host changed during the search, and its runs cannot be compared",
                "start the search again; runs of the same environment are used again",
            )
        if report.quarantine:
            raise FaultwatchError(f"the run cannot be used: {report.quarantine}", "see `faultwatch doctor`")
