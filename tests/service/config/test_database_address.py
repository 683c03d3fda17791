from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import create_engine

from service.config.database_address import hide_password, parse_address
from service.config.settings import Config
from service.errors import ServiceError
from service.store.engine.database import Database

SEVERAL = {"host": "one,other", "port": "5432,5433", "target_session_attrs": "read-write"}


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:s%40fe@one:5432,other:5433/faults?target_session_attrs=read-write",
        "postgresql+psycopg://me:s%40fe@one:5432,other:5433/faults?target_session_attrs=read-write",
        "postgresql+psycopg://me:s%40fe@/faults?host=one:5432&host=other:5433&target_session_attrs=read-write",
        "postgresql+psycopg://me:s%40fe@/faults?host=one,other&port=5432,5433&target_session_attrs=read-write",
    ],
)
def test_several_servers_reach_the_driver(address: str) -> None:
    url = parse_address(address)
    _, given = create_engine(url).dialect.create_connect_args(url)
    given.pop("context")
    assert given == {"user": "me", "password": "s@fe", "dbname": "faults", **SEVERAL}


@pytest.mark.parametrize(
    ("servers", "hosts", "ports"),
    [
        ("[::1]:5432,[::2]:5433", "::1,::2", "5432,5433"),
        ("one,other:5433", "one,other", ",5433"),
        ("one,other", "one,other", ","),
    ],
)
def test_servers_with_numeric_addresses_or_usual_ports_reach_the_driver(servers: str, hosts: str, ports: str) -> None:
    url = parse_address(f"postgresql://{servers}/faults")
    _, given = create_engine(url).dialect.create_connect_args(url)
    assert (given["host"], given["port"]) == (hosts, ports)


def test_an_address_that_is_written_and_read_is_the_same() -> None:
    url = parse_address("postgresql://me:s%40fe@one:5432,other:5433/faults?sslmode=verify-full")
    assert parse_address(url.render_as_string(hide_password=False)) == url
    assert "s%40fe" not in str(url)


@pytest.mark.parametrize(
    "address",
    [
        "s3cret",
        "postgresql://one:s3cret/faults",
        "postgresql://me:s3cret%@one:1,other:2/faults",
        "postgresql://one:1,other:2/f?s3cret=1",
        "postgresql://me:s3,cret@one:54x/faults",
        "postgresql://me:s3cret@one/faults?port=54x",
        "mysql://me:s3cret@one/faults",
        "postgresql+asyncpg://me:s3cret@one/faults",
        "sqlite+s3cret:///x",
    ],
)
def test_what_is_no_address_is_refused_without_a_word_of_it(address: str) -> None:
    with pytest.raises(ServiceError, match="DATABASE_URL") as refused:
        parse_address(address)
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    "address", ["postgresql://me:s3cret@one/faults", "postgresql://one/faults?password=s3cret&sslpassword=s3cret"]
)
def test_what_is_shown_has_no_password(address: str) -> None:
    assert "s3cret" not in hide_password(parse_address(address))
    assert hide_password(parse_address("postgresql://one/faults")) == "postgresql://one/faults"


@pytest.mark.parametrize("name", ["what?", "50%25", "a b#c@d", "größe"])
def test_the_data_folder_can_have_any_name(tmp_path: Path, name: str) -> None:
    config = Config.from_environment({"FAULTWATCH_HOME": str(tmp_path / name)})
    assert Database(config.database_url).file == tmp_path / name / "faultwatch.db"
