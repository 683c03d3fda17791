"""GitHub's own examples of its webhooks, read as what they are."""

from __future__ import annotations

import json
import os
from collections import defaultdict

import pytest

from service.forges.github.webhook_events import (
    EVENTS,
    ForgetRepositories,
    MeasureBranch,
    MeasureHead,
    RecordHead,
    list_actions,
)
from tests.service.forges.github.between import PACKAGES

pytestmark = [
    pytest.mark.github,
    pytest.mark.skipif("FAULTWATCH_TEST_GITHUB" not in os.environ, reason="make test-github runs it"),
]
ASKED = {
    ("check_run", "rerequested"): MeasureHead,
    ("installation", "deleted"): ForgetRepositories,
    ("installation", "suspend"): ForgetRepositories,
    ("push", None): MeasureBranch,
}


def test_every_example_is_read() -> None:
    examples = json.loads((PACKAGES / "@octokit/webhooks-examples/api.github.com/index.json").read_text())
    found = defaultdict(set)
    for event in examples:
        for payload in event["examples"][1:]:  # the first of each is older than GitHub itself
            if event["name"] in EVENTS:
                kinds = {type(work) for work in list_actions(event["name"], payload)}
                found[event["name"], payload.get("action")] |= kinds
    assert {event for event, _ in found} == EVENTS
    for (event, action), kinds in found.items():
        expected = RecordHead if event == "pull_request" else ASKED.get((event, action))
        assert kinds == ({expected} if expected else set()), (event, action)
