"""The health check: whether the service and its database work."""

from __future__ import annotations

from apiflask import APIBlueprint
from sqlalchemy import text

from service.installed_version import VERSION
from service.schemas.history import Health
from service.web.app_resources import get_database

bp = APIBlueprint("health", __name__)


@bp.get("/health")
@bp.output(Health)
def show() -> Health:
    """Return whether the service and its database work."""
    with get_database().reading() as session:
        # Fails if the database does not answer, or has no tables.
        session.execute(text("SELECT version_num FROM alembic_version"))
    return Health(status="ok", version=VERSION, database="ok")
