"""Running playbooks as a user does: from ansible/, against an inventory, and reading the recap."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.hosts.ssh import Guest

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / ".venv-hosts" / "bin"
_RECAP = re.compile(r"^(\S+)\s+: ((?:\w+=\d+\s*)+)$", re.MULTILINE)


@dataclass(frozen=True)
class Played:
    """A playbook that was run."""

    returncode: int
    output: str

    @property
    def recap(self) -> dict[str, dict[str, int]]:
        """Host → how many tasks were ok, changed, unreachable, failed, skipped, rescued, ignored."""
        return {
            host: {name: int(count) for name, count in re.findall(r"(\w+)=(\d+)", counts)}
            for host, counts in _RECAP.findall(self.output)
        }

    @property
    def changed(self) -> list[str]:
        """The names of the tasks that changed something, in order."""
        parts = re.split(r"^(?:TASK|RUNNING HANDLER) \[(.*)\] \*+$", self.output, flags=re.MULTILINE)
        return [
            name
            for name, said in zip(parts[1::2], parts[2::2], strict=True)
            if re.search(r"^changed: ", said, re.MULTILINE)
        ]


def inventory(folder: Path, groups: Mapping[str, Iterable[Guest]], variables: Mapping[str, Any]) -> Path:
    """Write an inventory.

    Parameters
    ----------
    groups
        Group → the guests in it. A guest may be in several.
    variables
        Of all hosts.
    """
    hosts = {guest.name: guest.line for guests in groups.values() for guest in guests}
    lines = list(hosts.values())
    for group, guests in groups.items():
        lines += [f"[{group}]", *(guest.name for guest in guests)]
    (folder / "group_vars").mkdir(exist_ok=True)
    (folder / "group_vars" / "all.json").write_text(json.dumps(dict(variables), indent=2), encoding="utf-8")
    file = folder / "hosts"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def play(name: str, hosts: Path, *options: str, **variables: Any) -> Played:
    """Run a playbook of ansible/ and show what it says; nothing is asserted about how it ends.

    Parameters
    ----------
    name
        Its file.
    hosts
        The inventory.
    options
        Further ones of ansible-playbook, such as ``--check``.
    variables
        Go before those of the inventory.
    """
    extra = ["--extra-vars", json.dumps(variables)] if variables else []
    with subprocess.Popen(
        [str(TOOLS / "ansible-playbook"), "--inventory", str(hosts), name, *extra, *options],
        cwd=ROOT / "ansible",
        env=os.environ | {"ANSIBLE_NOCOLOR": "1", "ANSIBLE_FORCE_COLOR": "0"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        said = []
        for line in process.stdout or []:
            print(line, end="", flush=True)
            said.append(line)
    return Played(process.returncode, "".join(said))


def head() -> str:
    """Return the newest commit of this checkout, for hosts to get as long as a test lasts, whatever comes meanwhile."""
    done = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    return done.stdout.strip()
