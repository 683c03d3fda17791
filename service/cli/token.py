"""``faultwatch-service token``, for those who may write the database."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from service.errors import ServiceError
from service.rules.access.scope import Scope

if TYPE_CHECKING:
    from service.store.engine.database import Database


@click.group(short_help="Create, list and revoke tokens.")
def token() -> None:
    """Create, list and revoke the tokens by which programs and people reach the service."""


@token.command(name="new")
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice([scope.value for scope in Scope]),
    multiple=True,
    required=True,
    help="Repeatable.",
)
@click.option("--days", type=click.IntRange(1, 3650), default=90, show_default=True, help="Days that it is valid.")
def new(name: str, scopes: tuple[str, ...], days: int) -> None:
    """Create a token called NAME and print it. It cannot be shown again."""
    from service.store import tokens  # noqa: PLC0415 - so that --help stays fast

    try:
        with _database().writing() as session:
            issued = tokens.issue(session, name, [Scope(scope) for scope in scopes], days, datetime.now(UTC))
    except ValueError as error:
        raise ServiceError("Not a name", repr(name), f"{error}.".capitalize()) from None
    click.echo(issued.text)


@token.command(name="list")
def listed() -> None:
    """List all tokens, the newest first."""
    from service.store import tokens  # noqa: PLC0415

    now = datetime.now(UTC)
    with _database().reading() as session:
        for row in tokens.listed(session):
            state = "revoked" if row.revoked_at else "valid" if row.is_valid(now) else "expired"
            click.echo(f"{row.id}  {state:8} until {row.expires_at:%Y-%m-%d}  {','.join(row.scopes):20}  {row.name}")


@token.command()
@click.argument("token_id", metavar="ID")
def revoke(token_id: str) -> None:
    """Revoke a token."""
    from service.store import tokens  # noqa: PLC0415

    with _database().writing() as session:
        row = tokens.revoke(session, token_id, datetime.now(UTC))
    if row is None:
        raise ServiceError("There is no such token", token_id, "List the tokens with: faultwatch-service token list")
    click.echo(f"{token_id} was revoked.")


def _database() -> Database:
    from service.config.settings import Config  # noqa: PLC0415
    from service.store.engine.database import BUSY_SECONDS_AT_START, Database  # noqa: PLC0415
    from service.store.engine.upgrade import upgrade  # noqa: PLC0415

    database = Database(Config.from_environment().database_url, BUSY_SECONDS_AT_START)
    upgrade(database)
    return database
