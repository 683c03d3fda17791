"""Starts jobs as workflows of GitHub Actions, and posts their results in the thread where they were requested."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile

from github.Repository import Repository

from runner.contract.job import BisectQuestion, Job, JobOrder, State
from service.forges import job_reply
from service.forges.github.client import CALL_ERRORS, Client, find_refusal
from service.forges.github.workflows import dispatch_workflow
from service.forges.retry import schedule_retry
from service.jobs.scheduler import RemoteCallFailed

_WORKFLOW_OF_KIND = {"remedy": "profile"}
"""Kinds of jobs that share the workflow of another kind: the workflow reads from the job what to do."""
_MAX_ERROR_CHARACTERS = 500


@dataclass(frozen=True, slots=True)
class ActionsStarter:
    """Starts the GitHub Actions workflow that belongs to the kind of a job.

    Attributes
    ----------
    client
        Calls GitHub.
    address
        The address at which runners and people reach this service.
    """

    client: Client
    address: str

    def explain_objection(self, order: JobOrder) -> str:
        """Return why the job cannot be started; an empty text if it can."""
        return (
            "" if order.github else "the order does not name a GitHub repository in which to run the job: set `github`"
        )

    def has_room(self) -> bool:
        """Return True: jobs wait for their runners at GitHub."""
        return True

    def is_waiting(self, job_id: int) -> bool:
        """Return False: only GitHub knows which jobs wait there."""
        return False

    def start(self, job: Job) -> str:
        """Start the workflow; return an empty log address, because it is unknown until the runner claims the job.

        Raises
        ------
        RemoteCallFailed
            If GitHub refuses the workflow, or does not answer.
        """
        question = job.question
        inputs = {
            "job": str(job.id),
            "revision": question.bad if isinstance(question, BisectQuestion) else question.revision,
            "runner": json.dumps(["self-hosted", question.host or "faultwatch"]),
            "service": self.address,
        }

        def start_workflow(repository: Repository) -> str:
            return dispatch_workflow(repository, f"{_WORKFLOW_OF_KIND.get(question.kind, question.kind)}.yml", inputs)

        n_starts_in_a_row = _count_starts(job)  # each failed start in a row makes the next retry wait longer
        problem = self._call_github(job, n_starts_in_a_row, start_workflow)
        if problem:
            raise RemoteCallFailed(problem, retry_at=None)  # Another attempt would be refused, too.
        return ""

    def post_result(self, job: Job, attempts: int) -> None:
        """Reply once in the thread where the job was requested.

        Raises
        ------
        RemoteCallFailed
            If GitHub refuses the reply, or does not answer.
        """
        _, _, number = job.thread.partition("#")
        marker = f"<!-- faultwatch job {job.id} -->"

        def reply_once(repository: Repository) -> str:
            """Reply unless an earlier attempt did; return an empty text, because there is no problem to report."""
            pull = repository.get_pull(int(number))
            # Only later attempts look for an earlier reply. Anybody can copy the marker, so only bots' comments count.
            is_posted = attempts > 1 and any(
                marker in (comment.body or "") and comment.user.type == "Bot" for comment in pull.get_issue_comments()
            )
            if not is_posted:
                pull.create_issue_comment(f"{job_reply.render_reply(job, self.address)}\n\n{marker}")
            return ""

        self._call_github(job, attempts, reply_once)

    def _call_github(self, job: Job, attempts: int, call: Callable[[Repository], str]) -> str:
        """Call GitHub about a job's repository; translate a failure into an error that says when to try again.

        Raises
        ------
        RemoteCallFailed
            If the call fails.
        """
        try:
            return self.client.call_with_repository(job.github or job.thread.partition("#")[0], call)
        except CALL_ERRORS as error:
            retry, message = schedule_retry(find_refusal(error), error, attempts, datetime.now(UTC))
            raise RemoteCallFailed(message[:_MAX_ERROR_CHARACTERS], retry.retry_at) from None


def _count_starts(job: Job) -> int:
    """Return how many starts of a job were tried in a row, this one included: ``attempts`` leaves out failed ones."""
    states = [step.state for step in job.steps]
    latest_states = takewhile({State.QUEUED, State.DISPATCHED}.__contains__, reversed(states))
    return sum(state is State.DISPATCHED for state in latest_states)
