"""Backs up and restores a PostgreSQL database with PostgreSQL's own tools."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from psycopg.pq import Conninfo
from sqlalchemy import URL, create_engine, func, inspect, select, text

from service.errors import ServiceError
from service.store.engine.database import Database
from service.store.models import Base, Run

DROP_TABLES = "".join(
    f'DROP TABLE IF EXISTS "{table}" CASCADE;\n' for table in (*Base.metadata.tables, "alembic_version")
)
"""Drops every table, also those that the version of an older backup did not have: its upgrade makes them again."""
_DISCONNECT_SECONDS = 2.0
"""Time in which the server notices a closed connection."""


def dump(database: Database, part: Path) -> None:
    """Write a dump of the database, as of one moment."""
    _call(database.url, "pg_dump", "--format=custom", "--no-owner", "--no-privileges", f"--file={part}")
    _call(database.url, "pg_restore", "--list", str(part), connect=False)


def restore(database: Database, file: Path, replace: bool) -> None:
    """Replace the content of the database with a dump, in one transaction."""
    _call(database.url, "pg_restore", "--list", str(file), connect=False)
    refuse_to_lose(database, replace)
    database.close()
    _replace(database.url, file)


def refuse_to_lose(database: Database, replace: bool) -> None:
    """Raise where somebody else uses the database, or where it has runs that nobody wants to replace."""
    with database.engine.connect() as connection:
        others = text(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        deadline = time.monotonic() + _DISCONNECT_SECONDS
        while connection.execute(others).scalar():
            if time.monotonic() > deadline:
                remedy = "Stop the service and everything else that uses the database, then try again."
                raise ServiceError("The database is in use", database.name, remedy)
            connection.rollback()  # else the next query would see the same snapshot
            time.sleep(0.02)
        runs = 0
        if inspect(connection).has_table("run"):
            runs = connection.execute(select(func.count()).select_from(Run)).scalar() or 0
    if runs and not replace:
        remedy = "Repeat the command with --replace to discard them."
        raise ServiceError("The database has runs", f"{database.name} has {runs:,}", remedy)


def _replace(url: URL, file: Path) -> None:
    """Execute what `pg_restore` would, in one transaction.

    By psql, because `pg_restore --clean` cannot drop the parts of a divided table: it begins with their keys.
    """
    script = [_find("pg_restore"), "--clean", "--if-exists", "--no-owner", "--no-privileges", "--file=-", str(file)]
    psql = [_find("psql"), "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--file=-"]
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(script, stdout=subprocess.PIPE, stderr=said) as making,
        subprocess.Popen(
            psql, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said, env=_environment(url)
        ) as running,
    ):
        assert making.stdout is not None
        assert running.stdin is not None
        with suppress(BrokenPipeError):
            # Committed only when all of it is there: whatever ends this process, the end of its input commits nothing.
            running.stdin.write(f"BEGIN; SET client_min_messages = warning;\n{DROP_TABLES}".encode())
            shutil.copyfileobj(making.stdout, running.stdin)
            if making.wait() == 0:
                running.stdin.write(b"\nCOMMIT;\n")
            running.stdin.close()
        making.stdout.close()
        if running.wait() or making.wait():
            said.seek(0)
            raise _failure("pg_restore", said.read().decode(errors="replace"))


def _call(url: URL, program: str, *arguments: str, connect: bool = True) -> None:
    environment = _environment(url) if connect else dict(os.environ)
    done = subprocess.run([_find(program), *arguments], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise _failure(program, done.stderr)


def _environment(url: URL) -> dict[str, str]:
    """Return the variables by which PostgreSQL's tools connect as the service does.

    Not on the command line, where every user of this host could read the password.
    """
    _, given = create_engine(url).dialect.create_connect_args(url)
    options = Conninfo.get_defaults()
    variables = {option.keyword.decode(): option.envvar.decode() for option in options if option.envvar}
    return os.environ | {variables[name]: str(value) for name, value in given.items() if name in variables}


def _failure(program: str, said: str) -> ServiceError:
    reason = (said.strip().splitlines() or ["no message"])[0]
    return ServiceError(f"{program} failed", reason, "Resolve this, then try again.")


def _find(program: str) -> str:
    installed = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{program}"))
    path = shutil.which(program) or (str(installed[-1]) if installed else None)
    if path is None:
        remedy = "Install PostgreSQL's client tools (Debian: postgresql-client)."
        raise ServiceError(f"{program} is not installed", "it is not on PATH", remedy)
    return path
