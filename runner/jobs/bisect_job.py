"""A job that searches commits: the search is the service's, and knows nothing but what is stored."""

from collections.abc import Sequence

from runner.campaigns.culprit_search import Bisector, Watcher, ends
from runner.contract.job import BisectQuestion
from runner.contract.level import median
from runner.contract.metrics import metric
from runner.contract.report import Outcome, Report
from runner.contract.search import Found, Measure, NothingToFind, Prove, Search
from runner.jobs.claimed_job import Ended, Work
from runner.reporting.spool import Spool


def carry_out(work: Work) -> Ended:
    """Search, and say what was found."""
    return ended(searched(work))


def searched(work: Work, *also: Watcher) -> Search:
    """Search; others can watch."""
    asked = work.question
    assert isinstance(asked, BisectQuestion)
    first, revisions = ends(work.repository, asked.good, asked.bad)
    bisector = Bisector(
        repository=work.repository,
        workload=work.workload,
        case=work.case,
        bench=work.bench,
        builder=work.builder,
        service=work.service,
        spool=Spool(work.settings.spool),
        samples=asked.samples,
    )
    watcher = _All(_Teller(work, asked.metric), *also)
    return bisector.search(first, revisions, asked.metric, watcher, least=asked.least, prove=asked.prove)


def ended(search: Search) -> Ended:
    """Return what came of a search, in one line and in full."""
    return Ended(_sentence(search), search.model_dump(mode="json"))


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

    def __init__(self, work: Work, name: str) -> None:
        self._work, self._metric = work, name

    def measuring(self, state: Search, commit: str) -> None:
        self._work.about_to_measure()

    def measured(self, state: Search, report: Report) -> None:
        left = state.answer.left - 1 if isinstance(state.answer, Measure) else None
        self._work.measured(_line(report, self._metric), left)

    def proving(self, state: Search) -> None:
        assert isinstance(state.answer, Prove)
        self._work.about_to_measure(2)
        self._work.say(f"{state.answer.commit[:10]} and its parent are measured in turns.", 2 * state.answer.left)

    def proven(self, state: Search, reports: Sequence[Report]) -> None:
        assert isinstance(state.answer, Prove)
        text = "; ".join(_line(report, self._metric) for report in reports)
        self._work.measured(text, 2 * (state.answer.left - 1))


class _All:
    """Tells several watchers."""

    def __init__(self, *watchers: Watcher) -> None:
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
