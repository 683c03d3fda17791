"""Backup while the service runs, and restore while it does not."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from service.errors import ServiceError
from service.store.engine.database import Database
from service.store.engine.upgrade import known_schemas
from service.store.maintenance import postgres

_PAGES = 512
"""Pages that are copied at a time."""
_STOP = "Stop the service, and whatever else uses the database, then try again."


def backup(database: Database, file: Path) -> None:
    """Copy the database, as it is at one moment, to a file that is complete or not there.

    Nobody waits for it: a reader of SQLite's write-ahead log keeps no writer waiting, and pg_dump reads a snapshot.
    """
    if file.exists():
        raise ServiceError("The file is there already", str(file), "Choose another name, or move it away.")
    with _complete(file) as part:
        if database.is_sqlite:
            _copy_sqlite(_sqlite_file(database), part)
        else:
            postgres.dump(database, part)


def restore(database: Database, file: Path, replace: bool = False) -> None:
    """Put a backup in the place of the database, all of it or nothing.

    Parameters
    ----------
    replace
        Whether a database may be replaced that has runs which the backup has not.
    """
    if not file.is_file():
        raise ServiceError("There is no such file", str(file), "Name a file that backup wrote.")
    if not database.is_sqlite:
        postgres.restore(database, file, replace)
        return
    last = _verify(file)
    target = _sqlite_file(database)
    with _complete(target) as part:
        shutil.copyfile(file, part)
        with _unused(target) as here:
            if here > last and not replace:
                raise _newer(str(target), f"{here:,} runs, the backup {last:,}")
        for beside in ("-wal", "-shm"):  # of a database that is none any more: they would be taken for the new one's
            target.with_name(target.name + beside).unlink(missing_ok=True)


def _newer(where: str, more: str) -> ServiceError:
    return ServiceError(
        "The database has runs that the backup has not", f"{where} has {more}", "Repeat it with --replace to lose them."
    )


@contextmanager
def _complete(file: Path) -> Iterator[Path]:
    """Give a file its name only once it is complete and on disk."""
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        part.touch(mode=0o600)
        yield part
        with part.open("rb") as stream:
            os.fsync(stream.fileno())
        part.replace(file)
        folder = os.open(file.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise ServiceError("The file cannot be written", f"{file} ({error.strerror})", "Check its folder.") from error
    finally:
        part.unlink(missing_ok=True)


def _sqlite_file(database: Database) -> Path:
    name = database.url.database
    if not name or name == ":memory:" or name.startswith("file:"):
        raise ServiceError("The database is not a plain file", database.name, "Set DATABASE_URL to one that is.")
    return Path(name)


def _open(file: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(str(file.absolute()))}?mode={mode}", uri=True, isolation_level=None, timeout=0)


def _copy_sqlite(file: Path, part: Path) -> None:
    try:
        with closing(_open(file, "rw")) as source, closing(_open(part, "rw")) as copy, part.open("rb") as written:
            # In one transaction: what is copied in several begins anew whenever somebody writes in between.
            source.execute("BEGIN")
            source.execute("SELECT 1 FROM alembic_version").fetchall()
            copy.execute("PRAGMA synchronous = OFF")
            copy.execute("PRAGMA cache_size = -1024")
            # To disk in small pieces: a large one would hold up what the service has to put there meanwhile.
            source.backup(copy, pages=_PAGES, progress=lambda *_: os.fdatasync(written.fileno()))
            source.execute("COMMIT")
            # What was written meanwhile waits in the log. If it is not put in place here, the next writer has to.
            source.execute("PRAGMA wal_checkpoint(PASSIVE)")
            copy.execute("PRAGMA journal_mode = DELETE")  # one file, with nothing beside it
        _verify(part)
    except sqlite3.Error as error:
        raise ServiceError("The database cannot be copied", f"{file} ({error})", "Check it and the disk.") from error


def _verify(file: Path) -> int:
    """Return the number of the last run in a backup; refuse one that is damaged or that this version cannot read."""
    try:
        with closing(_open(file, "ro")) as connection:
            (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
            if found != "ok":
                raise sqlite3.DatabaseError(found)
            (schema,) = connection.execute("SELECT version_num FROM alembic_version").fetchone() or ("none",)
            if schema not in known_schemas():
                what = "The backup was made by a newer version of Faultwatch"
                raise ServiceError(what, f"{file} has schema {schema}", "Install that version.")
            return _last_run(connection)
    except sqlite3.Error as error:
        raise ServiceError("The file is no sound backup", f"{file} ({error})", "Choose another one.") from error


def _last_run(connection: sqlite3.Connection) -> int:
    (count,) = connection.execute("SELECT count(*) FROM run").fetchone()
    return int(count)


@contextmanager
def _unused(target: Path) -> Iterator[int]:
    """Hold a database that nobody else has open; yield how many runs it has."""
    if not target.exists():
        yield 0
        return
    with closing(_open(target, "rw")) as connection:
        try:
            # SQLite leaves the write-ahead log only where this is the one connection.
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            raise ServiceError("The database is in use", f"{target} ({error})", _STOP) from error
        except sqlite3.DatabaseError:
            yield 0  # it is no database, and nothing is lost with it
            return
        try:
            count = _last_run(connection)
        except sqlite3.Error:
            count = 0
        yield count
        connection.execute("ROLLBACK")
