"""A repository of two commits that touches pages of memory, and a machine that runs its workflows."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import yaml

from tests.workflows.act import ROOT, Done, act

NAME = "octo-org/copies"
GATE = "octo-org/faultwatch"
PIN = "c0de" * 10
_FAKE = {"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.invalid"}
_IDENTITY = _FAKE | {"GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.invalid"}

PROGRAM = """\
#define PAGES {pages}
static volatile char memory[PAGES * 4096] __attribute__((aligned(4096)));
int main(void) {{
    for (long at = 0; at < (long)sizeof memory; at += 4096)
        memory[at] = 1;
    return 0;
}}
"""
_WORKLOAD = """\
[workload]
name = "touch"

[build]
command = "cc -O1 -o touch touch.c"

[run]
command = ["./touch"]
huge_pages = "never"

[metrics.budget]
minor-faults = 0
"""


def calling_workflow(service: str) -> str:
    """Return the file that calls the gate, as the documents show it, for a service."""
    page = (ROOT / "docs" / "how-to" / "gate.md").read_text()
    (text,) = re.findall(r"```yaml\n(name: faultwatch\n.*?)```", page, re.DOTALL)
    for placeholder, value in (("OWNER/faultwatch", GATE), ("COMMIT", PIN), ("https://faults.example.org", service)):
        assert placeholder in text
        text = text.replace(placeholder, value)
    return str(text)


class Subject:
    """The repository as GitHub has it, and as a runner finds it."""

    def __init__(self, folder: Path, service: str) -> None:
        self.folder = folder
        self.log = folder / "workflow.log"
        self.path = folder / "copies"
        self.path.mkdir(parents=True)
        self.service = service
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("remote", "add", "origin", f"https://github.com/{NAME}")
        self.git("config", "uploadpack.allowReachableSHA1InWant", "true")
        workflow = self.path / ".github" / "workflows" / "faultwatch.yml"
        workflow.parent.mkdir(parents=True)
        workflow.write_text(calling_workflow(service))
        for name in ("measure.yml", "bisect.yml"):
            shutil.copy(ROOT / ".github" / "workflows" / name, workflow.parent)
        (self.path / "workload.toml").write_text(_WORKLOAD)
        self.base = self.commit(PROGRAM.format(pages=200))

    def inputs(self, name: str) -> set[str]:
        """What a workflow takes when it is dispatched."""
        workflow = yaml.safe_load((self.path / ".github" / "workflows" / name).read_text())
        return set(workflow[True]["workflow_dispatch"]["inputs"])  # to YAML 1.1 the key "on" is a truth

    def git(self, *arguments: str) -> str:
        command = ["git", "-C", str(self.path), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | _IDENTITY)
        return done.stdout.strip()

    def commit(self, program: str) -> str:
        """Commit another program; return the hash."""
        (self.path / "touch.c").write_text(program)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "Touch memory")
        return self.git("rev-parse", "HEAD")

    def propose(self, number: int, program: str, *, fork: bool = False) -> str:
        """Have a pull request with another program; return its head."""
        self.git("checkout", "--quiet", "--detach", self.base)
        head = self.commit(program)
        if not fork:
            self.git("update-ref", f"refs/heads/topic-{number}", head)
        self.git("update-ref", f"refs/pull/{number}/head", head)
        self.git("checkout", "--quiet", "main")
        return head

    def run(
        self, event: str, payload: dict[str, Any], *more: str, workflow: str = "faultwatch.yml", **environment: str
    ) -> Done:
        """Run a workflow on this machine, as GitHub does for an event."""
        file = self.folder / "event.json"
        file.write_text(json.dumps(payload))
        done = act(
            self.folder,
            self.path,
            event,
            workflow,
            *("-e", str(file), "--local-repository", f"{GATE}@{PIN}={ROOT}", *more),
            FAULTWATCH_HOME=str(self.folder / "runner"),
            GITHUB_REPOSITORY=NAME,
            **environment,
        )
        self.log.write_text(done.log)
        return done
