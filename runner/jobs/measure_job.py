"""Runs a job that measures a case of one revision, unless such a run in this environment is stored already."""

from runner.contract.job import MeasureQuestion
from runner.contract.plan import PlanRequest
from runner.contract.report import Outcome
from runner.errors import FaultwatchError
from runner.jobs.claimed_job import ClaimedJob, JobResult
from runner.measuring.measurement import measure_revision
from runner.measuring.sampling import Sampling
from runner.reporting.outbox import Outbox
from runner.reporting.spool import Spool


def run(job: ClaimedJob) -> JobResult:
    """Measure the case and send the run, unless it is stored; return what was done.

    Raises
    ------
    JobStopped, FaultwatchError
        As :meth:`ClaimedJob.announce_runs` does; also if the revision does not build, or its program fails.
    """
    question = job.question
    assert isinstance(question, MeasureQuestion)
    # Ask whether the run is still missing.
    outbox = Outbox(Spool(job.settings.spool), job.service.send)
    outbox.deliver(at_once=True)
    revision = job.repository.get_revision(question.revision)
    patches = job.repository.compute_patch_ids([revision.commit])
    job.service.send_revisions(job.repository.name, (revision,), patches=patches)
    plan = job.service.request_plan(
        PlanRequest(
            subject=job.repository.name,
            host=job.bench.host,
            environment=job.bench.capture_environment(job.workload, job.case),
            cases=(job.case,),
            revisions=(revision.commit,),
        )
    )
    if all(planned_run.revision != revision.commit for planned_run in plan.runs):
        return JobResult(f"{revision.commit[:10]} was not measured again, because a run of it is stored.")
    # Measure it and send it.
    job.announce_runs()
    report = measure_revision(
        job.repository,
        job.builder,
        job.workload,
        job.case,
        bench=job.bench,
        revision=revision,
        sampling=Sampling.from_workload(job.workload, question.samples),
    )
    outbox.post_now(report)
    sentence = f"{revision.commit[:10]} has been measured."
    if report.failure:
        sentence = f"{revision.commit[:10]} could not be measured: {report.failure.message}"
    job.report_measured_runs(sentence, runs_left=0)
    if report.outcome is Outcome.FAILED:
        raise FaultwatchError(sentence)
    return JobResult(sentence, {"run_id": str(report.run_id)})
