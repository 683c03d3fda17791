"""Store sparklines as they are drawn, instead of their points, and find the newest drifts of a series by an index."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    """Draw the stored outlines, and let the index of drifts know their positions."""
    op.drop_index("ix_drift_series_id", "drift")
    op.create_index("ix_drift_series_id", "drift", ["series_id", "position"])
    op.rename_table("outline", "sparkline")
    connection = op.get_bind()
    outline = sa.table("sparkline", sa.column("series_id"), sa.column("document", sa.JSON()))
    rows = connection.execute(sa.select(outline.c.series_id, outline.c.document)).all()
    drifts = connection.execute(sa.text("SELECT series_id, count(*) AS drifts FROM drift GROUP BY series_id"))
    flagged = {row.series_id: row.drifts for row in drifts}
    drawn = [
        {"id": series_id, "drawn": {**_drawn(document), "flagged": flagged.get(series_id, 0)}}
        for series_id, document in rows
    ]
    if drawn:
        changed = sa.update(outline).where(outline.c.series_id == sa.bindparam("id"))
        connection.execute(changed.values(document=sa.bindparam("drawn", type_=sa.JSON())), drawn)


def _drawn(shape: dict[str, Any]) -> dict[str, Any]:
    """Return the paths in a box of 160 × 36, with margins of 6 and 7."""
    values = [value for _, value in shape["points"]]
    low, span, several = min(values), max(values) - min(values), shape["count"] > 1

    def place(index: int, value: float) -> tuple[float, float]:
        x = 6 + index * 148 / (shape["count"] - 1) if several else 80.0
        return round(x, 1), round(29 - (value - low) * 22 / span, 1) if span else 18.0

    marks = [(*place(index, value), worse) for index, value, worse in shape["flagged"]]
    return {
        "line": "M" + " ".join(f"{x:g},{y:g}" for x, y in (place(*point) for point in shape["points"])),
        "last": place(*shape["points"][-1]),
        "worse": "".join(f"M{x:g},{y - 4.5:g}l4.5,8h-9z" for x, y, worse in marks if worse),
        "better": "".join(f"M{x:g},{y + 4.5:g}l4.5,-8h-9z" for x, y, worse in marks if not worse),
    }
