"""``faultwatch-service diagnose``, which the runner on the same machine calls."""

from __future__ import annotations

import sys

import click
from pydantic import ValidationError

from service.errors import ServiceError


@click.command()
def diagnose() -> None:
    """Read a profile as JSON from standard input, and print its diagnosis. Needs no database and no server."""
    from runner.contract.diagnosis import DiagnosisRequest  # noqa: PLC0415 - so that --help answers fast
    from service.rules.diagnose.diagnosis import diagnose_profile  # noqa: PLC0415

    try:
        request = DiagnosisRequest.model_validate_json(sys.stdin.buffer.read())
    except ValidationError as error:
        what = f"The profile cannot be read: {error.errors()[0]['msg']}"
        raise ServiceError(what, "standard input", "Pass a request as JSON.") from None
    click.echo(diagnose_profile(request).model_dump_json())
