"""Registers the API with an application."""

from __future__ import annotations

from apiflask import APIBlueprint, APIFlask

from service.lab import api as lab
from service.nightly import api as nightly_runs
from service.web import database_outage, problems
from service.web.api import (
    actions_sign_in,
    audit,
    comparisons,
    diagnoses,
    drifts,
    events,
    export,
    gates,
    health,
    jobs,
    openapi,
    plans,
    profiles,
    proofs_and_nominations,
    revisions,
    runner_tokens,
    runs,
    searches,
    series,
    silences,
    subjects,
)
from service.web.api.body import require_json
from service.web.rendering import not_modified

PREFIX = "/api/v1"


def register_api(app: APIFlask) -> None:
    """Give an application the API, its OpenAPI document, and problem documents for all errors."""
    problems.register(app)
    database_outage.register(app)
    openapi.register(app)
    api = APIBlueprint("api", __name__, url_prefix=PREFIX, enable_openapi=False)
    api.before_request(require_json)
    api.after_request(not_modified.make_conditional)
    blueprints = (
        *(health.bp, revisions.bp, runs.bp, plans.bp, comparisons.bp, proofs_and_nominations.bp, series.bp, drifts.bp),
        *(events.bp, silences.bp, export.bp, diagnoses.bp, gates.bp, actions_sign_in.bp, nightly_runs.bp, searches.bp),
        *(profiles.bp, jobs.bp, runner_tokens.bp, audit.bp, subjects.bp, lab.bp),
    )
    for blueprint in blueprints:
        api.register_blueprint(blueprint)
    app.register_blueprint(api)
