"""The Flask application."""

from __future__ import annotations

from http import HTTPStatus

from apiflask import APIFlask
from flask import Response

from service import api, current, feeds, metrics, pages
from service.access import guard
from service.access import pages as sign_in
from service.access.session import keep_sessions
from service.api import actions
from service.api.body import MAX_BYTES, JsonProvider
from service.config import Config
from service.github import kept, webhook
from service.jobs import kept as jobs
from service.store import judging
from service.store.database import Database
from service.store.upgrade import upgrade
from service.version import VERSION

_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "object-src 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


def create_app(config: Config | None = None) -> APIFlask:
    """Make the application on its database, which is brought to this version's schema first."""
    config = config or Config.from_environment()
    database = Database(config.database_url)
    upgrade(database)
    judging.refresh(database)  # what a service that was stopped in between left to do

    app = APIFlask("service", title="Faultwatch", version=VERSION, docs_path=None, json_errors=False)
    app.config.update(
        MAX_CONTENT_LENGTH=MAX_BYTES,
        TRUSTED_HOSTS=None if config.trusted_hosts is None else list(config.trusted_hosts),
    )
    app.json = JsonProvider(app)
    current.use(app, database, config)
    guard.register(app, by_token=config.by_token)
    keep_sessions(app, config.home)
    api.register(app)
    pages.register(app)
    app.register_blueprint(webhook.bp)
    kept.keep(app, database, config)
    jobs.keep(app, database, config)
    actions.trust(app, config.jobs)
    app.register_blueprint(feeds.bp)
    app.register_blueprint(metrics.bp)
    app.register_blueprint(sign_in.bp)
    app.after_request(_secure)
    return app


def _secure(response: Response) -> Response:
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    if response.status_code == HTTPStatus.NOT_MODIFIED:
        response.close()  # the file that is not sent, then, was opened all the same
    return response
