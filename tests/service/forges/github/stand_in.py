"""A GitHub with a memory, as far as the service speaks to it, that can be made to fail in the ways GitHub does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from flask import Flask, Response, g, jsonify, request

from tests.service.forges import served

BOT = {"login": "faultwatch[bot]", "type": "Bot", "id": 99}
APP = 4711
SECRET = b"a secret of tests"


def repository() -> dict[str, Any]:
    """Return the repository, as webhooks tell of it."""
    return {"id": 1, "full_name": "Octo-Org/copies", "default_branch": "main"}


@dataclass
class Fault:
    """What is answered in place of the right thing, once."""

    method: str
    """A regular expression, as is the path."""
    path: str
    status: int
    message: str = "broken"
    headers: dict[str, str] = field(default_factory=dict)
    done: bool = False
    """Whether the request takes effect all the same, and only its answer is lost."""
    after: int = 0
    """How many such requests are answered before."""

    def meets(self, method: str, path: str) -> bool:
        """Whether it is this request's turn to fail."""
        if not re.fullmatch(self.method, method) or not re.search(self.path, path):
            return False
        self.after -= 1
        return self.after < 0


@dataclass
class GitHub:
    """Its memory."""

    repository: str
    number: int
    head: str
    base: str = "ba5e" * 10
    url: str = ""
    shown: str = ""
    """The address that it tells of itself, where that is not its own."""
    state: str = "open"
    locked: bool = False
    comments: dict[int, dict[str, Any]] = field(default_factory=dict)
    checks: dict[int, dict[str, Any]] = field(default_factory=dict)
    reactions: list[tuple[int, str]] = field(default_factory=list)
    dispatches: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    permissions: dict[str, str] = field(default_factory=dict)
    workflows: set[str] = field(default_factory=lambda: {"faultwatch.yml", "bisect.yml", "measure.yml"})
    inputs: dict[str, set[str]] = field(default_factory=dict)
    """What a workflow takes; anything, where nothing is said of it."""
    granted: list[dict[str, str]] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    installation: int = 5
    """The number of the App's installation, which is another one after the App was removed and installed again."""
    token_life: timedelta = timedelta(hours=1)
    faults: list[Fault] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    ids: int = 1000
    author: dict[str, Any] = field(default_factory=lambda: BOT)
    """Who writes with the tokens."""
    label: str = "octo-org:change"
    """The branch of the head, with its owner."""

    def propose(self, number: int, base: str, head: str) -> None:
        """Have another pull request, of which nothing was said yet."""
        self.number, self.base, self.head = number, base, head
        for told in (self.comments, self.checks, self.dispatches):
            told.clear()

    def next_id(self) -> int:
        self.ids += 1
        return self.ids

    def write(self, body: str, user: dict[str, Any] | None = None) -> dict[str, Any]:
        """Write a comment."""
        number = self.next_id()
        app = {"performed_via_github_app": {"id": APP}} if user is None else {}
        url = f"{self.shown or self.url}/repos/{self.repository}/issues/comments/{number}"
        shown = f"{self.shown or self.url}/{self.repository}/pull/{self.number}#issuecomment-{number}"
        comment = {"id": number, "url": url, "html_url": shown, "body": body, "user": user or self.author, **app}
        self.comments[number] = comment
        return comment

    def fail(self, method: str, path: str, status: int, message: str = "broken", **told: Any) -> None:
        self.faults.append(Fault(method, path, status, message, **told))


@contextmanager
def running(hub: GitHub) -> Iterator[GitHub]:
    """Serve it."""
    with served.running(hub, _app(hub)):
        yield hub


def _problem(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    answer = jsonify({"message": message})
    answer.status_code = status
    answer.headers.update(headers or {})
    return answer


def _app(hub: GitHub) -> Flask:
    app = Flask("github")
    repo = f"/repos/{hub.repository}"

    def at(path: str) -> str:
        return f"{hub.shown or hub.url}{repo}{path}"

    @app.before_request
    def _authorized() -> Response | None:
        hub.requests.append(f"{request.method} {request.path}")
        g.fault = next((one for one in hub.faults if one.meets(request.method, request.path)), None)
        if g.fault is not None:
            hub.faults.remove(g.fault)
            if g.fault.status == 401:
                hub.tokens.clear()
            if not g.fault.done:
                return _problem(g.fault.status, g.fault.message, g.fault.headers)
        kind, _, token = request.headers.get("Authorization", "").partition(" ")
        as_app = request.path.startswith("/app/") or request.path.endswith("/installation")
        if kind.lower() != ("bearer" if as_app else "token") or (not as_app and token not in hub.tokens):
            return _problem(401, "Bad credentials")
        return None

    @app.after_request
    def _lost(answer: Response) -> Response:
        if g.fault is None or not g.fault.done:
            return answer
        return _problem(g.fault.status, g.fault.message, g.fault.headers)

    @app.get(f"{repo}/installation")
    def installation() -> Any:
        return {"id": hub.installation, "app_id": APP}

    @app.post("/app/installations/<int:number>/access_tokens")
    def token(number: int) -> Any:
        if number != hub.installation:
            return _problem(404, "Not Found")
        made = f"ghs_{hub.next_id()}"
        hub.tokens.add(made)
        hub.granted.append(request.json["permissions"])
        expires = datetime.now(UTC) + hub.token_life
        return {"token": made, "expires_at": expires.strftime("%Y-%m-%dT%H:%M:%SZ"), "permissions": {}}, 201

    @app.post(f"{repo}/actions/runners/<purpose>-token")
    def runner_token(purpose: str) -> Any:
        return {"token": f"for {purpose}", "expires_at": "2030-01-01T00:00:00Z"}, 201

    @app.get(repo)
    def repository() -> Any:
        return {"full_name": hub.repository, "default_branch": "main", "url": at("")}

    def pull() -> dict[str, Any]:
        return {
            "number": hub.number,
            "url": at(f"/pulls/{hub.number}"),
            "issue_url": at(f"/issues/{hub.number}"),
            "state": hub.state,
            "head": {"sha": hub.head},
            "base": {"sha": hub.base},
        }

    @app.get(f"{repo}/pulls/<int:number>")
    def get_pull(number: int) -> Any:
        return pull() if number == hub.number else _problem(404, "Not Found")

    @app.get(f"{repo}/pulls")
    def list_pulls() -> Any:
        is_meant = request.args.get("head") == hub.label and request.args.get("state") == hub.state
        return jsonify([pull()] if is_meant else [])

    @app.get(f"{repo}/commits/<sha>/pulls")
    def pulls_of(sha: str) -> Any:
        return jsonify([pull()] if sha == hub.head else [])

    @app.get(f"{repo}/commits/<sha>")
    def commit(sha: str) -> Any:
        return {"sha": sha, "url": at(f"/commits/{sha}")}

    @app.get(f"{repo}/issues/<int:number>/comments")
    def comments(number: int) -> Any:
        return jsonify(list(hub.comments.values()))

    @app.post(f"{repo}/issues/<int:number>/comments")
    def comment(number: int) -> Any:
        body = request.json["body"]
        if hub.locked:
            return _problem(403, "Unable to create comment because issue is locked.")
        if len(body) > 65_536:
            return _problem(422, "Validation Failed")
        return hub.write(body), 201

    @app.route(f"{repo}/issues/comments/<int:number>", methods=["GET", "PATCH"])
    def one_comment(number: int) -> Any:
        if number not in hub.comments:
            return _problem(404, "Not Found")
        if request.method == "PATCH":
            hub.comments[number]["body"] = request.json["body"]
        return hub.comments[number]

    @app.post(f"{repo}/issues/comments/<int:number>/reactions")
    def actions_for(number: int) -> Any:
        hub.reactions.append((number, request.json["content"]))
        return {"id": hub.next_id(), "content": request.json["content"]}, 201

    @app.get(f"{repo}/commits/<sha>/check-runs")
    def checks(sha: str) -> Any:
        found = [one for one in hub.checks.values() if one["head_sha"] == sha]
        return {"total_count": len(found), "check_runs": found}

    def take_output(check: dict[str, Any]) -> Response | None:
        sent = dict(request.json)
        output = sent.pop("output", None)
        if output is not None:
            if len(output["annotations"]) > 50 or len(output["summary"]) > 65_535:
                return _problem(422, "Validation Failed")
            check["annotations"] += output["annotations"]
            check["output"] = {
                "title": output["title"],
                "summary": output["summary"],
                "annotations_count": len(check["annotations"]),
            }
        check.update(sent)
        return None

    @app.post(f"{repo}/check-runs")
    def make_check() -> Any:
        number = hub.next_id()
        check = {"id": number, "url": at(f"/check-runs/{number}"), "annotations": [], "status": "queued"}
        bad = take_output(check)
        if bad is not None:
            return bad
        hub.checks[number] = check
        return check, 201

    @app.patch(f"{repo}/check-runs/<int:number>")
    def change_check(number: int) -> Any:
        return take_output(hub.checks[number]) or hub.checks[number]

    @app.get(f"{repo}/collaborators/<login>/permission")
    def permission(login: str) -> Any:
        return {"permission": hub.permissions.get(login, "read"), "user": {"login": login}}

    @app.get(f"{repo}/actions/workflows/<name>")
    def workflow(name: str) -> Any:
        if name not in hub.workflows:
            return _problem(404, "Not Found")
        return {"id": 1, "url": at(f"/actions/workflows/{name}"), "path": f".github/workflows/{name}"}

    @app.post(f"{repo}/actions/workflows/<name>/dispatches")
    def dispatch(name: str) -> Any:
        inputs = request.json["inputs"]
        if not set(inputs) <= hub.inputs.get(name, set(inputs)):
            return _problem(422, "Unexpected inputs provided")
        hub.dispatches.append((name, inputs))
        return "", 204

    return app
