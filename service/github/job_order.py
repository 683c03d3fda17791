"""Orders what a command asks of a host, as a job."""

from __future__ import annotations

from runner.contract.job import Backend, JobOrder, Where
from service.github.commands import Command
from service.github.job_question import question
from service.github.react import Said
from service.jobs.scheduler import JobScheduler, WrongOrderError
from service.store import github as store
from service.store.jobs import Asked
from service.text.markdown import code


def order(jobs: JobScheduler, said: Said, command: Command, head: str, address: str) -> tuple[bool, str]:
    """Order what a command asks for about a head; return whether that was done, and what to reply."""
    with jobs.database.reading() as session:
        gate = store.find_gate(session, said.repository, said.number, head)
        report = store.report_of(gate) if gate and gate.document else None
    if report is None:
        return False, f"Nothing is known of {head[:10]} yet: ask once it is measured."
    asked = question(command, report)
    if isinstance(asked, str):
        return False, asked
    ordered = JobOrder(question=asked, backend=Backend.GITHUB, github=said.repository)
    try:
        job, new = jobs.order(ordered, Asked(said.by, Where.COMMENT, f"{said.repository}#{said.number}"))
    except WrongOrderError as error:
        return False, str(error)
    link = f"[job {job.id}]({address}/jobs/{job.id})" if address else f"job {job.id}"
    told = "You are told here what comes of it." if new else "It was ordered before."
    return True, f"The {command.verb} of {code(asked.case)} for {head[:10]} is {link}. {told}"
