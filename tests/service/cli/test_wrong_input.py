"""Every command of ``faultwatch-service``, with every kind of wrong input: one line, exit code 2, nothing changed.

The commands, their arguments and their options come from the parser, so that a new one is covered.
"""

from __future__ import annotations

import io
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from service import serving
from service.__main__ import cli, main
from service.store.engine import database as engine
from tests.service.web.application import empty_database
from tests.walked_commands import Walked, list_commands, list_wrong_values

COMMANDS = list_commands(cli)
WITHOUT_DATABASE = {"config", "diagnose"}
NEEDS_DATA = {"backup", "export", "forget", "reindex", "retain"}
"""Commands that do nothing where nothing was stored; restore lacks its backup."""


@dataclass(frozen=True)
class Place:
    """Where the data is, or should be.

    Attributes
    ----------
    refused
        Whether every command that uses the database has to refuse it.
    variables
        What the user has set.
    """

    refused: bool
    variables: dict[str, str]


def write_database(file: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(file)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
    return file


def write_file(file: Path, content: bytes) -> Path:
    file.write_bytes(content)
    return file


def write_own(file: Path, content: bytes) -> Path:
    """Write a file of the service's, which nobody else may read."""
    file.touch(0o600)
    return write_file(file, content)


def name_file(make: Callable[[Path], Path], *, refused: bool = True) -> Callable[[Path], Place]:
    return lambda folder: Place(refused, {"DATABASE_URL": f"sqlite:///{make(folder)}"})


def name_address(address: str) -> Callable[[Path], Place]:
    return lambda _: Place(True, {"DATABASE_URL": address})


def make_newer(folder: Path) -> Path:
    file = write_own(folder / "newer.db", empty_database())
    return write_database(file, "UPDATE alembic_version SET version_num = '9999'")


PLACES: dict[str, Callable[[Path], Place]] = {
    "a fresh home": lambda folder: Place(False, {"FAULTWATCH_HOME": str(folder / "home")}),
    "a home that is a file": lambda folder: Place(True, {"FAULTWATCH_HOME": str(write_file(folder / "home", b""))}),
    "a home below a file": lambda folder: Place(
        True, {"FAULTWATCH_HOME": str(write_file(folder / "file", b"") / "home")}
    ),
    "a home that cannot be written": lambda _: Place(True, {"FAULTWATCH_HOME": "/proc/faultwatch"}),
    "an empty file": name_file(lambda folder: write_file(folder / "empty.db", b""), refused=False),
    "the database of another program": name_file(
        lambda folder: write_database(folder / "foreign.db", "CREATE TABLE run (x)", "INSERT INTO run VALUES (1)")
    ),
    "that of another program with migrations": name_file(
        lambda folder: write_database(
            folder / "foreign.db",
            "CREATE TABLE alembic_version (version_num)",
            "INSERT INTO alembic_version VALUES ('1975ea83b712')",
        )
    ),
    "a file that is no database": name_file(lambda folder: write_file(folder / "list.txt", b"a shopping list " * 99)),
    "a damaged database": name_file(
        lambda folder: write_own(folder / "damaged.db", empty_database()[:4096] + b"\xff" * 8192)
    ),
    "a folder": name_file(lambda folder: folder),
    "a database of a newer version": name_file(make_newer),
    "a read-only database": lambda folder: Place(
        True,
        {"DATABASE_URL": f"sqlite:///file:{write_file(folder / 'own.db', empty_database())}?mode=ro&uri=true"},
    ),
    "PostgreSQL that is not there": name_address("postgresql://me:s3cret@127.0.0.1:1/faults?sslpassword=s3cret"),
    "a nonsense address": name_address("s3cret"),
    "an address whose port is a password": name_address("postgresql://127.0.0.1:s3cret/faults"),
    "another kind of database": name_address("mysql://me:s3cret@127.0.0.1/faults"),
}


@pytest.fixture(autouse=True)
def _own_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No waiting, no serving, and no change of this process."""
    for name in ("DATABASE_URL", "FAULTWATCH_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(engine, "BUSY_SECONDS_AT_START", 0.05)
    monkeypatch.setattr(serving, "BUSY_SECONDS_AT_START", 0.05)
    monkeypatch.setattr(serving._Server, "run", lambda _: None)
    monkeypatch.setattr(os, "nice", lambda _: 0)


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["faultwatch-service", *words])
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def check_answer(status: int, errors: str) -> None:
    """Check that an answer is none, or one line that says what, where and what to do."""
    assert status in {0, 2}, errors
    assert "s3cret" not in errors
    if status == 2:
        first, *more = errors.splitlines()
        assert first.startswith("faultwatch-service")
        assert all(line.startswith("  → ") for line in more)
        assert len(more) <= 1


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_a_place_without_a_database_of_ours_is_a_line(
    command: Walked, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "given").mkdir()
    (tmp_path / "place").mkdir()
    there = PLACES[place](tmp_path / "place")
    for name, value in there.variables.items():
        monkeypatch.setenv(name, value)
    before = read_all(tmp_path / "place")
    status = run(monkeypatch, *command.words, *command.fill(tmp_path / "given"), *command.choose(port="0"))
    errors = capfd.readouterr().err
    check_answer(status, errors)
    if command.name in WITHOUT_DATABASE:
        return
    if there.refused or command.name in NEEDS_DATA:
        assert status == 2, errors
        assert read_all(tmp_path / "place") == before
        assert not list((tmp_path / "given").iterdir())


@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_a_locked_database_is_a_line(
    command: Walked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    file = write_file(tmp_path / "faultwatch.db", empty_database())
    monkeypatch.setenv("FAULTWATCH_HOME", str(tmp_path))
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        status = run(monkeypatch, *command.words, *command.fill(tmp_path), *command.choose(port="0"))
    errors = capfd.readouterr().err
    check_answer(status, errors)
    assert status == 2 or command.name in WITHOUT_DATABASE | {"backup"}, errors


@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_a_wrong_value_is_a_line(
    command: Walked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "home").mkdir()
    write_file(tmp_path / "home" / "faultwatch.db", empty_database())
    monkeypatch.setenv("FAULTWATCH_HOME", str(tmp_path / "home"))
    (tmp_path / "given").mkdir()
    for parameter in command.parameters:
        for value in list_wrong_values(parameter, tmp_path / "given"):
            words = command.fill(tmp_path / "given", {parameter: value})
            words += [] if parameter.name == "port" else command.choose(port="0")
            status = run(monkeypatch, *command.words, *words)
            errors = capfd.readouterr().err
            check_answer(status, errors)
            if not isinstance(parameter.type, click.types.StringParamType):
                assert status == 2, f"{parameter.name} {value!r}: {errors}"
            left = [file.name for file in (tmp_path / "given").rglob("*") if file.name.endswith(".part")]
            assert left == []


def read_all(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return the modes and the contents of all files."""
    return {
        str(file.relative_to(folder)): (file.stat().st_mode, file.read_bytes())
        for file in folder.rglob("*")
        if file.is_file() and not file.name.endswith(("-turn", "-shm", "-wal"))
    }


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_a_name_that_is_too_long_for_a_file_is_a_line(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    write_own(tmp_path / "faultwatch.db", empty_database())
    monkeypatch.setenv("FAULTWATCH_HOME", str(tmp_path))
    assert run(monkeypatch, command, str(tmp_path / ("x" * 300))) == 2
    errors = capfd.readouterr().err
    check_answer(2, errors)
    assert "File name too long" in errors
