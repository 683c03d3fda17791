"""``faultwatch-service token``. It needs no token itself, only write access to the database."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from runner.contract.number_text import capitalize_first_letter
from service.cli.opened_database import open_database
from service.errors import ServiceError
from service.rules.access.scope import Scope
from service.rules.access.token import DEFAULT_TOKEN_DAYS
from service.rules.access.token_limits import TokenLimits
from service.schemas.audit import AuditAction

if TYPE_CHECKING:
    from service.store.models import Token


@click.group(short_help="Create, list and revoke tokens.")
def token() -> None:
    """Create, list and revoke the tokens that programs and people use to access the service."""


@token.command(name="new")
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice([scope.value for scope in Scope]),
    multiple=True,
    required=True,
    help="What the token may do. Repeatable.",
)
@click.option(
    "--days",
    type=click.IntRange(1, 3650),
    default=DEFAULT_TOKEN_DAYS,
    show_default=True,
    metavar="N",
    help="How many days the token is valid.",
)
@click.option(
    "--host",
    "hosts",
    multiple=True,
    metavar="HOST",
    help="Limit the token to these hosts. Repeatable; * stands for any part of a name.",
)
@click.option(
    "--subject", "subjects", multiple=True, metavar="NAME", help="Limit the token to these subjects. Repeatable."
)
@click.option(
    "--repository",
    "repositories",
    multiple=True,
    metavar="OWNER/NAME",
    help=(
        "Let the token publish only for these repositories, and register only their runners: owner/name, owner/*, "
        "gitlab:group/name. Repeatable. Required for a token with the `register` scope, and for a token that is "
        "limited by --host or --subject but must be able to publish."
    ),
)
def create_token(
    *,
    name: str,
    scopes: tuple[str, ...],
    days: int,
    hosts: tuple[str, ...],
    subjects: tuple[str, ...],
    repositories: tuple[str, ...],
) -> None:
    """Create a token called NAME and print it. It cannot be shown again."""
    from service.store import audit, tokens  # noqa: PLC0415 - so that --help stays fast

    now, limits = datetime.now(UTC), TokenLimits(hosts or None, subjects or None, repositories or None)
    detail = {"name": name, "scopes": scopes, "days": days, **tokens.build_limit_columns(limits)}
    try:
        with open_database(may_be_new=True) as database, database.writing() as session:
            issued_token = tokens.issue_token(
                session, name, [Scope(scope) for scope in scopes], days, now, limits=limits
            )
            audit.record_entry(
                session, audit.find_local_actor(), AuditAction.TOKEN_MADE, f"token {issued_token.id}", detail, now=now
            )
    except tokens.TokenRefusedError as error:
        raise ServiceError(f"Wrong {error.part}", repr(name), capitalize_first_letter(f"{error}.")) from None
    click.echo(issued_token.text)


@token.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def list_all_tokens(as_json: bool) -> None:
    """List all tokens, the newest first."""
    from service.store import tokens  # noqa: PLC0415

    now = datetime.now(UTC)
    with open_database(may_be_new=True) as database, database.reading() as session:
        rows: list[dict[str, str]] = [
            {
                "id": row.id,
                "state": _describe_state(row, now),
                "until": f"{row.expires_at:%Y-%m-%d}",
                "scopes": ",".join(row.scopes),
                "name": row.name,
            }
            for row in tokens.list_tokens(session)
        ]
    if as_json:
        click.echo(json.dumps([row | {"scopes": row["scopes"].split(",")} for row in rows], indent=2))
        return
    if not rows:
        click.echo("There are no tokens.")
    for row in rows:
        click.echo(f"{row['id']}  {row['state']:8} until {row['until']}  {row['scopes']:20}  {row['name']}")


def _describe_state(row: Token, now: datetime) -> str:
    """Return whether a stored token is valid, or why it is not."""
    if row.revoked_at:
        return "revoked"
    return "valid" if row.is_valid(now) else "expired"


@token.command()
@click.argument("token_id", metavar="ID")
def revoke(token_id: str) -> None:
    """Revoke a token."""
    from service.store import audit, tokens  # noqa: PLC0415

    now = datetime.now(UTC)
    with open_database(may_be_new=True) as database, database.writing() as session:
        row = tokens.revoke_token(session, token_id, now)
        if row is not None and row.revoked_at == now:  # Otherwise it had been revoked before.
            detail = {"name": row.name}
            audit.record_entry(
                session, audit.find_local_actor(), AuditAction.TOKEN_REVOKED, f"token {row.id}", detail, now=now
            )
    if row is None:
        raise ServiceError("There is no such token", token_id, "List the tokens with: faultwatch-service token list")
    click.echo(f"{token_id} was revoked.")
