"""Runs a job that searches for the commits that moved a metric."""

from collections.abc import Sequence

from runner.campaigns.culprit_search import CulpritSearcher, SearchObserver, resolve_range
from runner.contract.job import BisectQuestion
from runner.contract.level import median
from runner.contract.metrics import metric
from runner.contract.number_text import quantity
from runner.contract.report import Outcome, Report
from runner.contract.search import Culprit, Found, Measure, NothingToFind, ProofState, Prove, Search
from runner.jobs.claimed_job import ClaimedJob, JobResult
from runner.reporting.spool import Spool


def run(job: ClaimedJob) -> JobResult:
    """Search, and return the culprits."""
    return result_of(search_commits(job))


def search_commits(job: ClaimedJob, *also: SearchObserver) -> Search:
    """Search; further observers can follow."""
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
        build_jobs=job.settings.build_jobs,
    )
    observer = _SearchObservers(_ProgressReporter(job, question.metric), *also)
    return searcher.search(first, revisions, question.metric, observer, least=question.least, prove=question.prove)


def result_of(search: Search) -> JobResult:
    """Return the result of a search, as a sentence and in full."""
    return JobResult(_describe_state(search), search.model_dump(mode="json"))


def _describe_state(search: Search) -> str:
    match search.answer:
        case Found(culprits=culprits):
            movers = [one for one in culprits if one.proof and one.proof.state is ProofState.STANDS]
            suspects = [one for one in culprits if one not in movers]
            sentences = [f"{_names(movers)} {'moves' if len(movers) == 1 else 'move'} the metric."] if movers else []
            sentences += [f"{_names(suspects)} may move the metric: no proof holds."] if suspects else []
            return " ".join(sentences) or "No commit of the range moves the metric."
        case NothingToFind(sentence=text):
            return text
        case _:
            return "The search has not ended."


def _names(culprits: Sequence[Culprit]) -> str:
    return ", ".join(map(_name, culprits))


def _name(culprit: Culprit) -> str:
    count = len(culprit.candidates)
    if count == 1:
        return culprit.commit[:10]
    return f"one of {count} commits, {culprit.candidates[0][:10]}…{culprit.candidates[-1][:10]},"


def _line(report: Report, name: str) -> str:
    """Describe a run in one line."""
    what = "could not be measured"
    level = median(report.values(name))
    if report.outcome is Outcome.MEASURED and level is not None:
        what = quantity(level, metric(name).unit)
    return f"{report.revision.commit[:10]}: {what}"


class _ProgressReporter:
    """Reports the progress of a search to the service, and stops the search when the service asks."""

    def __init__(self, job: ClaimedJob, name: str) -> None:
        self._job, self._metric = job, name

    def measuring(self, state: Search, commit: str) -> None:
        self._job.announce_runs()

    def measured(self, state: Search, report: Report) -> None:
        left = state.answer.left - 1 if isinstance(state.answer, Measure) else None
        self._job.measured(_line(report, self._metric), left)

    def proving(self, state: Search) -> None:
        assert isinstance(state.answer, Prove)
        self._job.announce_runs(2)
        self._job.report_progress(
            f"{state.answer.commit[:10]} and its parent are being measured interleaved.", 2 * state.answer.left
        )

    def proven(self, state: Search, reports: Sequence[Report]) -> None:
        assert isinstance(state.answer, Prove)
        text = "; ".join(_line(report, self._metric) for report in reports)
        self._job.measured(text, 2 * (state.answer.left - 1))


class _SearchObservers:
    """Passes each call on to several observers."""

    def __init__(self, *observers: SearchObserver) -> None:
        self._observers = observers

    def measuring(self, state: Search, commit: str) -> None:
        for observer in self._observers:
            observer.measuring(state, commit)

    def measured(self, state: Search, report: Report) -> None:
        for observer in self._observers:
            observer.measured(state, report)

    def proving(self, state: Search) -> None:
        for observer in self._observers:
            observer.proving(state)

    def proven(self, state: Search, reports: Sequence[Report]) -> None:
        for observer in self._observers:
            observer.proven(state, reports)
