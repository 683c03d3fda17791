"""Series: listed, and one with its trend."""

from __future__ import annotations

from apiflask import APIBlueprint
from pydantic import BaseModel, ConfigDict, Field

from service.rules.series.downsample import thin_series
from service.schemas.history import SeriesDetail, SeriesPage
from service.store.series import series
from service.web.access.public_view import redact_view_for_caller
from service.web.api.body import PageQuery
from service.web.app_resources import get_database
from service.web.problems import make_not_found

bp = APIBlueprint("series", __name__)


class SeriesQuery(PageQuery):
    """The filters of a list of series."""

    subject: str | None = None
    case: str | None = None
    metric: str | None = None
    host: str | None = None
    definition: str | None = Field(default=None, description="Hash of the workload's definition.")


@bp.get("/series")
@bp.input(SeriesQuery, location="query")
@bp.output(SeriesPage)
def index(query_data: SeriesQuery) -> SeriesPage:
    """Return series without their points, by subject, host, case, definition and metric."""
    series_filter = series.SeriesFilter(**query_data.model_dump(exclude={"limit", "offset"}))
    with get_database().reading() as session:
        return series.list_page(session, series_filter, query_data.limit, query_data.offset)


class SeriesDetailQuery(BaseModel):
    """The requested amount of points of a series."""

    model_config = ConfigDict(extra="forbid")

    points: int | None = Field(
        default=None,
        ge=10,
        le=100_000,
        description=(
            "The approximate maximum number of points to return. Neighbouring points are grouped, and the lowest and "
            "the highest of each group are returned, so even a change in a single run is never lost. The runs around "
            "each drift are always returned. By default, all points are returned."
        ),
    )


@bp.get("/series/<int:series_id>")
@bp.input(SeriesDetailQuery, location="query")
@bp.output(SeriesDetail)
def get(series_id: int, query_data: SeriesDetailQuery) -> SeriesDetail:
    """Return a series with its points, configuration changes, drifts and failures."""
    with get_database().reading() as session:
        detail = series.read_series(session, series_id)
    if detail is None:
        raise make_not_found(f"series {series_id}")
    detail = redact_view_for_caller(detail)
    return detail if query_data.points is None else thin_series(detail, query_data.points)
