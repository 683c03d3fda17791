"""Made-up machines, unpacked from the files below ``machines/`` into a folder that stands for ``/``; a file system."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.runner.commands import served

MACHINES = Path(__file__).parent / "environment" / "machines"


class Machine:
    """A made-up machine."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def change(self, path: str, text: str | None) -> None:
        """Write one file again, or remove it."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            file.unlink()
        else:
            file.write_text(text + "\n" if text else "")

    def replace(self, path: str, old: str, new: str) -> None:
        """Change one file in part."""
        text = (self.root / path).read_text()
        assert old in text
        self.change(path, text.replace(old, new).rstrip("\n"))


@pytest.fixture
def machine(tmp_path: Path) -> Callable[[str], Machine]:
    """Make a machine by name: each ``=== path`` section of its file is a file of it."""

    def make(name: str) -> Machine:
        made = Machine(tmp_path)
        for section in (MACHINES / f"{name}.txt").read_text().removeprefix("=== ").split("\n=== "):
            path, _, text = section.partition("\n")
            made.change(path, text.rstrip("\n"))
        return made

    return make


@pytest.fixture
def noexec_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder on its own file system, in which no program can be executed."""
    folder = tmp_path / "noexec"
    folder.mkdir()
    try:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "noexec,size=1m", "none", folder], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no file system can be mounted: {error}")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture
def service_url(tmp_path: Path) -> Iterator[str]:
    """The address of an empty service for all commands of a test, which each would start one otherwise."""
    with served(tmp_path / "service") as proxy:
        yield proxy.service
