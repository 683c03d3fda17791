"""setup/system-packages with made-up tools: what it asks for, what it installs, and when it leaves things alone."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STANDARD = ("sh", "dirname", "tr", "uname", "find", "grep", "env", "ln", "touch", "chmod")
TOOLS = ("perf", "gcc", "g++", "gfortran", "make", "bwrap", "git", "shellcheck", "node", "npm", "chromium", "cmake")


class Machine:
    """Our own PATH: the standard utilities, and scripts in the place of everything that is looked for."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.log = folder / "log"
        self.log.touch()
        for name in STANDARD:
            found = shutil.which(name)
            assert found, name
            (self.bin / name).symlink_to(found)
        for name in TOOLS:
            self.script(name, "exit 0")
        self.script("python3", f'exec "{sys.executable}" "$@"')
        self.script("id", "echo 0")
        self.script("apt-cache", "exit 1")

    def script(self, name: str, text: str) -> None:
        file = self.bin / name
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)

    def remove(self, name: str) -> None:
        (self.bin / name).unlink()

    def apt(self, *brings: str) -> None:
        """Have an apt-get that notes how it is called and brings these commands along."""
        made = "".join(f'printf "#!/bin/sh\\n" >"{self.bin / name}"; chmod +x "{self.bin / name}"; ' for name in brings)
        self.script("apt-get", f'echo "apt-get $*" >>"{self.log}"; case $1 in install) {made};; esac')

    def sudo(self) -> None:
        self.script("id", "echo 1000")
        self.script("sudo", f'echo "sudo $1" >>"{self.log}"; exec "$@"')

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(ROOT / "setup" / "system-packages"), *arguments],
            env={"PATH": str(self.bin)},
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def calls(self) -> list[str]:
        return self.log.read_text().splitlines()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    if not any(Path("/usr/lib").glob("**/libjemalloc.so.2")):
        pytest.skip("libjemalloc.so.2 is not installed: `setup/system-packages` would find it missing")
    return Machine(tmp_path)


def test_nothing_is_done_where_everything_is_there(machine: Machine) -> None:
    machine.apt()
    done = machine.run("tests")
    assert (done.returncode, done.stdout, done.stderr, machine.calls) == (0, "", "", [])


def test_without_apt_it_prints_the_list_and_stops(machine: Machine) -> None:
    machine.remove("gcc")
    machine.remove("gfortran")
    done = machine.run()
    assert done.returncode == 1
    assert "missing system packages: gcc gfortran\n" in done.stdout
    assert "package manager" in done.stderr


@pytest.mark.parametrize("name", ["chromium", "npm"])
def test_only_the_tests_need_a_browser_and_the_packages_of_a_registry(machine: Machine, name: str) -> None:
    machine.remove(name)
    assert machine.run().returncode == 0
    assert name in machine.run("tests").stdout


def test_root_installs_what_is_missing(machine: Machine) -> None:
    machine.remove("git")
    machine.apt("git")
    assert machine.run().returncode == 0
    assert machine.calls == ["apt-get update", "apt-get install --yes --no-install-recommends git"]


def test_an_ordinary_user_installs_by_sudo(machine: Machine) -> None:
    machine.remove("g++")
    machine.apt("g++")
    machine.sudo()
    assert machine.run().returncode == 0
    assert machine.calls == [
        "sudo apt-get",
        "apt-get update",
        "sudo env",
        "apt-get install --yes --no-install-recommends g++",
    ]


def test_an_ordinary_user_without_sudo_is_told_what_to_run(machine: Machine) -> None:
    machine.remove("g++")
    machine.apt()
    machine.script("id", "echo 1000")
    done = machine.run()
    assert done.returncode == 1
    assert "run as root: apt-get install g++" in done.stderr
    assert machine.calls == []


def test_a_perf_that_does_not_start_counts_as_missing(machine: Machine) -> None:
    machine.script("perf", "exit 2")
    done = machine.run()
    assert done.returncode == 1
    assert "linux-perf" in done.stdout or "linux-tools" in done.stdout


def test_what_is_still_missing_afterwards_is_an_error(machine: Machine) -> None:
    machine.remove("gcc")
    machine.apt()
    done = machine.run()
    assert done.returncode == 1
    assert done.stderr == "faultwatch: still missing after the installation: gcc\n"


def test_a_failing_apt_is_an_error(machine: Machine) -> None:
    machine.remove("gcc")
    machine.script("apt-get", "exit 100")
    done = machine.run()
    assert done.returncode == 1
    assert "apt-get update failed" in done.stderr


def test_a_python_that_is_too_old_is_named(machine: Machine) -> None:
    machine.script("python3", 'case "$2" in *version_info*) exit 1;; *) echo 3.9.2;; esac')
    machine.apt()
    done = machine.run()
    assert done.returncode == 1
    assert "python3 is 3.9.2" in done.stderr


def test_it_is_found_from_any_directory(machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert machine.run().returncode == 0
