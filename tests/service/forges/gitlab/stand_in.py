"""A GitLab with a memory, as far as the service speaks to it: merge requests, notes, statuses, users, members.

It behaves as GitLab's documents "Notes API", "Commits API", "Members API" and "REST API" (pagination) say.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from flask import Flask, Response, jsonify, request

from tests.service.forges.served import StandIn, guarded, problem

SERVICE = {"id": 9, "username": "faultwatch"}


@dataclass
class GitLab(StandIn):
    """Its memory: one project with one merge request."""

    project: str = "group/sub/copies"
    number: int = 7
    head: str = ""
    notes: dict[int, dict[str, Any]] = field(default_factory=dict)
    statuses: list[dict[str, Any]] = field(default_factory=list)
    members: dict[str, int] = field(default_factory=lambda: {"ada": 40, "mallory": 20})
    """Access levels: 40 is a maintainer's, 20 a reporter's."""

    def write(self, body: str, author: dict[str, Any] = SERVICE, *, system: bool = False) -> dict[str, Any]:
        note = {"id": self.next_id(), "body": body, "author": author, "system": system}
        self.notes[note["id"]] = note
        return note

    def of_service(self) -> list[str]:
        return [note["body"] for note in self.notes.values() if note["author"] == SERVICE]


def app(lab: GitLab) -> Flask:
    app = Flask("gitlab")
    guarded(app, lab, "PRIVATE-TOKEN", lab.token)
    api = "/api/v4"
    project = f"{api}/projects/<path:name>"

    def page(entries: list[Any]) -> Response:
        """Answer with a page, and links to the others."""
        size, number = int(request.args.get("per_page", 20)), int(request.args.get("page", 1))
        size = min(size, 2)  # smaller than what was asked for, as GitLab may
        answer = jsonify(entries[(number - 1) * size : number * size])
        if number * size < len(entries):
            following = f"{request.base_url}?page={number + 1}&per_page={size}"
            answer.headers["Link"] = f'<{following}>; rel="next"'
            answer.headers["X-Next-Page"] = str(number + 1)
        return answer

    @app.get(f"{api}/user")
    def user() -> Any:
        return SERVICE

    @app.get(f"{api}/users")
    def users() -> Any:
        wanted = request.args["username"]
        known = [{"id": 50 + place, "username": name} for place, name in enumerate(lab.members)]
        return page([entry for entry in known if entry["username"] == wanted])

    @app.get(f"{project}/members/all/<int:member>")
    def member(name: str, member: int) -> Any:
        levels = list(lab.members.values())
        return {"id": member, "access_level": levels[member - 50]} if name == lab.project else problem(404)

    @app.get(f"{project}/merge_requests/<int:number>")
    def merge_request(name: str, number: int) -> Any:
        if (name, number) != (lab.project, lab.number):
            return problem(404, "404 Not found")
        return {"id": 70, "iid": number, "project_id": 1, "sha": lab.head, "state": "opened"}

    @app.route(f"{project}/merge_requests/<int:number>/notes", methods=["GET", "POST"])
    def notes(name: str, number: int) -> Any:
        if request.method == "GET":
            return page(list(lab.notes.values()))
        body = request.json["body"]
        return problem(400, "note is too long") if len(body) > 1_000_000 else (lab.write(body), 201)

    @app.route(f"{project}/merge_requests/<int:number>/notes/<int:note>", methods=["GET", "PUT"])
    def one_note(name: str, number: int, note: int) -> Any:
        if note not in lab.notes:
            return problem(404, "404 Not found")
        if request.method == "PUT":
            lab.notes[note]["body"] = request.json["body"]
        return lab.notes[note]

    @app.get(f"{project}/repository/commits/<sha>/statuses")
    def statuses(name: str, sha: str) -> Any:
        found = [entry for entry in lab.statuses if entry["sha"] == sha and entry["name"] == request.args["name"]]
        return page(found[::-1])

    @app.post(f"{project}/statuses/<sha>")
    def set_status(name: str, sha: str) -> Any:
        sent = dict(request.json)
        state = sent.pop("state")
        last = next((entry for entry in reversed(lab.statuses) if entry["sha"] == sha), None)
        if last is not None and last["status"] == state:
            return problem(400, f"Cannot transition status via :{state} from :{state}")
        lab.statuses.append({"id": lab.next_id(), "sha": sha, "status": state, **sent})
        return lab.statuses[-1], 201

    return app
