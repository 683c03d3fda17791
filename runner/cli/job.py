"""``faultwatch job``: run, show, pause, resume and cancel jobs of the service."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from runner.cli.arguments import add_workload_argument
from runner.cli.options import (
    apply_options,
    json_option,
    make_sandbox_option,
    reason_option,
    repo_option,
    result_options,
)
from runner.cli.result_output import output_result, print_json
from runner.cli.terminal import print_message
from runner.contract.number_text import format_count
from runner.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.contract.job import Job

_MAX_JOB_ID = 2**63 - 1
"""The largest integer of the service's database."""
_JOB_ID = click.argument("job_id", metavar="ID", type=click.IntRange(1, _MAX_JOB_ID))


@click.group(name="job")
def command() -> None:
    """Run a job that the service ordered, or manage jobs."""


@command.command(name="run")
@apply_options(
    _JOB_ID,
    add_workload_argument,
    repo_option,
    make_sandbox_option(),
    result_options,
)
def run(
    job_id: int,
    workload_name: str | None,
    repo: str | None,
    sandboxed: bool | None,
    as_json: bool,
    output_file: Path | None,
) -> None:
    """Claim job ID, run it on this host, and report the result to the service.

    Without a WORKLOAD and --repo, the job or earlier commands on this host determine both. An interrupted job continues
    where it stopped: stored runs are not measured again. Exit code 1 if the job failed.
    """
    from runner.cli.job_preparer import JobPreparer
    from runner.cli.measuring_setup import create_host_turn
    from runner.contract.job import State
    from runner.errors import AlreadyEnded, FaultwatchError
    from runner.jobs.job_runner import JobRunner
    from runner.reporting.embedded_service import connect_to_service

    settings = load_settings()
    with connect_to_service(settings) as service, create_host_turn(settings) as turn:
        preparer = JobPreparer(settings, turn, repo, workload_name, sandboxed)
        try:
            job = JobRunner(settings, service, turn, print_message, _get_log_url(), verbose=True).run(
                job_id, preparer.prepare
            )
        except AlreadyEnded as error:
            print_message(error.what)
            job = service.get_job(job_id)
        except FaultwatchError:
            job = service.get_job(job_id)
            if job.state is not State.FAILED:
                raise  # the job was not claimed, or its end could not be reported
    output_result(
        job.model_dump(mode="json"),
        as_json=as_json,
        output_file=output_file,
        show=lambda: _print_line(f"job {job_id} is {job.state}: {job.sentence}"),
    )
    if job.state is State.FAILED:
        raise click.exceptions.Exit(1)


@command.command(name="list")
@click.option("--all", "include_ended", is_flag=True, help="Include the jobs that have ended.")
@click.option(
    "--limit",
    type=click.IntRange(1, 1000),
    default=50,
    show_default=True,
    metavar="N",
    help="The maximum number of jobs to list.",
)
@json_option
def list_jobs(include_ended: bool, limit: int, as_json: bool) -> None:
    """List the open jobs, newest first."""
    from runner.reporting.embedded_service import connect_to_service

    filters = {"limit": str(limit)}
    if not include_ended:
        filters["open"] = "true"
    with connect_to_service(load_settings()) as service:
        jobs = service.list_jobs(**filters)
    if as_json:
        print_json(jobs.model_dump(mode="json"))
    else:
        show_jobs(jobs.items, "There are no jobs." if include_ended else "There are no open jobs.")


@command.command(name="show")
@apply_options(_JOB_ID, json_option)
def show_one(job_id: int, as_json: bool) -> None:
    """Show a job and the history of its states."""
    from runner.cli.page_address import build_page_address
    from runner.reporting.embedded_service import connect_to_service

    settings = load_settings()
    with connect_to_service(settings) as service:
        job = service.get_job(job_id)
    if as_json:
        print_json(job.model_dump(mode="json"))
        return
    show_jobs([job])
    for step in job.steps:
        _print_line(f"  {step.at:%Y-%m-%d %H:%M:%S}  {step.state:10}  {step.by}  {step.sentence}")
    if job.log_url:
        is_own_page = job.log_url.startswith("/")  # a path on the service, because the service started the job itself
        _print_line(f"  log: {build_page_address(settings, job.log_url) if is_own_page else job.log_url}")


@command.command(name="pause")
@apply_options(_JOB_ID, reason_option)
def pause(job_id: int, reason: str) -> None:
    """Pause a job: its runner stops after the current measurement."""
    _send_decision(job_id, "pause", reason)


@command.command(name="resume")
@apply_options(_JOB_ID, reason_option)
def resume(job_id: int, reason: str) -> None:
    """Resume a paused job."""
    _send_decision(job_id, "resume", reason)


@command.command(name="cancel")
@apply_options(_JOB_ID, reason_option)
def cancel(job_id: int, reason: str) -> None:
    """Cancel a job. Stored runs are kept."""
    _send_decision(job_id, "cancel", reason)


def _send_decision(job_id: int, verb: str, reason: str) -> None:
    """Cancel, pause or resume a job, and print its new state.

    Raises
    ------
    FaultwatchError
        The reason cannot be stored, or the service refuses the decision.
    """
    from pydantic import ValidationError

    from runner.contract.job import JobDecision
    from runner.errors import FaultwatchError
    from runner.reporting.embedded_service import connect_to_service

    try:
        decision = JobDecision(reason=reason)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]["msg"]
        remedy = "give at most 2,000 characters of valid text"
        raise FaultwatchError(f"--reason cannot be stored: {problem}", remedy) from None
    with connect_to_service(load_settings()) as service:
        show_jobs([service.decide_job(job_id, verb, decision)])


def show_jobs(jobs: "Sequence[Job]", empty_text: str = "") -> None:
    """Print jobs as lines, or a text if there are none."""
    if not jobs:
        click.echo(empty_text)
    for job in jobs:
        question = job.question
        runs_left = f"about {job.runs_left} to go" if job.runs_left is not None else ""
        parts = (
            f"{question.subject} {question.case}",
            format_count(len(job.runs), "run"),
            runs_left,
            job.sentence,
        )
        _print_line(f"{job.id:>5}  {question.kind:8} {job.state:10} " + "  ".join(part for part in parts if part))


def _print_line(text: str) -> None:
    """Print untrusted text as one line."""
    from runner.cli.console import make_console
    from runner.cli.formatting import escape_text

    make_console().print(escape_text(text), soft_wrap=True, highlight=False)


def _get_log_url() -> str:
    """Return the address of the log of this GitHub Actions run; empty elsewhere."""
    names = ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")
    server, repository, number = (os.environ.get(name, "") for name in names)
    return f"{server}/{repository}/actions/runs/{number}" if server and repository and number else ""
