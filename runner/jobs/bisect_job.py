"""Runs a job that searches for the commits that moved a metric."""

from collections.abc import Sequence

from runner.campaigns.culprit_search import CulpritSearcher, SearchObserver, resolve_range
from runner.contract.commit_search import Culprit, Found, Measure, NothingToFind, ProofState, Prove, Search
from runner.contract.job import BisectQuestion
from runner.contract.level import compute_median
from runner.contract.metrics import get_metric
from runner.contract.number_text import format_quantity
from runner.contract.report import Outcome, Report
from runner.contract.word_list import join_words
from runner.jobs.claimed_job import ClaimedJob, JobResult
from runner.reporting.spool import Spool

_RUNS_PER_PROOF = 2
"""One of the culprit, and one of its parent."""


def run(job: ClaimedJob) -> JobResult:
    """Search for the commits that moved the metric of the job, and return the culprits.

    Raises
    ------
    JobStopped, FaultwatchError
        As :meth:`ClaimedJob.announce_runs` and :meth:`CulpritSearcher.search` do.
    """
    return build_result(search_commits(job))


def search_commits(job: ClaimedJob, *observers: SearchObserver) -> Search:
    """Search for the commits that moved the metric of the job; the observers are told of each step."""
    question = job.question
    assert isinstance(question, BisectQuestion)
    good_commit, revisions = resolve_range(job.repository, question.good, question.bad)
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
    observer = _SearchObservers(_ProgressReporter(job, question.metric), *observers)
    return searcher.search(
        good_commit, revisions, question.metric, observer, min_difference=question.min_difference, prove=question.prove
    )


def build_result(search: Search) -> JobResult:
    """Return the result of a search, in words and as data."""
    return JobResult(_describe_answer(search), search.model_dump(mode="json"))


def _describe_answer(search: Search) -> str:
    """Return in words what a search has found."""
    match search.answer:
        case Found(culprits=culprits):
            proven_culprits = [
                culprit for culprit in culprits if culprit.proof and culprit.proof.state is ProofState.STANDS
            ]
            unproven_culprits = [culprit for culprit in culprits if culprit not in proven_culprits]
            sentences = []
            if proven_culprits:
                verb = "moves" if len(proven_culprits) == 1 else "move"
                sentences.append(f"{_join_names(proven_culprits)} {verb} the metric.")
            if unproven_culprits:
                sentences.append(f"{_join_names(unproven_culprits)} may move the metric, but no proof confirms it.")
            return " ".join(sentences) or "No commit in the range moves the metric."
        case NothingToFind(sentence=text):
            return text
        case _:
            return "The search has not ended."


def _join_names(culprits: Sequence[Culprit]) -> str:
    return join_words([_describe_culprit(culprit) for culprit in culprits])


def _describe_culprit(culprit: Culprit) -> str:
    """Return a culprit in words: its commit, or a range of commits that could not be told apart."""
    count = len(culprit.candidates)
    if count == 1:
        return culprit.commit[:10]
    return f"one of {count} commits, {culprit.candidates[0][:10]}…{culprit.candidates[-1][:10]},"


def _describe_run(report: Report, metric: str) -> str:
    """Describe a run in one line."""
    outcome = "could not be measured"
    level = compute_median(report.list_values(metric))
    if report.outcome is Outcome.MEASURED and level is not None:
        outcome = format_quantity(level, get_metric(metric).unit)
    return f"{report.revision.commit[:10]}: {outcome}"


class _ProgressReporter:
    """Reports the progress of a search to the service, and stops the search when the service asks."""

    def __init__(self, job: ClaimedJob, metric: str) -> None:
        self._job, self._metric = job, metric
        self._state: Search | None = None
        self._n_stored = 0
        """How many runs of the present state of the search are stored: several are measured before the next state."""

    def on_measurement_start(self, state: Search, commit: str) -> None:
        self._job.announce_runs()

    def on_run_stored(self, state: Search, report: Report) -> None:
        """Report a run as progress."""
        self._n_stored = self._n_stored + 1 if state is self._state else 1
        self._state = state
        runs_left = max(0, state.answer.runs_left - self._n_stored) if isinstance(state.answer, Measure) else None
        self._job.report_measured_runs(_describe_run(report, self._metric), runs_left)

    def on_proof_start(self, state: Search) -> None:
        """Announce the two runs of a proof, and report the proof as progress."""
        assert isinstance(state.answer, Prove)
        self._job.announce_runs(_RUNS_PER_PROOF)
        self._job.report_progress(
            f"{state.answer.commit[:10]} and its parent are being measured interleaved.",
            _RUNS_PER_PROOF * state.answer.culprits_left,
        )

    def on_proof_stored(self, state: Search, reports: Sequence[Report]) -> None:
        """Report the two runs of a proof as progress."""
        assert isinstance(state.answer, Prove)
        text = "; ".join(_describe_run(report, self._metric) for report in reports)
        self._job.report_measured_runs(text, _RUNS_PER_PROOF * (state.answer.culprits_left - 1))


class _SearchObservers:
    """Passes each call on to several observers."""

    def __init__(self, *observers: SearchObserver) -> None:
        self._observers = observers

    def on_measurement_start(self, state: Search, commit: str) -> None:
        for observer in self._observers:
            observer.on_measurement_start(state, commit)

    def on_run_stored(self, state: Search, report: Report) -> None:
        for observer in self._observers:
            observer.on_run_stored(state, report)

    def on_proof_start(self, state: Search) -> None:
        for observer in self._observers:
            observer.on_proof_start(state)

    def on_proof_stored(self, state: Search, reports: Sequence[Report]) -> None:
        for observer in self._observers:
            observer.on_proof_stored(state, reports)
