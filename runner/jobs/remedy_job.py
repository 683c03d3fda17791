"""Runs a job that measures the effect of a remedy: a case with and without it, interleaved. Nothing is stored."""

from statistics import median

from runner.campaigns.remedy_comparison import remedy_trials
from runner.contract import number_text
from runner.contract.job import RemedyQuestion
from runner.contract.metrics import metric
from runner.errors import FaultwatchError
from runner.jobs.claimed_job import ClaimedJob, JobResult
from runner.measuring.comparison import Compared, Pairs, compare

_METRICS = ("minor-faults", "major-faults", "sys-percent", "throughput", "elapsed", "max-rss")
"""The metrics by which a remedy is judged, if measured, and its cost in memory."""


def run(job: ClaimedJob) -> JobResult:
    """Measure with and without the remedy, and return what it changes."""
    question = job.question
    assert isinstance(question, RemedyQuestion)
    present, changed = remedy_trials(
        job.repository,
        job.builder,
        job.workload,
        job.case,
        bench=job.bench,
        revision=question.revision,
        settings=question.settings,
    )
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
    """Return the medians of each metric without and with the remedy."""
    values = {name: (result.base.values(name), result.head.values(name)) for name in _METRICS}
    return {name: (median(before), median(after)) for name, (before, after) in values.items() if before and after}


def _sentence(name: str, before: float, after: float) -> str:
    entry = metric(name)
    percent = f" ({number_text.percent(100 * (after - before) / before)})" if before else ""
    levels = (number_text.quantity(value, entry.unit, other) for value, other in ((before, after), (after, before)))
    return f"{entry.title.lower()} {' → '.join(levels)}{percent}"
