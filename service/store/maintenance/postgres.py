"""Backs up and restores a PostgreSQL database with PostgreSQL's own tools."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

from sqlalchemy import URL, func, inspect, select, text

from service.errors import ServiceError
from service.store.engine.database import Database
from service.store.models import Run

_DISCONNECT_SECONDS = 2.0
"""Time in which the server notices a closed connection."""


def dump(database: Database, part: Path) -> None:
    """Write a dump of the database, as of one moment."""
    _call(database.url, "pg_dump", "--format=custom", "--no-owner", "--no-privileges", f"--file={part}")
    _call(database.url, "pg_restore", "--list", str(part), connect=False)


def restore(database: Database, file: Path, replace: bool) -> None:
    """Replace the content of the database with a dump, in one transaction."""
    _call(database.url, "pg_restore", "--list", str(file), connect=False)
    with database.engine.connect() as connection:
        others = text(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        deadline = time.monotonic() + _DISCONNECT_SECONDS
        while connection.execute(others).scalar():
            if time.monotonic() > deadline:
                remedy = "Stop the service, and whatever else uses the database, then try again."
                raise ServiceError("The database is in use", database.name, remedy)
            connection.rollback()  # else the next query would see the same snapshot
            time.sleep(0.02)
        runs = 0
        if inspect(connection).has_table("run"):
            runs = connection.execute(select(func.count()).select_from(Run)).scalar() or 0
    if runs and not replace:
        remedy = "Repeat it with --replace to lose them."
        raise ServiceError("The database has runs", f"{database.name} has {runs:,}", remedy)
    database.close()
    options = ("--clean", "--if-exists", "--single-transaction", "--no-owner", "--no-privileges", "--exit-on-error")
    _call(database.url, "pg_restore", *options, f"--dbname={database.url.database}", str(file))


def _call(url: URL, program: str, *arguments: str, connect: bool = True) -> None:
    environment = dict(os.environ)
    if connect:
        # Not on the command line, where every user of this host could read the password.
        connection = {
            "PGHOST": url.host or str(url.query.get("host", "")),
            "PGPORT": str(url.port or ""),
            "PGUSER": url.username or "",
            "PGPASSWORD": str(url.password or ""),
            "PGDATABASE": url.database or "",
        }
        environment |= {name: value for name, value in connection.items() if value}
    done = subprocess.run([_find(program), *arguments], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[0]
        raise ServiceError(f"{program} failed", reason, "Resolve this, then try again.")


def _find(program: str) -> str:
    installed = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{program}"))
    path = shutil.which(program) or (str(installed[-1]) if installed else None)
    if path is None:
        remedy = "Install PostgreSQL's client tools (Debian: postgresql-client)."
        raise ServiceError(f"{program} is not installed", "it is not on PATH", remedy)
    return path
