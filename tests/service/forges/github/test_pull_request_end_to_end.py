"""From a pull request to its comment, all of it: webhook, workflow, perf, sign-in, service, App: `make test-github`.

Only GitHub itself is stood in for, and what the service asks of it is held against GitHub's own description.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.service.forges.github import stand_in
from tests.service.forges.github.between import checked, deliver, port, served, violations, wait
from tests.service.forges.github.subject import GATE, NAME, PROGRAM, Subject
from tests.service.issuer import BEARER, Issuer
from tests.service.issuer import running as issuing
from tests.workflows.act import TOOLS, Done

pytestmark = [
    pytest.mark.github,
    pytest.mark.perf,
    pytest.mark.skipif("FAULTWATCH_TEST_GITHUB" not in os.environ, reason="make test-github runs it"),
    pytest.mark.skipif(not (TOOLS / "act").exists(), reason="act is not installed; make test-workflows installs it"),
]
SAME = PROGRAM.format(pages=200).replace("int main", "/* as before */\nint main")
REPOSITORY = {"id": 1, "full_name": NAME, "default_branch": "main", "private": False}
FORK = {"id": 2, "full_name": "mallory/copies", "fork": True}


class World:
    """GitHub, the service, and a runner."""

    def __init__(self, folder: Path, hub: stand_in.GitHub, issuer: Issuer, service: str, log: Path) -> None:
        self.hub, self.issuer, self.service, self.log = hub, issuer, service, log
        self.subject = Subject(folder / "subject", service)
        hub.inputs |= {name: self.subject.inputs(name) for name in ("faultwatch.yml", "measure.yml", "bisect.yml")}
        self._number = 0

    def propose(self, program: str, *, fork: bool = False) -> dict[str, Any]:
        """Open a pull request; return its webhook, which was delivered."""
        self._number += 1
        head = self.subject.propose(self._number, program, fork=fork)
        self.hub.propose(self._number, self.subject.base, head)
        there = FORK if fork else REPOSITORY | {"fork": False}
        payload = {
            "action": "opened",
            "number": self._number,
            "pull_request": {
                "number": self._number,
                "title": '"; touch /tmp/owned; "',
                "state": "open",
                "base": {"sha": self.subject.base, "ref": "main", "repo": REPOSITORY},
                "head": {"sha": head, "ref": "$(id)", "repo": there},
            },
            "repository": REPOSITORY,
            "sender": {"login": "ada"},
        }
        deliver(self.service, "pull_request", payload)
        return payload

    def identity(self) -> dict[str, str]:
        """Return how a job finds who tells it its identity."""
        return {
            "ACTIONS_ID_TOKEN_REQUEST_URL": f"{self.issuer.url}/identity?api-version=2",
            "ACTIONS_ID_TOKEN_REQUEST_TOKEN": BEARER,
        }

    def ordered(self, expected: str = "faultwatch.yml") -> Done:
        """Run the workflow that the service ordered."""
        workflow, inputs = wait(lambda: self.hub.dispatches and self.hub.dispatches.pop(), self.log)
        assert workflow == expected
        payload = {"inputs": inputs, "repository": REPOSITORY, "ref": "refs/heads/main"}
        return self.subject.run("workflow_dispatch", payload, workflow=workflow, **self.identity())

    def told(self) -> tuple[str, dict[str, Any]]:
        """Return the one comment, and the one check run, once they are there."""
        wait(lambda: self.hub.checks, self.log, self.log.with_name("service.log"), self.subject.log)
        (check,), (comment,) = self.hub.checks.values(), self.hub.comments.values()
        assert (check["head_sha"], check["status"]) == (self.hub.head, "completed")
        return comment["body"], check


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, key: str) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("whole-way")
    between, serving = port(), port()
    log = folder / "between.log"
    with ExitStack() as stack:
        hub = stand_in.GitHub(NAME, 0, "", shown=f"http://localhost:{between}", permissions={"ada": "write"})
        stack.enter_context(stand_in.running(hub))
        issuer = stack.enter_context(issuing(Issuer("")))
        stack.enter_context(checked(log, hub.url, between))
        trusted = {
            "FAULTWATCH_ACCESS": "tokens",
            "FAULTWATCH_ACTIONS_REPOSITORIES": NAME,
            "FAULTWATCH_ACTIONS_WORKFLOWS": f"{GATE}/.github/workflows/gate.yml@*",
            "FAULTWATCH_ACTIONS_ISSUER": issuer.url,
        }
        service = stack.enter_context(served(folder, key, hub.shown, serving, **trusted))
        yield World(folder, hub, issuer, service, log)


@pytest.fixture(autouse=True)
def _as_described(world: World) -> Iterator[None]:
    yield
    assert not violations(world.log)


@pytest.mark.parametrize(
    ("program", "passes", "first", "conclusion"),
    [
        (PROGRAM.format(pages=201), False, "**Worse: +1\u00a0fault", "failure"),
        (PROGRAM.format(pages=150), True, "**Better: −50\u00a0faults", "success"),
        (SAME, True, "**No change, because base and head are byte-identical, in 1 case", "success"),
        ("int main(void) { return", False, "**The head does not build", "failure"),
    ],
    ids=["one-page-more", "improvement", "no-change", "build-failure"],
)
def test_a_pull_request_gets_its_comment_and_check_run(
    program: str, passes: bool, first: str, conclusion: str, world: World
) -> None:
    done = world.subject.run("pull_request", world.propose(program), **world.identity())
    assert (done.returncode == 0) is passes, done.log
    body, check = world.told()
    assert body.startswith(first), body
    assert check["conclusion"] == conclusion
    assert body.splitlines()[0].strip("*") in done.summary
    budgets = [(one["path"], one["start_line"]) for one in check["annotations"]]
    assert budgets == ([("workload.toml", 12)] if "Worse" in first else [])


def test_a_fork_is_measured_by_order_of_the_service_once_it_was_approved(world: World) -> None:
    payload = world.propose(PROGRAM.format(pages=201), fork=True)
    # Its own workflow has no identity; GitHub gives none to forks.
    own = world.subject.run("pull_request", payload)
    assert own.outputs["verdict"] == "regressed", own.log
    assert not world.hub.checks
    head = payload["pull_request"]["head"]["sha"]
    run = {"event": "pull_request", "head_sha": head, "head_repository": FORK}
    deliver(world.service, "workflow_run", {"action": "in_progress", "workflow_run": run, "repository": REPOSITORY})
    done = world.ordered()
    assert done.returncode != 0, done.log
    body, check = world.told()
    assert body.startswith("**Worse: +1\u00a0fault")
    assert check["conclusion"] == "failure"


def test_what_was_measured_of_the_base_before_is_not_measured_again(world: World) -> None:
    push = {"ref": "refs/heads/main", "deleted": False, "after": world.subject.base, "repository": REPOSITORY}
    deliver(world.service, "push", push)
    measured = world.ordered("measure.yml")
    assert measured.returncode == 0, measured.log
    world.subject.run("pull_request", world.propose(SAME), **world.identity())
    body, check = world.told()
    assert body.startswith("**No change, because base and head are byte-identical, in 1 case")
    assert "The base was not measured again" in body
    assert check["conclusion"] == "success"
    world.subject.run("pull_request", world.propose(PROGRAM.format(pages=201)), **world.identity())
    body, check = world.told()
    assert body.startswith("**Worse: +1\u00a0fault")
    assert "not measured again" not in body


def test_a_rerun_is_ordered_measured_and_told_in_the_same_comment(world: World) -> None:
    payload = world.propose(SAME)
    world.subject.run("pull_request", payload, **world.identity())
    world.told()
    asked = world.hub.write("/faultwatch rerun", {"login": "ada", "type": "User", "id": 7})
    issue = {"number": payload["number"], "pull_request": {}}
    deliver(
        world.service,
        "issue_comment",
        {"action": "created", "comment": asked, "issue": issue, "repository": REPOSITORY},
    )
    assert world.ordered().returncode == 0
    wait(lambda: len(world.hub.checks) == 2, world.log)
    assert len([one for one in world.hub.comments.values() if "faultwatch gate" in one["body"]]) == 1
    assert (asked["id"], "+1") in world.hub.reactions


def test_a_bisect_that_was_asked_for_in_a_comment_is_led_by_its_workflow_and_told_there(world: World) -> None:
    payload = world.propose(PROGRAM.format(pages=201))
    world.subject.run("pull_request", payload, **world.identity())
    world.told()
    asked = world.hub.write("/faultwatch bisect touch", {"login": "ada", "type": "User", "id": 7})
    issue = {"number": payload["number"], "pull_request": {}}
    deliver(
        world.service,
        "issue_comment",
        {"action": "created", "comment": asked, "issue": issue, "repository": REPOSITORY},
    )
    done = world.ordered("bisect.yml")
    assert done.returncode == 0, done.log
    assert "is done" in done.log, "the job is said to be done in the log of the workflow"

    def told() -> list[str]:
        return [one["body"] for one in world.hub.comments.values() if "<!-- faultwatch job " in one["body"]]

    (reply,) = wait(told, world.log)
    assert f"{payload['pull_request']['head']['sha']} moves <code>minor-faults</code> from" in reply
    assert "Proven" in reply
