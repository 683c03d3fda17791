"""Row numbers in addresses: a number that the database cannot store matches no route, so the answer is 404."""

from __future__ import annotations

from typing import Any

from flask import Flask
from werkzeug.routing import IntegerConverter, Map

MAX_ROW_ID = 2**63 - 1
"""The largest row number that the database can store."""


class RowIdConverter(IntegerConverter):
    """Matches ``<int:…>`` in a rule, up to the largest row number."""

    def __init__(self, url_map: Map, *args: Any, **options: Any) -> None:
        super().__init__(url_map, *args, **({"max": MAX_ROW_ID} | options))


def register(app: Flask) -> None:
    """Limit every ``<int:…>`` in rules that are added to an application from now on."""
    app.url_map.converters["int"] = RowIdConverter
