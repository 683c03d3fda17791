"""A job that searches commits: the search is the service's, and knows nothing but what is stored."""

from collections.abc import Sequence

from runner.campaigns.culprit_search import CulpritSearcher, SearchObserver, resolve_range
from runner.contract.job import BisectQuestion
from runner.contract.level import median
from runner.contract.metrics import metric
from runner.contract.report import Outcome, Report
from runner.contract.search import Found, Measure, NothingToFind, Prove, Search
from runner.jobs.claimed_job import ClaimedJob, JobResult
from runner.reporting.spool import Spool


def run(job: ClaimedJob) -> JobResult:
    """Search, and say what was found."""
    return ended(searched(job))


def searched(job: ClaimedJob, *also: SearchObserver) -> Search:
    """Search; others can watch."""
    question = job.question
    assert isinstance(question, BisectQuestion)
    first, revisions = resolve_range(job.repository, question.good, question.bad)
    searcher = CulpritSearcher(
        repository=job.repository,
        workload=job.workload,
        case=job.case,
        bench=job.bench,
        builder=job.builder,
        service=job.service,
        spool=Spool(job.settings.spool),
        samples=question.samples,
    )
    watcher = _All(_Teller(job, question.metric), *also)
    return searcher.search(first, revisions, question.metric, watcher, least=question.least, prove=question.prove)


def ended(search: Search) -> JobResult:
    """Return what came of a search, in one line and in full."""
    return JobResult(_sentence(search), search.model_dump(mode="json"))


def _sentence(search: Search) -> str:
    match search.answer:
        case Found(culprits=culprits):
            names = ", ".join(one.commit[:10] for one in culprits)
            verb = "moves" if len(culprits) == 1 else "move"
            return f"{names} {verb} it." if culprits else "No commit of the range moves it."
        case NothingToFind(sentence=text):
            return text
        case _:
            return "The search is not over."


def _line(report: Report, name: str) -> str:
    """Return what a run showed."""
    what = "could not be measured"
    if report.outcome is Outcome.MEASURED:
        what = f"{median(report.values(name))} {metric(name).unit}"
    return f"{report.revision.commit[:10]}: {what}"


class _Teller:
    """Tells the service how far the search is, and hears whether it is to go on."""

    def __init__(self, job: ClaimedJob, name: str) -> None:
        self._job, self._metric = job, name

    def measuring(self, state: Search, commit: str) -> None:
        self._job.about_to_measure()

    def measured(self, state: Search, report: Report) -> None:
        left = state.answer.left - 1 if isinstance(state.answer, Measure) else None
        self._job.measured(_line(report, self._metric), left)

    def proving(self, state: Search) -> None:
        assert isinstance(state.answer, Prove)
        self._job.about_to_measure(2)
        self._job.report_progress(
            f"{state.answer.commit[:10]} and its parent are measured in turns.", 2 * state.answer.left
        )

    def proven(self, state: Search, reports: Sequence[Report]) -> None:
        assert isinstance(state.answer, Prove)
        text = "; ".join(_line(report, self._metric) for report in reports)
        self._job.measured(text, 2 * (state.answer.left - 1))


class _All:
    """Tells several watchers."""

    def __init__(self, *watchers: SearchObserver) -> None:
        self._watchers = watchers

    def measuring(self, state: Search, commit: str) -> None:
        for one in self._watchers:
            one.measuring(state, commit)

    def measured(self, state: Search, report: Report) -> None:
        for one in self._watchers:
            one.measured(state, report)

    def proving(self, state: Search) -> None:
        for one in self._watchers:
            one.proving(state)

    def proven(self, state: Search, reports: Sequence[Report]) -> None:
        for one in self._watchers:
            one.proven(state, reports)
