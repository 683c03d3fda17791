"""Hosts on which the same commits moved nothing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from uuid import uuid4

from flask.testing import FlaskClient

from runner.contract import Environment, Host, Report
from tests.service import reports
from tests.service.apiclient import Api
from tests.service.web.application import application
from tests.service.web.text import read

UPGRADED = Environment(settings={**reports.GLIBC.settings, "kernel.release": "6.12.1"})


def on(host: str, runs: list[Report]) -> list[Report]:
    return [run.model_copy(update={"host": Host(name=host), "run_id": uuid4()}) for run in runs]


def upgrade() -> list[Report]:
    """Four commits; with the third comes another kernel, and 50 faults more."""
    return [*reports.proven(100, 100), *reports.repeated(3, 150, 150, times=6, environment=UPGRADED)]


def find_event(client: FlaskClient, host: str) -> dict[str, Any]:
    listed = client.get("/events.json?since=all").json["items"]
    details = [client.get(f"/api/v1/events/{entry['id']}").json for entry in listed]
    return next(event for event in details if {drift["host"] for drift in event["drifts"]} == {host})


def test_an_event_names_the_hosts_that_measured_both_sides_without_a_drift(tmp_path: Path) -> None:
    """They tell a commit from the upgrade of one host."""
    with application(tmp_path) as app:
        client = app.test_client()
        Api(client).send(*upgrade())
        Api(client).send(*on("calm", reports.proven(80, 80, 81 - 1)))
        Api(client).send(*on("behind", reports.proven(90, 90)))
        Api(client).send(*on("shaken", reports.proven(70, 70, 95)))
        host = upgrade()[0].host.name
        event = find_event(client, host)
        text = read(client, f"/events/{event['id']}")
    assert [(found["host"], found["before"], found["after"]) for found in event["unmoved_hosts"]] == [("calm", 80, 80)]
    assert event["unmeasured_hosts"] == ["behind"]
    assert "No measurement on both sides of the change: behind." in text
    assert re.search(r"calm measured the commits before and after without a drift ?: 80 faults → 80 faults", text)


def test_a_setting_of_one_host_that_changed_at_one_commit_is_not_held_against_the_others(tmp_path: Path) -> None:
    """Every host measured that commit, which is both sides."""
    with application(tmp_path) as app:
        client = app.test_client()
        at_same_commit = reports.repeated(2, 150, 150, times=6, environment=UPGRADED)
        Api(client).send(*reports.proven(100, 100), *at_same_commit)
        Api(client).send(*on("calm", reports.proven(80, 80)))
        event = find_event(client, upgrade()[0].host.name)
    assert event["cause"] == "config"
    assert (event["unmoved_hosts"], event["unmeasured_hosts"]) == ([], [])
