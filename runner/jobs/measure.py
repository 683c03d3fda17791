"""A job that measures a case of one revision, if nothing is stored of it in this environment."""

from runner.contract.job import MeasureQuestion
from runner.contract.plan import PlanRequest
from runner.contract.report import Outcome, Report
from runner.errors import FaultwatchError
from runner.jobs.work import Ended, Work
from runner.measure import failed_build, measure
from runner.outbox import Outbox
from runner.sampling import Sampling
from runner.spool import Spool
from runner.subject.build import BuildFailure


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
            environment=work.bench.capture(work.bench.state(work.workload, work.case)),
            cases=(work.case,),
            revisions=(revision.commit,),
        )
    )
    if all(one.revision != revision.commit for one in plan.runs):
        return Ended(f"{revision.commit[:10]} was measured before.")
    work.about_to_measure()
    report = _measure(work, asked)
    outbox.post(report)
    outbox.deliver(at_once=True)
    if outbox.trouble:
        raise outbox.trouble
    work.measured(f"{revision.commit[:10]} is measured.", 0)
    if report.outcome is Outcome.FAILED:
        raise FaultwatchError(f"{revision.commit[:10]}: {report.failure.message if report.failure else 'it failed'}")
    return Ended(f"{revision.commit[:10]} is measured.", {"run_id": str(report.run_id)})


def _measure(work: Work, asked: MeasureQuestion) -> Report:
    revision = work.repository.revision(asked.revision)
    subject = work.repository.name
    try:
        tree, build = work.builder.build(work.repository, revision.commit, work.workload)
    except BuildFailure as failure:
        return failed_build(
            work.workload,
            work.case,
            bench=work.bench,
            subject=subject,
            revision=revision,
            message=failure.message,
            build=failure.build,
        )
    return measure(
        work.workload,
        work.case,
        tree,
        bench=work.bench,
        subject=subject,
        revision=revision,
        build=build,
        sampling=Sampling.of(work.workload, asked.samples),
    )
