"""A job that measures a case of one revision, if nothing is stored of it in this environment."""

from runner.contract.job import MeasureQuestion
from runner.contract.plan import PlanRequest
from runner.contract.report import Outcome
from runner.errors import FaultwatchError
from runner.jobs.claimed_job import Ended, Work
from runner.measuring.measurement import measure_revision
from runner.measuring.sampling import Sampling
from runner.reporting.outbox import Outbox
from runner.reporting.spool import Spool


def carry_out(work: Work) -> Ended:
    """Measure, send, and say what came of it."""
    asked = work.question
    assert isinstance(asked, MeasureQuestion)
    outbox = Outbox(Spool(work.settings.spool), work.service.send)
    outbox.deliver(at_once=True)
    revision = work.repository.revision(asked.revision)
    work.service.send_revisions(work.repository.name, (revision,))
    plan = work.service.plan(
        PlanRequest(
            subject=work.repository.name,
            host=work.bench.host,
            environment=work.bench.environment_of(work.workload, work.case),
            cases=(work.case,),
            revisions=(revision.commit,),
        )
    )
    if all(one.revision != revision.commit for one in plan.runs):
        return Ended(f"{revision.commit[:10]} was measured before.")
    work.about_to_measure()
    report = measure_revision(
        work.repository,
        work.builder,
        work.workload,
        work.case,
        bench=work.bench,
        revision=revision,
        sampling=Sampling.of(work.workload, asked.samples),
    )
    outbox.post(report)
    outbox.deliver(at_once=True)
    if outbox.trouble:
        raise outbox.trouble
    work.measured(f"{revision.commit[:10]} is measured.", 0)
    if report.outcome is Outcome.FAILED:
        raise FaultwatchError(f"{revision.commit[:10]}: {report.failure.message if report.failure else 'it failed'}")
    return Ended(f"{revision.commit[:10]} is measured.", {"run_id": str(report.run_id)})
