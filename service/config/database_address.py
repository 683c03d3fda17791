"""Parses the URL of the database, in the form of SQLAlchemy or of PostgreSQL, which can name several servers."""

from __future__ import annotations

from urllib.parse import quote

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from service.errors import ServiceError

_MASK = "***"
_DRIVERS = {
    "sqlite": "sqlite",
    "sqlite+pysqlite": "sqlite",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",  # Some tools still use this form.
}
"""The driver for each scheme with which an address may begin."""


def parse_address(address: str) -> URL:
    """Parse a database URL into SQLAlchemy's form, and choose the driver by its scheme.

    Raises
    ------
    ServiceError
        If the text is not a URL, or is that of another database system. The message does not quote the URL, because it
        may contain a password.
    """
    try:
        url = _parse_address(address)
        url = url.set(drivername=_DRIVERS[url.drivername])
        url.get_dialect()().create_connect_args(url)  # refuses ports that are no numbers
    except (ArgumentError, ValueError, KeyError):
        raise ServiceError(
            "This is not the address of a SQLite or PostgreSQL database",
            "DATABASE_URL",
            "Write sqlite:////path/to/file.db or postgresql://user:password@host/name, with %40 for @ in a password.",
        ) from None
    return url


def hide_password(url: URL) -> str:
    """Return an address that can be shown, with ``***`` in place of secrets."""
    query = {name: _MASK if "pass" in name.lower() else value for name, value in url.query.items()}
    shown_address = url.set(drivername=url.get_backend_name(), query=query).render_as_string(hide_password=True)
    return shown_address.replace(quote(_MASK), _MASK)


def _parse_address(address: str) -> URL:
    """Parse an address in either form; raise ValueError or ArgumentError if it is not valid."""
    try:
        url = make_url(address)
    except ValueError:
        # In `postgresql://one:5432,other:5432/name`, SQLAlchemy takes everything after the first colon for a port.
        if "," not in address:
            raise
        return _parse_several_servers(address)
    # It takes `one,other:5433` and `::1]:5432,[::2` for the name of one server.
    return _parse_several_servers(address) if "," in (url.host or "") else url


def _parse_several_servers(address: str) -> URL:
    """Parse an address of several servers with PostgreSQL's library; raise ValueError if it is not valid.

    SQLAlchemy expects the servers in the query.
    """
    from psycopg import Error  # noqa: PLC0415 - most services have SQLite
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415

    scheme, _, location = address.partition("://")
    try:
        options = {
            name: str(value) for name, value in conninfo_to_dict(f"{scheme.partition('+')[0]}://{location}").items()
        }
    except Error as error:
        raise ValueError(str(error).strip()) from error
    user, password, name = options.pop("user", None), options.pop("password", None), options.pop("dbname", None)
    return URL.create(scheme, user, password, database=name, query=options)
