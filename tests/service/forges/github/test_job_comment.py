"""The comment that a job writes with its own token: of its pull request, or of a stranger's job that has ended."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from runner.contract.gate import GateReport
from service.cli.comment import comment
from service.errors import ServiceError
from service.forges.github.job_comment import JOB_AUTHOR, JobCommentError, ReportedHead, read_event
from tests.service.forges import made_gates
from tests.service.forges.github import stand_in

WORSE = made_gates.gate(made_gates.case([100] * 30, [101] * 30))
FINE = made_gates.gate(made_gates.case([100] * 30, [100] * 30))
OF_PULL_REQUEST = {"pull_request": {"number": 7, "head": {"sha": made_gates.HEAD}}}
OF_FORK = {
    "workflow_run": {
        "head_sha": made_gates.HEAD,
        "head_branch": "change",
        "head_repository": {"owner": {"login": "stranger"}},
        "html_url": "https://forge.example.org/runs/1",
        "pull_requests": [],
    }
}
Comment = Callable[..., Result]


@pytest.fixture
def run(hub: stand_in.GitHub, tmp_path: Path) -> Comment:
    """Run the command in a job of an event, with a report."""
    hub.tokens.add("a token of the job")
    hub.author = {"login": JOB_AUTHOR, "type": "Bot", "id": 41}
    hub.label = "stranger:change"

    def run(report: GateReport | str, event: Any = OF_PULL_REQUEST, **variables: str) -> Result:
        file, payload = tmp_path / "report.json", tmp_path / "event.json"
        file.write_text(report if isinstance(report, str) else report.model_dump_json())
        payload.write_text(json.dumps(event))
        told = {
            "GITHUB_TOKEN": "a token of the job",
            "GITHUB_REPOSITORY": made_gates.REPOSITORY,
            "GITHUB_EVENT_PATH": str(payload),
            "GITHUB_API_URL": hub.url,
        }
        return CliRunner().invoke(comment, [str(file)], env=told | variables)

    return run


def list_bodies(hub: stand_in.GitHub) -> list[str]:
    return [written["body"] for written in hub.comments.values()]


@pytest.mark.parametrize("event", [OF_PULL_REQUEST, OF_FORK], ids=["own branch", "fork"])
def test_a_regression_is_written_once_and_edited_in_place(run: Comment, hub: stand_in.GitHub, event: Any) -> None:
    first = run(WORSE, event)
    assert first.output.startswith(f"{hub.url}/{made_gates.REPOSITORY}/pull/7#issuecomment-")
    assert run(FINE, event).output == first.output
    (body,) = list_bodies(hub)
    assert body.startswith("**No change")
    writes = len([request for request in hub.requests if not request.startswith("GET")])
    assert run(FINE, event).output == first.output
    assert len([request for request in hub.requests if not request.startswith("GET")]) == writes, "nothing is new"


def test_the_comment_of_a_fork_links_the_workflow_run_that_measured(run: Comment, hub: stand_in.GitHub) -> None:
    run(WORSE, OF_FORK)
    assert "https://forge.example.org/runs/1" in list_bodies(hub)[0]


def test_a_report_about_another_head_is_refused(run: Comment, hub: stand_in.GitHub) -> None:
    other = {"workflow_run": OF_FORK["workflow_run"] | {"head_sha": "b" * 40}}
    result = run(WORSE, other)
    assert isinstance(result.exception, ServiceError)
    assert "the report is about 4ead4ead4e, but the workflow run is about bbbbbbbbbb" in str(result.exception)
    assert not hub.comments


def test_another_pull_request_of_the_same_branch_name_is_left_alone(run: Comment, hub: stand_in.GitHub) -> None:
    hub.label = "somebody:change"
    assert "its comment was not changed" in run(WORSE, OF_FORK).output
    hub.label, hub.head = "stranger:change", "c" * 40
    assert "its comment was not changed" in run(WORSE, OF_FORK).output
    assert "its comment was not changed" in run(WORSE, OF_PULL_REQUEST).output
    assert not hub.comments


def test_the_comment_of_a_closed_pull_request_is_left_alone(run: Comment, hub: stand_in.GitHub) -> None:
    hub.state = "closed"
    assert "its comment was not changed" in run(WORSE, OF_PULL_REQUEST).output
    assert not hub.comments


def test_a_server_that_does_not_answer_is_said_in_one_line(run: Comment) -> None:
    error = run(WORSE, GITHUB_API_URL="http://127.0.0.1:1").exception
    assert isinstance(error, ServiceError)
    assert "GitHub did not answer" in str(error)
    assert "\n" not in str(error)


def test_a_copied_mark_is_not_taken_for_the_comment(run: Comment, hub: stand_in.GitHub) -> None:
    run(WORSE)
    (body,) = list_bodies(hub)
    hub.comments.clear()
    hub.write(body, {"login": "mallory", "type": "User", "id": 3})
    run(FINE)
    assert [text == body for text in list_bodies(hub)] == [True, False]


def test_a_token_that_may_not_write_says_which_permission_it_needs(run: Comment, hub: stand_in.GitHub) -> None:
    hub.fail("POST", "/issues/7/comments", 403, "Resource not accessible by integration")
    error = run(WORSE).exception
    assert isinstance(error, ServiceError)
    assert "GitHub answered 403: Resource not accessible by integration" in str(error)
    assert "pull-requests: write" in str(error)


@pytest.mark.parametrize("is_locked", [True, False], ids=["locked", "rate-limited"])
def test_a_permission_is_named_only_if_it_is_missing(run: Comment, hub: stand_in.GitHub, *, is_locked: bool) -> None:
    hub.locked = is_locked
    if not is_locked:
        hub.fail("POST", "/issues/7/comments", 403, "You have exceeded a secondary rate limit.")
    error = str(run(WORSE).exception)
    assert ("issue is locked" if is_locked else "rate limit") in error
    assert "pull-requests: write" not in error


def test_a_push_has_no_comment(run: Comment, hub: stand_in.GitHub) -> None:
    result = run(WORSE, {"ref": "refs/heads/main"})
    assert (result.exit_code, hub.comments) == (0, {})
    assert "does not belong to a pull request" in result.output


@pytest.mark.parametrize(
    ("report", "variables", "words"),
    [
        ("{}", {}, "is not a gate report"),
        ("\x00", {}, "is not a gate report"),
        (WORSE, {"GITHUB_TOKEN": ""}, "GITHUB_TOKEN is not set"),
        (WORSE, {"GITHUB_EVENT_PATH": "/nowhere"}, "/nowhere cannot be read"),
        (WORSE, {"GITHUB_EVENT_PATH": "/dev/null"}, "The file at GITHUB_EVENT_PATH does not contain an event"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    run: Comment, report: GateReport | str, variables: dict[str, str], words: str
) -> None:
    error = run(report, **variables).exception
    assert isinstance(error, ServiceError)
    assert words in str(error)
    assert "\n" not in str(error)


def test_an_event_that_is_nested_too_deeply_is_refused(run: Comment, tmp_path: Path) -> None:
    file = tmp_path / "deep.json"
    file.write_text("[" * 200_000)
    error = run(WORSE, GITHUB_EVENT_PATH=str(file)).exception
    assert isinstance(error, ServiceError)
    assert "does not contain an event" in str(error)


def test_an_event_without_the_documented_fields_is_refused() -> None:
    assert read_event(OF_PULL_REQUEST) == ReportedHead(made_gates.HEAD, 7)
    with pytest.raises(JobCommentError, match=r"workflow_run\.head_branch"):
        read_event({"workflow_run": {"head_sha": "a", "head_repository": {"owner": {"login": "b"}}}})
