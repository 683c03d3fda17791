"""Starts jobs as workflows of GitHub Actions, and tells what came of them in the thread where they were asked for."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from github import GithubException
from github.Repository import Repository

from runner.contract.job import BisectQuestion, Job, JobOrder
from service.github import job_reply
from service.github.client import Client, Failure
from service.github.command_reply import dispatch
from service.github.retry import again
from service.jobs.scheduler import NotDispatched

_WORKFLOWS = {"remedy": "profile"}
"""Whose workflow carries out a kind that has none of its own: each asks the job what it is."""


@dataclass(frozen=True, slots=True)
class ActionsStarter:
    """Starts the workflow that is called like the kind of a job.

    Attributes
    ----------
    address
        Where runners and people reach this service.
    """

    client: Client
    address: str

    def objection(self, asked: JobOrder) -> str:
        """Return why it cannot be started; nothing where it can."""
        return "" if asked.github else "no repository is named in whose Actions it could run (github)"

    def start(self, job: Job) -> str:
        """Start it; the runner tells where the log is."""
        question = job.question
        inputs = {
            "job": str(job.id),
            "revision": question.bad if isinstance(question, BisectQuestion) else question.revision,
            "runner": json.dumps(["self-hosted", question.host or "faultwatch"]),
            "service": self.address,
        }

        def order(repository: Repository) -> str:
            return dispatch(repository, f"{_WORKFLOWS.get(question.kind, question.kind)}.yml", inputs)

        problem = self._asking(job, job.attempts, order)
        if problem:
            raise NotDispatched(problem, None)
        return ""

    def tell(self, job: Job, tellings: int) -> None:
        """Reply in the thread where a job was asked for, once."""
        _, _, number = job.thread.partition("#")
        mark = f"<!-- faultwatch job {job.id} -->"

        def reply(repository: Repository) -> str:
            pull = repository.get_pull(int(number))
            told = tellings > 1 and any(
                mark in (one.body or "") and one.user.type == "Bot" for one in pull.get_issue_comments()
            )
            if not told:
                pull.create_issue_comment(f"{job_reply.reply(job, self.address)}\n\n{mark}")
            return ""

        self._asking(job, tellings, reply)

    def _asking(self, job: Job, attempts: int, ask: Callable[[Repository], str]) -> str:
        try:
            return self.client.with_repository(job.github or job.thread.partition("#")[0], ask)
        except Failure as error:
            status = error.status if isinstance(error, GithubException) else None
            headers = (error.headers if isinstance(error, GithubException) else None) or {}
            said = str(getattr(error, "message", "") or error)
            small = {name.lower(): value for name, value in headers.items()}
            raise NotDispatched(said[:500], again(status, small, said, attempts, datetime.now(UTC)).at) from None
