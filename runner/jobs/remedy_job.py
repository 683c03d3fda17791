"""Runs a job that measures a case with and without other settings, interleaved; both runs are experimental."""

from statistics import median

from msgspec.structs import replace

from runner.campaigns.remedy_comparison import MIN_PAIRS, apply_parameters, build_remedy_trials
from runner.contract import number_text
from runner.contract.job import RemedyQuestion
from runner.contract.metrics import MetricView, get_metric, list_shown_metrics
from runner.contract.report import Outcome, Report
from runner.contract.word_list import join_words
from runner.errors import FaultwatchError
from runner.jobs.claimed_job import ClaimedJob, JobResult
from runner.measuring.comparison import ComparisonResult, Pairs, compare_interleaved_trials
from runner.measuring.trial import Bench
from runner.reporting.outbox import Outbox
from runner.reporting.spool import Spool
from runner.workload.bound_case import bind_case


def run(job: ClaimedJob) -> JobResult:
    """Measure with and without the other settings, send both runs, and return the effect of the settings.

    Raises
    ------
    JobStopped, FaultwatchError
        As :meth:`ClaimedJob.announce_runs` does; also if the workload file has changed, or a side cannot be measured.
    """
    question = job.question
    assert isinstance(question, RemedyQuestion)
    if question.definition not in {None, job.case.definition}:
        raise FaultwatchError(
            f"the workload file on this host defines {job.case.name} differently from the stored runs",
            "measure the case with the current file first, then choose the settings again",
        )
    # Build the revision with and without the remedy.
    outbox = Outbox(Spool(job.settings.spool), job.service.send)
    outbox.deliver(at_once=True)
    present_trial, changed_trial = build_remedy_trials(
        job.repository,
        job.builder,
        job.workload,
        job.case,
        bench=_drop_own_variables(job),
        revision=question.revision,
        settings=question.settings,
    )
    # Measure both interleaved, and send both runs.
    job.service.send_revisions(job.repository.name, (job.repository.get_revision(question.revision),))
    job.announce_runs(2)
    pairs = Pairs.from_workload(job.workload, question.samples)
    if question.samples is None:
        pairs = replace(pairs, min_pairs=max(pairs.min_pairs, MIN_PAIRS), max_pairs=max(pairs.max_pairs, MIN_PAIRS))
    result = compare_interleaved_trials(present_trial, changed_trial, job.service.compare, pairs=pairs)
    head = result.head.model_copy(update={"case": apply_parameters(job.case, question.settings)})
    outbox.post_now(*(_mark_experimental(side) for side in (result.base, head) if side.outcome is not Outcome.SKIPPED))
    # Report a side that failed, or else what the remedy changes. A skipped side comes last: the other caused the skip.
    sides = sorted((result.base, result.head), key=lambda side: side.outcome is Outcome.SKIPPED)
    failure = next((side.failure for side in sides if side.failure), None)
    if failure is not None:
        raise FaultwatchError(failure.explained)
    medians = compute_medians(result)
    sentence = "; ".join(_describe_effect(name, before, after) for name, (before, after) in medians.items())
    settings = join_words(
        [f"{name}={value}" if value is not None else f"no {name}" for name, value in sorted(question.settings.items())]
    )
    job.report_measured_runs(f"The effect of {settings} has been measured.", runs_left=0)
    return JobResult(f"With {settings}: {sentence}.", {"settings": dict(question.settings), "metrics": medians})


def _drop_own_variables(job: ClaimedJob) -> Bench:
    """Return the bench without the variables that the case sets: the remedy may be a parameter that sets them again."""
    own_variables = bind_case(job.workload, job.case).variables
    variables = {name: value for name, value in job.bench.variables.items() if own_variables.get(name) != value}
    return replace(job.bench, variables=variables)


def _mark_experimental(report: Report) -> Report:
    """Return the report marked as experimental, so that it does not become a point of any series."""
    return report.model_copy(update={"experimental": True})


def compute_medians(result: ComparisonResult) -> dict[str, tuple[float, float]]:
    """Return the medians without and with the remedy, for each metric by which remedies are judged."""
    values = {
        name: (result.base.list_values(name), result.head.list_values(name))
        for name in list_shown_metrics(MetricView.REMEDY)
    }
    return {name: (median(before), median(after)) for name, (before, after) in values.items() if before and after}


def _describe_effect(metric: str, before: float, after: float) -> str:
    """Return in words what a remedy does to a metric."""
    shown_metric = get_metric(metric)
    percent = f" ({number_text.format_percent(100 * (after - before) / before)})" if before else ""
    level_texts = (
        number_text.format_quantity(value, shown_metric.unit, other)
        for value, other in ((before, after), (after, before))
    )
    return f"{shown_metric.title.lower()} {' → '.join(level_texts)}{percent}"
