"""``faultwatch-service comment``: the comment of a gate, written by a job of GitHub Actions."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click

from service.errors import ServiceError

_MAX_REPORT_BYTES = 64 << 20
"""The largest size of a report in bytes. It is limited, because the report can come from an untrusted job."""
_PUBLIC_API = "https://api.github.com"

# The commands import lazily, so that --help stays fast.
# ruff: noqa: PLC0415


@click.command(short_help="Post a gate's result as a comment on its pull request (in GitHub Actions).")
@click.argument("report", type=click.Path(path_type=Path))
def comment(report: Path) -> None:
    """Write the comment of a gate on its pull request, or edit the one that an earlier job wrote.

    REPORT is the file that `faultwatch gate --report FILE` wrote. The pull request is the one whose event started this
    job or, in a job started by `workflow_run`, the one that the finished workflow ran for. The token is read from
    GITHUB_TOKEN; the job needs `permissions: pull-requests: write`.
    """
    from pydantic import ValidationError

    from runner.contract.gate import GateReport
    from service.forges.github.job_comment import (
        JobCommentError,
        connect_repository,
        read_event,
        write_job_comment,
    )

    token, name = _read_variable("GITHUB_TOKEN"), _read_variable("GITHUB_REPOSITORY")
    try:
        gate = GateReport.model_validate_json(_read_file(report, "Write the file with `faultwatch gate --report`."))
    except ValidationError as error:
        raise ServiceError(
            f"{report} is not a gate report",
            error.errors()[0]["msg"],
            "Write the file with `faultwatch gate --report`.",
        ) from None
    try:
        event = read_event(_read_event_file())
        if event is None:
            click.echo("This job does not belong to a pull request, so there is no comment to write.")
            return
        repository = connect_repository(token, os.environ.get("GITHUB_API_URL") or _PUBLIC_API, name)
        address = write_job_comment(repository, name, event, gate)
    except JobCommentError as error:
        raise ServiceError("The comment was not written", str(error), "Its text is in the job summary.") from None
    click.echo(address or "The pull request is closed or has a newer head, so its comment was not changed.")


def _read_variable(name: str) -> str:
    """Return a variable that a job of GitHub Actions has; raise if it is not set."""
    value = os.environ.get(name, "")
    if not value:
        raise ServiceError(
            f"{name} is not set",
            "this command needs the variables of a GitHub Actions job",
            "Set the variable, or run the command in a GitHub Actions job.",
        )
    return value


def _read_event_file() -> dict[str, Any]:
    """Return the payload of the event that started this job."""
    file = Path(_read_variable("GITHUB_EVENT_PATH"))
    remedy = "Run the command in a GitHub Actions job, for which GitHub writes this file."
    try:
        payload = json.loads(_read_file(file, remedy))
    except (ValueError, RecursionError):
        payload = None  # It is rejected below, because it is not an object.
    if not isinstance(payload, dict):
        raise ServiceError("The file at GITHUB_EVENT_PATH does not contain an event", str(file), remedy)
    return payload


def _read_file(file: Path, remedy: str) -> bytes:
    """Return the content of a file; raise if it cannot be read, or is too large.

    Parameters
    ----------
    remedy
        What to do if the file cannot be read, for the message.
    """
    try:
        with file.open("rb") as stream:
            content = stream.read(_MAX_REPORT_BYTES + 1)
    except OSError as error:
        raise ServiceError(f"{file} cannot be read", error.strerror or str(error), remedy) from None
    if len(content) > _MAX_REPORT_BYTES:
        raise ServiceError(f"{file} is too large", f"more than {_MAX_REPORT_BYTES >> 20} MiB", remedy)
    return content
