"""Finds the repository, the workload and the case of a job on this host."""

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from runner.cli.measuring_setup import prepare_workbench
from runner.contract.job import BisectQuestion, Job, ProfileQuestion, Question
from runner.errors import FaultwatchError
from runner.host.host_turn import HostTurn
from runner.jobs.claimed_job import ClaimedJob
from runner.jobs.heartbeat import Heartbeat
from runner.measuring.preflight import is_sandbox_needed
from runner.reporting.client import Service
from runner.settings import Settings
from runner.subject.check_clone_before_turn import refuse_incomplete_checkouts
from runner.subject.repository import Repository, open_repository
from runner.subject.subject_registry import SubjectEntry, find_subject
from runner.subject.workload_by_name import find_workload_by_name
from runner.system.real_path import resolve_links
from runner.workload import Workload
from runner.workload.case_choice import choose_single_case
from runner.workload.workload_lookup import find_workload


class JobPreparer(Struct, frozen=True):
    """Prepares claimed jobs on this host.

    Attributes
    ----------
    repo, workload
        The repository and the workload that override those of the job; None to use the job's.
    sandboxed
        Whether to build and run in a sandbox; None decides by the origin of the code.
    """

    settings: Settings
    turn: HostTurn
    repo: str | None = None
    workload: str | None = None
    sandboxed: bool | None = None

    def prepare(self, job: Job, service: Service, heartbeat: Heartbeat, begin: Callable[[], None]) -> ClaimedJob:
        """Return a claimed job with everything that is needed to run it.

        Parameters
        ----------
        begin
            Waits for the turn on this host. It is called after all checks that do not need the turn.

        Raises
        ------
        FaultwatchError
            The host does not know the repository, the workload, the case or a revision.
        """
        # Find the repository, the workload and the case. Names on the command line override those of the job.
        question = job.question
        entry = find_subject(self.settings, question.subject)
        location = self.repo or question.repository or entry.repository
        if not location:
            raise FaultwatchError(
                f"this host does not know where to find the repository of {question.subject}",
                "pass it with --repo, or order the job with a clone URL",
            )
        repository = replace(open_repository(location, self.settings.clones), name=question.subject)
        workload = self._find_workload(job, repository, entry)
        case = choose_single_case(workload, (), (question.case,))
        refuse_incomplete_checkouts(
            repository, workload, [repository.get_revision(name) for name in _list_revisions(question)]
        )
        variables = tuple(f"{name}={value}" for name, value in question.variables.items())
        sandboxed = is_sandbox_needed(self.sandboxed, repository, self.settings)
        begin()
        workbench = prepare_workbench(self.settings, variables, turn=self.turn, sandboxed=sandboxed)
        return ClaimedJob(
            question=question,
            repository=repository,
            workload=workload,
            case=case,
            bench=workbench.bench,
            builder=workbench.builder,
            settings=self.settings,
            service=service,
            heartbeat=heartbeat,
        )

    def _find_workload(self, job: Job, repository: Repository, entry: SubjectEntry) -> Workload:
        """Return the workload of a job: from the command line, else from the order, else by the name of the case.

        Parameters
        ----------
        entry
            The host's record of the subject, with the workload files that earlier commands measured. Such a file may
            have been removed since, or may contain another workload now.
        """
        name = job.question.case.partition("[")[0]
        if self.workload:
            return find_workload(self.workload)
        if job.question.workload:
            return _load_workload_inside(repository, job.question.workload)
        registered_file = entry.workloads.get(name, "")
        if Path(registered_file).is_file():
            workload = find_workload(registered_file)
            if workload.name == name:
                return workload
        return find_workload_by_name(name, repository, self.settings) or find_workload(name)


def _list_revisions(question: Question) -> list[str]:
    """Return the revisions of a job's question; the first one is measured first."""
    match question:
        case BisectQuestion():
            return [question.bad, question.good]
        case ProfileQuestion(against=str(against)):
            return [question.revision, against]
        case _:
            return [question.revision]


def _load_workload_inside(repository: Repository, path: str) -> Workload:
    """Load a workload file of the repository; refuse a link that leads out of the repository."""
    file = repository.path / path
    if not resolve_links(file).is_relative_to(resolve_links(repository.path)):
        raise FaultwatchError(
            f"{path} points outside {repository.path}", "replace the link by a copy of the workload's folder"
        )
    if not file.exists():
        raise FaultwatchError(
            f"{repository.path} has no {path}", "pass a checkout with --repo, or the workload file as WORKLOAD"
        )
    return find_workload(str(file))
