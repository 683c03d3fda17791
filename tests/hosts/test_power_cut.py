"""A host whose power is cut, or that is rebooted, while a command runs: nothing is lost, done twice or left behind.

The host is a container whose processes and disk end at once, and an emulated machine. The service is on the same host.
Commands, ends and moments are random: the seed that is printed first repeats them.
"""

from __future__ import annotations

import json
import os
import random
import shlex
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests import left_behind
from tests.hosts.container import disked_container
from tests.hosts.image import UNPACKED, image
from tests.hosts.machine import machine, power_cut, rebooted
from tests.hosts.network import network
from tests.hosts.product import IMPORTABLE, MOUNT, Product, product_disk, product_tree
from tests.hosts.ssh import Guest, Key
from tests.left_behind import Places, lost_or_twice
from tests.runner.commands import make_history

pytestmark = pytest.mark.hosts

MOMENTS = int(os.environ.get("MOMENTS", "12"))
PATIENCE = 900.0
"""Seconds that a boot may take on a busy machine."""
KINDS = ("history", "nightly", "job", "bisect")
PRODUCT = Product(
    "x86_64",
    "requirements.txt",
    ["faultwatch", "runner", "service", "templates", "workloads", "package.json", "package-lock.json"],
)
PLACES = Places(Path("/var/lib/yard"))
SERVICE = "http://127.0.0.1:8080"
UNIT = f"""\
[Unit]
RequiresMountsFor=/opt
[Service]
Environment=FAULTWATCH_HOME={PLACES.home} FAULTWATCH_JOBS_HERE=no FAULTWATCH_LEASE_SECONDS=10
ExecStart=/usr/bin/python3 -m faultwatch.module service serve --port 8080 --port-file /run/port
[Install]
WantedBy=multi-user.target
"""
DISK = f"{MOUNT}\necho '/dev/vdb /opt ext4 defaults 0 0' >>/etc/fstab"
SETUP = f"""\
set -e
mkdir -p {PLACES.home} {PLACES.temporary}
touch {PLACES.lock}
tar -xf - -C {PLACES.folder}
mv {PLACES.folder}/yard.service /etc/systemd/system/
systemctl mask --now --quiet systemd-timesyncd
systemctl enable --now --quiet yard
sync
"""
EACH = 4
"""Commits that are new at each moment. In the repository ``search``, the third of them touches one page more."""


@dataclass
class Yard:
    """A guest with two repositories that grow.

    Attributes
    ----------
    ends
        What cuts the guest off and waits until it is up again, by name.
    commits
        All commits that the repositories will have, by repository.
    settings
        The settings of the kernel after the first boot.
    """

    guest: Guest
    ends: dict[str, Callable[[], None]]
    commits: dict[str, list[str]]
    settings: dict[str, str] = field(default_factory=dict)
    shown: int = 1

    def ask(self, path: str, body: object = None) -> Any:
        """Ask the service, as soon as it is up."""
        data = f"--json {shlex.quote(json.dumps(body))}" if body else ""
        command = f"curl -sS --fail-with-body --retry 300 --retry-delay 1 --retry-connrefused {data} "
        return json.loads(self.guest.run(f"{command} '{SERVICE}/api/v1{path}'").stdout)

    def settle(self) -> None:
        """Wait until all has started; read what each command starts with from the slow disk."""
        self.guest.run("systemctl is-system-running --wait; perf stat -e minor-faults true", check=False)
        self.ask("/health")

    def grow(self) -> None:
        """Let the repositories have some more commits, which reach the disk."""
        self.shown += EACH
        for name, commits in self.commits.items():
            checkout = f"git -C {PLACES.folder}/{name} checkout --quiet -B main {commits[self.shown - 1]}"
            self.guest.run(f"{checkout} && sync")

    def words(self, kind: str) -> list[str]:
        """Return the arguments of a command; a job is ordered for it."""
        repository = ["repo/workload.toml", "--repo", "repo"]
        if kind == "job":
            question = {"kind": "measure", "subject": "repo", "case": "pages", "host": "box"}
            question["revision"] = self.commits["repo"][self.shown - 1]
            return [
                "job",
                "run",
                str(self.ask("/jobs", {"question": question, "backend": "caller"})["id"]),
                *repository,
            ]
        return {
            "history": ["history", *repository, f"{self.commits['repo'][0]}.."],
            "nightly": ["nightly", "--matrix", "matrix.toml", "--name", f"night-{self.shown}"],
            "bisect": ["bisect", f"HEAD~{EACH}..HEAD", "--repo", "search", "--json"],
        }[kind]

    def line(self, words: list[str]) -> str:
        """Return the command line of a command."""
        variables = {"FAULTWATCH_HOME": str(PLACES.home), "FAULTWATCH_HOST": "box", "FAULTWATCH_URL": SERVICE}
        settings = [f"{name}={value}" for name, value in (variables | PLACES.variables()).items()]
        return f"cd {PLACES.folder} && {shlex.join(['env', *settings, '/opt/bin/faultwatch', *words])}"

    def run(self, words: list[str]) -> Iterator[str]:
        """Run a command; yield what is wrong about its end."""
        done = self.guest.run(self.line(words), check=False)
        if done.returncode:
            yield f"{shlex.join(words)} ended with {done.returncode}: {(done.stdout + done.stderr)[-500:]}"
        elif words[0] == "bisect":
            culprits = [found["commit"] for found in json.loads(done.stdout)["answer"]["culprits"]]
            if culprits != [self.commits["search"][self.shown - 2]]:
                yield f"the bisect found {culprits}"

    def wrong(self) -> Iterator[str]:
        """Yield what is lost, measured twice, left behind, or set otherwise than after the first boot."""
        runs = self.ask("/runs?outcome=measured&subject=repo&limit=1000")["items"]
        yield from lost_or_twice(runs, self.commits["repo"][1 : self.shown])
        searched = self.ask("/runs?outcome=measured&subject=search&limit=1000")["items"]
        times = Counter(self.commits["search"].index(run["revision"]) for run in searched)
        # A proof measures its pair again. The newest commit of a search is the oldest of the next one.
        proof = {1 + EACH * block + place for block in range(self.shown) for place in (1, 2)}
        yield from (f"commit {at} has {number} runs" for at, number in times.items() if number > 1 + (at in proof))
        script = Path(left_behind.__file__).read_text(encoding="utf-8")
        *findings, settings = self.guest.run(f"python3 - {PLACES.folder}", stdin=script).stdout.splitlines()
        yield from findings
        self.settings = self.settings or json.loads(settings)
        if json.loads(settings) != self.settings:
            yield f"the settings were {self.settings}, and are {settings}"


@contextmanager
def emulated(folder: Path, key: Key) -> Iterator[tuple[Guest, dict[str, Callable[[], None]]]]:
    with machine("yard", image(UNPACKED), key, PATIENCE, further_disks=[product_disk(PRODUCT, folder)]) as guest:
        guest.run(DISK)
        yield guest, {"power cut": lambda: power_cut(guest, PATIENCE), "reboot": lambda: rebooted(guest, PATIENCE)}


@contextmanager
def contained(folder: Path, key: Key) -> Iterator[tuple[Guest, dict[str, Callable[[], None]]]]:
    bound = f"--bind-ro={product_tree(PRODUCT, folder)}:/opt"
    with network() as shared, disked_container("yard", image(UNPACKED), shared, key, [bound]) as made:
        made.guest.run(IMPORTABLE)
        yield (
            made.guest,
            {
                "power cut": lambda: made.power_cut(journal=False),
                "power cut, names written": lambda: made.power_cut(journal=True),
                "reboot": made.reboot,
            },
        )


@pytest.fixture(scope="module", params=[contained, emulated])
def yard(request: pytest.FixtureRequest) -> Iterator[Yard]:
    with tempfile.TemporaryDirectory() as name:
        folder, key = Path(name), Key.fresh(Path(name))
        number = 1 + EACH * (MOMENTS + len(KINDS))
        pages = {"repo": [10] * number, "search": [10 + (at + 1) // EACH for at in range(number)]}
        files = folder / "files"
        commits = {name: make_history(files / name, counts) for name, counts in pages.items()}
        (files / "matrix.toml").write_text('[[workloads]]\npath = "repo/workload.toml"\n', encoding="utf-8")
        (files / "yard.service").write_text(UNIT, encoding="utf-8")
        packed = subprocess.run(["tar", "-cf", "-", "-C", files, "--owner=root", "."], capture_output=True, check=True)
        with request.param(folder, key) as (guest, ends):
            guest.send(SETUP, packed.stdout)
            made = Yard(guest, ends, commits)
            made.settle()
            yield made


def test_nothing_is_lost_done_twice_or_left_behind(yard: Yard) -> None:
    with yard.guest.console_shown():
        assert not list(misses(yard))


def misses(yard: Yard) -> Iterator[str]:
    """End every kind of command at random moments; yield what is wrong afterwards."""
    seed = int(os.environ.get("SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
    print(f"\nSEED={seed}", flush=True)
    chance = random.Random(seed)
    seconds = {}
    for kind in KINDS:
        yard.grow()
        words = yard.words(kind)
        started = time.monotonic()
        assert not list(yard.run(words))
        seconds[kind] = time.monotonic() - started
        print(f"{kind:8} {seconds[kind]:5.1f} s", flush=True)
    assert not [*yard.run(yard.words("history")), *yard.wrong()]

    for number in range(MOMENTS):
        kind, end = KINDS[number % len(KINDS)], chance.choice(list(yard.ends))
        delay = chance.uniform(0, seconds[kind])
        yard.grow()
        words = yard.words(kind)
        with yard.guest.started(yard.line(words)) as command:
            with suppress(subprocess.TimeoutExpired):
                command.wait(delay)
            yard.ends[end]()
        yard.settle()
        again = [] if kind == "history" else [words]
        wrong = [text for one in (*again, yard.words("history")) for text in yard.run(one)]
        wrong += yard.wrong()
        print(f"{number:3} {kind:8} {end:24} {delay:5.1f} s  {'; '.join(wrong) or 'nothing'}", flush=True)
        yield from wrong
