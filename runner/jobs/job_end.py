"""Reports how a claimed job ended: done, failed, stopped by the service, or interrupted by the user (it is paused)."""

from collections.abc import Callable

from runner.contract.job import Backend, Job, Outcome
from runner.errors import FaultwatchError, ServiceUnavailable
from runner.jobs.claimed_job import JobResult
from runner.jobs.heartbeat import Heartbeat, JobStopped


def run_and_report_end(
    heartbeat: Heartbeat, run_handler: Callable[[], JobResult], print_message: Callable[[str], None]
) -> Job:
    """Run a claimed job, and report how it ended; return its state afterwards.

    Parameters
    ----------
    heartbeat
        The heartbeat that keeps the lease of the job.
    run_handler
        Runs the job.
    print_message
        Shows a message to the user.

    Raises
    ------
    FaultwatchError
        The job failed, or its end cannot be reported because the service does not answer.
    """
    try:
        result = run_handler()
    except JobStopped as stop:
        print_message(str(stop))
        return _report_stopped_job(heartbeat, str(stop))
    except ServiceUnavailable:
        raise  # The end cannot be reported, but the service notices the lost job and orders it again.
    except FaultwatchError as error:
        _report_failed_job(heartbeat, str(error), print_message)
        raise
    except KeyboardInterrupt:
        # The service starts jobs of other backends again when their heartbeats stop.
        if heartbeat.job.backend is Backend.CALLER:
            _report_stopped_job(heartbeat, "The job was interrupted by the user.")
        raise
    except Exception as error:
        _report_failed_job(heartbeat, f"{type(error).__name__}: {error}", print_message)
        raise
    return heartbeat.finish(Outcome.DONE, result.sentence, result.result)


def _report_failed_job(heartbeat: Heartbeat, reason: str, print_message: Callable[[str], None]) -> None:
    """Report that the job failed; if the service does not accept the report, say so, and raise nothing."""
    try:
        heartbeat.finish(Outcome.FAILED, reason)
    except FaultwatchError as error:
        print_message(
            f"the failure of job {heartbeat.job.id} could not be reported: {error}; the service will count the job as "
            "lost"
        )


def _report_stopped_job(heartbeat: Heartbeat, reason: str) -> Job:
    """Report that the job was stopped, if the service still accepts the report; return the job."""
    try:
        return heartbeat.finish(Outcome.STOPPED, reason)
    except FaultwatchError:  # Another runner has the job by now, or the service does not answer.
        return heartbeat.job
