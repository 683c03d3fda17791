"""Starts jobs on the service's machine, each in its own process, because the service itself never measures."""

from __future__ import annotations

import fcntl
import logging
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from runner.contract.code_trust import CodeOrigin, needs_sandbox
from runner.contract.job import Job, JobOrder
from service.config.settings import read_host_name
from service.rules.access.scope import Scope
from service.rules.jobs.job_descriptions import describe_job, suggest_command_to_go_first
from service.store import tokens
from service.store.engine.database import Database

log = logging.getLogger(__name__)

_TOKEN_DAYS = 7
"""How long the token of a job's runner is valid. A job that takes longer is lost, and queued again."""
_VARIABLES_PASSED_ON = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_.*|TZ|TMPDIR|XDG_.*|VIRTUAL_ENV|SSL_CERT_.*|(https?|no)_proxy"
    r"|FAULTWATCH_(HOST|HOST_LOCK|CPUS|DECLARED_SETTINGS|SANDBOX_.*)",
    re.IGNORECASE,
)
"""Environment variables that are passed to runners. Runners build untrusted code, and others may contain secrets."""


@dataclass(slots=True)
class LocalStarter:
    """Starts ``faultwatch job run``, one at a time.

    Attributes
    ----------
    home
        The folder of the logs.
    database
        The database in which tokens for the runners are issued.
    by_token
        Whether the service requires tokens.
    on_ended
        Called at the end of each process, with the job, the number of its attempt, and a sentence about the end.
    url
        The address at which this machine reaches the service; empty until the service listens.
    host
        The name of this machine.
    """

    home: Path
    database: Database
    by_token: bool
    on_ended: Callable[[int, int, str], None]
    url: str = ""
    host: str = field(default_factory=read_host_name)
    _is_busy: bool = field(default=False, init=False)
    """Whether a process that this object has started is still running."""

    def explain_objection(self, order: JobOrder) -> str:
        """Return why this machine cannot carry out a job; empty if it can."""
        host = order.question.host if order.question else None
        return "" if host in {None, self.host} else f"this machine is {self.host}, but the job is for {host}"

    def has_room(self) -> bool:
        """Return whether the service listens and no job runs; until then, further jobs wait in the table of jobs."""
        return bool(self.url) and not self._is_busy

    def start(self, job: Job) -> str:
        """Start the job; return the address of its log. A message announces it, as it blocks other measurements."""
        description = describe_job(job.question.kind, job.question.case, job.asked_by)
        print(
            f"Job {job.id} runs next on this machine: {description}. {suggest_command_to_go_first(job.id)}.",
            flush=True,
        )
        thread = threading.Thread(
            target=self._run_and_release_process, args=(job.id, job.attempts), daemon=True, name=f"job {job.id}"
        )
        self._is_busy = True
        try:
            thread.start()
        except RuntimeError:  # The system cannot create a thread.
            self._is_busy = False
            raise
        return f"/api/v1/jobs/{job.id}/log"

    def is_waiting(self, job_id: int) -> bool:
        """Return whether the process of a started job is alive. If so, an unclaimed job is waiting for its turn.

        There is no limit to how long it waits for the host.
        """
        try:
            with self.find_log_file(job_id).open("rb") as stream:
                # The process of a job holds an exclusive lock on its log.
                fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # Without a log, no process of the job was started.
            return False
        return False

    def find_log_file(self, job_id: int) -> Path:
        """Return the log file of a job."""
        return self.home / "jobs" / f"{job_id}.log"

    def _run_and_release_process(self, job_id: int, attempt: int) -> None:
        """Run the process of a job's attempt until it ends.

        If the process cannot be started, nothing is reported: the job will count as lost, because no runner claims it.
        """
        end = ""
        try:
            end = f"The job's process ended with status {self._run_process(job_id)}."
        except Exception:
            log.exception("the process of job %s could not be started", job_id)
        finally:
            self._is_busy = False
        if end:
            self.on_ended(job_id, attempt, end)

    def _run_process(self, job_id: int) -> int:
        """Run the process of a job; return its exit status."""
        log_file = self.find_log_file(job_id)
        log_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        log_file.parent.chmod(0o700)  # It may have existed before, accessible for others.
        with log_file.open("ab") as stream:
            # The process inherits the lock with its output, and keeps it even if the service ends first.
            fcntl.flock(stream, fcntl.LOCK_EX)
            variables = _select_variables(os.environ)
            variables |= {"FAULTWATCH_HOME": str(self.home), "FAULTWATCH_URL": self.url}
            if self.by_token:
                variables |= self._issue_token_variable(job_id)
            return subprocess.run(
                # -P: import nothing from the current directory, which may belong to anybody.
                [sys.executable, "-P", "-m", "faultwatch", "job", "run", *self._choose_sandbox(), str(job_id)],
                check=False,
                cwd=self.home,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                start_new_session=True,  # Stopping the service must not interrupt a measurement.
            ).returncode

    def _choose_sandbox(self) -> list[str]:
        """Return the option that sandboxes a job, if people other than this machine's user can order jobs."""
        origin = CodeOrigin.ORDERED if self.by_token else CodeOrigin.OWN
        return ["--sandbox"] if needs_sandbox(origin) else []

    def _issue_token_variable(self, job_id: int) -> dict[str, str]:
        """Return the variable with a new token, which allows the job's runner to read and report."""
        with self.database.writing() as session:
            token = tokens.issue_token(
                session, f"job {job_id}", [Scope.READ, Scope.REPORT], _TOKEN_DAYS, datetime.now(UTC)
            )
        return {"FAULTWATCH_TOKEN": token.text}


def _select_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables that are passed to a runner."""
    return {name: value for name, value in variables.items() if _VARIABLES_PASSED_ON.fullmatch(name)}
