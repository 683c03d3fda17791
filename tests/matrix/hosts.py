"""The five hosts of the matrix, and how each carries out its part of a nightly run."""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.aarch64 import guest as aarch64
from tests.hosts.ssh import Guest, Key
from tests.matrix import x86
from tests.matrix.project import NAME, Project
from tests.runner.commands import command_line, variables

# More would only share this machine's processors.
AT_ONCE = 2
_BUNDLE = "/var/tmp/project.bundle"
_CHECKOUT = f"""\
set -e
mkdir -p {{folder}} && cd {{folder}}
test -d .git || git init --quiet --initial-branch=main
git fetch --quiet {_BUNDLE} main
git reset --quiet --hard FETCH_HEAD
"""
# As a user that is not root sets memory limits: in a group that was delegated to it, with no process in it itself.
# 0 is the shell: systemd makes one dollar sign of two, so that its number cannot be named.
_DELEGATED = """\
group=/sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup)
mkdir "$group/session" && echo 0 >"$group/session/cgroup.procs"
cd {folder} && exec {command}
"""


@dataclass(frozen=True)
class Host:
    """A host of the matrix: a machine that is up."""

    name: str
    guest: Guest

    @property
    def folder(self) -> str:
        """Where its checkout of the project is."""
        return f"/root/{NAME}"

    def carry_out(self, nightly_run: str, project: Project, service: str) -> None:
        """Run what ``nightly.yml`` runs on a host. If it fails, the digest says why."""
        self.guest.send(f"cat >{_BUNDLE}", project.bundle())
        self._in_session(_CHECKOUT.format(folder=self.folder))
        with aarch64.forwarded(self.guest, service) as address:
            settings = {"FAULTWATCH_URL": address, "FAULTWATCH_HOST": self.name}
            words = ["faultwatch", "nightly", "--matrix", "matrix.toml", "--name", nightly_run]
            command = ["env", *(f"{name}={value}" for name, value in settings.items()), *words]
            began = time.monotonic()
            done = self._nightly(shlex.join(command))
            print(f"{self.name}: {nightly_run} took {time.monotonic() - began:.0f} s", flush=True)
            if done.returncode:
                print(f"exit code {done.returncode}: {done.stderr[-3000:]}", flush=True)

    def _in_session(self, script: str) -> None:
        self.guest.run(script)

    def _nightly(self, command: str) -> subprocess.CompletedProcess[str]:
        settings = "PATH=/opt/bin:$PATH FAULTWATCH_HOME=/root/faultwatch"
        return self.guest.run(f"cd {self.folder} && {settings} {command}", check=False)


@dataclass(frozen=True)
class MadeHost(Host):
    """A host that the playbook made: its measuring user carries out the nightly run."""

    @property
    def folder(self) -> str:
        """Where its checkout of the project is."""
        return f"/var/lib/faultwatch/{NAME}"

    def _in_session(self, script: str) -> None:
        self.guest.run(f"runuser --user faultwatch -- sh -c {shlex.quote(script)}")

    def _nightly(self, command: str) -> subprocess.CompletedProcess[str]:
        script = _DELEGATED.format(folder=self.folder, command=command)
        unit = ["systemd-run", "--quiet", "--pipe", "--wait", "--collect", "--uid=faultwatch"]
        unit += ["--property=Delegate=memory pids", "--property=LimitRTPRIO=1", "sh", "-ec", script]
        return self.guest.run(shlex.join(unit), check=False)


@contextmanager
def host(name: str, key: Key) -> Iterator[Host]:
    """Boot a host of the matrix by its name, and yield it: ``x86-`` and a kernel, or ``arm-`` and a size of pages."""
    family, _, kind = name.partition("-")
    if family == "x86":
        with x86.guest(name, kind, key) as made:
            yield MadeHost(name, made)
    else:
        with aarch64.guest(int(kind.removesuffix("k")), key) as made:
            yield Host(name, made)


@contextmanager
def hosts(names: list[str], folder: Path) -> Iterator[dict[str, Host]]:
    """Boot hosts of the matrix one after the other, and yield them by name."""
    key = Key.fresh(folder)
    with ExitStack() as stack:
        yield {name: stack.enter_context(host(name, key)) for name in names}


def carry_out(nightly_run: str, at: list[Host], project: Project, service: str) -> None:
    """Have hosts carry out a nightly run, some at once."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for _ in pool.map(lambda one: one.carry_out(nightly_run, project, service), at):
            pass


def planner(project: Project, service: str, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run ``faultwatch nightly`` where the jobs `plan` and `digest` of ``nightly.yml`` run: on any machine."""
    return subprocess.run(
        command_line("nightly", "--matrix", "matrix.toml", *words),
        env=variables(home, service),
        cwd=project.folder,
        capture_output=True,
        text=True,
        check=False,
    )
