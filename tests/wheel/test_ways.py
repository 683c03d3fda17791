"""Every usual way to install from a clone works where neither npm nor its packages are; runs in ``make test-wheel``."""

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.wheel.installation import ROOT

pytestmark = pytest.mark.skipif(not os.environ.get("FAULTWATCH_TEST_WHEEL"), reason="make test-wheel runs it")
TOOLS = ("build", "hatch-vcs", "hatchling", "pipx", "uv")
CHART = "tree/service/web/vendored/chart.js/*/chart.umd.min.js"


@dataclass(frozen=True)
class Workshop:
    """A clone, the tools that install it, and a PATH on which there is no npm.

    Attributes
    ----------
    clone
        The last commit of this checkout.
    tools
        A virtual environment with :data:`TOOLS`.
    folder
        Where all of them write.
    """

    clone: Path
    tools: Path
    folder: Path

    def run(self, *words: str) -> str:
        """Run a tool and return its output; a failure shows all of it."""
        at = {
            name: str(self.folder / place)
            for name, place in {
                "PIPX_HOME": "pipx",
                "PIPX_BIN_DIR": "bin",
                "UV_CACHE_DIR": "uv-cache",
                "UV_TOOL_DIR": "uv",
                "UV_TOOL_BIN_DIR": "uv-bin",
            }.items()
        }
        at["UV_PYTHON"] = sys._base_executable  # type: ignore[attr-defined]  # uv would download one
        path = {"PATH": f"{self.tools / 'bin'}:{self.folder / 'programs'}"}
        done = subprocess.run(
            words, cwd=self.folder, env={**os.environ, **at, **path}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def make_environment(self, name: str) -> Path:
        """Make an empty environment."""
        environment = self.folder / name
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
        return environment


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    folder = tmp_path_factory.mktemp("ways")
    made = Workshop(folder / "clone", folder / "tools", folder)
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(made.clone)], check=True)
    (folder / "programs").mkdir()
    # The scripts that uv installs start through sh, and find their interpreter by dirname and realpath.
    for name in ("git", "sh", "dirname", "realpath"):
        (folder / "programs" / name).symlink_to(shutil.which(name) or pytest.fail(f"{name} is missing"))
    made.make_environment("tools")
    made.run("pip", "--disable-pip-version-check", "install", "--quiet", *TOOLS)
    yield made
    shutil.rmtree(folder, ignore_errors=True)


def check_installed(environment: Path, *, manual: bool = True) -> None:
    """Check that an environment has the charts and the manual, and that its command starts."""
    (package,) = environment.glob("lib/python*/site-packages/faultwatch")
    assert list(package.glob(CHART))
    assert (environment / "share/man/man1/faultwatch-measure.1").exists() == manual
    command = [str(environment / "bin/faultwatch-service"), "--version"]
    assert "version" in subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("address", ["{}", "git+file://{}"])
def test_pip_installs_a_clone(workshop: Workshop, address: str) -> None:
    environment = workshop.make_environment(f"pip-{len(address)}")
    workshop.run("pip", "--python", str(environment / "bin/python"), "install", address.format(workshop.clone))
    check_installed(environment)
    assert (
        subprocess.run(
            ["git", "-C", str(workshop.clone), "status", "--porcelain"], capture_output=True, text=True, check=True
        ).stdout
        == ""
    )


def test_a_build_without_isolation_needs_the_backend_alone_and_leaves_the_manual_out(workshop: Workshop) -> None:
    options = ("--no-deps", "--no-build-isolation", "--prefix", str(workshop.folder / "without"))
    workshop.run("pip", "install", *options, str(workshop.clone))
    (package,) = (workshop.folder / "without").glob("lib/python*/site-packages/faultwatch")
    assert list(package.glob(CHART))
    assert not (workshop.folder / "without/share/man").exists()


def test_pipx_installs_a_clone(workshop: Workshop) -> None:
    workshop.run("pipx", "install", str(workshop.clone))
    check_installed(workshop.folder / "pipx/venvs/faultwatch")


def test_uv_installs_a_clone(workshop: Workshop) -> None:
    workshop.run("uv", "tool", "install", str(workshop.clone))
    check_installed(workshop.folder / "uv/faultwatch")


def test_uvx_runs_a_clone(workshop: Workshop) -> None:
    assert "version" in workshop.run("uvx", "--from", str(workshop.clone), "faultwatch", "--version")


def test_a_source_distribution_gives_the_wheel_of_the_clone(workshop: Workshop, wheel: Path) -> None:
    workshop.run("python", "-m", "build", "--outdir", "first", str(workshop.clone))
    (source,) = (workshop.folder / "first").glob("*.tar.gz")
    shutil.unpack_archive(source, workshop.folder, filter="data")
    unpacked = workshop.folder / source.name.removesuffix(".tar.gz")
    workshop.run("python", "-m", "build", "--outdir", "second", str(unpacked))
    first, second = (list_files(workshop.folder / name) for name in ("first", "second"))
    assert first == second
    assert {name for name in list_files(wheel.parent) if "/data/" in name or "tree/" in name} <= first


def list_files(folder: Path) -> set[str]:
    """Return the names in the one wheel of a folder, without the version."""
    (file,) = folder.glob("*.whl")
    with zipfile.ZipFile(file) as archive:
        return {name.replace(file.name.removesuffix("-py3-none-any.whl"), "VERSION") for name in archive.namelist()}
