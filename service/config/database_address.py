"""Reads the address of the database, in SQLAlchemy's form or in PostgreSQL's own, which can name several servers."""

from __future__ import annotations

from sqlalchemy import URL, make_url

_MASK = "***"


def parse_address(address: str) -> URL:
    """Return an address as SQLAlchemy has it.

    Raises
    ------
    sqlalchemy.exc.ArgumentError
        If it is not an address.
    ValueError
        If it names no port where it should.
    """
    try:
        return make_url(address)
    except ValueError:
        # `postgresql://one:5432,other:5432/name`: SQLAlchemy takes everything after the first colon for a port.
        if "," not in address:
            raise
        return _parse_several_servers(address)


def hide_password(address: str) -> str:
    """Return an address to be shown, with ``***`` in place of what is secret."""
    url = parse_address(address)
    query = {name: _MASK if "pass" in name.lower() else value for name, value in url.query.items()}
    return url.set(query=query).render_as_string(hide_password=True)


def _parse_several_servers(address: str) -> URL:
    """Read an address that names several servers with PostgreSQL's library; SQLAlchemy takes them in the query."""
    from psycopg import Error  # noqa: PLC0415 - most services have SQLite
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415

    scheme, _, rest = address.partition("://")
    try:
        options = {name: str(value) for name, value in conninfo_to_dict(f"{scheme.partition('+')[0]}://{rest}").items()}
    except Error as error:
        raise ValueError(str(error).strip()) from error
    user, password, name = (options.pop(key, None) for key in ("user", "password", "dbname"))
    return URL.create(scheme, user, password, database=name, query=options)
