"""What a provisioned service answers, asked through its web server, under its name and with a token."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tests.hosts.ssh import Guest


@dataclass(frozen=True)
class Api:
    """The API of a service, on the host where it runs: TLS, its own authority and access by token included."""

    service: Guest
    name: str
    token: str

    @classmethod
    def of(cls, service: Guest, name: str) -> Api:
        """Make a token there that may read, and triage."""
        made = service.run("faultwatch-service token new tests --scope read --scope triage --days 1")
        return cls(service, name, made.stdout.strip().splitlines()[-1])

    def get(self, path: str) -> Any:
        """Return the answer to a GET below /api/v1/."""
        return self.shown(f"api/v1/{path}")

    def shown(self, page: str) -> Any:
        """Return what a page of the dashboard shows, or anything else that is JSON."""
        asked = f"https://{self.name}/{page}"
        trusted = f"--cacert /etc/faultwatch/authority.crt --resolve {self.name}:443:127.0.0.1"
        header = f"Authorization: Bearer {self.token}\n"
        done = self.service.run(f"curl -sS --fail-with-body {trusted} --header @- '{asked}'", stdin=header)
        return json.loads(done.stdout)
