"""A service that shows its results to callers without a token: what they see of each route, and what they never see."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient
from werkzeug.routing import Rule

from runner.contract import Canary, CanaryCount, Environment, Report
from runner.contract.job import Backend, BisectQuestion, JobOrder, Where
from service.app import create_app
from service.config.access import Access
from service.config.settings import Config
from service.rules.access.scope import Scope
from service.store import tokens
from service.store.events import events
from service.store.events.events import EventFilter
from service.store.jobs import Requester
from service.store.series import series
from service.web import app_resources
from tests.service.web import history
from tests.service.web.application import application

RESULTS = {
    *("overview.show", "event.index", "event.show", "drift.show", "series.show", "series.drawing"),
    *("drift_map.show", "drift_map.show_subject", "drift_map.drawing"),
    *("workloads.index", "workloads.workload", "workloads.case", "live.answer_poll", "openapi.spec"),
    *("api.series.index", "api.series.get", "api.drifts.index", "api.drifts.get"),
    *("api.events.index", "api.events.get"),
    *("sharing.series_level", "sharing.open_events"),
}
"""Anonymous callers see these, reading."""
FOR_ALL = {
    *("static", "vendor.file", "api.health.show", "access.form", "access.sign_in", "access.sign_out"),
    *("api.actions.sign_in", "webhooks.receive", "definitions.show"),
}
"""These check for themselves who may do what, on every service."""
WITH_TOKEN = {
    # who did what, and with which token
    *("tokens.index", "tokens.make", "tokens.revoke", "audit.index", "api.audit.index", "settings.show"),
    *("api.events.log", "api.events.delivered", "silences.index", "api.silences.index", "feeds.atom"),
    # what only concerns the hosts: whole environments, logs, commands, profiles, jobs
    *("hosts.index", "hosts.show", "environments.index", "environments.show", "metrics.show", "search.show"),
    *(
        "run.index",
        "run.show",
        "api.runs.index",
        "api.runs.get",
        "api.runs.pyperf",
        "compare.show",
        "compare.between",
    ),
    *("profile.index", "profile.show", "api.profiles.index", "api.profiles.get", "api.profiles.download"),
    *("jobs.index", "jobs.show", "bisect.index", "bisect.show", "api.jobs.index", "api.jobs.get", "api.jobs.log"),
    *("lab.show", "lab.order", "api.settings_lab.get"),
    *("matrix.show", "api.nightly_runs.get", "subjects.index", "api.subjects.index", "api.subjects.get"),
    *("api.export.get", "api.revisions.index", "api.silences.get", "compare.between"),
    # what writes, or has the service compute
    *("event.triage", "api.events.triage", "judged_series.index"),
    *("releases.index", "releases.choose", "releases.show"),
    *("event.decide", "api.events.decide", "silences.add", "silences.end", "api.silences.add", "api.silences.end"),
    *("jobs.order", "jobs.change", "bisect.order", "bisect.order_profiles", "evidence.order_profiles"),
    "unmeasured.order",
    *("evidence.order_remedy", "api.jobs.order", "api.jobs.cancel", "api.jobs.pause", "api.jobs.resume"),
    *("api.jobs.claim", "api.jobs.progress", "api.jobs.finish"),
    *("subjects.change", "api.subjects.change", "api.runner_tokens.post", "api.revisions.put", "api.runs.put"),
    *(
        "api.runs.post",
        "api.plans.post",
        "api.comparisons.post",
        "api.proofs.post",
        "api.proofs.index",
        "api.diagnoses.post",
        "api.profiles.put",
    ),
    *("api.gates.base", "api.gates.post", "api.nightly_runs.put", "api.searches.post", "api.searches.post_settings"),
}
SECRETS = {
    "value of a setting": "dirty_decay_ms:0",
    "message of a failed build": "make ended with",
    "reason of a quarantine": "1,733 faults counted",
    "author of a decision": "Grace Decider",
    "reason of a decision": "agreed in room 12",
    "requester of a job": "Linus Orderer",
    "name of a token": "token-of-ada",
}


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[APIFlask]:
    """A service with results, decisions, jobs and tokens, which everybody may read."""
    folder = tmp_path_factory.mktemp("public")
    with application(folder) as open_app:
        client = open_app.test_client()
        history.send(client)
        history.send(client, [_quarantined()])
        (event, *_) = client.get("/api/v1/events").json["items"]
        decision = {"action": "acknowledge", "author": SECRETS["author of a decision"]}
        decision["reason"] = SECRETS["reason of a decision"]
        assert client.post(f"/api/v1/events/{event['id']}/decisions", json=decision).status_code == 201
        with open_app.app_context():
            config, database = app_resources.get_config(), app_resources.get_database()
            _order_job(open_app)
            with database.writing() as session:
                tokens.issue_token(session, SECRETS["name of a token"], [Scope.READ], 1, datetime.now(UTC))
        app = create_app(config.copy_with_values(access=Access.TOKENS, anonymous_read=True))
        yield app
        with app.app_context():
            app_resources.get_database().close()


def _quarantined() -> Report:
    number = len(history.TITLES) - 1
    report = history.report(number, Environment(settings=history.NEW.settings), again=True)
    canary = Canary(counts=(CanaryCount(kinds=("anonymous",), expected=1726, counted=(1733,)),))
    return report.model_copy(update={"run_id": history.run_id(99), "canary": canary})


def _order_job(app: APIFlask) -> None:
    from service.jobs.extension import find_scheduler

    question = BisectQuestion(
        subject=history.SUBJECT,
        case=history.CASE.name,
        good=history.commit(0),
        bad=history.commit(13),
        metric="minor-faults",
    )
    order = JobOrder(question=question, backend=Backend.CALLER)
    find_scheduler().order(order, Requester(SECRETS["requester of a job"], Where.API))


def page_of(endpoint: str) -> str:
    return re.sub("_(json|csv)$", "", endpoint)


def reading(app: APIFlask) -> list[Rule]:
    rules = (rule for rule in app.url_map.iter_rules() if "GET" in rule.methods)
    return [rule for rule in rules if page_of(rule.endpoint) not in FOR_ALL]


@pytest.fixture(scope="module")
def values(public: APIFlask) -> dict[str, str]:
    """What stands for the variables of an address, so that it leads to something that exists."""
    client = public.test_client()
    with public.app_context(), app_resources.get_database().reading() as session:
        event = events.list_page(session, EventFilter(), 1, 0).items[0].id
        first = series.list_page(session, series.SeriesFilter(metric="minor-faults")).items[0].id
    drift = client.get("/api/v1/drifts").json["items"][0]["id"]
    key = re.search(r"/cases/([^\"?]+)", client.get("/workloads").text)[1]
    return {
        **{"event_id": event, "series_id": str(first), "drift_id": drift, "key": key, "silence_id": "1"},
        **{"name": "copy_service", "job_id": "1", "subject": history.SUBJECT, "form": "pprof", "kind": "faults"},
        **{
            "base": history.commit(1),
            "commit": history.commit(1),
            "head": history.commit(2),
            "environment": history.NEW.hash,
        },
        **{"run_id": str(history.run_id(3)), "profile_id": str(history.run_id(3)), "action": "pause", "token_id": "x"},
        **{"between": f"{history.commit(1)}...{history.commit(2)}"},
    }


def address(rule: Rule, values: dict[str, str]) -> str:
    return re.sub(r"<(?:[^:<>]+:)?(\w+)>", lambda found: values[found[1]], rule.rule)


def test_each_route_is_listed_here_once(public: APIFlask) -> None:
    """A new route fails this: decide whether it shows results alone, and list it."""
    routes = {page_of(rule.endpoint) for rule in public.url_map.iter_rules()}
    assert routes == RESULTS | FOR_ALL | WITH_TOKEN
    assert len(routes) == len(RESULTS) + len(FOR_ALL) + len(WITH_TOKEN)


def test_results_are_shown_without_what_concerns_people_and_hosts(public: APIFlask, values: dict[str, str]) -> None:
    client = public.test_client()
    for rule in reading(public):
        answer = client.get(address(rule, values))
        if page_of(rule.endpoint) in RESULTS:
            assert answer.status_code == 200, rule
            assert [what for what, secret in SECRETS.items() if secret.encode() in answer.data] == [], rule
        else:
            assert answer.status_code in {302, 401}, rule
            assert answer.status_code == 401 or answer.location.startswith("/sign-in"), rule


def test_no_route_writes(public: APIFlask, values: dict[str, str]) -> None:
    client = public.test_client()
    for rule in public.url_map.iter_rules():
        for method in rule.methods - {"GET", "HEAD", "OPTIONS"} if rule.endpoint not in FOR_ALL else ():
            answer = client.open(address(rule, values), method=method, json={})
            assert answer.status_code in {302, 401}, (method, rule)
    assert b"<form" not in re.sub(rb'<form[^>]* method="get"', b"", client.get("/").data)


def test_the_secrets_of_these_tests_are_there_for_those_who_may_see_them(
    public: APIFlask, values: dict[str, str]
) -> None:
    with public.app_context(), app_resources.get_database().writing() as session:
        admin = tokens.issue_token(session, "admin", [Scope.ADMIN], 1, datetime.now(UTC)).text
    client = public.test_client()
    headers = {"Authorization": f"Bearer {admin}", "Accept": "text/html"}
    shown = b"".join(client.get(address(rule, values), headers=headers).data for rule in reading(public))
    assert [what for what, secret in SECRETS.items() if secret.encode() not in shown] == []


def test_an_anonymous_caller_has_nothing_judged(public: APIFlask) -> None:
    with public.app_context(), app_resources.get_database().writing() as session:
        series.mark_stale(session, series.SeriesFilter(), ["minor-faults"])
        reader = tokens.issue_token(session, "reader", [Scope.READ], 1, datetime.now(UTC)).text

    def stale(**headers: str) -> bool:
        assert public.test_client().get("/api/v1/drifts?judged=true", headers=headers).status_code == 200
        with public.app_context(), app_resources.get_database().reading() as session:
            return bool(series.map_stale_series(session))

    assert stale()
    assert not stale(Authorization=f"Bearer {reader}")


def test_an_anonymous_page_leads_to_the_sign_in_and_to_no_page_that_needs_a_token(public: APIFlask) -> None:
    text = public.test_client().get("/events", headers={"Accept": "text/html"}).text
    assert 'href="/sign-in?to=' in text
    assert 'href="/workloads"' in text
    navigation = re.search("<nav.*?</nav>", text, re.DOTALL)[0]
    assert re.findall('href="([^"]+)"', navigation) == ["/", "/events", "/workloads"]


def test_a_wrong_token_is_refused_as_ever(public: APIFlask) -> None:
    client = public.test_client()
    assert client.get("/api/v1/drifts").status_code == 200
    refused = client.get("/api/v1/drifts", headers={"Authorization": "Bearer fw_nothing"})
    assert refused.status_code == 401
    assert refused.json["detail"].startswith("The token is malformed, unknown, expired or revoked. Send a token")


def test_by_default_nothing_is_public(closed: FlaskClient) -> None:
    assert not Config.from_environment({"FAULTWATCH_ACCESS": "tokens"}).anonymous_read
    assert Config.from_environment({"FAULTWATCH_ANONYMOUS_READ": "yes"}).anonymous_read
    assert closed.get("/api/v1/drifts").status_code == 401
    assert closed.get("/", headers={"Accept": "text/html"}).status_code == 302


def test_an_anonymous_caller_sends_little(public: APIFlask, tmp_path: Path) -> None:
    answer = public.test_client().post("/sign-in", data={"token": "x" * (2 << 20)})
    assert answer.status_code == 413
