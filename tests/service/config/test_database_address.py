from __future__ import annotations

import pytest
from sqlalchemy import create_engine
from sqlalchemy.exc import ArgumentError

from service.config.database_address import parse_address

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
    url = parse_address(address).set(drivername="postgresql+psycopg")
    _, given = create_engine(url).dialect.create_connect_args(url)
    given.pop("context")
    assert given == {"user": "me", "password": "s@fe", "dbname": "faults", **SEVERAL}


def test_an_address_that_is_written_and_read_is_the_same() -> None:
    url = parse_address("postgresql://me:s%40fe@one:5432,other:5433/faults?sslmode=verify-full")
    assert parse_address(url.render_as_string(hide_password=False)) == url
    assert "s%40fe" not in str(url)


@pytest.mark.parametrize("address", ["nonsense", "postgresql://one:x/faults", "postgresql://one:1,other:2/f?nothing=1"])
def test_what_is_none(address: str) -> None:
    with pytest.raises((ArgumentError, ValueError)):
        parse_address(address)
