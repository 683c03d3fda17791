"""The Flask application."""

from __future__ import annotations

from apiflask import APIFlask

from service.api_blueprints import register_api
from service.config.settings import Config
from service.forges import extension as forges
from service.forges.registry import read_config
from service.installed_version import VERSION
from service.jobs import extension as jobs
from service.page_blueprints import register_pages
from service.pipeline import judging_schedule
from service.store.engine.database import Database
from service.store.engine.upgrade import upgrade_database
from service.web import (
    app_resources,
    compression,
    concurrency_limits,
    feeds,
    prometheus_metrics,
    row_ids,
    security_headers,
    settings_changes,
    webhooks,
)
from service.web.access import authorization, body_limits, provider_sign_in_page, token_sign_in_page
from service.web.access.sessions import register_sessions
from service.web.api import actions_sign_in
from service.web.api.body import MAX_BYTES, JsonProvider
from service.web.rendering import escape_for_pages


def create_app(config: Config | None = None, *, accepts_newer: bool = False) -> APIFlask:
    """Create the application, and upgrade its database to the schema of this version.

    Parameters
    ----------
    accepts_newer
        Whether a newer version may have upgraded the database.
    """
    # The database, in the schema of this version.
    config = config or read_config()
    database = Database(config.database_url)
    upgrade_database(database, accepts_newer=accepts_newer)
    judging_schedule.judge_or_defer_series(database)  # judge series that were left unjudged at the last stop

    # The application.
    app = APIFlask(
        "service",
        title="Faultwatch",
        version=VERSION,
        docs_path=None,
        json_errors=False,
        static_folder="web/static",
    )
    app.config.update(
        MAX_CONTENT_LENGTH=MAX_BYTES,
        TRUSTED_HOSTS=None if config.trusted_hosts is None else list(config.trusted_hosts),
    )
    app.json = JsonProvider(app)
    # Steps that apply to every request: compression, settings, limits, access.
    compression.register(app)
    app_resources.register(app, database, config)
    row_ids.register(app)
    body_limits.register(app)
    concurrency_limits.register(app)
    authorization.register(app, by_token=config.by_token)
    register_sessions(app, config)
    # The API, the pages, webhooks and feeds.
    register_api(app)
    register_pages(app)
    app.register_blueprint(webhooks.bp)
    forges.register(app, database, config, jobs.register(app, database, config))
    actions_sign_in.register_trusted_jobs(app, config.jobs)
    app.register_blueprint(feeds.bp)
    app.register_blueprint(prometheus_metrics.bp)
    app.register_blueprint(token_sign_in_page.bp)
    provider_sign_in_page.register(app, config.provider)
    # The last step of every response.
    security_headers.register(app)
    escape_for_pages.register(app)
    settings_changes.record_changes(database, config)
    return app
