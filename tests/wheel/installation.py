"""Installs the wheel of this checkout into environments of their own, and runs it there as a stranger would."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement

from tests.ordinary_user import as_ordinary

ROOT = Path(__file__).parents[2]
SITE = Path(sysconfig.get_paths()["purelib"])


@dataclass(frozen=True)
class Installation:
    """An environment with the wheel, and the empty home of a user who owns nothing else.

    Attributes
    ----------
    environment
        The virtual environment.
    home
        The user's home, which is the current directory as well.
    """

    environment: Path
    home: Path

    @property
    def site(self) -> Path:
        """Where packages are installed."""
        return self.environment / SITE.relative_to(sys.prefix)

    def command(self, name: str, *words: str) -> list[str]:
        """Return the command line of an installed command, as the user where the tests are root."""
        return user_command([str(self.environment / "bin" / name), *words], self.home)

    def variables(self, **more: str) -> dict[str, str]:
        """Return the variables of a user who set none."""
        path = f"{self.environment / 'bin'}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        lock = str(self.home / "lock")  # not the host's: the tests do not wait for others
        return {"HOME": str(self.home), "PATH": path, "TMPDIR": str(self.home), "FAULTWATCH_HOST_LOCK": lock, **more}

    def run(self, name: str, *words: str, **more: str) -> "subprocess.CompletedProcess[str]":
        """Run an installed command."""
        return subprocess.run(
            self.command(name, *words),
            cwd=self.home,
            env=self.variables(**more),
            capture_output=True,
            text=True,
            timeout=250,
            check=False,
        )


def user_command(command: list[str], home: Path) -> list[str]:
    """Return a command line for the user who owns a home and nothing else, where the tests are root."""
    return as_ordinary(command, home) if os.geteuid() == 0 else command


def build_wheel(project: Path, folder: Path) -> Path:
    """Build the wheel of a project without a network."""
    apart = ["unshare", "--net"] if os.geteuid() == 0 else []
    command = [*apart, sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def install(wheel: Path, extra: str, folder: Path, *, compiled: bool) -> Installation:
    """Install a wheel with what it requires, from the packages of the environment that runs the tests."""
    folder.chmod(0o755)
    environment, home = folder / "environment", folder / "home"
    home.mkdir()
    (home / "lock").touch()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(environment / "bin/python"), "--disable-pip-version-check"]
    options = ["--quiet", "--no-deps", "--no-index", *([] if compiled else ["--no-compile"])]
    subprocess.run([*pip, "install", *options, str(wheel)], check=True)
    installation = Installation(environment, home)
    for name in _required("faultwatch", extra):
        for top in {
            file.parts[0] for file in distribution(name).files or () if file.parts[0] not in {"..", "__pycache__"}
        }:
            source, target = SITE / top, installation.site / top
            if _open_to_all(SITE):
                target.symlink_to(source)
            elif source.is_dir():
                shutil.copytree(source, target)
            else:
                shutil.copy2(source, target)
    return installation


def _required(name: str, extra: str = "") -> set[str]:
    """Return the names of all distributions that one needs, itself excluded."""
    found: set[str] = set()
    waiting = [(name, extra)]
    while waiting:
        name, extra = waiting.pop()
        for line in distribution(name).requires or ():
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                key = re.sub(r"[-_.]+", "-", requirement.name).lower()
                wanted = [(requirement.name, one) for one in ("", *requirement.extras)]
                if key not in found:
                    found.add(key)
                    waiting += wanted
    return found


def _open_to_all(folder: Path) -> bool:
    return all(place.stat().st_mode & 0o005 == 0o005 for place in (folder, *folder.parents))
