"""Backs up and restores a PostgreSQL database with PostgreSQL's own tools."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
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
"""Drops every table, including tables that an older backup lacks: upgrading the restored database creates them."""
_VERSIONS_FOLDER = Path("/usr/lib/postgresql")
"""Debian's folder of PostgreSQL's programs, which contains a folder for each version."""
_DISCONNECT_SECONDS = 2.0
"""How many seconds the server may take to notice a closed connection."""


def dump_database(database: Database, part: Path) -> None:
    """Write a dump of a snapshot of the database, and check that it can be read."""
    _run_tool(database.url, "pg_dump", "--format=custom", "--no-owner", "--no-privileges", f"--file={part}")
    _run_tool(database.url, "pg_restore", "--list", str(part), connect=False)


def restore_dump(database: Database, file: Path, replace: bool) -> None:
    """Replace the content of the database with a dump, in one transaction, if the dump can be read."""
    _run_tool(database.url, "pg_restore", "--list", str(file), connect=False)
    require_replaceable_database(database, replace)
    database.close()
    _replace_content(database.url, file)


def require_replaceable_database(database: Database, replace: bool) -> None:
    """Raise an error if somebody else uses the database, or if it has runs that must not be replaced."""
    with database.engine.connect() as connection:
        other_sessions = text(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        deadline = time.monotonic() + _DISCONNECT_SECONDS
        while connection.execute(other_sessions).scalar():
            if time.monotonic() > deadline:
                remedy = "Stop the service and everything else that uses the database, then try again."
                raise ServiceError("The database is in use", database.name, remedy)
            connection.rollback()  # otherwise the next query would read the same snapshot
            time.sleep(0.02)
        runs = 0
        if inspect(connection).has_table("run"):
            runs = connection.execute(select(func.count()).select_from(Run)).scalar() or 0
    if runs and not replace:
        remedy = "Repeat the command with --replace to discard these runs."
        raise ServiceError("The database already contains runs", f"{database.name} has {runs:,}", remedy)


def _replace_content(url: URL, file: Path) -> None:
    """Execute the statements of `pg_restore` in one transaction.

    They are executed by psql, because `pg_restore --clean` cannot drop the partitions of a table: it drops their
    primary keys first.

    Raises
    ------
    ServiceError
        If a tool is missing or fails; nothing has changed then.
    """
    restore_command = [
        _find_tool("pg_restore"),
        "--clean",
        "--if-exists",
        "--no-owner",
        "--no-privileges",
        "--file=-",
        str(file),
    ]
    psql_command = [_find_tool("psql"), "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--file=-"]
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(restore_command, stdout=subprocess.PIPE, stderr=errors) as restore_process,
        subprocess.Popen(
            psql_command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors, env=_build_environment(url)
        ) as psql_process,
    ):
        assert restore_process.stdout is not None
        assert psql_process.stdin is not None
        with suppress(BrokenPipeError):
            # COMMIT is sent only once everything is complete: if this process ends early, psql commits nothing.
            psql_process.stdin.write(f"BEGIN; SET client_min_messages = warning;\n{DROP_TABLES}".encode())
            shutil.copyfileobj(restore_process.stdout, psql_process.stdin)
            if restore_process.wait() == 0:
                psql_process.stdin.write(b"\nCOMMIT;\n")
        with suppress(BrokenPipeError):  # Closing writes what is left. If psql has ended early, its output says why.
            psql_process.stdin.close()
        restore_process.stdout.close()
        if psql_process.wait() or restore_process.wait():
            errors.seek(0)
            raise _make_failure("pg_restore", errors.read().decode(errors="replace"))


def _run_tool(url: URL, program: str, *arguments: str, connect: bool = True) -> None:
    """Run one of PostgreSQL's tools; raise an error with its output if it fails."""
    environment = _build_environment(url) if connect else dict(os.environ)
    process = subprocess.run(
        [_find_tool(program), *arguments], env=environment, capture_output=True, text=True, check=False
    )
    if process.returncode:
        raise _make_failure(program, process.stderr)


def _build_environment(url: URL) -> dict[str, str]:
    """Return the environment variables with which PostgreSQL's tools connect like the service.

    On the command line, every user of this host could read the password.
    """
    _, parameters = create_engine(url).dialect.create_connect_args(url)
    options = Conninfo.get_defaults()
    variables = {option.keyword.decode(): option.envvar.decode() for option in options if option.envvar}
    return os.environ | {variables[name]: str(value) for name, value in parameters.items() if name in variables}


def _make_failure(program: str, output: str) -> ServiceError:
    """Return the error of a tool that failed, with the first line of its output."""
    reason = (output.strip().splitlines() or ["no message"])[0]
    return ServiceError(f"{program} failed", reason, "Fix this problem, then try again.")


def _find_tool(program: str) -> str:
    """Return the path of one of PostgreSQL's tools; raise an error with a remedy if it is not found."""
    path = shutil.which(program)
    if path is not None:
        return path
    installed_programs = list(_VERSIONS_FOLDER.glob(f"*/bin/{program}"))
    if not installed_programs:
        remedy = "Install PostgreSQL's client tools (Debian: postgresql-client), or add their folder to PATH."
        raise ServiceError(f"{program} was not found", f"it is neither on PATH nor below {_VERSIONS_FOLDER}", remedy)
    return str(choose_newest_tool(installed_programs))


def choose_newest_tool(tools: Sequence[Path]) -> Path:
    """Return the tool of the newest version, by the name of its folder: ``VERSION/bin/TOOL``."""
    return max(tools, key=lambda tool: [int(number) for number in re.findall(r"\d+", tool.parents[1].name)])
