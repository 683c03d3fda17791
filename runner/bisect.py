"""Carry out a search for the commits that moved a metric: ask, build, measure, send, and ask again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from runner.client import Service
from runner.contract.report import Case, Environment, Report, Revision
from runner.contract.search import Measure, Search, SearchRequest
from runner.errors import FaultwatchError
from runner.measure import failed_build, measure
from runner.outbox import Outbox
from runner.sampling import Sampling
from runner.spool import Spool
from runner.subject.build import Builder, BuildFailure
from runner.subject.repository import Repository
from runner.trial import Bench
from runner.workload import Workload

Said = Callable[[Search, Report], None]
"""Is told of each run, and where the search stood before it."""


@dataclass(frozen=True, slots=True)
class Bisector:
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
        self, good: Revision, revisions: Sequence[Revision], metric: str, said: Said, least: float = 0
    ) -> Search:
        """Search the commits after ``good``, oldest first, of which the last is the bad one.

        Raises
        ------
        FaultwatchError
            Where the service does not take what was measured, or cannot use it.
        """
        outbox = Outbox(self.spool, self.service.send_report)
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
        )
        while isinstance((state := self.service.search(request)).answer, Measure):
            for commit in state.answer.commits:
                report = self._measure(known.get(commit) or self.repository.revision(commit))
                outbox.post(report)
                outbox.deliver(at_once=True)
                if outbox.trouble:
                    raise outbox.trouble
                if report.environment.hash != request.environment.hash:
                    raise FaultwatchError(
                        "the environment of this host changed during the search, and its runs cannot be compared",
                        "start the search again; runs of the same environment are used again",
                    )
                if report.quarantine:
                    raise FaultwatchError(f"the run cannot be used: {report.quarantine}", "see `faultwatch doctor`")
                said(state, report)
        return state

    def _environment(self) -> Environment:
        return self.bench.capture(self.bench.state(self.workload, self.case))

    def _measure(self, revision: Revision) -> Report:
        subject = self.repository.name
        try:
            tree, build = self.builder.build(self.repository, revision.commit, self.workload)
        except BuildFailure as failure:
            return failed_build(
                self.workload,
                self.case,
                bench=self.bench,
                subject=subject,
                revision=revision,
                message=failure.message,
                build=failure.build,
            )
        return measure(
            self.workload,
            self.case,
            tree,
            bench=self.bench,
            subject=subject,
            revision=revision,
            build=build,
            sampling=Sampling.of(self.workload, self.samples),
        )
