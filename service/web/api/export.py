"""Export: all measurements, as a stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from apiflask import APIBlueprint
from flask import Response, stream_with_context
from pydantic import BaseModel, ConfigDict

from service.store.maintenance import export
from service.web.app_resources import get_database

bp = APIBlueprint("export", __name__)

_MEDIA_TYPES = {"csv": "text/csv", "jsonl": "application/jsonl", "reports": "application/jsonl"}
_ANSWER: dict[int | str, dict[str, str | dict[str, dict[str, Any]]]] = {
    200: {
        "description": "Samples as flat rows, or whole reports, one per line",
        "content": {media_type: {"schema": {"type": "string"}} for media_type in _MEDIA_TYPES.values()},
    }
}
_PIECE_CHARACTERS = 64 * 1024


class ExportQuery(BaseModel):
    """The requested data and format of an export."""

    model_config = ConfigDict(extra="forbid")

    format: Literal["csv", "jsonl", "reports"] = "csv"
    """One flat row per sample, or whole reports."""
    subject: str | None = None


@bp.get("/export")
@bp.input(ExportQuery, location="query")
@bp.doc(responses=_ANSWER)
def get(query_data: ExportQuery) -> Response:
    """Download all measurements as a stream, whatever their size."""
    export_format = query_data.format
    name = f"faultwatch.{'csv' if export_format == 'csv' else 'jsonl'}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    pieces = stream_with_context(_read_pieces(export_format, query_data.subject))
    return Response(pieces, headers=headers, mimetype=_MEDIA_TYPES[export_format])


def _read_pieces(export_format: str, subject: str | None) -> Iterator[str]:
    """Yield an export in pieces of text that are large enough to send."""
    with get_database().reading() as session:
        piece: list[str] = []
        n_characters = 0
        for line in export.list_lines(session, export_format, subject):
            piece.append(line)
            n_characters += len(line)
            if n_characters >= _PIECE_CHARACTERS:
                yield "".join(piece)
                piece, n_characters = [], 0
        yield "".join(piece)
