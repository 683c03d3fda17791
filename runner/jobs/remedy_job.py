"""A job that measures what a remedy changes: a case as it is and with other settings, in turns. Nothing is stored."""

from statistics import median

from runner.contract.job import RemedyQuestion
from runner.contract.metrics import metric
from runner.errors import FaultwatchError
from runner.jobs.claimed_job import ClaimedJob, JobResult
from runner.measuring.comparison import Compared, Pairs, compare
from runner.measuring.trial import Subject, Trial
from runner.subject.build import BuildFailure
from runner.workload.remedy import with_remedy

_TOLD = ("minor-faults", "major-faults", "sys-percent", "throughput", "elapsed", "max-rss")
"""What a remedy is judged by, where it was measured; and what it costs in memory."""


def run(job: ClaimedJob) -> JobResult:
    """Measure both ways, and say what the remedy changes."""
    question = job.question
    assert isinstance(question, RemedyQuestion)
    remedied = with_remedy(job.workload, question.settings)
    commit = job.repository.revision(question.revision)
    try:
        tree, build = job.builder.build(job.repository, commit.commit, job.workload)
    except BuildFailure as failure:
        raise FaultwatchError(f"{commit.commit[:10]} does not build: {failure.message}") from None
    subject = Subject(job.repository.name, commit, job.case, build)
    present, changed = (Trial(one, subject, job.bench, tree) for one in (job.workload, remedied))
    for what, trial in (("as it is", present), ("with the remedy", changed)):
        if trial.obstacle:
            raise FaultwatchError(f"{job.case.name} cannot be measured {what}: {trial.obstacle}")
    job.about_to_measure()
    result = compare(present, changed, job.service.compare, pairs=Pairs.of(job.workload, question.samples))
    for side in (result.base, result.head):
        if side.failure:
            raise FaultwatchError(side.failure.message)
    figures = changes(result)
    sentence = "; ".join(_sentence(name, before, after) for name, (before, after) in figures.items())
    settings = ", ".join(f"{name}={value}" for name, value in sorted(question.settings.items()))
    job.measured(f"{settings} is measured.", 0)
    return JobResult(f"With {settings}: {sentence}.", {"settings": dict(question.settings), "metrics": figures})


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
