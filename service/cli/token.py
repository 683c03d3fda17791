"""``faultwatch-service token``: tokens made, listed and revoked, by whoever may write the database."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from service.errors import ServiceError
from service.rules.access.scope import Scope

if TYPE_CHECKING:
    from service.store.engine.database import Database


@click.group(short_help="Make, list and revoke tokens.")
def token() -> None:
    """Make, list and revoke the tokens by which programs and people reach the service."""


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
@click.option("--days", type=click.IntRange(1, 3650), default=90, show_default=True, help="How long it holds.")
def make(name: str, scopes: tuple[str, ...], days: int) -> None:
    """Make a token for NAME and print it. It is shown this once."""
    from service.store import tokens  # noqa: PLC0415 - --help answers at once

    try:
        with _database().writing() as session:
            shown = tokens.issue(session, name, [Scope(scope) for scope in scopes], days, datetime.now(UTC))
    except ValueError as error:
        raise ServiceError("Not a name", repr(name), f"{error}.".capitalize()) from None
    click.echo(shown.text)


@token.command(name="list")
def listed() -> None:
    """List all tokens, the newest first."""
    from service.store import tokens  # noqa: PLC0415

    now = datetime.now(UTC)
    with _database().reading() as session:
        for kept in tokens.listed(session):
            state = "revoked" if kept.revoked_at else "holds" if kept.holds(now) else "expired"
            click.echo(
                f"{kept.id}  {state:8} until {kept.expires_at:%Y-%m-%d}  {','.join(kept.scopes):20}  {kept.name}"
            )


@token.command()
@click.argument("token_id", metavar="ID")
def revoke(token_id: str) -> None:
    """Revoke a token, from now on."""
    from service.store import tokens  # noqa: PLC0415

    with _database().writing() as session:
        kept = tokens.revoke(session, token_id, datetime.now(UTC))
    if kept is None:
        raise ServiceError("There is no such token", token_id, "faultwatch-service token list shows them.")
    click.echo(f"{token_id} is revoked.")


def _database() -> Database:
    from service.config.settings import Config  # noqa: PLC0415
    from service.store.engine.database import BUSY_SECONDS_AT_START, Database  # noqa: PLC0415
    from service.store.engine.upgrade import upgrade  # noqa: PLC0415

    database = Database(Config.from_environment().database_url, BUSY_SECONDS_AT_START)
    upgrade(database)
    return database
