"""Updates jobs from what a forge reports about their workflows: its log, that it was cancelled, that it has ended."""

from datetime import datetime, timedelta

from runner.contract.job import State
from service.jobs.scheduler import JobScheduler
from service.rules.jobs.job_descriptions import SERVICE
from service.rules.jobs.job_states import Action
from service.store import jobs

_MAX_CLOCK_DIFFERENCE = timedelta(minutes=1)
"""How far the clocks of a forge and of the service may differ."""


def update_job_from_workflow(
    scheduler: JobScheduler,
    job_id: int,
    *,
    repository: str,
    log_url: str,
    conclusion: str | None,
    created_at: datetime,
) -> None:
    """Record the log of a job's workflow, which has started or ended; cancel the job if the workflow was cancelled.

    A job that has not ended when its workflow ends, however it ends, is lost: its runner reports the job's end before.
    Workflows of other repositories, and attempts that precede the running one, are ignored.

    Parameters
    ----------
    scheduler
        The scheduler of the service's jobs.
    job_id
        The job that the workflow carries out.
    repository
        The repository of the workflow.
    log_url
        The address of the workflow run.
    conclusion
        How the workflow has ended; None while it runs.
    created_at
        When the forge created the workflow run.
    """
    with scheduler.database.writing() as session:
        row = jobs.find_job(session, job_id)
        if row is None or row.github != repository or row.state not in {State.DISPATCHED, State.RUNNING}:
            return
        if row.state is State.RUNNING and row.log_url != log_url:
            return  # It is an earlier attempt than the running one.
        if row.state is State.DISPATCHED and created_at < row.changed_at - _MAX_CLOCK_DIFFERENCE:
            return  # It was created before the last dispatch, so it is an earlier attempt.
        row.log_url = log_url
        if conclusion == "cancelled":
            jobs.move_job_to_next_state(
                row, Action.CANCEL, SERVICE, "The job's workflow was cancelled.", scheduler.now()
            )
        elif conclusion is not None:
            jobs.move_job_to_next_state(
                row, Action.LOSE, SERVICE, f"The job's workflow ended: {conclusion}.", scheduler.now()
            )
    scheduler.wake()
