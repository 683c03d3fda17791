"""A job that measures what a remedy changes: a case as it is and with other settings, in turns. Nothing is stored."""

from statistics import median

from runner.contract.job import RemedyQuestion
from runner.contract.metrics import metric
from runner.errors import FaultwatchError
from runner.jobs.claimed_job import Ended, Work
from runner.measuring.comparison import Compared, Pairs, compare
from runner.measuring.trial import Subject, Trial
from runner.subject.build import BuildFailure
from runner.workload.remedy import with_remedy

_TOLD = ("minor-faults", "major-faults", "sys-percent", "throughput", "elapsed", "max-rss")
"""What a remedy is judged by, where it was measured; and what it costs in memory."""


def carry_out(work: Work) -> Ended:
    """Measure both ways, and say what the remedy changes."""
    asked = work.question
    assert isinstance(asked, RemedyQuestion)
    remedied = with_remedy(work.workload, asked.settings)
    commit = work.repository.revision(asked.revision)
    try:
        tree, build = work.builder.build(work.repository, commit.commit, work.workload)
    except BuildFailure as failure:
        raise FaultwatchError(f"{commit.commit[:10]} does not build: {failure.message}") from None
    subject = Subject(work.repository.name, commit, work.case, build)
    present, changed = (Trial(one, subject, work.bench, tree) for one in (work.workload, remedied))
    for what, trial in (("as it is", present), ("with the remedy", changed)):
        if trial.obstacle:
            raise FaultwatchError(f"{work.case.name} cannot be measured {what}: {trial.obstacle}")
    work.about_to_measure()
    result = compare(present, changed, work.service.compare, pairs=Pairs.of(work.workload, asked.samples))
    for side in (result.base, result.head):
        if side.failure:
            raise FaultwatchError(side.failure.message)
    figures = changes(result)
    sentence = "; ".join(_sentence(name, before, after) for name, (before, after) in figures.items())
    settings = ", ".join(f"{name}={value}" for name, value in sorted(asked.settings.items()))
    work.measured(f"{settings} is measured.", 0)
    return Ended(f"With {settings}: {sentence}.", {"settings": dict(asked.settings), "metrics": figures})


def changes(result: Compared) -> dict[str, tuple[float, float]]:
    """Return the medians of what a remedy is judged by, as it is and with it."""
    values = {name: (result.base.values(name), result.head.values(name)) for name in _TOLD}
    return {name: (median(before), median(after)) for name, (before, after) in values.items() if before and after}


def _sentence(name: str, before: float, after: float) -> str:
    known = metric(name)
    percent = f" ({100 * (after - before) / before:+.3g} %)" if before else ""
    return f"{known.title.lower()} {_number(before)} → {_number(after)} {known.unit}{percent}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
