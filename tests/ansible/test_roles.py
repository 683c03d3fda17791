"""The roles on hosts that boot: looked at, applied, applied again, and verified over ssh as a user would.

In containers, whose settings are this machine's: what sets settings is tested on an emulated machine (tests/hosts). The
tests build upon each other, in this order.
"""

from __future__ import annotations

import base64
import hashlib
import io
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.hosts.container import containers
from tests.hosts.image import UNPACKED
from tests.hosts.playbook import ROOT, Played, inventory, play
from tests.hosts.ssh import Guest
from tests.hosts.touching import until
from tests.wheel.installation import build_wheel

pytestmark = pytest.mark.hosts

NAME = "faults.example.org"
VERSION = "2.300.0"
# Stands in for actions/runner, with its files: it keeps what it was given to register, runs what comes out of a pipe as
# a job, and forgets its registration afterwards, as an ephemeral runner does.
CONFIG = """#!/bin/sh
cd "$(dirname "$0")"
[ "$1" = remove ] || set -- configure "$@"
exec ./bin/Runner.Listener "$@"
"""
LISTENER = """#!/bin/sh
cd "$(dirname "$0")/.." && . ./.env
case $1 in
configure) echo "$@ with $ACTIONS_RUNNER_INPUT_TOKEN" >.runner ;;
remove) rm .runner ;;
run)
    # A shell that waits for a command in the foreground would hear of its end five minutes later.
    trap 'exit 0' INT
    until [ -p /run/jobs ]; do sleep 0.2; done
    cat /run/jobs >/tmp/job &
    wait $!
    script=$(cat /tmp/job)
    "$ACTIONS_RUNNER_HOOK_JOB_STARTED"
    cd _work && bash -c "$script" >/run/answers 2>&1
    case $(cat ../.runner) in *--ephemeral*) rm ../.runner ;; esac
    ;;
esac
"""
RUNNER = {"./config.sh": CONFIG, "./run.sh": "", "./bin/Runner.Listener": LISTENER}
# Stands in for the part of GitHub's API that gives registration tokens.
GITHUB = """
import http.server, itertools, json
numbers = itertools.count(1)
class GitHub(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        name = self.path.rpartition("/")[2]
        answer = {"id": 1, "url": f"http://127.0.0.1:9100{self.path}", "token": f"{name}-{next(numbers)}"}
        body = json.dumps(answer | {"expires_at": "2099-01-01T00:00:00Z", "permissions": {}}).encode()
        self.send_response(200 if self.command == "GET" else 201)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    do_POST = do_GET
http.server.HTTPServer(("127.0.0.1", 9100), GitHub).serve_forever()
"""
JOBS = "faultwatch-actions"
HOME = "/var/lib/faultwatch-actions"


@dataclass
class Estate:
    """A runner and a service, and the inventory that names them."""

    runner: Guest
    service: Guest
    hosts: Path

    def play(self, name: str, *options: str, **variables: object) -> Played:
        """Run a playbook against both."""
        return play(name, self.hosts, *options, **variables)

    def job(self, script: str) -> str:
        """Run a script as a job of the Actions runner; return what it printed, when the runner waits for the next."""
        before = self.registered()
        send = "timeout 120 sh -c 'cat >/run/jobs' && timeout 600 cat /run/answers"
        said = self.runner.run(send, stdin=script).stdout
        self.registered(before)
        return said

    def registered(self, before: str = "") -> str:
        """Return the words of the runner's registration, as soon as they are others than before."""
        kept = f"cat {HOME}/runner/.runner"
        until(self.runner, kept, lambda done: done.returncode == 0 and done.stdout not in ("", before), 120)
        return self.runner.run(kept).stdout


def archive() -> bytes:
    """A stand-in for the archive of actions/runner."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, text in RUNNER.items():
            entry = tarfile.TarInfo(name)
            entry.mode, entry.size = 0o755, len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    return packed.getvalue()


@pytest.fixture(scope="module")
def estate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Estate]:
    folder = tmp_path_factory.mktemp("estate")
    revision = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    key = subprocess.run(["openssl", "genrsa", "2048"], capture_output=True, text=True, check=True)
    packed = archive()
    (folder / "runner.tar.gz").write_bytes(packed)
    with containers("bench-1", "service-1", packages=UNPACKED) as guests:
        runner, service = guests["bench-1"], guests["service-1"]
        runner.run("base64 --decode >/root/runner.tar.gz", stdin=_base64(packed))
        runner.run("mkfifo -m 644 /run/jobs && mkfifo -m 666 /run/answers")
        service.run("cat >/root/github.py", stdin=GITHUB)
        service.run("systemd-run --quiet --unit=github python3 /root/github.py")
        hosts = inventory(
            folder,
            {"runners": [runner], "service": [service]},
            {
                "release_revision": revision.stdout.strip(),
                "service_name": NAME,
                "service_tls": "internal",
                "base_addresses": {NAME: service.address},
                "github_runner_repository": "owner/name",
                "github_runner_version": VERSION,
                "github_runner_address": "file:///root/runner.tar.gz",
                "github_runner_checksum": hashlib.sha256(packed).hexdigest(),
                "service_github_app": 1,
                "service_github_key": key.stdout,
                "service_github_secret": "of-sixteen-bytes",
                "service_github_api": "http://127.0.0.1:9100",
            },
        )
        yield Estate(runner, service, hosts)


def _base64(data: bytes) -> str:
    return base64.encodebytes(data).decode()


def test_a_dry_run_on_bare_hosts_changes_nothing(estate: Estate) -> None:
    played = estate.play("site.yml", "--check")
    assert played.returncode == 0, played.output[-5000:]
    assert "fatal" not in played.output
    assert estate.runner.run("ls /etc/faultwatch /opt/faultwatch", check=False).returncode != 0


@pytest.mark.parametrize("playbook", ["tune.yml", "upgrade.yml", "verify.yml"])
def test_what_looks_after_hosts_takes_none_that_was_never_made(estate: Estate, playbook: str) -> None:
    played = estate.play(playbook)
    assert played.returncode != 0
    assert "was never set up" in " ".join(played.output.split())
    assert played.changed == []


def test_a_runner_is_not_made_before_its_service(estate: Estate) -> None:
    played = estate.play("runner.yml")
    assert played.returncode != 0
    assert "service-1, which gives bench-1 its token, is not set up as a service" in " ".join(played.output.split())
    assert played.changed == []


def test_one_command_leads_to_a_first_result(estate: Estate) -> None:
    played = estate.play("site.yml")
    assert played.returncode == 0, played.output[-5000:]
    token = estate.service.run("faultwatch-service token new reader --scope read").stdout.strip()
    runs = estate.service.run(f"curl -s -H 'Authorization: Bearer {token}' http://127.0.0.1:8080/api/v1/runs").stdout
    assert '"bench-1"' in runs
    assert '"image_filter' in runs


def test_the_second_run_changes_nothing(estate: Estate) -> None:
    for options in ((), ("--check", "--diff")):
        played = estate.play("site.yml", *options)
        assert played.returncode == 0, played.output[-5000:]
        assert played.changed == []


def test_a_runner_has_no_web_and_no_database(estate: Estate) -> None:
    program = (
        "/opt/faultwatch/runner/current/.venv/bin/python -c 'from faultwatch import add_tree; add_tree(); import {}'"
    )
    assert estate.runner.run(program.format("runner.cli")).returncode == 0
    for package in ("flask", "sqlalchemy", "numpy"):
        assert estate.runner.run(program.format(package), check=False).returncode != 0


def test_an_actions_runner_registers_with_a_token_of_the_service(estate: Estate) -> None:
    assert estate.runner.run("systemctl is-active faultwatch-actions").stdout.strip() == "active"
    told = estate.registered()
    assert "--ephemeral --url https://github.com/owner/name --name bench-1 --labels faultwatch,bench-1" in told
    assert "with registration-token-" in told
    for file in ("/etc/faultwatch/token", "/etc/faultwatch/actions/token"):
        assert estate.runner.run(f"runuser -u {JOBS} -- cat {file}", check=False).returncode != 0


def test_a_job_measures_in_the_sandbox(estate: Estate) -> None:
    # The sandbox's own /proc needs one that hides nothing, unlike that of a container.
    estate.runner.run("mount -t proc proc /proc")
    try:
        said = estate.job(
            "cp -r /opt/faultwatch/runner/current/tree/workloads/. . && git init -q . && git add . &&"
            " git -c user.name=A -c user.email=a@example.invalid commit -qm Add &&"
            " faultwatch measure image_filter --sandbox --set=temporaries=row --set=height=1080 --json"
        )
    finally:
        estate.runner.run("umount /proc")
    assert '"process.sandbox": "bubblewrap"' in said
    assert '"minor-faults"' in said


ATTACK = r"""
mkdir evil && printf '#!/bin/sh\nprintenv >/tmp/stolen\n' >evil/config.sh && chmod +x evil/config.sh
for change in "cp evil/config.sh .." "mv ../config.sh ../old" "rm -f ../config.sh" "mv ../bin ../bin2" \
    "cp evil/config.sh ../bin/Runner.Listener" "tee -a ../.env" "rm -f ../.env" "mv ../../runner ../../runner2" \
    "ln -s /etc ../../3.0.0" "chmod 0777 .." "cp evil/config.sh ../../__VERSION__"; do
    if { echo LD_PRELOAD=/tmp/evil.so | $change; } >/dev/null 2>&1; then echo "done: $change"; fi
done
# What a job may change: nothing of it is there for the next one.
ln -s /etc/shadow ../_work/link
mv ../_work ../_work2; ln -s /etc ../_work; mv ../_diag ../_diag2; ln -s /etc ../_diag
mkdir -p ../_home/.cache ../_home/.local/share/faultwatch; touch ../_home/.bashrc ../_home/.cache/planted
touch /tmp/planted /var/tmp/planted /dev/shm/planted
nohup setsid sleep 98765 >/dev/null 2>&1 &
echo attacked
"""


def test_no_job_reaches_what_is_root_s_or_the_next_job(estate: Estate) -> None:
    before = estate.runner.run(f"stat -c '%n %U %G %a' {HOME} {HOME}/{VERSION} /etc /etc/shadow").stdout
    assert estate.job(ATTACK.replace("__VERSION__", VERSION)).strip() == "attacked"
    assert estate.runner.run(f"stat -c '%n %U %G %a' {HOME} {HOME}/{VERSION} /etc /etc/shadow").stdout == before
    assert estate.runner.run("pgrep -f 'sleep 98765'", check=False).stdout == ""
    assert estate.runner.run(f"cat {HOME}/runner/config.sh").stdout == CONFIG
    left = f"find {HOME}/runner/_* /dev/shm -mindepth 1; ls {HOME}/runner -A"
    assert sorted(estate.runner.run(left).stdout.split()) == sorted(
        [".env", ".runner", ".version", "_diag", "_home", "_work", "bin", "config.sh", "run.sh"]
    )
    assert estate.job("ls -A /tmp /var/tmp ~ . ..; id -un").split()[-1] == JOBS


def test_a_home_that_was_the_jobs_leads_root_nowhere(estate: Estate) -> None:
    newer = "2.301.0"
    estate.runner.run(f"mkdir -m 0700 /etc/precious && chown {JOBS}: {HOME}")
    estate.runner.run(f"runuser -u {JOBS} -- ln -s /etc/precious {HOME}/{newer}")
    played = estate.play("runner.yml", github_runner_version=newer)
    assert played.returncode == 0, played.output[-5000:]
    assert estate.runner.run("stat -c %U:%a /etc/precious && ls -A /etc/precious").stdout.split() == ["root:700"]
    assert estate.runner.run(f"stat -c %U {HOME} {HOME}/{newer}").stdout.split() == ["root", "root"]
    assert estate.runner.run("systemctl is-active faultwatch-actions").stdout.strip() == "active"
    assert estate.play("runner.yml").returncode == 0


def test_a_session_holds_an_upgrade_up_and_an_upgrade_a_session(estate: Estate) -> None:
    session = "/usr/local/libexec/faultwatch/session"
    estate.runner.run(f"systemd-run --quiet --unit=test-session {session} sleep infinity")
    hold = "timeout 3 systemctl start faultwatch-hold@test"
    assert estate.runner.run(hold, check=False).returncode == 124
    estate.runner.run("systemctl stop test-session && systemctl start faultwatch-hold@test")
    assert estate.runner.run(f"timeout 2 {session} true", check=False).returncode == 124
    estate.runner.run(f"systemctl stop faultwatch-hold@test && {session} true")


def test_a_backup_is_taken_and_can_be_restored(estate: Estate) -> None:
    estate.service.run("systemctl start faultwatch-care")
    assert estate.service.run("ls /var/backups/faultwatch").stdout.strip().endswith("Z.db")


def test_verify_names_what_does_not_hold(estate: Estate) -> None:
    estate.runner.run("""echo '{"settings": {"vm.swappiness": "99"}}' >/etc/faultwatch/settings.json""")
    estate.runner.run("echo nonsense >/etc/faultwatch/token")
    played = estate.play("verify.yml")
    assert played.returncode != 0
    assert "setting vm.swappiness" in played.output
    assert "the service answers this host with 401" in played.output
    estate.runner.run("rm /etc/faultwatch/token /etc/faultwatch/settings.json")
    assert estate.play("runner.yml").returncode == 0
    assert estate.play("verify.yml").returncode == 0


def in_use(estate: Estate) -> list[str]:
    """The version that each host uses, the runner first."""
    rooms = {"runner": estate.runner, "service": estate.service}
    return [
        Path(guest.run(f"readlink /opt/faultwatch/{room}/current").stdout.strip()).name for room, guest in rooms.items()
    ]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    return build_wheel(ROOT, tmp_path_factory.mktemp("wheel"))


def test_a_wheel_is_installed_without_a_checkout(estate: Estate, wheel: Path) -> None:
    played = estate.play("upgrade.yml", release_wheel=str(wheel), release_source="/nowhere")
    assert played.returncode == 0, played.output[-5000:]
    version = wheel.name.split("-")[1]
    one, other = in_use(estate)
    assert one == other
    assert one.startswith(f"{version}-")
    assert version in estate.runner.run("faultwatch --version").stdout


def test_a_released_version_is_installed_from_the_index(estate: Estate, wheel: Path) -> None:
    for guest in (estate.runner, estate.service):
        guest.run(
            f"mkdir -p /root/index && base64 --decode >/root/index/{wheel.name}", stdin=_base64(wheel.read_bytes())
        )
    version = wheel.name.split("-")[1]
    index = {"PIP_FIND_LINKS": "/root/index"}
    played = estate.play("upgrade.yml", release_version=version, release_source="/nowhere", release_environment=index)
    assert played.returncode == 0, played.output[-5000:]
    assert in_use(estate) == [version, version]
