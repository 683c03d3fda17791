"""A Forgejo with a memory, as far as the service speaks to it, as its own description of its API says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from flask import Flask, Response, jsonify, request

from tests.service.forges.served import StandIn, guarded, problem

SERVICE = {"id": 9, "login": "faultwatch"}


@dataclass
class Forgejo(StandIn):
    """Its memory: one repository with one pull request."""

    repository: str = "octo-org/copies"
    number: int = 7
    head: str = ""
    comments: dict[int, dict[str, Any]] = field(default_factory=dict)
    statuses: list[dict[str, Any]] = field(default_factory=list)
    permissions: dict[str, str] = field(default_factory=lambda: {"ada": "admin", "mallory": "read"})

    def write(self, body: str, user: dict[str, Any] = SERVICE) -> dict[str, Any]:
        comment = {"id": self.next_id(), "body": body, "user": user}
        self.comments[comment["id"]] = comment
        return comment

    def of_service(self) -> list[str]:
        return [comment["body"] for comment in self.comments.values() if comment["user"] == SERVICE]


def app(forge: Forgejo) -> Flask:
    app = Flask("forgejo")
    guarded(app, forge, "Authorization", f"token {forge.token}")
    repo = f"/api/v1/repos/{forge.repository}"

    def page(entries: list[Any]) -> Response:
        size, number = min(int(request.args.get("limit", 30)), 2), int(request.args.get("page", 1))
        answer = jsonify(entries[(number - 1) * size : number * size])
        answer.headers["X-Total-Count"] = str(len(entries))
        if number * size < len(entries):
            # The address by which the server knows itself, behind a proxy.
            following = f"http://forgejo.invalid{request.path}?limit={size}&page={number + 1}"
            answer.headers["Link"] = f'<{following}>; rel="next"'
        return answer

    @app.get("/api/v1/user")
    def user() -> Any:
        return SERVICE

    @app.get(f"{repo}/pulls/<int:number>")
    def pull(number: int) -> Any:
        return {"number": number, "head": {"sha": forge.head}} if number == forge.number else problem(404)

    @app.route(f"{repo}/issues/<int:number>/comments", methods=["GET", "POST"])
    def comments(number: int) -> Any:
        if request.method == "GET":
            return page(list(forge.comments.values()))
        return forge.write(request.json["body"]), 201

    @app.route(f"{repo}/issues/comments/<int:number>", methods=["GET", "PATCH"])
    def comment(number: int) -> Any:
        if number not in forge.comments:
            return problem(404)
        if request.method == "PATCH":
            forge.comments[number]["body"] = request.json["body"]
        return forge.comments[number]

    @app.get(f"{repo}/collaborators/<login>/permission")
    def permission(login: str) -> Any:
        return {"permission": forge.permissions[login]} if login in forge.permissions else problem(404)

    @app.route(f"{repo}/statuses/<sha>", methods=["GET", "POST"])
    def statuses(sha: str) -> Any:
        if request.method == "GET":
            return page([entry for entry in forge.statuses if entry["sha"] == sha])
        sent = dict(request.json)
        forge.statuses.append({"id": forge.next_id(), "sha": sha, "status": sent.pop("state"), **sent})
        return forge.statuses[-1], 201

    return app
