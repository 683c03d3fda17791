"""Runs Ansible's tools and renders the templates of the roles on this machine, as they are for a host."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
ANSIBLE = ROOT / "ansible"
TOOLS = ROOT / ".venv-hosts" / "bin"
INSTALLED = (TOOLS / "ansible-playbook").exists()
HOST: dict[str, Any] = {
    "inventory_hostname_short": "bench-1",
    "service_name": "f.example.org",
    "runner_service": "https://f.example.org",
    "runner_name": "bench-1",
    "runner_cpus": "2-3",
    "runner_readable": ["/opt/gcc"],
    "github_runner_repository": "owner/name",
    "github_runner_version": "1.2.3",
    "tuning_huge_pages": "never",
}
"""What an inventory and the roles before know of the host that templates are rendered for."""


@dataclass(frozen=True)
class Rendered:
    """A template of a role, and the file to render it to.

    Attributes
    ----------
    template
        Its name, without the ``.j2``.
    variables
        Variables that differ from the defaults.
    """

    role: str
    template: str
    file: str
    variables: Mapping[str, Any] = field(default_factory=dict)


def run(*command: str, check: bool = True) -> str:
    """Run a tool of Ansible from its folder and return what it printed."""
    done = subprocess.run(
        [str(TOOLS / command[0]), *command[1:]],
        cwd=ANSIBLE,
        env=os.environ | {"ANSIBLE_NOCOLOR": "1", "ANSIBLE_FORCE_COLOR": "0", "PATH": f"{TOOLS}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def defaults(role: str) -> dict[str, Any]:
    """Return the variables of a role with their defaults."""
    return yaml.safe_load((ANSIBLE / "roles" / role / "defaults" / "main.yml").read_text())


def variables_of(role: str) -> dict[str, Any]:
    """Return all variables of a role: the defaults and its own."""
    own = ANSIBLE / "roles" / role / "vars" / "main.yml"
    return defaults(role) | (yaml.safe_load(own.read_text()) if own.exists() else {})


def render(folder: Path, templates: Iterable[Rendered]) -> None:
    """Render templates into a folder, with one call of Ansible."""
    # The lookup runs in Ansible's own process; the module of that name would start one for each template.
    tasks: list[dict[str, Any]] = [
        {
            "ansible.builtin.set_fact": {
                "rendered": "{{ rendered | default({}) | combine({file: lookup('ansible.builtin.template', source)}) }}"
            },
            "vars": {
                **variables_of("base"),
                **variables_of("runner"),
                **variables_of(one.role),
                **HOST,
                **one.variables,
                "source": str(ANSIBLE / "roles" / one.role / "templates" / f"{one.template}.j2"),
                "file": one.file,
            },
        }
        for one in templates
    ]
    written = folder / "rendered.json"
    tasks.append({"ansible.builtin.copy": {"content": "{{ rendered | to_json }}", "dest": str(written)}})
    play = {
        "hosts": "localhost",
        "gather_facts": False,
        "vars": {"ansible_python_interpreter": "{{ ansible_playbook_python }}"},
        "tasks": tasks,
    }
    (folder / "play.yml").write_text(yaml.safe_dump([play]))
    run("ansible-playbook", "-i", "localhost,", "-c", "local", str(folder / "play.yml"))
    for file, text in json.loads(written.read_text()).items():
        (folder / file).write_text(text)
