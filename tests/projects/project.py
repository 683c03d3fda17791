"""A repository with a known history, and the real command that measures it."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.ordinary_user import as_ordinary
from tests.runner.commands import compiled_programs

FAULTWATCH = Path(sys.prefix, "bin", "faultwatch")
TIMEOUT = 900.0
FEW, MOVED = 200, 3000
"""Pages that the programs touch at first, and how many more from the third commit on."""
_TOUCH = """#define _GNU_SOURCE
#include <sys/mman.h>
int touch(void)
{
    long pages = %d;
    char *first = mmap(0, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (first == MAP_FAILED)
        return 1;
    for (long i = 0; i < pages; i++)
        *(volatile char *)(first + i * 4096) = 1;
    return 0;
}
"""
CALL = "int touch(void);\nint main(void) { return touch(); }\n"
"""The source of a program that calls :func:`touch`."""


def touch(pages: int) -> str:
    """Return the source of a C function that touches some pages, each once."""
    return _TOUCH % pages


def grow_by(project: "Project", files: Mapping[str, str], name: str, few: str, many: str, *, neutral: int = 1) -> None:
    """Make the commits of a project in which one file decides how many pages are touched.

    ``neutral`` commits that change nothing follow the first one, and as many the one that touches more.
    """
    project.commit("Start", {**files, name: few})
    for number in range(neutral):
        project.commit("Explain", {"README": f"What it is, {number}.\n"})
    project.mover = project.commit("Touch more", {name: many})
    for number in range(neutral):
        project.commit("Explain more", {"README": f"What it is for, {number}.\n"})


def workload(build: str, run: str, more: str = "", more_run: str = "") -> str:
    """Return the workload file that a user would write."""
    return f"""[workload]
name = "project"

[build]
command = '''{build}'''
{more}
[run]
command = "{run}"
huge_pages = "never"
{more_run}"""


@dataclass
class Project:
    """A repository that grows.

    Attributes
    ----------
    mover
        The only commit that moves the faults of its program.
    commits
        How many it has.
    """

    folder: Path
    mover: str = ""
    commits: int = 0

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str) -> str:
        """Run git here, independent of the user's settings."""
        settings = ("-c", "protocol.file.allow=always", "-c", "safe.directory=*", "-c", "core.hooksPath=/dev/null")
        roles = [(role, field) for role in ("AUTHOR", "COMMITTER") for field in ("NAME", "EMAIL")]
        who = {f"GIT_{role}_{field}": "a@example.invalid" for role, field in roles}
        done = subprocess.run(
            ["git", "-C", str(self.folder), *settings, *arguments],
            check=True,
            capture_output=True,
            text=True,
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder), "GIT_CONFIG_NOSYSTEM": "1", **who},
        )
        return done.stdout.strip()

    def write(self, files: Mapping[str, str | bytes]) -> None:
        """Write files; those that begin with ``#!`` are programs."""
        for name, text in files.items():
            file = self.folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            content = text if isinstance(text, bytes) else text.encode()
            file.write_bytes(content)
            file.chmod(0o755 if content.startswith(b"#!") else 0o644)

    def commit(self, title: str, files: Mapping[str, str | bytes] | None = None) -> str:
        """Commit files, and everything that has changed besides."""
        self.write(files or {})
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", title)
        self.commits += 1
        return self.git("rev-parse", "HEAD")

    def keep_in_lfs(self, content: bytes) -> str:
        """Store a file's content where ``git lfs`` does, and return the pointer that is committed."""
        name = hashlib.sha256(content).hexdigest()
        place = self.folder / ".git" / "lfs" / "objects" / name[:2] / name[2:4] / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        return f"version https://git-lfs.github.com/spec/v1\noid sha256:{name}\nsize {len(content)}\n"


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs ``faultwatch``.

    Attributes
    ----------
    folder
        What belongs to the user: the repository and the home.
    user
        ``root`` or ``ordinary``.
    """

    folder: Path
    user: str
    environment: Mapping[str, str] = field(default_factory=dict)

    def history(self, repository: Path, *words: str) -> tuple[dict[str, Any], str]:
        """Measure all commits; return the result, and what was said."""
        command = [str(FAULTWATCH), "history", "--repo", str(repository), "--json", "--measure-all", *words]
        with compiled_programs(self.folder / "faultwatch"):
            done = self._run(command if self.user == "root" else as_ordinary(command, self.folder))
        assert done.stdout.strip(), done.stderr
        return json.loads(done.stdout), done.stderr

    def _run(self, command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            cwd=self.folder,
            timeout=TIMEOUT,
            stdin=subprocess.DEVNULL,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.folder),
                "FAULTWATCH_HOME": str(self.folder / "faultwatch"),
                "FAULTWATCH_HOST": "host",
                "FAULTWATCH_HOST_LOCK": str(self.folder),
                **self.environment,
            },
        )
