"""Runs the real command on a hostile repository, with secrets planted around it, and looks for them afterwards."""

import base64
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.ordinary_user import as_ordinary

ROOT = Path(__file__).parents[2]
FAULTWATCH = Path(sys.prefix, "bin", "faultwatch")
TIMEOUT = 300.0
"""Seconds after which an attack keeps a command waiting: it would for ever, and a busy machine takes its time."""
_TOKEN = re.compile(rb"fw_[0-9a-f]{12}_[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command did."""

    status: int | None
    output: str
    error: str
    report: str
    seconds: float
    published: Mapping[str, bytes] = field(default_factory=dict)
    """What a service answered, by address."""

    @property
    def said(self) -> str:
        return self.output + self.error


@dataclass
class Arena:
    """One attack: a repository, a runner's home with secrets, and folders that must stay as they are."""

    folder: Path
    user: str
    secrets: dict[str, str] = field(default_factory=dict)
    outside: Path = field(init=False)
    """Everybody may write here; nothing may ever appear."""

    def __post_init__(self) -> None:
        self.mark = secrets.token_hex(8)
        self.person = self.folder / "person"
        self.home = self.person / "faultwatch"
        self.work = self.folder / "work"
        self.subject = self.work / "subject"
        self.outside = self.folder / "outside"
        for place in (
            self.person / ".ssh",
            self.home / "builds" / "trusted" / "other" / "tree",
            self.subject,
            self.outside,
        ):
            place.mkdir(parents=True, exist_ok=True)
        (self.home / "spool").mkdir(exist_ok=True)
        self.outside.chmod(0o777)
        self.planted: list[Path] = []
        self.tops = [self.home, self.folder / "report"]
        """Folders in which no secret may appear."""
        self.plant("key", self.person / ".ssh" / "id_ed25519")
        self.plant("netrc", self.person / ".netrc")
        self.plant("service-key", self.home / "service.key")
        self.plant("spool", self.home / "spool" / "note.txt")
        self.plant("other-build", self.home / "builds" / "trusted" / "other" / "tree" / "secret.c")
        self.plant("other-checkout", self.work / "other" / "secret.txt")
        self.secrets |= {
            "id-token": self._secret("id-token"),
            "password": self._secret("password"),
            "runtime-token": self._secret("runtime-token"),
        }
        self.git("init", "--quiet", "--initial-branch=main")
        self.write("README", "base\n")
        # The base builds and runs, so that the head is built and run too.
        self.write("probe", "#!/bin/sh\nexit 0\n", executable=True)
        self.write("probe.c", "int main(void) { return 0; }\n")
        self.write("evil.c", "int nothing;\n")
        self.write("data", "data\n")
        self.commit("Base")
        with (self.subject / ".git" / "config").open("a") as stream:
            self.secrets["checkout-token"] = self._secret("checkout-token")
            stream.write(f'[http "https://example.invalid"]\n\textraheader = {self.secrets["checkout-token"]}\n')

    def _secret(self, name: str) -> str:
        return f"planted-{name}-{self.mark}"

    def plant(self, name: str, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self.secrets[name] = self._secret(name)
        file.write_text(f"{self.secrets[name]}\n")
        self.planted.append(file)

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.subject), "-c", "protocol.file.allow=always", "-c", "safe.directory=*", *arguments],
            check=True,
            capture_output=True,
            text=True,
            env={
                **{"PATH": os.environ["PATH"], "HOME": str(self.person), "GIT_CONFIG_NOSYSTEM": "1"},
                **{f"GIT_{who}_{what}": "a@b.invalid" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
            },
        )
        return done.stdout.strip()

    def write(self, name: str, text: str | bytes, *, executable: bool = False) -> Path:
        """Write a file of the repository."""
        file = self.subject / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        file.chmod(0o755 if executable else 0o644)
        return file

    def link(self, name: str, target: str | Path) -> None:
        """Make a link in the repository."""
        (self.subject / name).parent.mkdir(parents=True, exist_ok=True)
        (self.subject / name).symlink_to(target)

    def commit(self, title: str = "The attack") -> str:
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "--allow-empty", "--message", title)
        return self.git("rev-parse", "HEAD")

    def workload(self, text: str = "", *, command: str = "true", build: str = "", folder: str = "") -> None:
        """Write a workload file: what an attack does not name is harmless."""
        general = '[workload]\nname = "hostile"\ntimeout = 20\nmax_samples = 2\n'
        run = f"[run]\ncommand = {toml(command)}\n" if "[run]" not in text else ""
        built = f"[build]\n{build}\n" if build else ""
        self.write(f"{folder}workload.toml", f"{general}{built}{run}{text}\n")

    def run(
        self,
        *words: str,
        environment: Mapping[str, str] | None = None,
        directory: Path | None = None,
        address_space: int | None = None,
    ) -> Outcome:
        """Run ``faultwatch`` in the checkout, as a CI job would; with so many bytes of memory, if they are given."""
        report = self.folder / "report" / "report.json"
        report.parent.mkdir(exist_ok=True)
        words = tuple(word.replace("REPORT", str(report)).replace("SUBJECT", str(self.subject)) for word in words)
        began = time.monotonic()
        process = self.start(FAULTWATCH, *words, environment=environment, directory=directory, limit=address_space)
        try:
            output, error = process.communicate(timeout=TIMEOUT)
            status: int | None = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, error = process.communicate()
            status = None
        return Outcome(
            status,
            output.decode(errors="replace"),
            error.decode(errors="replace"),
            report.read_text() if report.exists() else "",
            time.monotonic() - began,
        )

    def start(
        self,
        program: Path,
        *words: str,
        environment: Mapping[str, str] | None = None,
        directory: Path | None = None,
        limit: int | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start a program of Faultwatch as the arena's user; with so many bytes of memory, if they are given."""
        command = [str(program), *words]
        if self.user != "root":
            command = as_ordinary(command, self.folder)
        if limit:
            command = ["prlimit", f"--as={limit}", *command]
        report = self.folder / "report"
        variables = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.person),
            "FAULTWATCH_HOME": str(self.home),
            "FAULTWATCH_HOST": "host",
            "FAULTWATCH_HOST_LOCK": str(self.home),  # Others on this machine may measure meanwhile.
            "GITHUB_ACTIONS": "true",
            "GITHUB_STEP_SUMMARY": str(report / "summary"),
            "GITHUB_OUTPUT": str(report / "outputs"),
            "ACTIONS_RUNTIME_TOKEN": self.secrets["runtime-token"],
            "AWS_SECRET_ACCESS_KEY": self.secrets["password"],
            "PLANTED_TOKEN": self.secrets["id-token"],
            **({"PYTHONPATH": os.environ["HOSTILE_CODE"]} if "HOSTILE_CODE" in os.environ else {}),
            **(environment or {}),
        }
        return subprocess.Popen(
            command,
            cwd=directory or self.subject,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def look(self, outcome: Outcome) -> None:
        """Find out what the attack reached; each finding fails the test."""
        assert outcome.status is not None, "the attack keeps the command waiting"
        assert "Traceback" not in outcome.error, outcome.error[-3000:]
        assert not list(self.outside.iterdir()), "the attack wrote outside of its sandbox"
        strings = {name: _forms(value) for name, value in self.secrets.items()}
        strings["shadow"] = [line.encode() for line in _shadow()]
        for place, data in self._products(outcome):
            seen = [name for name, forms in strings.items() if any(form in data for form in forms)]
            assert not seen, f"{seen} can be read in {place}"
            assert not _TOKEN.search(data), f"a token can be read in {place}"
        assert not _alive(self.folder), "the attack lives on"

    def _products(self, outcome: Outcome) -> Iterator[tuple[str, bytes]]:
        yield "standard output", outcome.output.encode()
        yield "standard error", outcome.error.encode()
        yield from outcome.published.items()
        for top in self.tops:
            for file in top.rglob("*"):
                if (
                    file.is_file()
                    and not file.is_symlink()
                    and file not in self.planted
                    and file.stat().st_size < 1 << 26
                ):
                    yield str(file), file.read_bytes()


def toml(text: str) -> str:
    """Write a string as TOML's multi-line literal."""
    return f"'''{text}'''"


def _forms(value: str) -> list[bytes]:
    data = value.encode()
    return [data, base64.b64encode(data)[:-4], data.hex().encode(), data[::-1]]


def _shadow() -> list[str]:
    try:
        return [line for line in Path("/etc/shadow").read_text().splitlines() if len(line) > 12]
    except OSError:
        return []


def _alive(folder: Path) -> list[str]:
    deadline = time.monotonic() + 3
    while True:
        alive = []
        for process in Path("/proc").iterdir():
            if process.name.isdecimal() and int(process.name) != os.getpid():
                try:
                    words = (process / "cmdline").read_bytes() + os.fsencode((process / "cwd").readlink())
                except OSError:
                    continue
                if os.fsencode(folder) in words:
                    alive.append(words.decode(errors="replace"))
        if not alive or time.monotonic() > deadline:
            return alive
        time.sleep(0.1)


def make(user: str, template: Path | None) -> Arena:
    """Make an arena below a folder that every user may pass."""
    folder = Path(tempfile.mkdtemp(prefix="hostile-"))
    folder.chmod(0o755)
    if template is not None:
        shutil.copytree(template, folder / "person" / "faultwatch", symlinks=True)
    return Arena(folder, user)
